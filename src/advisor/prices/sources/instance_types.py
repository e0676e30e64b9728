"""Hardware facts of `DescribeInstanceTypes`, and where each type is sold, of `DescribeInstanceTypeOfferings`.

What an answer does not state stays as it was known before. The shape changed over the years, and the traps are these: a type
with a part of a GPU has `Count` 0, with its share in `GpuPartitionSize`; Inferentia2 was once called Inferentia; trn1 once had
no accelerator block at all, and inf1 a block without memory; Habana's Gaudi stands among the GPUs.
"""

import re
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import pandas as pd
from pandera.typing.pandas import DataFrame

from advisor.errors import PricesError
from advisor.prices.snapshot import checked
from advisor.prices.sources import aws
from advisor.prices.sources.ask import Answer, Ask, Part, price_frame, saved_files
from advisor.tables import Instances
from advisor.text import clean

SOURCE: Final = "aws_instance_types"
CORRECTED: Final = "aws_instance_types+neuron_docs"
_TYPES: Final = "DescribeInstanceTypes"
_OFFERINGS: Final = "DescribeInstanceTypeOfferings"
_ACCELERATED: Final = re.compile(r"(?:p|g|gr|inf|trn|dl|f|vt)\d.*")
_CHIP_MIB: Final = {("Trainium2", 524288.0): 98304.0}
"""Memory of one chip where the API is wrong: 96 GiB by AWS's Neuron documentation, and not the 512 GiB it reports."""

NAN: Final = float("nan")


class Accelerator(NamedTuple):
    """The built-in accelerators of a type; kind `none`: it has none; kind empty: the answer does not say."""

    kind: str
    name: str = ""
    devices: float = NAN
    memory_mib: float = NAN
    cores: int | None = None


def instance_types(ask: Ask) -> list[Part]:
    """Hardware facts and availability from EC2, for the regions that the account has enabled."""
    if not ask.saved:
        regions = aws.enabled_regions(ask.regions, ask.timeout_s)
        return [Part(r, partial(_fetch, aws.client("ec2", r, ask.timeout_s), r)) for r in regions]
    parts = []
    for api, key, read in (
        (_TYPES, "InstanceTypes", _types_answer),
        (_OFFERINGS, "InstanceTypeOfferings", _offerings_answer),
    ):
        try:
            files = saved_files(ask.saved, api)
        except PricesError:
            if not ask.saved.is_dir():
                raise
            continue
        parts += [Part(path.name, partial(_read_saved, path, key, read)) for path in files]
    if not parts:
        raise PricesError(f"{ask.saved}: nothing saved from {_TYPES} or {_OFFERINGS}")
    return parts


def _fetch(ec2: Any, region: str) -> Answer:
    with aws.plainly("ec2", region):
        pages = list(ec2.get_paginator("describe_instance_types").paginate())
        offerings = list(
            ec2.get_paginator("describe_instance_type_offerings").paginate(LocationType="region")
        )
    as_of = aws.day_of(pages[-1])
    types = [item for page in pages for item in page["InstanceTypes"]]
    offered = frozenset(item["InstanceType"] for page in offerings for item in page["InstanceTypeOfferings"])
    where = f"{_TYPES} in {region}"
    return Answer(
        price_frame([], where),
        instances=read_types(types, where, as_of),
        offered={region: offered},
        as_of=as_of,
    )


def _read_saved(path: Path, key: str, read: Any) -> Answer:
    answer = aws.saved_answer(path)
    pages = answer if isinstance(answer, list) else [answer]
    try:
        items = [item for page in pages for item in page[key]]
    except (KeyError, TypeError):
        raise PricesError(f"{path}: {key} is missing") from None
    found: Answer = read(items, str(path), aws.day_of(pages[0], path))
    return found


def _types_answer(items: list[Any], where: str, as_of: str) -> Answer:
    return Answer(price_frame([], where), instances=read_types(items, where, as_of), as_of=as_of)


def _offerings_answer(items: list[Any], where: str, as_of: str) -> Answer:
    """What was saved may have been asked with a filter: it proves that a type is sold, not that another is not."""
    try:
        sold = sorted({item["InstanceType"] for item in items})
    except (KeyError, TypeError) as error:
        raise PricesError(f"{where}: not of the documented shape ({clean(str(error))})") from None
    return Answer(
        price_frame([], where),
        instances=_frame([{"instance_type": t} for t in sold], where, as_of),
        as_of=as_of,
    )


def read_types(items: Iterable[Any], where: str, as_of: str) -> DataFrame[Instances]:
    """Read items of `InstanceTypes`.

    Args:
        items: in any order; attributes that are not known here are left alone.
        where: opens the text of an error.
        as_of: day of the answer, ISO.

    Raises:
        PricesError: an item is not of the documented shape.
    """
    rows = []
    for item in items:
        try:
            rows.append(_row(item))
        except (KeyError, TypeError, AttributeError) as error:
            name = item.get("InstanceType", "an item") if isinstance(item, dict) else "an item"
            raise PricesError(
                f"{where}: {clean(str(name))} is not of the documented shape ({clean(str(error))})"
            ) from None
    return _frame(rows, where, as_of)


def _frame(rows: list[dict[str, Any]], where: str, as_of: str) -> DataFrame[Instances]:
    columns = Instances.to_schema().columns
    numbers = {name: str(c.dtype) for name, c in columns.items() if str(c.dtype) in {"float64", "Int64"}}
    texts = dict.fromkeys(set(columns) - set(numbers), "")
    frame = pd.DataFrame([texts | row for row in rows], columns=list(columns))
    # By way of Float64, which takes None, an integer and a float alike.
    frame = frame.astype(dict.fromkeys(numbers, "Float64") | dict.fromkeys(texts, "str")).astype(numbers)
    frame = frame.assign(
        as_of=(frame["source"] != "").map({True: as_of, False: ""}),
        availability="sold",
        availability_as_of=as_of,
        availability_source=SOURCE,
    )
    return checked(frame.sort_values("instance_type", ignore_index=True), Instances, where)


def _row(item: Mapping[str, Any]) -> dict[str, Any]:
    name = item["InstanceType"]
    found = accelerator(item)
    corrected = _CHIP_MIB.get((found.name, found.memory_mib))
    return {
        "instance_type": clean(name),
        "vcpu_count": item.get("VCpuInfo", {}).get("DefaultVCpus"),
        "memory_mib": item.get("MemoryInfo", {}).get("SizeInMiB"),
        "cpu_arch": _architecture(item.get("ProcessorInfo", {}).get("SupportedArchitectures", [])),
        "bare_metal": _flag(item.get("BareMetal")),
        "current_generation": _flag(item.get("CurrentGeneration")),
        "accelerator_kind": found.kind,
        "accelerator_name": found.name,
        "accelerator_count": found.devices,
        "accelerator_memory_mib": corrected or found.memory_mib,
        "neuron_core_count": found.cores,
        "source": CORRECTED if corrected else SOURCE,
    }


def accelerator(item: Mapping[str, Any]) -> Accelerator:
    """Return the built-in accelerators of one item of `InstanceTypes`, of any year's shape."""
    name = item["InstanceType"]
    if neuron := item.get("NeuronInfo", {}).get("NeuronDevices"):
        return _neuron(name, neuron)
    if gpus := item.get("GpuInfo", {}).get("Gpus"):
        kind = "gpu" if {gpu.get("Manufacturer") for gpu in gpus} <= {"NVIDIA", "AMD"} else "other"
        return _devices(kind, gpus)
    if chips := item.get("InferenceAcceleratorInfo", {}).get("Accelerators"):
        ours = all(chip.get("Manufacturer", "AWS") == "AWS" for chip in chips)
        return _neuron(name, chips) if ours else _devices("other", chips)
    for block, key in (("FpgaInfo", "Fpgas"), ("MediaAcceleratorInfo", "Accelerators")):
        if others := item.get(block, {}).get(key):
            return _devices("other", others)
    return Accelerator("" if _ACCELERATED.fullmatch(name) else "none")


def _neuron(instance_type: str, devices: list[Any]) -> Accelerator:
    family = "Inferentia2" if instance_type.startswith("inf2.") else ""
    found = _devices("other", devices)
    name = family or found.name
    kind = next((kind for kind in ("inferentia", "trainium") if name.lower().startswith(kind)), "other")
    cores = [d["Count"] * d["CoreInfo"]["Count"] for d in devices if "CoreInfo" in d]
    return found._replace(kind=kind, name=name, cores=sum(cores) or None)


def _devices(kind: str, devices: list[Any]) -> Accelerator:
    counts = [
        float(d.get("Count") or d.get("LogicalGpuCount", 0) * d.get("GpuPartitionSize", 0.0)) for d in devices
    ]
    memory = [d["MemoryInfo"]["SizeInMiB"] for d in devices if d.get("MemoryInfo", {}).get("SizeInMiB")]
    names = sorted({clean(d.get("Name", "")) for d in devices})
    return Accelerator(
        kind,
        " and ".join(filter(None, names)),
        sum(counts) or NAN,
        float(min(memory)) if memory else NAN,
    )


def _architecture(names: list[str]) -> str:
    return next((name for name in ("x86_64", "arm64") if name in names), clean(names[0]) if names else "")


def _flag(value: bool | None) -> str:
    return "" if value is None else str(bool(value)).lower()
