"""Two measurements of one model side by side: which there are, and their comparison."""

from collections.abc import Iterable
from typing import Final

from advisor.compare import Comparison, Side, compare, hourly_price
from advisor.measurements import Measurement, ask
from advisor.reports.rows import CHOICES, OPERATING
from advisor.tables import BENCHMARK_CONFIGURATION, Benchmarks, Catalogue
from advisor.text import printable
from advisor.workload import Workload

_TOLD: Final = [name for name in OPERATING if name in BENCHMARK_CONFIGURATION]


def named(benchmarks: Benchmarks, workload: Workload) -> dict[str, Measurement]:
    """Name every measurement of the asked model and input by its option, and by what tells it from others of that option.

    Raises:
        QuestionError: there is no benchmark of them.
    """
    found = sorted(ask(benchmarks, workload).measurements, key=lambda one: (one.option, _key(one)))
    return {_name(one, [other for other in found if other.option == one.option]): one for one in found}


def _key(one: Measurement) -> str:
    return str([one.configuration[name] for name in _TOLD])


def _name(one: Measurement, same_option: Iterable[Measurement]) -> str:
    others = list(same_option)
    told = [
        CHOICES[name](one.configuration[name])
        for name in _TOLD
        if len({str(other.configuration[name]) for other in others}) > 1
    ]
    return printable(", ".join([one.option, *told]))


def compared(
    catalogue: Catalogue,
    workload: Workload,
    baseline: tuple[str, Measurement],
    candidate: tuple[str, Measurement],
) -> Comparison:
    """Compare two measurements at the prices of the asked regions and purchase options.

    Raises:
        QuestionError: they were not measured alike.
    """
    sides = [Side(name, one, hourly_price(catalogue, one, workload)) for name, one in (baseline, candidate)]
    return compare(*sides, confidence=workload.confidence)
