"""Charts as functions of an answer: each returns a `Figure` of altair charts, a caption and a text for who cannot see it.

Shared by the dashboard and the HTML report. Every chart keeps to `MOST_MARKS` marks and says what it leaves out.
"""

from advisor.reports.charts.changes import changes, changes_table
from advisor.reports.charts.cost import cost_and_latency
from advisor.reports.charts.distributions import (
    MOST_SERIES,
    candidates,
    chosen_first,
    distributions,
    measured,
    over_time,
)
from advisor.reports.charts.memory import memory
from advisor.reports.charts.places import options, places
from advisor.reports.charts.sensitivity import limit_sensitivity, price_sensitivity
from advisor.reports.charts.style import MOST_MARKS, Figure
from advisor.reports.charts.tradeoff import pareto_front, tradeoff

__all__ = [
    "MOST_MARKS",
    "MOST_SERIES",
    "Figure",
    "candidates",
    "changes",
    "changes_table",
    "chosen_first",
    "cost_and_latency",
    "distributions",
    "limit_sensitivity",
    "measured",
    "memory",
    "options",
    "over_time",
    "pareto_front",
    "places",
    "price_sensitivity",
    "tradeoff",
]
