"""Studies: how often the intervals and verdicts are right on simulated latencies whose truth is known."""
