"""Judge raw latencies: do they prove that 90 % of the requests stay within 20 ms?"""

import numpy as np

import advisor

rng = np.random.default_rng(1)
slow_for_a_while = np.repeat(rng.random(100) < 0.08, 10)
latencies_ms = rng.lognormal(np.log(12), 0.1, 1000) * np.where(slow_for_a_while, 2.0, 1.0)

found = advisor.assess(latencies_ms, limit_ms=20)
print(f"P90 {found.quantile_ms}")
print(f"share within 20 ms {found.share_within}: {found.verdict}, grade {found.grade}")
print(f"1000 requests in such a row are worth {found.effective_count:.0f} independent ones")
