"""Parts of the catalogue that a person asks to see."""

from collections.abc import Collection

import pandas as pd

from advisor.errors import QuestionError
from advisor.tables import Catalogue, kind_of
from advisor.text import closest


def instances(
    catalogue: Catalogue,
    *,
    families: Collection[str] = (),
    kinds: Collection[str] = (),
    architectures: Collection[str] = (),
    min_memory_mib: float = 0.0,
    include_retired: bool = False,
) -> pd.DataFrame:
    """Return the instance types that fit, with the columns of `Instances` and `kind` after the first.

    Attachable accelerators are listed like instance types, of kind "attached"; their memory is `accelerator_memory_mib`.

    Args:
        catalogue: where to look.
        families: what stands before the dot; empty: any.
        kinds: what serves, see `advisor.tables.KINDS`; empty: any.
        architectures: x86_64 or arm64; empty: any. Attachable accelerators have none.
        min_memory_mib: least host memory; unknown memory does not pass. 0: not asked.
        include_retired: also types that are no longer sold.

    Raises:
        QuestionError: a family that there is not.
    """
    rows = pd.concat([catalogue.instances, _attachable(catalogue)], ignore_index=True)
    family = rows["instance_type"].str.rsplit(".", n=1).str[0]
    _refuse_unknown("family", families, family)
    kind = pd.Series(
        [
            kind_of(built_in, arch) if built_in != "attached" else "attached"
            for built_in, arch in zip(rows["accelerator_kind"], rows["cpu_arch"], strict=True)
        ],
        index=rows.index,
        dtype="str",
    )
    keep = pd.Series(True, index=rows.index)
    if families:
        keep &= family.isin(list(families))
    if kinds:
        keep &= kind.isin(list(kinds))
    if architectures:
        keep &= rows["cpu_arch"].str.removesuffix("_mac").isin(list(architectures))
    if min_memory_mib:
        keep &= rows["memory_mib"] >= min_memory_mib
    if not include_retired:
        keep &= rows["availability"] != "closed"
    rows.insert(1, "kind", kind)
    order = rows.assign(family=family).sort_values(["family", "vcpu_count", "memory_mib", "instance_type"])
    return order.loc[keep.reindex(order.index), list(rows.columns)].reset_index(drop=True)


def prices(
    catalogue: Catalogue,
    types: Collection[str],
    *,
    regions: Collection[str] = (),
    purchase_options: Collection[str] = (),
) -> pd.DataFrame:
    """Return the price rows of some types, cheapest first within a type.

    Args:
        catalogue: where to look.
        types: instance types or attachable accelerator types.
        regions: region codes; empty: all.
        purchase_options: empty: all.

    Raises:
        QuestionError: a type, region or purchase option that the catalogue does not hold.
    """
    table = catalogue.prices
    _refuse_unknown("instance type", types, catalogue.types)
    _refuse_unknown("region", regions, {*table["region"], *catalogue.locations["region"]})
    _refuse_unknown("purchase option", purchase_options, set(table["purchase_option"]))
    keep = table["instance_type"].isin(list(types))
    if regions:
        keep &= table["region"].isin(list(regions))
    if purchase_options:
        keep &= table["purchase_option"].isin(list(purchase_options))
    order = [
        "instance_type",
        "price_usd_per_hour",
        "region",
        "purchase_option",
        "statistic",
        "zone",
        "currency",
    ]
    return table[keep].sort_values(order, ignore_index=True)


def _attachable(catalogue: Catalogue) -> pd.DataFrame:
    facts = catalogue.accelerators
    rows = catalogue.instances.iloc[:0].reindex(facts.index)
    texts: list[str] = list(rows.select_dtypes("str").columns)
    return rows.assign(**dict.fromkeys(texts, "")).assign(
        instance_type=facts["accelerator_type"],
        accelerator_kind="attached",
        accelerator_name="Elastic Inference",
        accelerator_count=1.0,
        accelerator_memory_mib=facts["memory_mib"],
        **{
            name: facts[name]
            for name in ("availability", "availability_as_of", "availability_source", "as_of", "source")
        },
    )


def _refuse_unknown(what: str, asked: Collection[str], known: Collection[str]) -> None:
    names = set(known)
    for name in asked:
        if name not in names:
            raise QuestionError(
                f"there is no {what} {name!r} in the prices in use{closest(name, sorted(names))}"
            )


def closed(catalogue: Catalogue, types: Collection[str]) -> dict[str, str]:
    """Return those of the types that are no longer sold, with the day of that fact (ISO)."""
    found: dict[str, str] = {}
    for frame, key in ((catalogue.instances, "instance_type"), (catalogue.accelerators, "accelerator_type")):
        rows = frame[frame[key].isin(list(types)) & (frame["availability"] == "closed")]
        found.update(zip(rows[key], rows["availability_as_of"], strict=True))
    return found
