"""How sure the measured latencies make us: intervals, verdicts, warm-up and drift."""

from advisor.evidence.types import Assessment, Drift, Estimate, Grade, Series, Summary, Verdict

__all__ = ["Assessment", "Drift", "Estimate", "Grade", "Series", "Summary", "Verdict"]
