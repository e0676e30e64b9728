"""The answer's tables: text is put to the candidates that are shown."""

from collections.abc import Sequence
from math import nan
from typing import Any, cast

import numpy as np
import pandas as pd
from pandera.typing.pandas import DataFrame

from advisor.arrays import FloatArray, IntArray
from advisor.candidates import PriceBook
from advisor.contest import Chances, Contest, Option
from advisor.tables import HOURS_PER_MONTH, Ranked, Rejected

RANKED_COLUMNS = tuple(Ranked.to_schema().columns)


def tables(
    contest: Contest,
    chances: Chances,
    winning: tuple[FloatArray, FloatArray],
    rejected: IntArray,
    reasons: Sequence[dict[str, Any]],
) -> tuple[DataFrame[Ranked], DataFrame[Rejected]]:
    """Return the ranked candidates in their order, and the rejected ones with their reasons.

    The types are those of `Ranked` and `Rejected` by construction, so that they are not validated again.

    Args:
        contest: all candidates.
        chances: of the candidates.
        winning: price and mean latency at which each candidate would win.
        rejected: the other places, in the order in which they are shown.
        reasons: failed, value, limit, unit and reason of each of them.
    """
    count = contest.order.size
    both = _columns(contest, chances, winning, np.concatenate([contest.order, rejected]))
    ranked, lost = both.iloc[:count], both.iloc[count:].reset_index(drop=True)
    types = {"failed": "str", "value": "float64", "limit": "float64", "unit": "str", "reason": "str"}
    why = pd.DataFrame(
        {name: pd.Series([row[name] for row in reasons], dtype=kind) for name, kind in types.items()}
    )
    return cast("DataFrame[Ranked]", ranked), cast("DataFrame[Rejected]", pd.concat([lost, why], axis=1))


def _columns(
    contest: Contest, chances: Chances, winning: tuple[FloatArray, FloatArray], places: IntArray
) -> pd.DataFrame:
    at = contest.candidates
    options = pd.DataFrame([_option_columns(option) for option in contest.options])
    options = options.astype(dict.fromkeys(_INTEGERS, "Int64"))
    frame = options.take(at.measurement[places]).reset_index(drop=True)
    prices = _price_columns(at.book, at.host_row[places])
    as_of = prices["as_of"]
    if at.accelerator_book.usd_per_hour.size:
        as_of = _older(as_of, _price_columns(at.accelerator_book, at.accelerator_row[places])["as_of"])
    statistic = prices["statistic"]
    if (prices["zone"] != "").any():
        statistic = statistic.where(prices["zone"] == "", statistic + " in " + prices["zone"])
    cost, mean = contest.cost[places], frame["latency_mean_ms"]
    columns = {
        "region": prices["region"],
        "purchase_option": prices["purchase_option"],
        "statistic": statistic,
        "months": prices["months"],
        "price_as_of": as_of,
        "price_source": prices["source"],
        "price_usd_per_hour": at.usd_per_hour[places],
        "host_price_usd_per_hour": at.host_usd_per_hour[places],
        "accelerator_price_usd_per_hour": at.accelerator_usd_per_hour[places],
        "cost_usd_per_100k": cost,
        "cost_low_usd_per_100k": cost * frame["latency_mean_low_ms"] / mean,
        "cost_high_usd_per_100k": cost * frame["latency_mean_high_ms"] / mean,
        "cost_usd_per_100k_served": contest.cost_served[places],
        "cost_usd_per_month": at.usd_per_hour[places] * HOURS_PER_MONTH,
        "probability_best": chances.best[places],
        "among_best": chances.among_best[places],
        "winning_price_usd_per_hour": winning[0][places],
        "winning_latency_mean_ms": winning[1][places],
    }
    return pd.concat([frame, pd.DataFrame(columns, index=frame.index)], axis=1)[list(RANKED_COLUMNS)]


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


def _older(host: "pd.Series[Any]", accelerator: "pd.Series[Any]") -> "pd.Series[Any]":
    return host.where((accelerator == "") | (host < accelerator) & (host != ""), accelerator)
