"""The answer's tables: text is put to the candidates that are shown."""

from collections.abc import Sequence
from math import nan
from typing import Any, cast

import pandas as pd
from pandera.typing.pandas import DataFrame

from advisor.candidates import IntArray, PriceBook
from advisor.contest import Chances, Contest, Option
from advisor.tables import HOURS_PER_MONTH, Ranked, Rejected

RANKED_COLUMNS = tuple(Ranked.to_schema().columns)
REJECTED_COLUMNS = tuple(Rejected.to_schema().columns)


class Tables:
    """Makes `Ranked` and `Rejected` of some candidates of a contest."""

    def __init__(self, contest: Contest, chances: Chances, winning: tuple[Any, Any]) -> None:
        self.contest = contest
        self.chances = chances
        self.winning = winning
        options = pd.DataFrame([_option_columns(option) for option in contest.options])
        self._options = options.astype(dict.fromkeys(_INTEGERS, "Int64"))

    def ranked(self) -> DataFrame[Ranked]:
        """The ranked candidates in their order, with the columns of `Ranked`."""
        frame = self._common(self.contest.order)
        return cast("DataFrame[Ranked]", frame[list(RANKED_COLUMNS)])

    def rejected(self, places: IntArray, reasons: Sequence[dict[str, Any]]) -> DataFrame[Rejected]:
        """Some rejected candidates with the columns of `Rejected`.

        Args:
            places: the candidates, in the order in which they are shown.
            reasons: failed, value, limit, unit and reason of each.
        """
        frame = self._common(places)
        for name, kind in (
            ("failed", "str"),
            ("value", float),
            ("limit", float),
            ("unit", "str"),
            ("reason", "str"),
        ):
            frame[name] = pd.Series([row[name] for row in reasons], dtype=kind)
        return cast("DataFrame[Rejected]", frame[list(REJECTED_COLUMNS)])

    def _common(self, places: IntArray) -> pd.DataFrame:
        contest, at = self.contest, self.contest.candidates
        frame = self._options.take(at.measurement[places]).reset_index(drop=True)
        hosts, accelerators = at.host_row[places], at.accelerator_row[places]
        prices = _price_columns(at.book, hosts)
        as_of = _oldest(prices["as_of"], _price_columns(at.accelerator_book, accelerators)["as_of"])
        zone = prices["zone"].where(prices["zone"] == "", " in " + prices["zone"])
        price = at.usd_per_hour[places]
        numbers = {
            "price_usd_per_hour": price,
            "host_price_usd_per_hour": at.host_usd_per_hour[places],
            "accelerator_price_usd_per_hour": at.accelerator_usd_per_hour[places],
            "cost_usd_per_100k": contest.cost[places],
            "cost_low_usd_per_100k": contest.cost[places]
            * frame["latency_mean_low_ms"]
            / frame["latency_mean_ms"],
            "cost_high_usd_per_100k": contest.cost[places]
            * frame["latency_mean_high_ms"]
            / frame["latency_mean_ms"],
            "cost_usd_per_100k_served": contest.cost_served[places],
            "cost_usd_per_month": price * HOURS_PER_MONTH,
            "probability_best": self.chances.best[places],
            "winning_price_usd_per_hour": self.winning[0][places],
            "winning_latency_mean_ms": self.winning[1][places],
        }
        texts = {
            "region": prices["region"],
            "purchase_option": prices["purchase_option"],
            "statistic": prices["statistic"] + zone,
            "months": prices["months"],
            "price_as_of": as_of,
            "price_source": prices["source"],
        }
        columns = {**texts, **numbers, "among_best": self.chances.among_best[places]}
        return pd.concat([frame, pd.DataFrame(columns, index=frame.index)], axis=1)


def _option_columns(option: Option) -> dict[str, Any]:
    m, j, memory = option.measurement, option.judgement, option.memory
    at = m.configuration
    same = ("instance_type", "attached_accelerator", "attached_accelerator_count", "model", "input_shape", "backend",
            "precision", "batch_size", "concurrency", "copies", "shards")  # fmt: skip
    return {
        "option": m.option,
        "kind": option.facts.kind,
        **{name: at[name] for name in same},
        "sequence_length": at["sequence_length"],
        "software": m.software,
        "memory": memory.fit,
        "memory_needed_mib": memory.host_needed_mib,
        "memory_mib": memory.host_mib,
        "accelerator_memory_needed_mib": memory.device_needed_mib,
        "accelerator_memory_mib": memory.device_mib,
        "measured": j.measured,
        "latency_percentile_ms": j.percentile_ms,
        "latency_percentile_low_ms": j.percentile_low_ms,
        "latency_percentile_high_ms": j.percentile_high_ms,
        "share_within_low_fraction": j.share_low,
        "share_within_high_fraction": j.share_high,
        "latency_mean_ms": m.mean_ms,
        "latency_mean_low_ms": j.mean_low_ms,
        "latency_mean_high_ms": j.mean_high_ms,
        "throughput_per_s": m.throughput_per_s,
        "error_fraction": m.error_fraction,
        "sample_count": m.sample_count,
        "run_count": m.run_count,
        "verdict": j.verdict,
        "grade": j.grade,
        "probability_kept": j.probability_kept if j.verdict else nan,
        "more_needed": j.more_needed,
        "quality": "suspect" if m.suspect else "ok",
        "measured_on": m.context["measured_on"],
        "source": m.context["source"],
        "note": m.context["note"],
    }


_INTEGERS = ("sequence_length", "sample_count", "more_needed")


def _price_columns(book: PriceBook, rows: IntArray) -> pd.DataFrame:
    """The price rows at some places; the row -1 is empty text and unknown numbers."""
    names = ["region", "purchase_option", "statistic", "zone", "months", "as_of", "source"]
    kept = book.rows[names]
    empty = pd.DataFrame({name: [pd.NA if name == "months" else ""] for name in names}).astype(
        kept.dtypes.to_dict()
    )
    return pd.concat([kept, empty], ignore_index=True).take(rows % (len(kept) + 1)).reset_index(drop=True)


def _oldest(host: "pd.Series[Any]", accelerator: "pd.Series[Any]") -> "pd.Series[Any]":
    return host.where((accelerator == "") | (host < accelerator) & (host != ""), accelerator)
