"""Answers made by hand, for the tests of what is shown: no price list, no measurement, no `advise`."""

from dataclasses import replace
from datetime import date
from functools import cache
from typing import Any

import pandas as pd
from pandera.typing.pandas import DataFrame

from advisor.advice import Advice, Choice, Note, SourceUsed, Switch
from advisor.evidence import Estimate
from advisor.reports import EXPORTERS, Presentation
from advisor.tables import HOURS_PER_MONTH, Ranked, Rejected
from advisor.workload import Workload

NAN = float("nan")

_UNKNOWN: dict[str, Any] = {
    "option": "", "kind": "other", "instance_type": "", "attached_accelerator": "", "attached_accelerator_count": 0,
    "region": "us-west-2", "purchase_option": "on_demand", "statistic": "list", "months": None,
    "model": "bert_base_uncased", "sequence_length": 512, "input_shape": "", "backend": "", "precision": "fp32",
    "software": "", "batch_size": 1, "concurrency": 1, "copies": 1, "shards": 1,
    "price_usd_per_hour": NAN, "host_price_usd_per_hour": NAN, "accelerator_price_usd_per_hour": NAN,
    "price_as_of": "2025-11-03", "price_source": "list", "memory": "not_checked",
    "memory_needed_mib": NAN, "memory_mib": NAN, "accelerator_memory_needed_mib": NAN, "accelerator_memory_mib": NAN,
    "measured": "meets", "latency_percentile_ms": NAN, "latency_percentile_low_ms": NAN,
    "latency_percentile_high_ms": NAN, "share_within_low_fraction": NAN, "share_within_high_fraction": NAN,
    "latency_mean_ms": NAN, "latency_mean_low_ms": NAN, "latency_mean_high_ms": NAN, "throughput_per_s": NAN,
    "error_fraction": NAN, "sample_count": None, "run_count": 1, "cost_usd_per_100k": NAN,
    "cost_low_usd_per_100k": NAN, "cost_high_usd_per_100k": NAN, "cost_usd_per_100k_served": NAN,
    "cost_usd_per_month": NAN, "verdict": "pass", "grade": "D", "probability_kept": NAN, "probability_best": NAN,
    "among_best": False, "more_needed": None, "winning_price_usd_per_hour": NAN, "winning_latency_mean_ms": NAN,
    "quality": "ok", "measured_on": "", "source": "table", "note": "",
}  # fmt: skip


def row(option: str, **known: Any) -> dict[str, Any]:
    """Return one option's row: what is not given is unknown; cost and month follow from price and mean."""
    made = _UNKNOWN | {"option": option, "instance_type": option.split(" + ", maxsplit=1)[0]} | known
    price, mean = made["price_usd_per_hour"], made["latency_mean_ms"]
    in_flight = made["batch_size"] * made["concurrency"]
    if "cost_usd_per_100k" not in known:
        made["cost_usd_per_100k"] = price / 3600 * mean / 1000 / in_flight * 100_000
    if "throughput_per_s" in known:
        made["cost_usd_per_100k_served"] = price / 3600 / made["throughput_per_s"] * 100_000
    if "cost_usd_per_month" not in known:
        made["cost_usd_per_month"] = price * HOURS_PER_MONTH
    return made


def lost(option: str, failed: str, reason: str, **known: Any) -> dict[str, Any]:
    """Return one rejected row."""
    return row(option, **({"verdict": "fail", "measured": "misses"} | known)) | {
        "failed": failed, "reason": reason, "value": known.get("value", NAN), "limit": known.get("limit", NAN),
        "unit": known.get("unit", ""),
    }  # fmt: skip


def ranked(*rows: dict[str, Any]) -> DataFrame[Ranked]:
    """Return a checked table of ranked options."""
    return Ranked.validate(pd.DataFrame(list(rows), columns=list(Ranked.to_schema().columns)))


def rejected(*rows: dict[str, Any]) -> DataFrame[Rejected]:
    """Return a checked table of rejected options."""
    return Rejected.validate(pd.DataFrame(list(rows), columns=list(Rejected.to_schema().columns)))


def choice(table: DataFrame[Ranked], place: int = 0) -> Choice:
    """Return a ranked row in short."""
    one = table.to_dict("records")[place]
    return Choice(
        rank=place + 1,
        option=one["option"],
        kind=one["kind"],
        instance_type=one["instance_type"],
        attached_accelerator=one["attached_accelerator"],
        attached_accelerator_count=one["attached_accelerator_count"],
        region=one["region"],
        purchase_option=one["purchase_option"],
        price_usd_per_hour=one["price_usd_per_hour"],
        cost_usd_per_100k=Estimate(one["cost_usd_per_100k"]),
        cost_usd_per_month=one["cost_usd_per_month"],
        latency_mean_ms=Estimate(one["latency_mean_ms"]),
        latency_percentile_ms=None,
        verdict=one["verdict"],
        grade=one["grade"],
        probability_best=None if pd.isna(one["probability_best"]) else one["probability_best"],
        more_needed=None,
    )


QUESTION = Workload.ask(
    model="bert_base_uncased", sequence_length=512, latency_limit_ms=15.0, today=date(2026, 11, 29)
)  # fmt: skip

_SOURCES = (
    SourceUsed("prices", "list", "price list of a made-up cloud, commit 1a2b3c4", "2025-11-03", 4),
    SourceUsed("latency", "table", "made-up results of an encoder", "2023-06-28", 4),
)
_ORIGIN = ("packaged prices", "packaged benchmarks")


def _inf2(**known: Any) -> dict[str, Any]:
    return row(
        "inf2.xlarge", kind="inferentia", backend="neuron", price_usd_per_hour=0.7582, latency_mean_ms=10.71,
        latency_percentile_high_ms=10.8, share_within_low_fraction=0.95, share_within_high_fraction=1.0,
        probability_best=0.9991, among_best=True, sample_count=100,
        **known,
    )  # fmt: skip


def _g5(**known: Any) -> dict[str, Any]:
    return row(
        "g5.2xlarge", kind="gpu", backend="pytorch", price_usd_per_hour=1.212, latency_mean_ms=9.91,
        latency_percentile_high_ms=10.1, share_within_low_fraction=0.95, share_within_high_fraction=1.0,
        probability_best=0.0004, winning_price_usd_per_hour=0.8194, winning_latency_mean_ms=6.7, sample_count=100,
        **known,
    )  # fmt: skip


@cache
def default() -> Advice:
    """A trade-off: the cheapest is too slow, the fastest is dear."""
    table = ranked(_inf2(), _g5())
    return Advice(
        question=QUESTION,
        headline="inf2.xlarge serves bert_base_uncased (512 tokens) within 15 ms at P90 for $0.226 per 100,000 inferences, proved",
        recommended=choice(table),
        proven=choice(table),
        ranked=table,
        rejected=rejected(
            lost(
                "inf1.2xlarge",
                "latency",
                "almost no request within 15 ms (mean 18.5, P95 18.7); would be the cheapest from 18.7 ms",
                kind="inferentia",
                price_usd_per_hour=0.362,
                latency_mean_ms=18.5,
                value=18.7,
                limit=15.0,
                unit="ms",
            ),
            lost(
                "c6i.2xlarge",
                "latency",
                "no request within 15 ms (mean 205, standard deviation 8)",
                kind="cpu",
                price_usd_per_hour=0.34,
                latency_mean_ms=205.0,
                limit=15.0,
                unit="ms",
            ),
        ),
        unmeasured_count=3,
        unmeasured=("c5.large", "m5.large", "trn1.2xlarge"),
        switches=(
            Switch(0.0, 10.1, None, "", "", None),
            Switch(10.1, 10.8, "g5.2xlarge", "us-west-2", "on_demand", 0.334),
            Switch(10.8, 18.7, "inf2.xlarge", "us-west-2", "on_demand", 0.226),
            Switch(18.7, None, "inf1.2xlarge", "us-west-2", "on_demand", 0.186),
        ),
        probability_none_kept=0.0001,
        notes=(
            Note(
                "stale_prices",
                "prices of 2025-11-03 are 391 days old: refresh them with `advisor prices refresh`",
            ),
            Note("memory_not_checked", "memory not checked: give --model-size"),
        ),
        sources=_SOURCES,
        origin=_ORIGIN,
    )


@cache
def nothing() -> Advice:
    """Nothing qualifies: the limit is too tight for all."""
    reason = "P95 above 9 ms"
    return replace(
        default(),
        question=QUESTION.model_copy(update={"latency_limit_ms": 9.0}),
        headline="Nothing measured serves bert_base_uncased (512 tokens) within 9 ms at P90",
        recommended=None,
        proven=None,
        ranked=ranked(),
        rejected=rejected(
            lost("inf2.xlarge", "latency", reason, price_usd_per_hour=0.7582, latency_mean_ms=10.71),
            lost("g5.2xlarge", "latency", reason, price_usd_per_hour=1.212, latency_mean_ms=9.91),
        ),
    )


@cache
def tie() -> Advice:
    """Two options cost the same to the cent and within 1 %: the faster one is first. Samples, with intervals."""
    shared = {
        "kind": "graviton", "grade": "B", "share_within_low_fraction": 0.961, "share_within_high_fraction": 0.961,
        "latency_mean_ms": 7.2, "latency_mean_low_ms": 7.1, "latency_mean_high_ms": 7.3, "sample_count": 5000,
        "throughput_per_s": 138.0,
    }  # fmt: skip
    table = ranked(
        row(
            "m7g.large", price_usd_per_hour=0.13620, latency_percentile_ms=9.3, latency_percentile_low_ms=9.21,
            latency_percentile_high_ms=9.44, cost_low_usd_per_100k=0.0268, cost_high_usd_per_100k=0.0277,
            probability_best=0.51, among_best=True, batch_size=1, **shared,
        ),
        row(
            "m6g.large", price_usd_per_hour=0.13618, latency_percentile_ms=9.9, latency_percentile_low_ms=9.84,
            latency_percentile_high_ms=10.02, cost_low_usd_per_100k=0.0267, cost_high_usd_per_100k=0.0278,
            probability_best=0.49, among_best=True, batch_size=1, winning_price_usd_per_hour=0.135, **shared,
        ),
        row(
            "m7g.large", price_usd_per_hour=0.13620, latency_percentile_ms=15.0, latency_percentile_low_ms=14.6,
            latency_percentile_high_ms=15.6, batch_size=4, **(shared | {"verdict": "undecided", "latency_mean_ms": 60.0}),
        ),
    )  # fmt: skip
    return replace(
        default(),
        headline="m7g.large serves bert_base_uncased (512 tokens) within 15 ms at P90 for $0.0272 per 100,000 inferences",
        recommended=choice(table),
        proven=choice(table),
        ranked=table,
        rejected=rejected(),
        switches=(),
        notes=(),
    )


@cache
def unknown() -> Advice:
    """What is not known: no count, no mean, no price, a percentile that nobody reported."""
    table = ranked(
        _inf2(verdict="undecided"),
        row("a1.large", kind="graviton", measured="meets", verdict="undecided", price_usd_per_hour=0.9, latency_mean_ms=12.0,
            latency_percentile_low_ms=11.0, latency_percentile_high_ms=14.9, quality="suspect"),
    )  # fmt: skip
    return replace(
        default(),
        headline="inf2.xlarge serves bert_base_uncased (512 tokens) within 15 ms at P90 for $0.226 per 100,000 inferences; not proved",
        recommended=choice(table),
        proven=None,
        ranked=table,
        rejected=rejected(
            lost("t2.medium", "latency", "only P50 is known (12 ms): P90 could be on either side of 15 ms", measured="unknown",
                 verdict="undecided", latency_mean_ms=NAN),
            lost("local", "price", "no price: give one with --prices", measured="meets", region="", purchase_option=""),
            lost("x9.large", "hardware", "no hardware facts of this type", measured="meets"),
        ),
        switches=(),
        unmeasured_count=0,
        unmeasured=(),
    )  # fmt: skip


HOSTILE = "[bold red]evil[/] | <b>x</b> `=1+1` \x1b[31mred\x1b[0m \u202etxt\r\n# head ![i](http://a.b) $x$"


@cache
def hostile() -> Advice:
    """Names that try to become markup, formulas, cursor movements and table borders."""
    table = ranked(
        _inf2() | {"option": HOSTILE, "backend": "=cmd|' /C calc'!A0", "model": HOSTILE, "note": "+1"},
        _g5() | {"option": "@SUM(1+1)*cmd|' /C calc'!A0", "backend": "a\tb" * 30},
    )  # fmt: skip
    return replace(
        default(),
        question=QUESTION.model_copy(update={"model": HOSTILE}),
        headline=f"{HOSTILE} serves {HOSTILE}",
        recommended=choice(table),
        proven=None,
        ranked=table,
        rejected=rejected(lost("-2+3", "latency", HOSTILE), lost("名前" * 40, "price", "価格" * 60)),
        switches=(Switch(0.0, None, HOSTILE, "us-west-2", "on_demand", 0.2),),
        notes=(Note("hostile", HOSTILE),),
        sources=(SourceUsed("latency", HOSTILE, HOSTILE, "", 1),),
        origin=(HOSTILE,),
    )


@cache
def no_limit() -> Advice:
    """No limit is asked: the latency step is skipped."""
    table = ranked(
        _inf2(measured="skipped", verdict=""),
        _g5(measured="skipped", verdict=""),
    )
    return replace(
        default(),
        question=QUESTION.model_copy(update={"latency_limit_ms": None}),
        headline="inf2.xlarge serves bert_base_uncased (512 tokens) for $0.226 per 100,000 inferences; no latency limit was asked",
        recommended=choice(table),
        proven=None,
        ranked=table,
        switches=(),
    )


@cache
def many(count: int = 40) -> Advice:
    """Long names, several regions and purchase options, and more rows than are shown."""
    table = ranked(
        *(
            row(
                f"u-6tb1.112xlarge + {place % 4 + 1} x eia2.xlarge",
                kind="attached",
                region=("us-west-2", "ap-southeast-3", "us-west-2-lax-1")[place % 3],
                purchase_option=("on_demand", "compute_savings_plan_3yr_all_upfront")[place % 2],
                backend="TensorFlow Serving with MKL-DNN 1.15.0-eia",
                batch_size=2 ** (place % 5),
                price_usd_per_hour=54.6 + place,
                latency_mean_ms=1234.5 + place,
                latency_percentile_ms=1300.25 + place,
                latency_percentile_low_ms=1290.0 + place,
                latency_percentile_high_ms=1311.0 + place,
                cost_low_usd_per_100k=1000.0,
                cost_high_usd_per_100k=20000.0,
                probability_best=0.025,
                grade="B",
                verdict="undecided",
                share_within_low_fraction=0.9,
                share_within_high_fraction=0.9,
            )
            for place in range(count)
        )
    )
    return replace(
        default(),
        question=QUESTION.model_copy(update={"latency_limit_ms": 1500.0}),
        headline="u-6tb1.112xlarge + 1 x eia2.xlarge serves a model " + "with a very long name " * 8,
        recommended=choice(table),
        ranked=table,
        rejected=rejected(
            *(
                lost(
                    "g5.2xlarge",
                    "price",
                    "not sold in this region",
                    region=f"region-{place}",
                    purchase_option="on_demand",
                )
                for place in range(12)
            ),
            *(
                lost(f"x{place}.large", "latency", f"P90 is {1501 + place} ms, over the limit")
                for place in range(30)
            ),
        ),
    )


ALL = {
    "default": default,
    "nothing": nothing,
    "tie": tie,
    "unknown": unknown,
    "hostile": hostile,
    "no_limit": no_limit,
    "many": many,
}

GOLDEN = ("default", "nothing", "tie", "unknown", "hostile")
_TEXT_FORMATS = {"terminal": "txt", "json": "json", "csv": "csv", "markdown": "md"}


@cache
def golden_reports() -> dict[str, bytes]:
    """Return what `tests/golden/reports` must hold: file name -> report."""
    return {
        f"{name}.{suffix}": EXPORTERS[form](ALL[name](), Presentation())
        for name in GOLDEN
        for form, suffix in _TEXT_FORMATS.items()
    }
