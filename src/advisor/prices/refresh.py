"""Ask sources for prices and lay what they say over a catalogue: all of it or nothing.

fetch      the parts of every source side by side; one that fails fails the refresh
merge      new rows in place of the old ones of the same scope
check      integrity (never kept broken) and suspicion (kept only when accepted)
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import pandas as pd
from pandera.typing.pandas import DataFrame

from advisor.errors import PricesError
from advisor.prices import snapshot, suspicion
from advisor.prices.diff import Changes, diff
from advisor.prices.sources import SOURCES
from advisor.prices.sources.ask import Answer, Ask, Refusal, scopes
from advisor.tables import PRICE_KEY, Accelerators, Catalogue, Instances, Locations, Prices, Sources

Progress = Callable[[str], None]

SOURCE_TEXTS: Final[Mapping[str, str]] = {
    "aws_offer_file": "AWS's public offer files of AmazonEC2",
    "aws_price_list_api": "AWS Price List API, GetProducts of AmazonEC2",
    "aws_savings_plan_file": "AWS's public savings plan files",
    "aws_savings_plan_api": "AWS Savings Plans API, DescribeSavingsPlansOfferingRates",
    "aws_spot_history": "EC2 API, DescribeSpotPriceHistory",
    "aws_instance_types": "EC2 API, DescribeInstanceTypes and DescribeInstanceTypeOfferings",
    "aws_instance_types+neuron_docs": (
        "EC2 API, DescribeInstanceTypes, but 96 GiB a Trainium2 chip as AWS's Neuron documentation says"
    ),
    "aws_sagemaker_offer": "AWS's public offer files of AmazonSageMaker (real-time endpoints)",
    "aws_elastic_inference_offer": "AWS's public offer files of AmazonEI",
}
"""What the source ids of refreshed rows stand for."""

NOT_OFFERED: Final = "EC2 did not offer it in this region on"


@dataclass(frozen=True)
class Refreshed:
    """What a refresh would keep, and what it says of itself.

    Attributes:
        catalogue: old and new facts together.
        changes: the prices that differ from before.
        refused: prices that were not taken, with the reason.
        suspicious: what must be accepted by hand, one line each.
    """

    catalogue: Catalogue
    changes: DataFrame[Changes]
    refused: tuple[Refusal, ...]
    suspicious: tuple[str, ...]


def refresh(
    base: Catalogue,
    sources: Sequence[str],
    ask: Ask,
    *,
    workers: int = 4,
    progress: Progress = lambda _: None,
) -> Refreshed:
    """Ask sources and return the catalogue they make with what was known before. Writes nothing.

    Args:
        base: the last good catalogue.
        sources: names in `SOURCES`; where two price the same key, the later one counts.
        ask: what to ask.
        workers: parts that are fetched at the same time.
        progress: is told one line a part.

    Raises:
        PricesError: a part failed (all that failed are named), or what came is broken.
        MissingExtraError: boto3 is not installed and a source needs it.
    """
    names = dict(zip(base.locations["location_name"], base.locations["region"], strict=True))
    answers = fetch(sources, replace(ask, region_names=names), workers, progress)
    catalogue = merge(base, answers)
    problems = suspicion.broken(base, catalogue)
    if problems:
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        raise PricesError(f"the refreshed prices are broken and were not kept: {problems[0]}{more}")
    replaced = {scope for answer in answers for scope in answer.replaces}
    return Refreshed(
        catalogue=catalogue,
        changes=diff(base.prices, catalogue.prices),
        refused=tuple(refusal for answer in answers for refusal in answer.refused),
        suspicious=tuple(suspicion.suspicious(base, catalogue, replaced)),
    )


def fetch(sources: Sequence[str], ask: Ask, workers: int, progress: Progress) -> list[Answer]:
    """Fetch every part of the sources side by side; return the answers in the order of sources and parts.

    Raises:
        PricesError: parts failed; names each with its reason. The others are fetched to the end first, so that one run tells all.
    """
    parts = [(source, part) for source in sources for part in SOURCES[source](ask)]
    if not parts:
        raise PricesError("nothing to refresh: the sources have none of the asked regions")
    failed: dict[int, str] = {}
    with ThreadPoolExecutor(workers) as pool:
        waiting: dict[Future[Answer], int] = {pool.submit(part.fetch): i for i, (_, part) in enumerate(parts)}
        try:
            for done, future in enumerate(as_completed(waiting), 1):
                source, part = parts[waiting[future]]
                said = _outcome(future)
                if isinstance(future.exception(), PricesError):
                    failed[waiting[future]] = said
                progress(f"{source} {part.name}: {said} ({done} of {len(parts)})")
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    if failed:
        reasons: dict[str, list[str]] = {}
        for index in sorted(failed):
            reasons.setdefault(failed[index], []).append(f"{parts[index][0]} {parts[index][1].name}")
        told = "; ".join(f"{', '.join(names)} ({reason})" for reason, names in reasons.items())
        raise PricesError(f"{len(failed)} of {len(parts)} failed, the last good prices stay: {told}")
    by_part = sorted(waiting.items(), key=lambda item: item[1])
    return [future.result() for future, _ in by_part]


def _outcome(future: Future[Answer]) -> str:
    error = future.exception()
    if error is None:
        answer = future.result()
        types = f"{len(answer.instances)} types, " if answer.instances is not None else ""
        refused = f", {len(answer.refused)} refused" if answer.refused else ""
        return f"{types}{len(answer.prices)} prices{refused}"
    if isinstance(error, PricesError):
        return str(error)
    raise error


def merge(base: Catalogue, answers: Iterable[Answer]) -> Catalogue:
    """Lay answers over a catalogue; a newer fact is never replaced by an older one.

    Rows of an answer replace those of the same key, and all old rows of the scopes that it lists wholly.
    """
    answers = list(answers)
    key = list(PRICE_KEY)
    new = pd.concat([base.prices.iloc[:0], *(a.prices for a in answers)], ignore_index=True)
    new = new.drop_duplicates(key, keep="last")
    known = new[key].merge(base.prices[[*key, "as_of"]], on=key, how="left")["as_of"].fillna("")
    new = new[new["as_of"].to_numpy() >= known.to_numpy()]
    days = {"|".join(scope): answer.as_of for answer in answers for scope in answer.replaces}
    listed_on = scopes(base.prices).map(pd.Series(days, dtype="str")).astype("str").fillna("")
    gone = base.prices["as_of"] <= listed_on
    old = base.prices[~gone]
    hidden = pd.MultiIndex.from_frame(old[key]).isin(pd.MultiIndex.from_frame(new[key]))
    prices = _note_offerings(pd.concat([old[~hidden], new], ignore_index=True), answers)
    accelerators = _with_accelerators(base.accelerators, new)
    return replace(
        base,
        instances=_with_types(
            _with_facts(base.instances, answers), new, set(accelerators["accelerator_type"])
        ),
        accelerators=accelerators,
        prices=snapshot.checked(snapshot.sort_prices(prices), Prices, "refreshed prices"),
        locations=_with_regions(base.locations, new),
        sources=_with_sources(base.sources, new, answers),
        own=frozenset(),
    )


def _note_offerings(prices: pd.DataFrame, answers: Iterable[Answer]) -> pd.DataFrame:
    """Say on the prices of EC2 types whether EC2 offers the type in the region."""
    notes = prices["note"].copy()
    for answer in answers:
        for region, types in answer.offered.items():
            here = prices["region"].eq(region) & ~prices["instance_type"].str.match(r"ml\.|eia")
            plain = notes.str.replace(rf"(; )?{NOT_OFFERED} [\d-]+$", "", regex=True)
            told = plain.where(plain == "", plain + "; ") + f"{NOT_OFFERED} {answer.as_of}"
            absent = here & ~prices["instance_type"].isin(types)
            notes = notes.mask(here & ~absent, plain).mask(absent, told)
    return prices.assign(note=notes)


def _with_facts(instances: pd.DataFrame, answers: Iterable[Answer]) -> pd.DataFrame:
    """Hardware facts with what was answered over them; what an answer does not state stays."""
    told = [answer.instances for answer in answers if answer.instances is not None and len(answer.instances)]
    facts = _blank_to_missing(instances)
    for frame in told:
        facts = _blank_to_missing(frame).combine_first(facts)
    incomplete = facts["accelerator_kind"].notna() & facts["accelerator_kind"].ne("none")
    incomplete &= facts[["accelerator_count", "accelerator_memory_mib"]].isna().any(axis=1)
    facts.loc[incomplete, "accelerator_kind"] = pd.NA
    without = facts["accelerator_kind"].eq("none").fillna(False).astype(bool)
    facts.loc[without, ["accelerator_count", "accelerator_memory_mib", "neuron_core_count"]] = pd.NA
    return _missing_to_blank(facts)


def _blank_to_missing(frame: pd.DataFrame) -> pd.DataFrame:
    indexed = frame.set_index("instance_type")
    texts: list[str] = list(indexed.select_dtypes("str").columns)
    return indexed.assign(**{name: indexed[name].mask(indexed[name] == "") for name in texts})


def _missing_to_blank(frame: pd.DataFrame) -> pd.DataFrame:
    columns = Instances.to_schema().columns
    frame = frame.rename_axis("instance_type").reset_index()
    numbers = {name for name, column in columns.items() if str(column.dtype) in {"float64", "Int64"}}
    texts = {name: frame[name].fillna("").astype("str") for name in columns if name not in numbers}
    return frame.assign(**texts)


def _with_types(instances: pd.DataFrame, new: pd.DataFrame, attached: set[str]) -> DataFrame[Instances]:
    """A row for every priced type: an `ml.` type has the hardware of its EC2 size; of others nothing is known."""
    facts = _blank_to_missing(instances)
    missing = sorted(set(new["instance_type"]) - set(instances["instance_type"]) - attached)
    priced = new.drop_duplicates("instance_type", keep="last").set_index("instance_type").reindex(missing)
    rows = facts.reindex([name.removeprefix("ml.") for name in missing])
    rows.index = pd.Index(missing, dtype="str")
    rows = rows.assign(
        availability="sold",
        availability_as_of=priced["as_of"].to_numpy(),
        availability_source=priced["source"].to_numpy(),
    )
    everything = pd.concat([facts, rows]) if missing else facts
    frame = _missing_to_blank(everything).sort_values("instance_type", ignore_index=True)
    frame["availability"] = frame["availability"].replace("", "unknown")
    return snapshot.checked(frame, Instances, "refreshed hardware facts")


def _with_accelerators(accelerators: pd.DataFrame, new: pd.DataFrame) -> DataFrame[Accelerators]:
    attachable = new[new["instance_type"].str.startswith("eia")].drop_duplicates("instance_type", keep="last")
    attachable = attachable[~attachable["instance_type"].isin(accelerators["accelerator_type"])]
    rows = pd.DataFrame(
        {
            "accelerator_type": attachable["instance_type"],
            "availability": "unknown",
            "availability_as_of": attachable["as_of"],
            "availability_source": attachable["source"],
            "as_of": attachable["as_of"],
            "source": attachable["source"],
        }
    ).reindex(columns=list(accelerators.columns))
    numbers = ["memory_mib", "fp16_tflops", "fp32_tflops"]
    rows[numbers] = rows[numbers].astype(float)
    frame = pd.concat([accelerators, rows], ignore_index=True) if len(rows) else accelerators
    return snapshot.checked(
        frame.sort_values("accelerator_type", ignore_index=True), Accelerators, "refreshed accelerators"
    )


def _with_regions(locations: pd.DataFrame, new: pd.DataFrame) -> DataFrame[Locations]:
    unknown = sorted(set(new["region"]) - set(locations["region"]))
    kinds = [
        "wavelength_zone"
        if "-wl" in code
        else "local_zone"
        if code.count("-") > 2 and "gov" not in code
        else "region"
        for code in unknown
    ]
    rows = pd.DataFrame(
        {"region": unknown, "location_name": unknown, "location_type": kinds, "continent": ""}
    )
    frame = pd.concat([locations, rows], ignore_index=True) if unknown else locations
    return snapshot.checked(frame.sort_values("region", ignore_index=True), Locations, "refreshed locations")


def _with_sources(sources: pd.DataFrame, new: pd.DataFrame, answers: Iterable[Answer]) -> DataFrame[Sources]:
    newest = {str(name): str(day) for name, day in new.groupby("source")["as_of"].max().items()}
    for answer in answers:
        if answer.instances is not None:
            for name in {*answer.instances["source"], *answer.instances["availability_source"]} - {""}:
                newest[name] = max(newest.get(name, ""), answer.as_of)
    rows = pd.DataFrame(
        {
            "source": list(newest),
            "description": [SOURCE_TEXTS.get(name, name) for name in newest],
            "as_of": list(newest.values()),
            "licence": "prices and facts published by AWS",
        }
    )
    frame = pd.concat([sources[~sources["source"].isin(newest)], rows], ignore_index=True)
    return snapshot.checked(frame.sort_values("source", ignore_index=True), Sources, "refreshed sources")


def grouped(refused: Iterable[Refusal]) -> list[str]:
    """Return refusals as lines, those of one type and reason together with the number of their regions."""
    regions: Counter[tuple[str, str]] = Counter()
    first: dict[tuple[str, str], str] = {}
    for refusal in sorted(refused):
        key = (refusal.instance_type, refusal.reason)
        regions[key] += 1
        first.setdefault(key, refusal.region)
    return [
        f"{name} in {first[(name, reason)]}{f' and {count - 1} more' if count > 1 else ''}: {reason}"
        for (name, reason), count in regions.items()
    ]


def base_catalogue(into: Path | None = None) -> Catalogue:
    """Return what a refresh starts from: the folder to renew, else the last good refreshed snapshot, else the packaged one."""
    from advisor.prices import packaged, store

    if into is not None:
        return snapshot.read(into)
    current = store.refreshed()
    return snapshot.read(current) if current else packaged()
