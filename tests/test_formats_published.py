"""Percentiles of raw requests against those that their authors published."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from advisor import formats

FACTS = Path(__file__).resolve().parents[2] / "shared" / "facts" / "published"
RAW = FACTS / "llmperf_raw_latencies.csv"


@pytest.mark.skipif(
    not RAW.is_file(), reason=f"the raw requests are not committed, and {RAW.name} is not beside the project"
)
def test_every_published_percentile_and_mean_of_raw_requests_is_met(tmp_path: Path) -> None:
    published = pd.read_csv(FACTS / "llmperf_published_quantiles.csv").set_index("provider_model")
    raw = pd.read_csv(RAW, dtype=str, keep_default_na=False)
    ours = pd.DataFrame(
        {
            "model": raw["provider_model"],
            "instance_type": "local",
            "concurrency": "5",
            "latency_s": raw["end_to_end_latency_s"].where(raw["error_code"] == "", ""),
            "error": raw["error_code"],
            "output_token_count": raw["output_tokens"],
        }
    )
    ours.to_csv(tmp_path / "requests.csv", index=False)
    found = formats.read(tmp_path / "requests.csv")
    assert found.rows["model"].tolist() == sorted(published.index)
    assert len(published) >= 10
    for label, row in found.rows.iterrows():
        expected = published.loc[row["model"]]
        latencies = found.samples[int(str(label))].latency_ms
        assert len(latencies) == expected["n_ok"] == row["sample_count"]
        assert row["error_count"] == expected["n_raw"] - expected["n_ok"]
        assert row["latency_mean_ms"] == pytest.approx(expected["e2e_mean_s_published"] * 1000, rel=1e-9)
        for percentile in (25, 50, 75, 90, 95, 99):
            assert np.percentile(latencies, percentile) == pytest.approx(
                expected[f"e2e_p{percentile}_s_published"] * 1000, rel=1e-9
            )
