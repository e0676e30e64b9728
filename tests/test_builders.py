import pandas as pd

from advisor.tables import Accelerators, BenchmarkRows, Instances, Locations, Prices, Sources
from tests import builders


def test_the_frames_that_tests_build_pass_their_own_check() -> None:
    made = builders.catalogue(
        [
            {"instance_type": "c5.large", "price_usd_per_hour": 0.1, "months": 12},
            {"instance_type": "eia2.medium"},
        ],
        accelerators=[{"accelerator_type": "eia2.medium"}],
    )
    for model, frame in (
        (Instances, made.instances),
        (Accelerators, made.accelerators),
        (Prices, made.prices),
        (Locations, made.locations),
        (Sources, made.sources),
        (
            BenchmarkRows,
            builders.benchmarks({"latency_mean_ms": 3, "latency_p90_ms": 4, "sequence_length": 8}).rows,
        ),
    ):
        pd.testing.assert_frame_equal(model.validate(frame), frame, check_like=True)
