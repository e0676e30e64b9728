"""The steps that one measurement passes or fails whatever its price: filters, hardware, memory, latency."""

import re
from dataclasses import dataclass
from math import isnan, nan
from typing import Any, Final, cast, get_args

import pandas as pd

from advisor import memory
from advisor.errors import QuestionError
from advisor.judgement import Judgement
from advisor.measurements import Measurement, option_key
from advisor.tables import MIB_PER_GIB, Accelerators, Catalogue, Instances, Kind, Step, kind_of
from advisor.text import closest
from advisor.wording import figure, listing, milliseconds, percent
from advisor.workload import Workload

STEPS: Final[tuple[Step, ...]] = get_args(Step)
PASSED: Final = len(STEPS)
"""Code of an option that passed every step; a step's code is its place in `STEPS`."""


@dataclass(frozen=True)
class Failure:
    """The step that rejects an option: what it has, what was asked or needed, in one unit, and a clause to read."""

    step: Step
    value: float
    limit: float
    unit: str
    reason: str


@dataclass(frozen=True)
class Facts:
    """What the catalogue knows of an option's hardware.

    Attributes:
        kind: what serves.
        cpu_arch: x86_64 or arm64; empty: unknown.
        hardware: memory of the host and the devices.
        closed_types: the types that are no longer sold; empty: all are sold, or it is not known.
        closed_on: date of that fact.
        sources: source ids of the hardware facts with their dates.
    """

    kind: Kind
    cpu_arch: str
    hardware: memory.Hardware
    closed_types: tuple[str, ...]
    closed_on: str
    sources: tuple[tuple[str, str], ...]


def hardware_facts(catalogue: Catalogue, measurements: tuple[Measurement, ...]) -> dict[str, Facts]:
    """Return the facts of each measured option by its shown name. `ml.*` types have the hardware of the EC2 size."""
    hosts = {m.configuration["instance_type"] for m in measurements}
    attached = {m.configuration["attached_accelerator"] for m in measurements} - {""}
    instances = _records(catalogue.instances, "instance_type", hosts | {h.removeprefix("ml.") for h in hosts})
    accelerators = _records(catalogue.accelerators, "accelerator_type", attached)
    return {m.option: _facts(m.configuration, instances, accelerators) for m in measurements}


def _records(
    frame: pd.DataFrame | Instances | Accelerators, key: str, wanted: set[str]
) -> dict[str, dict[str, Any]]:
    table = cast(pd.DataFrame, frame)
    rows = table[table[key].isin(list(wanted))].to_dict("records")
    return {str(row[key]): {str(name): value for name, value in row.items()} for row in rows}


def _facts(
    configuration: dict[str, Any],
    instances: dict[str, dict[str, Any]],
    accelerators: dict[str, dict[str, Any]],
) -> Facts:
    name, attached = configuration["instance_type"], configuration["attached_accelerator"]
    own = instances.get(name)
    host = own or instances.get(name.removeprefix("ml."))
    accelerator = accelerators.get(attached)
    closed = [
        (kind, fact["availability_as_of"])
        for kind, fact in ((name, own), (attached, accelerator))
        if fact is not None and fact["availability"] == "closed"
    ]
    sources = tuple((f["source"], f["as_of"]) for f in (host, accelerator) if f is not None)
    return Facts(
        kind=_kind(host, attached),
        cpu_arch="" if host is None else str(host["cpu_arch"]).removesuffix("_mac"),
        hardware=_hardware(configuration, host, accelerator),
        closed_types=tuple(kind for kind, _ in closed),
        closed_on=max((on for _, on in closed), default=""),
        sources=sources,
    )


def _kind(host: dict[str, Any] | None, attached: str) -> Kind:
    if attached:
        return "attached"
    return "other" if host is None else kind_of(host["accelerator_kind"], host["cpu_arch"])


def _hardware(
    configuration: dict[str, Any], host: dict[str, Any] | None, accelerator: dict[str, Any] | None
) -> memory.Hardware:
    host_mib = nan if host is None else float(host["memory_mib"])
    if configuration["attached_accelerator"]:
        device_mib = nan if accelerator is None else float(accelerator["memory_mib"])
        return memory.Hardware(
            host_mib, configuration["attached_accelerator_count"], device_mib, host is not None
        )
    if host is None or host["accelerator_kind"] == "":
        return memory.Hardware(host_mib, 0, nan, known=False)
    if host["accelerator_kind"] == "none":
        return memory.Hardware(host_mib)
    count = 1.0 if isnan(host["accelerator_count"]) else float(host["accelerator_count"])
    return memory.Hardware(host_mib, memory.devices(count), float(host["accelerator_memory_mib"]))


def filtered(measurement: Measurement, facts: Facts, workload: Workload) -> Failure | None:
    """Return the failure of an option that the question leaves out by name, load, architecture or kind."""
    at = measurement.configuration
    excluded = _excluded(at, measurement.option, workload.exclude)
    if excluded:
        return Failure("filter", nan, nan, "", f"left out by --exclude {excluded}")
    for name, wanted in (("batch_size", workload.batch_size), ("concurrency", workload.concurrency)):
        if wanted and at[name] not in wanted:
            words = name.replace("_", " ")
            asked = f"{words} {listing(wanted)}"
            return Failure(
                "filter",
                at[name],
                wanted[0],
                "count",
                f"measured at {words} {at[name]}, not at the asked {asked}",
            )
    if workload.arch and facts.cpu_arch not in workload.arch:
        has = facts.cpu_arch or "of unknown architecture"
        return Failure("filter", nan, nan, "", f"{has}, not {listing(workload.arch)}")
    if workload.accelerator_kind and facts.kind not in workload.accelerator_kind:
        return Failure(
            "filter", nan, nan, "", f"of kind {facts.kind}, not {listing(workload.accelerator_kind)}"
        )
    return None


def _excluded(at: dict[str, Any], option: str, exclude: tuple[str, ...]) -> str:
    """The first name of `exclude` that is this option, its type, its family or its accelerator."""
    if not exclude:
        return ""
    host, attached = at["instance_type"], at["attached_accelerator"]
    family = host.rpartition(".")[0]
    names = {
        option_key(option),
        host,
        attached,
        family,
        family.removeprefix("ml."),
        attached.partition(".")[0],
    } - {""}
    return next((name for name in exclude if option_key(name) in names), "")


def fitted(
    check: memory.MemoryCheck, facts: Facts, measurement: Measurement, workload: Workload
) -> Failure | None:
    """Return the failure of an option whose memory is unknown although a size was asked, or too small."""
    if workload.model_size_bytes is None or check.fit == "fits":
        return None
    if check.fit == "unknown":
        at = measurement.configuration
        host = "" if facts.hardware.known and not isnan(check.host_mib) else at["instance_type"]
        part = host or at["attached_accelerator"] or f"the accelerator of {at['instance_type']}"
        return Failure(
            "hardware", nan, nan, "", f"the memory of {part} is not known, so that nothing is known to fit"
        )
    on_device = check.device_needed_mib > check.device_mib
    value, limit = (
        (check.device_mib, check.device_needed_mib) if on_device else (check.host_mib, check.host_needed_mib)
    )
    where = "each device" if on_device else "the host"
    reason = f"needs {_gib(limit)} on {where}, which has {_gib(value)}"
    return Failure("memory", value / MIB_PER_GIB, limit / MIB_PER_GIB, "GiB", reason)


def _gib(mib: float) -> str:
    return f"{figure(mib / MIB_PER_GIB)} GiB"


def late(measurement: Measurement, judgement: Judgement, workload: Workload) -> Failure | None:
    """Return the failure of an option that misses the limit, or of which nobody knows whether it keeps it."""
    if workload.latency_limit_ms is None or judgement.measured in {"meets", "skipped"}:
        return None
    limit, name = workload.latency_limit_ms, f"P{workload.percentile:g}"
    known = _known_figures(measurement, judgement, workload.percentile)
    value = next(
        (
            v
            for v in (judgement.percentile_ms, judgement.percentile_low_ms, measurement.mean_ms)
            if not isnan(v)
        ),
        nan,
    )
    low, high, within = judgement.share_low, judgement.share_high, f"within {milliseconds(limit)}"
    failed = measurement.error_fraction
    if judgement.measured == "unknown":
        if not isnan(judgement.percentile_ms):
            reason = (
                f"unknown: {percent(failed) if not isnan(failed) else 'some'} of the requests failed, and no "
                f"percentile above {name} tells how many stay {within} ({known})"
            )
        else:
            reason = f"unknown: {name} was not reported; {percent(low)} to {percent(high)} of the requests are {within} ({known})"
    elif failed > 1 - workload.percentile / 100:
        value, limit = failed, 1 - workload.percentile / 100
        reason = f"{percent(failed)} of the requests failed: no {name} limit is kept ({known})"
        return Failure("latency", value, limit, "fraction", reason)
    elif high == 0:
        reason = f"no request {within} ({known})"
    elif high <= 0.01:
        reason = f"almost no request {within} ({known})"
    elif low == high:
        reason = (
            f"{percent(high)} of the requests {within}, {percent(workload.percentile / 100)} asked ({known})"
        )
    elif not isnan(judgement.percentile_ms):
        reason = f"{name} over {milliseconds(limit)} ({known})"
    else:
        reason = f"at most {percent(high)} of the requests {within} ({known})"
    return Failure("latency", value, limit, "ms", reason)


def _known_figures(measurement: Measurement, judgement: Judgement, percentile: float) -> str:
    """The mean and the nearest known percentile, for the brackets of a reason."""
    shown = [] if isnan(measurement.mean_ms) else [f"mean {figure(measurement.mean_ms)}"]
    if not isnan(judgement.percentile_ms):
        shown.append(f"P{percentile:g} {figure(judgement.percentile_ms)}")
    else:
        reported = [s.percentiles_ms for s in measurement.summaries if s.percentiles_ms]
        nearest = {min(p, key=lambda rank: (abs(rank - percentile), rank)) for p in reported}
        shown += [
            f"P{rank:g} {figure(max(p[rank] for p in reported if rank in p))}" for rank in sorted(nearest)
        ]
    return ", ".join(shown) or "no other figure"


def check_names(workload: Workload, catalogue: Catalogue) -> None:
    """Refuse a region or purchase option that does not exist.

    Raises:
        QuestionError: with the closest name.
    """
    regions = set(catalogue.locations["region"]) | set(catalogue.prices["region"].unique())
    for region in workload.region:
        if region != "all" and region not in regions:
            raise QuestionError(
                f"there is no region {region}{closest(region, regions)}; --region all takes every one"
            )
    purchases = {"on_demand", "spot", "capacity_block", "custom"} | set(
        catalogue.prices["purchase_option"].unique()
    )
    for purchase in workload.purchase:
        if (
            purchase != "all"
            and purchase not in purchases
            and not re.fullmatch(r"reserved_\w+|\w*savings_plan_\w+", purchase)
        ):
            raise QuestionError(
                f"there is no purchase option {purchase}{closest(purchase, purchases)}; "
                f"there are: {listing(sorted(purchases), 40)}, all"
            )
