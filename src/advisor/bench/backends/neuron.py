"""AWS Inferentia and Trainium by torch-neuronx: compiled, saved, loaded."""

import os
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from advisor.bench.backends.loaded import Loaded
from advisor.bench.backends.torch import load, module, tensors
from advisor.bench.inputs import Requests
from advisor.bench.settings import Point, Settings
from advisor.errors import MeasurementError, MissingExtraError


@contextmanager
def neuron(settings: Settings, point: Point, requests: Requests) -> Iterator[Loaded]:  # noqa: ARG001
    """Compile a model for NeuronCores (a TorchScript file is taken as compiled already), load it, run it.

    The runtime reads `NEURON_RT_VISIBLE_CORES` and `NEURON_RT_MULTI_INSTANCE_SHARED_WEIGHTS` when it starts, so they
    are set before it is imported and hold for the whole process.

    Raises:
        MissingExtraError: torch-neuronx is not installed (the package of that name on PyPI is a placeholder).
        MeasurementError: the compiler or the runtime refused.
    """
    if settings.neuron_cores:
        os.environ["NEURON_RT_VISIBLE_CORES"] = settings.neuron_cores
    if settings.shared_weights:
        os.environ["NEURON_RT_MULTI_INSTANCE_SHARED_WEIGHTS"] = "TRUE"
    try:
        import torch_neuronx
    except ImportError:
        raise MissingExtraError(
            "torch-neuronx is not installed: AWS serves it from its own Neuron package repository, for Inferentia "
            "and Trainium instances only (the package of that name on PyPI is a placeholder)"
        ) from None
    torch = module("torch", "torch")
    bodies = tuple(tensors(torch, body, torch.float32) for body in requests.bodies)
    try:
        model = _compiled(torch, torch_neuronx, settings, bodies[0])
    except RuntimeError as error:
        raise MeasurementError(f"torch-neuronx: {str(error).splitlines()[0]}") from None

    def infer(body: tuple[Any, ...]) -> Any:
        with torch.inference_mode():
            return model(*body)

    yield Loaded(
        infer=infer,
        bodies=bodies,
        backend="neuron",
        software=f"torch-neuronx {_version()}",
        facts={"torch": str(torch.__version__)},
    )


def _compiled(torch: Any, torch_neuronx: Any, settings: Settings, example: tuple[Any, ...]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        model = load(torch, settings)
        if not isinstance(model, torch.jit.ScriptModule):
            compiled = torch_neuronx.trace(model.eval(), example)
            with tempfile.TemporaryDirectory() as folder:
                path = str(Path(folder) / "model.neuron")
                torch.jit.save(compiled, path)
                model = torch.jit.load(path)
    kind, _, core = settings.device.partition(":")
    if kind == "neuron":
        torch_neuronx.move_trace_to_device(model, int(core))
    return model


def _version() -> str:
    try:
        return version("torch-neuronx")
    except PackageNotFoundError:
        return "of unknown version"
