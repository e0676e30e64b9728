"""How sure the measured latencies make us: intervals, verdicts, warm-up and drift."""

from advisor.evidence.changes import LogMean, mean_change, quantile_change
from advisor.evidence.histograms import assess_histogram
from advisor.evidence.samples import assess, assess_many
from advisor.evidence.summaries import assess_summary, quantile_bracket, share_bracket
from advisor.evidence.types import Assessment, Drift, Estimate, Grade, Series, Summary, Verdict

__all__ = [
    "Assessment",
    "Drift",
    "Estimate",
    "Grade",
    "LogMean",
    "Series",
    "Summary",
    "Verdict",
    "assess",
    "assess_histogram",
    "assess_many",
    "assess_summary",
    "mean_change",
    "quantile_bracket",
    "quantile_change",
    "share_bracket",
]
