"""Make `pricing_data/` from a folder of price and hardware facts: python scripts/build_pricing_data.py FACTS [--into DIR].

FACTS holds a folder `prices` with instances.csv, on_demand.csv, reserved.csv, spot.csv, elastic_inference.csv and
locations.csv. The same input gives the same bytes. Everything that is mapped, corrected or added is written out below.
"""

import argparse
from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from advisor.prices import snapshot
from advisor.tables import Accelerators, Catalogue, Instances, Locations, Prices, Sources

NEWEST_HARDWARE = "moto-5.2.5"
NEWEST_HARDWARE_ON = "2026-10-27"

SOURCES = {
    "aws-price-2025-11": (
        "lamngockhuong/aws-price@508fb45296c8, lib/data/pricing (AWS's website feed b0.p.awsstatic.com, meteredUnitMaps/ec2)",
        "2025-11-03",
        "MIT by its package.json",
    ),
    "karpenter-2026-07": (
        (
            "aws/karpenter-provider-aws@1d927085dd81, zz_generated.pricing_aws*.go (us-east-1 and GovCloud; bare metal left out: "
            "its figures are of dedicated tenancy)"
        ),
        "2026-07-20",
        "Apache-2.0",
    ),
    "vantage-2024-04": (
        "vantage-sh/ec2instances.info@a19cd859, opszero-app/instances.json (its spot figures are means over zones and time)",
        "2024-04-04",
        "MIT",
    ),
    "cortex-2022-09": ("cortexlabs/cortex@dc48c02ed50a, resource_metadata.go", "2022-09-03", "Apache-2.0"),
    "ec2instances-2017-11": ("powdahound/ec2instances.info@94e1f00, www/instances.json", "2017-11-12", "MIT"),
    "leanercloud-2023-08": (
        "LeanerCloud/ec2-instances-info@32acf84f42eb, generated_instances_data.txt (its spot figures are one zone minimum)",
        "2023-08-30",
        "Unlicense",
    ),
    "ec2-spot-finder-2025-08": (
        (
            "fjcloud/ec2-spot-finder-static@c7a842f0570e, docs/spot_data.json (region figures of ec2.shop; the file keeps old rows "
            "of types that are no longer offered)"
        ),
        "2025-08-08",
        "MIT",
    ),
    "spotinfo-2021-04": (
        "alexei-led/spotinfo@0c1f224, AWS's website feed spot.js",
        "2021-04-06",
        "Apache-2.0",
    ),
    "moto-5.2.5": ("moto 5.2.5 (PyPI), recorded DescribeInstanceTypes", NEWEST_HARDWARE_ON, "Apache-2.0"),
    "moto-5.1.0": ("moto 5.1.0 (PyPI), recorded DescribeInstanceTypes", "2025-02-23", "Apache-2.0"),
    "moto-5.0.0": ("moto 5.0.0 (PyPI), recorded DescribeInstanceTypes", "2024-01-27", "Apache-2.0"),
    "moto-4.0.0": ("moto 4.0.0 (PyPI), recorded DescribeInstanceTypes", "2022-08-20", "Apache-2.0"),
    "moto-5.2.5+neuron-docs": (
        "moto 5.2.5, but 96 GiB a Trainium2 chip as AWS's Neuron documentation says (the API reports 512 GiB)",
        NEWEST_HARDWARE_ON,
        "Apache-2.0",
    ),
    "ei-workshop-2019-10": (
        "awsvik/tensorflow-amazon-elastic-inference README (copy of an AWS workshop; states us-west-2)",
        "2019-10-14",
        "no licence file",
    ),
    "ezsmdeploy-2020-05": (
        "aws-samples/easy-amazon-sagemaker-deployments, ezsmdeploy/__init__.py (states no region)",
        "2020-05-04",
        "Apache-2.0",
    ),
    "ei-docs": (
        (
            "AWS EC2 User Guide (eia1) and SageMaker Developer Guide (eia2), pages on Elastic Inference: memory and TFLOPS; "
            "the memory is read as GiB; the pages state no date"
        ),
        "",
        "AWS documentation",
    ),
    "ei-end-of-life": (
        (
            "Elastic Inference: closed to new customers on 2023-04-15 (AWS notice of 2023-02-15); 'no longer available' in botocore "
            "1.35.38 of 2024-10-10; the client was removed in botocore 1.37.0 of February 2025"
        ),
        "2024-10-10",
        "Apache-2.0",
    ),
    "aws-region-names": ("region codes and names of botocore's partitions.json", "2026-08-07", "Apache-2.0"),
}

SOURCE_IDS = {
    "lamngockhuong/aws-price@508fb45296c8(AWS b0.p.awsstatic.com meteredUnitMaps/ec2)": "aws-price-2025-11",
    "aws/karpenter-provider-aws@1d927085dd81": "karpenter-2026-07",
    "vantage-sh/ec2instances.info@a19cd859:opszero-app": "vantage-2024-04",
    "cortexlabs/cortex@dc48c02ed50a": "cortex-2022-09",
    "powdahound/ec2instances.info@94e1f00": "ec2instances-2017-11",
    "LeanerCloud/ec2-instances-info@32acf84f42eb": "leanercloud-2023-08",
    "fjcloud/ec2-spot-finder-static@c7a842f0570e(ec2.shop)": "ec2-spot-finder-2025-08",
    "alexei-led/spotinfo@0c1f224": "spotinfo-2021-04",
    "moto-5.2.5": "moto-5.2.5",
    "moto-5.1.0": "moto-5.1.0",
    "moto-5.0.0": "moto-5.0.0",
    "moto-4.0.0": "moto-4.0.0",
    "moto-5.2.5+aws-neuron-sdk-docs": "moto-5.2.5+neuron-docs",
    "awsvik/tensorflow-amazon-elastic-inference README (says us-west-2)": "ei-workshop-2019-10",
    "aws-samples/easy-amazon-sagemaker-deployments ezsmdeploy/__init__.py (region not stated)": "ezsmdeploy-2020-05",
}

SPOT_STATISTICS = {
    "average over AZs/time (vantage spot_avg)": "window_mean",
    "region value from ec2.shop; file keeps old rows of types no longer offered": "region_value",
    "AWS spot.js website feed": "website_value",
    "one AZ-minimum value as stored": "zone_minimum",
}

LOCATION_TYPES = {
    "AWS Region": "region",
    "AWS Local Zone": "local_zone",
    "AWS Wavelength Zone": "wavelength_zone",
}
LOCATION_CORRECTIONS = {"us-east-2-mci-1": "local_zone"}
"""AWS's list calls this zone group of Ohio a region."""

OTHER_PARTITIONS = (
    ("cn-north-1", "China (Beijing)", "Asia Pacific"),
    ("cn-northwest-1", "China (Ningxia)", "Asia Pacific"),
    ("eusc-de-east-1", "AWS European Sovereign Cloud (Germany)", "Europe"),
)
"""Regions that the price list does not name: their prices are in CNY and EUR. No price of theirs is committed."""

UNKNOWN_ACCELERATOR = {"trn2u.48xlarge"}
"""A Trainium2 type for which DescribeInstanceTypes reports no accelerator at all: unknown, not none."""

UNSTATED_REGION = "us-west-2"
UNSTATED_REGION_NOTE = "the source states no region"


def main() -> None:
    """Read the facts and write the folder."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("facts", type=Path, help="folder that holds prices/")
    parser.add_argument("--into", type=Path, default=Path(__file__).resolve().parents[1] / "pricing_data")
    arguments = parser.parse_args()
    arguments.into.mkdir(parents=True, exist_ok=True)
    snapshot.write(build(arguments.facts / "prices"), arguments.into)


def build(facts: Path) -> Catalogue:
    """Return the catalogue that the facts make."""
    attachable = _facts(facts / "elastic_inference.csv")
    prices = pd.concat(
        [
            _on_demand(_facts(facts / "on_demand.csv")),
            _reserved(_facts(facts / "reserved.csv")),
            _spot(_facts(facts / "spot.csv")),
            _attachable_prices(attachable),
        ],
        ignore_index=True,
    )
    priced = set(prices["instance_type"]) - set(attachable["accelerator_type"])
    return Catalogue(
        instances=snapshot.checked(
            _instances(_facts(facts / "instances.csv"), priced), Instances, "instances"
        ),
        accelerators=snapshot.checked(_accelerators(attachable), Accelerators, "accelerators"),
        prices=snapshot.checked(snapshot.sort_prices(prices), Prices, "prices"),
        locations=snapshot.checked(_locations(_facts(facts / "locations.csv")), Locations, "locations"),
        sources=snapshot.checked(
            pd.DataFrame(
                [(name, *facts) for name, facts in SOURCES.items()],
                columns=["source", "description", "as_of", "licence"],
            ),
            Sources,
            "sources",
        ),
    )


def _facts(path: Path) -> pd.DataFrame:
    return pd.read_csv(path, dtype="str", keep_default_na=False)


def _numbers(texts: "pd.Series[str]") -> "pd.Series[float]":
    return pd.to_numeric(texts.where(texts != "", None)).astype("float64")


def _mapped(texts: "pd.Series[str]", names: Mapping[str, str]) -> "pd.Series[str]":
    unknown = sorted(set(texts) - set(names))
    if unknown:
        raise SystemExit(f"no short name for {unknown}: add it to this script")
    return texts.map(names)


def _instances(facts: pd.DataFrame, priced: set[str]) -> pd.DataFrame:
    """Hardware rows; types that are priced and have no hardware row follow with everything unknown.

    A type is `sold` when AWS's newest list holds it and `closed` when only older lists (or only a price) know it.
    """
    known = pd.DataFrame(
        {
            "instance_type": facts["instance_type"],
            "vcpu_count": _numbers(facts["vcpus"]),
            "memory_mib": _numbers(facts["memory_mib"]),
            "cpu_arch": facts["cpu_arch"],
            "processor": facts["processor"],
            "bare_metal": facts["bare_metal"],
            "current_generation": facts["current_generation"],
            "accelerator_kind": facts["accelerator_kind"],
            "accelerator_name": facts["accelerator_name"],
            "accelerator_count": _numbers(facts["accelerator_count"]),
            "accelerator_memory_mib": _numbers(facts["accelerator_memory_mib_each"]),
            "neuron_core_count": _numbers(facts["neuron_cores"]),
            "as_of": facts["as_of"],
            "source": _mapped(facts["source"], SOURCE_IDS),
        }
    )
    known.loc[known["instance_type"].isin(UNKNOWN_ACCELERATOR), "accelerator_kind"] = ""
    bare = pd.DataFrame({"instance_type": sorted(priced - set(known["instance_type"]))})
    rows = pd.concat([known, bare], ignore_index=True)
    texts = [
        name
        for name, column in Instances.to_schema().columns.items()
        if str(column.dtype) not in {"float64", "Int64"}
    ]
    rows = rows.reindex(columns=[*dict.fromkeys([*rows.columns, *texts])])
    rows[texts] = rows[texts].astype("str").fillna("")
    rows["availability"] = rows["source"].str.startswith(NEWEST_HARDWARE).map({True: "sold", False: "closed"})
    rows["availability_as_of"] = NEWEST_HARDWARE_ON
    rows["availability_source"] = NEWEST_HARDWARE
    return rows.sort_values("instance_type", ignore_index=True)


def _accelerators(facts: pd.DataFrame) -> pd.DataFrame:
    facts = facts.drop_duplicates("accelerator_type", keep="last").reset_index(drop=True)
    return pd.DataFrame(
        {
            "accelerator_type": facts["accelerator_type"],
            "memory_mib": _numbers(facts["memory_gib"]) * 1024,
            "fp16_tflops": _numbers(facts["fp16_tflops"]),
            "fp32_tflops": _numbers(facts["fp32_tflops"]),
            "availability": "closed",
            "availability_as_of": SOURCES["ei-end-of-life"][1],
            "availability_source": "ei-end-of-life",
            "as_of": SOURCES["ei-docs"][1],
            "source": "ei-docs",
        }
    )


def _on_demand(facts: pd.DataFrame) -> pd.DataFrame:
    return _priced(facts, "usd_per_hour", purchase_option="on_demand", statistic="list")


def _reserved(facts: pd.DataFrame) -> pd.DataFrame:
    """One-year, standard, all upfront: the published hourly figure x 8760 h is within a cent of a whole-dollar payment."""
    other = facts[["plan", "term", "offering_class", "payment_option"]].drop_duplicates()
    if other.to_numpy().tolist() != [["reserved", "1yr", "standard", "All Upfront"]]:
        raise SystemExit(f"reserved prices of an unknown plan: {other.to_numpy().tolist()}")
    rows = _priced(
        facts,
        "effective_usd_per_hour",
        purchase_option="reserved_1yr_all_upfront",
        statistic="list",
        months=12,
    )
    upfront = rows["price_usd_per_hour"] * 8760
    rows["upfront_usd"] = upfront.round().where((upfront - upfront.round()).abs() < 0.01)
    return rows


def _spot(facts: pd.DataFrame) -> pd.DataFrame:
    rows = _priced(facts, "usd_per_hour", purchase_option="spot", statistic="")
    rows["statistic"] = _mapped(facts["statistic"], SPOT_STATISTICS)
    return rows


def _attachable_prices(facts: pd.DataFrame) -> pd.DataFrame:
    """Where one source states the region of a price and another does not, the stated one is kept."""
    stated = facts[facts["region"] != ""]
    rest = facts[(facts["region"] == "") & ~facts["accelerator_type"].isin(stated["accelerator_type"])]
    facts = pd.concat([stated, rest], ignore_index=True).rename(columns={"accelerator_type": "instance_type"})
    unstated = facts["region"] == ""
    facts.loc[unstated, "region"] = UNSTATED_REGION
    rows = _priced(facts, "usd_per_hour", purchase_option="on_demand", statistic="list")
    rows.loc[unstated, "note"] = UNSTATED_REGION_NOTE
    return rows


def _priced(
    facts: pd.DataFrame, price: str, *, purchase_option: str, statistic: str, months: int | None = None
) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "instance_type": facts["instance_type"],
            "region": facts["region"],
            "purchase_option": purchase_option,
            "statistic": statistic,
            "zone": "",
            "currency": "USD",
            "price_usd_per_hour": _numbers(facts[price]),
            "price_local_per_hour": float("nan"),
            "upfront_usd": float("nan"),
            "months": pd.array([months] * len(facts), dtype="Int64"),
            "as_of": facts["as_of"],
            "source": _mapped(facts["source"], SOURCE_IDS),
            "note": "",
        }
    )


def _locations(facts: pd.DataFrame) -> pd.DataFrame:
    kinds = _mapped(facts["type"], LOCATION_TYPES)
    listed = pd.DataFrame(
        {
            "region": facts["region_code"],
            "location_name": facts["location_name"],
            "location_type": facts["region_code"].map(LOCATION_CORRECTIONS).fillna(kinds),
            "continent": facts["continent"],
        }
    )
    others = pd.DataFrame(
        [(code, name, "region", continent) for code, name, continent in OTHER_PARTITIONS],
        columns=listed.columns,
    )
    return pd.concat([listed, others], ignore_index=True).sort_values("region", ignore_index=True)


if __name__ == "__main__":
    main()
