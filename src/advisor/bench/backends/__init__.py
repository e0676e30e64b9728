"""What can run a model: one context manager a file, named in one dict.

A backend loads the model for one configuration, yields what infers, and releases everything at its end.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Final

from advisor.bench.backends.command import command
from advisor.bench.backends.fake import fake
from advisor.bench.backends.http import http
from advisor.bench.backends.loaded import Loaded, Virtual
from advisor.bench.backends.neuron import neuron
from advisor.bench.backends.onnxruntime import onnxruntime
from advisor.bench.backends.python import python
from advisor.bench.backends.torch import torch
from advisor.bench.inputs import Requests
from advisor.bench.settings import Point, Settings

__all__ = ["BACKENDS", "Backend", "Loaded", "Virtual"]

Backend = Callable[[Settings, Point, Requests], AbstractContextManager[Loaded]]

BACKENDS: Final[dict[str, Backend]] = {
    "command": command,
    "fake": fake,
    "http": http,
    "neuron": neuron,
    "onnxruntime": onnxruntime,
    "python": python,
    "torch": torch,
}
