"""Hardware facts of DescribeInstanceTypes, of this year's shape and of earlier ones."""

import gzip
import json
import os
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from advisor.errors import PricesError
from advisor.prices.sources.ask import Ask
from advisor.prices.sources.instance_types import CORRECTED, accelerator, instance_types, read_types
from tests.aws_answers import CASES, SAMPLES, case

NONE = ("none", "", None, None, None)
UNKNOWN = ("", "", None, None, None)


def facts(name: str) -> dict[str, tuple[Any, ...]]:
    """Accelerator kind, name, count, memory and cores by type."""
    frame = read_types(case(f"DescribeInstanceTypes/{name}")["InstanceTypes"], name, "2026-11-20")
    columns = [
        "accelerator_kind",
        "accelerator_name",
        "accelerator_count",
        "accelerator_memory_mib",
        "neuron_core_count",
    ]
    rows = frame.set_index("instance_type")[columns].astype(object)
    return {
        str(key): tuple(None if pd.isna(v) else v for v in row)
        for key, row in zip(rows.index, rows.to_numpy(), strict=True)
    }


def test_every_kind_of_accelerator_is_read() -> None:
    assert facts("accelerators") == {
        "m5.large": NONE,
        "m7g.large": NONE,
        "c1.medium": NONE,
        "g6f.large": ("gpu", "L4", 0.125, 2861, None),
        "g4dn.12xlarge": ("gpu", "T4", 4, 16384, None),
        "g4ad.xlarge": ("gpu", "Radeon Pro V520", 1, 8192, None),
        "dl1.24xlarge": ("other", "Gaudi HL-205", 8, 32768, None),
        "inf2.xlarge": ("inferentia", "Inferentia2", 1, 32768, 2),
        "trn2.48xlarge": ("trainium", "Trainium2", 16, 98304, 128),
        "dl2q.24xlarge": ("other", "Qualcomm AI100", 8, 16000, None),
        "f2.6xlarge": ("other", "Virtex UltraScale+ (VU47P)", 1, 81920, None),
    }


def test_shapes_of_earlier_years_leave_unknown_what_they_do_not_state() -> None:
    assert facts("older_shapes") == {
        "inf1.xlarge": ("inferentia", "Inferentia", 1, None, None),
        "inf2.xlarge": ("inferentia", "Inferentia2", 1, None, None),
        "trn1.32xlarge": UNKNOWN,
        "trn2u.48xlarge": UNKNOWN,
        "g5.xlarge": ("gpu", "A10G", 1, 24576, None),
    }


def test_new_accelerators_and_unknown_blocks_are_read() -> None:
    assert facts("new_accelerator") == {
        "trn9.3xlarge": ("trainium", "Trainium9", 1, 196608, 4),
        "xq1.large": ("other", "Quux 9000", 2, 4096, None),
        "g99.xlarge": ("gpu", "Z1", 1, 4096, None),
    }


def test_the_corrected_chip_says_so_in_its_source_and_a_right_answer_is_not_corrected() -> None:
    types = case("DescribeInstanceTypes/accelerators")["InstanceTypes"]
    frame = read_types(types, "answer", "2026-11-20").set_index("instance_type")
    assert frame.loc["trn2.48xlarge", "source"] == CORRECTED
    assert (frame["source"] == CORRECTED).sum() == 1
    (trn2,) = (t for t in types if t["InstanceType"] == "trn2.48xlarge")
    trn2["NeuronInfo"]["NeuronDevices"][0]["MemoryInfo"]["SizeInMiB"] = 98304
    assert read_types([trn2], "answer", "2026-11-20")["source"].tolist() == ["aws_instance_types"]


def test_plain_facts_are_as_reported() -> None:
    types = case("DescribeInstanceTypes/accelerators")["InstanceTypes"]
    frame = read_types(types, "answer", "2026-11-20").set_index("instance_type")
    assert list(frame.loc["c1.medium", ["vcpu_count", "memory_mib", "cpu_arch"]]) == [2, 1740, "x86_64"]
    assert frame.loc["m7g.large", "cpu_arch"] == "arm64"
    assert set(frame["bare_metal"]) == {"false"}
    assert set(frame["availability"]) == {"sold"}
    assert set(frame["as_of"]) == {"2026-11-20"}


def test_an_item_of_another_shape_is_named() -> None:
    with pytest.raises(PricesError, match=r"m5\.large is not of the documented shape"):
        read_types([{"InstanceType": "m5.large", "VCpuInfo": []}], "answer", "2026-11-20")
    with pytest.raises(PricesError, match="an item is not of the documented shape"):
        read_types([["m5.large"]], "answer", "2026-11-20")


def test_a_fraction_without_its_share_is_unknown_and_not_zero() -> None:
    item = {
        "InstanceType": "g6f.large",
        "GpuInfo": {"Gpus": [{"Count": 0, "Name": "L4", "Manufacturer": "NVIDIA"}]},
    }
    found = accelerator(item)
    assert found.kind == "gpu"
    assert found.devices != found.devices
    assert found.memory_mib != found.memory_mib


def test_saved_answers_are_dated_by_their_file_and_offerings_prove_a_sale(tmp_path: Path) -> None:
    for api, name in (
        ("DescribeInstanceTypes", "accelerators"),
        ("DescribeInstanceTypeOfferings", "us-west-2"),
    ):
        path = tmp_path / f"{api}.json"
        path.write_bytes((CASES / api / f"{name}.json").read_bytes())
        os.utime(path, (1_790_000_000, 1_790_000_000))  # 2026-09-21
    types, offerings = (part.fetch() for part in instance_types(Ask(saved=tmp_path)))
    assert types.as_of == offerings.as_of == "2026-09-21"
    assert types.instances is not None
    assert offerings.instances is not None
    assert offerings.instances["instance_type"].tolist() == ["inf2.xlarge", "m5.large", "p3.2xlarge"]
    assert offerings.instances["vcpu_count"].isna().all()
    assert set(offerings.instances["as_of"]) == {""}
    assert set(offerings.instances["availability_as_of"]) == {"2026-09-21"}
    assert offerings.offered == {}


@pytest.mark.skipif(
    not SAMPLES.is_dir(), reason="the recorded answers of AWS (../shared) are not beside this checkout"
)
def test_the_recorded_types_have_the_committed_facts() -> None:
    from advisor.prices import packaged

    recorded = json.loads((SAMPLES / "DescribeInstanceTypes_12_types.json").read_text())["InstanceTypes"]
    _same_as_committed(recorded, packaged().instances)


def test_all_types_of_the_stand_in_have_the_committed_facts() -> None:
    import moto

    from advisor.prices import packaged

    with gzip.open(Path(moto.__file__).parent / "ec2" / "resources" / "instance_types.json.gz") as file:
        items = list(json.load(file).values())
    assert len(items) > 1000
    _same_as_committed(items, packaged().instances)


def _same_as_committed(items: list[Any], committed: pd.DataFrame) -> None:
    """`processor` is left out: EC2 does not say it. The rest must agree with facts that another script made."""
    found = read_types(items, "answer", "2026-11-20").set_index("instance_type")
    known = committed.set_index("instance_type").reindex(found.index)
    columns = ["vcpu_count", "memory_mib", "cpu_arch", "bare_metal", "current_generation", "accelerator_kind",
               "accelerator_name", "accelerator_count", "accelerator_memory_mib", "neuron_core_count"]  # fmt: skip
    pd.testing.assert_frame_equal(found[columns], known[columns], check_dtype=False)
