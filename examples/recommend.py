"""Ask the default question of the committed data, and see how the answer moves with the limit."""

import advisor

catalogue, benchmarks = advisor.load_prices(), advisor.packaged_benchmarks()
question = advisor.Workload(model="bert_base_uncased", sequence_length=512, latency_limit_ms=15)
advice = advisor.advise(catalogue, benchmarks, question)

print(advice.headline)
for switch in advice.switches:
    print(f"from about {switch.from_ms:.1f} ms: {switch.option or 'nothing'}")
for row in advice.rejected.itertuples():
    print(f"{row.option} is out at the {row.failed} step: {row.reason}")
