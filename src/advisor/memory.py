"""The first step: does the model fit? A lower bound per device and host, or the measured peak where that is higher."""

from dataclasses import dataclass
from fractions import Fraction
from math import isnan, nan
from typing import Final, Literal

from advisor.workload import Workload

BYTES_PER_MIB: Final = 2**20

Fit = Literal["fits", "exceeds", "unknown", "not_checked"]


@dataclass(frozen=True)
class Hardware:
    """The memory of one option.

    Attributes:
        host_mib: memory of the host; NaN: unknown.
        device_count: devices that hold the model, built in or attached; 0: the CPU serves.
        device_mib: memory of each device (of the part, where the option has a part of one); NaN: unknown.
        known: False where no hardware facts of the instance type exist, so that not even its devices are known.
    """

    host_mib: float
    device_count: int = 0
    device_mib: float = nan
    known: bool = True


@dataclass(frozen=True)
class Need:
    """What must fit, in exact bytes. `device_bytes` is None where the CPU serves."""

    host_bytes: Fraction
    device_bytes: Fraction | None


@dataclass(frozen=True)
class MemoryCheck:
    """What an option needs and has, and whether that fits. MiB; NaN: unknown or not asked."""

    fit: Fit
    host_needed_mib: float
    host_mib: float
    device_needed_mib: float
    device_mib: float


def devices(accelerator_count: float) -> int:
    """Return the devices of an accelerator count: a fraction is one device with its share."""
    return max(1, int(accelerator_count))


def needed(
    model_bytes: int,
    input_bytes: int = 0,
    *,
    device_count: int = 0,
    copies: int = 1,
    shards: int = 1,
    shared_weights: bool = False,
    headroom: float = 1.0,
) -> Need:
    """Return the lower bound of what must fit the host and each device.

    One piece is a copy of the model, or with `shards` a part of one: ceil(model / shards) bytes and one input.
    `copies` x `shards` pieces spread evenly, so a device holds ceil(pieces / devices) of them. With
    `shared_weights` the pieces of one device that are alike share their weights. The host holds one whole copy;
    where the CPU serves (`device_count` 0) it holds all of them. Source: docs/method-selection.md, "Memory".

    Args:
        model_bytes: size of the model, >= 0.
        input_bytes: size of one input, >= 0.
        device_count: devices, built in or attached; 0: the CPU serves.
        copies: copies of the model, >= 1.
        shards: devices that one copy is split over, >= 1.
        shared_weights: alike pieces of one device share one set of weights.
        headroom: factor on the bound, >= 1.

    Returns:
        Exact bytes: a model that exactly equals the memory fits.
    """
    factor = Fraction(str(headroom))
    if device_count == 0:
        sets = 1 if shared_weights else copies
        return Need((sets * model_bytes + copies * input_bytes) * factor, None)
    pieces = -(-copies * shards // device_count)
    unlike = min(pieces, -(-shards // device_count))
    weights = -(-model_bytes // shards) * (unlike if shared_weights else pieces)
    return Need((model_bytes + input_bytes) * factor, (weights + pieces * input_bytes) * factor)


def check(
    workload: Workload, hardware: Hardware, peak_host_mib: float = nan, peak_device_mib: float = nan
) -> MemoryCheck:
    """Check one option against the question. A measured peak above the bound replaces it.

    Args:
        workload: the question; without `model_size_bytes` nothing is checked.
        hardware: the option's memory.
        peak_host_mib: measured peak of host memory; NaN: not measured.
        peak_device_mib: measured peak of one device; NaN: not measured.
    """
    serving = hardware.device_count > 0
    device_mib = hardware.device_mib if serving else nan
    unknown = not hardware.known or isnan(hardware.host_mib) or (serving and isnan(device_mib))
    if workload.model_size_bytes is None:
        return MemoryCheck(
            "unknown" if unknown else "not_checked",
            peak_host_mib,
            hardware.host_mib,
            peak_device_mib if serving else nan,
            device_mib,
        )
    need = needed(
        workload.model_size_bytes,
        workload.input_size_bytes,
        device_count=hardware.device_count,
        copies=workload.copies,
        shards=workload.shards,
        shared_weights=workload.shared_weights,
        headroom=workload.headroom,
    )
    host = _at_least(need.host_bytes, peak_host_mib)
    device = None if need.device_bytes is None else _at_least(need.device_bytes, peak_device_mib)
    exceeds = _exceeds(host, hardware.host_mib) or (device is not None and _exceeds(device, device_mib))
    fit: Fit = "exceeds" if exceeds else "unknown" if unknown else "fits"
    return MemoryCheck(
        fit,
        float(host / BYTES_PER_MIB),
        hardware.host_mib,
        nan if device is None else float(device / BYTES_PER_MIB),
        device_mib,
    )


def _at_least(bound: Fraction, peak_mib: float) -> Fraction:
    return bound if isnan(peak_mib) else max(bound, Fraction(peak_mib) * BYTES_PER_MIB)


def _exceeds(needed_bytes: Fraction, memory_mib: float) -> bool:
    return not isnan(memory_mib) and needed_bytes > Fraction(memory_mib) * BYTES_PER_MIB
