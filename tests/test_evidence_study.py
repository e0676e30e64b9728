"""The study in small: what `tests/studies/coverage.py` proves with 2,000 replications, within its binomial error."""

import numpy as np
import pytest

from tests.studies.coverage import Rate, coverage, rate, repeated_looks, warmup
from tests.studies.families import DESIGN, FAMILIES, Family

REPLICATIONS = 200


def error(share: float) -> float:
    """Three binomial standard errors of a share in this many replications."""
    return 3 * float(np.sqrt(share * (1 - share) / REPLICATIONS))


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_intervals_hold_and_a_system_at_its_limit_seldom_passes(family: Family) -> None:
    least, most_passes = (0.90, 0.10) if family.held_out else (0.93, 0.08)
    found = coverage(family, REPLICATIONS, 1000, seed=5)
    assert found.quantile.share >= least - error(least)
    assert found.false_pass.share <= most_passes + error(most_passes)
    assert found.cut.share <= 0.05
    assert found.drift.share <= 0.05


@pytest.mark.parametrize("name", DESIGN[:2])
def test_five_looks_keep_the_error_of_one(name: str) -> None:
    family = next(one for one in FAMILIES if one.name == name)
    passed, failed = repeated_looks(family, 60)
    assert passed.share <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 60)
    assert failed.share <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 60)


@pytest.mark.parametrize("noise", ["independent", "AR(.5)"])
def test_a_step_of_a_half_over_200_requests_leaves_half_a_percent_of_bias_at_most(noise: str) -> None:
    found = warmup("step x1.5 of 200", noise, REPLICATIONS)
    assert abs(found.bias) <= 0.005
    assert found.bias_untrimmed > 0.1
    assert found.found.share > 0.95


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_the_families_have_the_quantile_and_the_mean_that_is_claimed(family: Family) -> None:
    rows = family.draw(150, 4000, np.random.default_rng(3))
    shares = (rows <= family.quantile(0.9)).mean(axis=1)
    assert shares.mean() == pytest.approx(0.9, abs=4 * shares.std() / np.sqrt(150) + 1e-4)
    means = rows.mean(axis=1)
    assert means.mean() == pytest.approx(family.mean_ms, abs=4 * means.std() / np.sqrt(150))


def test_a_rate_is_shown_with_its_standard_error() -> None:
    assert rate([True, False, True, True]) == Rate(0.75, 4)
    assert Rate(0.5, 100).error == pytest.approx(0.05)
    assert str(Rate(0.05, 2000)) == "5.0% ± 0.5%"
