import pytest

from advisor import wording


@pytest.mark.parametrize(
    ("value", "shown"),
    [(18.66, "18.7"), (205.4, "205"), (1240.4, "1,240"), (0.02312, "0.0231"), (0, "0"), (2.0, "2.00"), (100.0, "100"),
     (99.96, "100"), (float("nan"), "unknown"), (0.5, "0.500")],
)  # fmt: skip
def test_a_figure_has_three_significant_digits(value: float, shown: str) -> None:
    assert wording.figure(value) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.22589, "$0.226"), (0.9999999, "$1.00"), (1.0, "$1.00"), (12.345, "$12.35"), (1240.0, "$1,240.00"), (0, "$0.00"),
     (0.00123456, "$0.00123")],
)  # fmt: skip
def test_money_has_three_significant_digits_and_cents(value: float, shown: str) -> None:
    assert wording.money(value) == shown


@pytest.mark.parametrize(("fraction", "shown"), [
    (0.9, "90 %"), (0.9996, "over 99.9 %"), (1, "100 %"), (0, "0 %"), (0.0004, "under 0.1 %"), (0.123, "12.3 %"),
])  # fmt: skip
def test_a_share_is_never_rounded_to_all_or_nothing(fraction: float, shown: str) -> None:
    assert wording.percent(fraction) == shown


@pytest.mark.parametrize(
    ("edge", "shown"),
    [(18.6648, "18.7"), (10.12, "10.2"), (15.0, "15"), (0.12341, "0.124"), (1234.2, "1,235"), (99.96, "100"),
     (10.1, "10.1"), (float("inf"), "unknown")],
)  # fmt: skip
def test_a_limit_that_is_kept_is_rounded_up(edge: float, shown: str) -> None:
    assert wording.lower_limits([edge], None) == [shown]


@pytest.mark.parametrize(
    ("edges", "asked", "shown"),
    [
        ([10.12, 10.15], None, ["10.12", "10.2"]),
        ([10.1213, 10.1214, 10.3], None, ["10.1213", "10.2", "10.3"]),
        ([10.1201, 10.135], None, ["10.13", "10.2"]),
        ([10.1201], 10.15, ["10.13"]),
        ([10.12], 10.12, ["10.12"]),
        ([10.12], 10.1, ["10.2"]),
        ([10.12 * (1 + 5e-10)], 10.12, ["10.12"]),
    ],
)
def test_a_limit_stays_below_the_next_and_on_its_side_of_the_asked_one(
    edges: list[float], asked: float | None, shown: list[str]
) -> None:
    assert wording.lower_limits(edges, asked) == shown


@pytest.mark.parametrize(
    ("probability", "shown"),
    [(1.0, ">99 %"), (0.995, ">99 %"), (0.9949, "99 %"), (0.5, "50 %"), (0.005, "<1 %"), (0.0051, "1 %"),
     (0.0049, "<1 %"), (1e-20, "<1 %"), (0.0, "<1 %")],
)  # fmt: skip
def test_a_chance_is_never_certain(probability: float, shown: str) -> None:
    assert wording.chance(probability) == shown


def test_a_list_counts_what_it_leaves_out() -> None:
    assert wording.listing([]) == ""
    assert wording.listing(["a"]) == "a"
    assert wording.listing(["a", "b"]) == "a and b"
    assert wording.listing("abcdef") == "a, b, c, d, e and f"
    assert wording.listing("abcdefg") == "a, b, c, d, e and 2 others"


def test_options_are_written_as_people_read_them() -> None:
    assert wording.option_name("c5.large") == "c5.large"
    assert wording.option_name("m5.large", "eia2.medium", 1) == "m5.large + eia2.medium"
    assert wording.option_name("m5.large", "eia2.medium", 2) == "m5.large + 2 x eia2.medium"
    assert wording.plural(1, "option") == "1 option"
    assert wording.plural(1200, "summary", "summaries") == "1,200 summaries"
