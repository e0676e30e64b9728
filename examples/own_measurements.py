"""Rank one's own measurements at one's own prices."""

import tempfile
from pathlib import Path

import advisor

with tempfile.TemporaryDirectory() as folder:
    results, prices = Path(folder, "results.csv"), Path(folder, "prices.csv")
    results.write_text(
        "model,instance_type,batch_size,sample_count,latency_mean_ms,latency_std_ms,latency_p90_ms\n"
        "ranker,c7i.xlarge,1,1000,9.1,0.6,9.9\n"
        "ranker,c7i.xlarge,8,1000,41.0,2.0,43.5\n"
        "ranker,g5.xlarge,8,1000,6.2,0.3,6.6\n",
        encoding="utf-8",
    )
    prices.write_text(
        "instance_type,region,purchase_option,price_usd_per_hour,as_of,source\n"
        "c7i.xlarge,eu-west-1,custom,0.11,2026-11-01,our agreement\n"
        "g5.xlarge,eu-west-1,custom,0.62,2026-11-01,our agreement\n",
        encoding="utf-8",
    )
    question = advisor.Workload(latency_limit_ms=45, region="eu-west-1", model_size="1.2GB", headroom=1.5)
    advice = advisor.advise(advisor.load_prices(prices), advisor.read_benchmarks([results]), question)

print(advice.headline)
for rank, row in enumerate(advice.ranked.itertuples(), 1):
    print(
        f"{rank}. {row.option} at batch size {row.batch_size}: ${row.cost_usd_per_100k:.3f} per 100,000, {row.verdict}"
    )
