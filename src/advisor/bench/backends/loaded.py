"""What a backend yields."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal


@dataclass(frozen=True)
class Virtual:
    """Service on a virtual clock: durations are drawn, none is waited for.

    Attributes:
        service_s: draws the duration of the next request in seconds.
        fails: draws whether it fails.
    """

    service_s: Callable[[], float]
    fails: Callable[[], bool]


@dataclass(frozen=True)
class Loaded:
    """A model that is ready to answer.

    Attributes:
        infer: sends one of `bodies` and returns when the answer is there; raises where the request fails.
        bodies: the requests in the form that `infer` takes.
        backend: what the result calls it ("torch-trace").
        software: name and version ("torch 2.13.0").
        notes: what a reader of the result must know.
        suspect: the measurement is not of what was asked (it fell back to the host).
        host: whose memory is the model's: this process, the processes in `pids`, or none that is known.
        pids: processes that serve, beside this one.
        peak_device_mib: peak memory of one device so far, where it is known.
        facts: versions, providers and thread counts for the environment.
        virtual: set by a backend that has no real clock.
    """

    infer: Callable[[Any], object]
    bodies: tuple[Any, ...]
    backend: str
    software: str
    notes: tuple[str, ...] = ()
    suspect: bool = False
    host: Literal["process", "pids", "unknown"] = "process"
    pids: tuple[int, ...] = ()
    peak_device_mib: Callable[[], float | None] = lambda: None
    facts: Mapping[str, Any] = field(default_factory=dict)
    virtual: Virtual | None = None
