"""`advisor prices show` and `advisor prices check`: what they print, and how they end."""

import json
import shutil
from pathlib import Path

import pytest

from advisor.cli import main
from advisor.data import committed
from advisor.prices import read_rows

HEADER = "instance_type,region,purchase_option,price_usd_per_hour,as_of,source\n"


@pytest.fixture(autouse=True)
def no_own_files(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    monkeypatch.delenv("ADVISOR_PRICES", raising=False)
    monkeypatch.setenv("ADVISOR_DATA_HOME", str(tmp_path_factory.mktemp("data")))


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    code = ended.value.code
    assert isinstance(code, int)
    return code, out, err


def test_prices_are_shown_cheapest_first_with_date_source_and_what_the_figure_is(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, out, err = run(capsys, "prices", "show", "m5.large", "--region", "us-east-1")
    assert code == 0
    assert [line.split() for line in out.splitlines()] == [
        ["type", "region", "purchase", "USD/h", "as", "of", "note"],
        ["m5.large", "us-east-1", "spot", "0.0384", "2024-04-04", "window_mean"],
        ["m5.large", "us-east-1", "reserved_1yr_all_upfront", "0.056393", "2023-08-30", "12", "months"],
        ["m5.large", "us-east-1", "on_demand", "0.096", "2026-07-20"],
    ]
    assert max(map(len, out.splitlines())) <= 100
    assert (
        err == "3 prices, sources karpenter-2026-07, leanercloud-2023-08, vantage-2024-04; packaged prices\n"
    )


def test_the_json_has_every_column_and_null_for_unknown(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(
        capsys,
        "prices",
        "show",
        "inf2.xlarge",
        "--region",
        "us-west-2",
        "--purchase",
        "on_demand",
        "--format",
        "json",
    )
    assert code == 0
    assert json.loads(out) == {
        "schema_version": 1,
        "prices": [
            {
                "instance_type": "inf2.xlarge",
                "region": "us-west-2",
                "purchase_option": "on_demand",
                "statistic": "list",
                "zone": None,
                "currency": "USD",
                "price_usd_per_hour": 0.7582,
                "price_local_per_hour": None,
                "upfront_usd": None,
                "months": None,
                "as_of": "2025-11-03",
                "source": "aws-price-2025-11",
                "note": None,
            }
        ],
    }


def test_the_csv_can_be_read_back_as_own_prices(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, out, _ = run(capsys, "prices", "show", "m5.large", "g5.xlarge", "--format", "csv")
    assert code == 0
    path = tmp_path / "rates.csv"
    path.write_text(out, encoding="utf-8")
    rows = read_rows(path)
    assert len(rows) == len(out.splitlines()) - 1
    assert set(rows["instance_type"]) == {"m5.large", "g5.xlarge"}


def test_an_own_price_is_shown_as_such_and_its_file_is_named(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "rates.csv"
    path.write_text(HEADER + "m5.large,us-west-2,on_demand,0.05,2026-11-01,deal\n", encoding="utf-8")
    code, out, err = run(
        capsys,
        "prices",
        "show",
        "m5.large",
        "--region",
        "us-west-2",
        "--purchase",
        "on_demand",
        "--prices",
        path,
    )
    assert code == 0
    assert out.splitlines()[1].split() == [
        "m5.large",
        "us-west-2",
        "on_demand",
        "0.05",
        "2026-11-01",
        "own",
        "price",
    ]
    assert err == "1 price, sources deal; rates.csv (1 own row), packaged prices\n"


def test_an_amount_in_another_currency_is_shown_and_compared_only_with_a_rate(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "rates.csv"
    path.write_text(
        HEADER.replace("source", "source,currency")
        + "m5.large,cn-north-1,on_demand,0.7,2026-11-01,deal,CNY\n",
        encoding="utf-8",
    )
    show = ("prices", "show", "m5.large", "--region", "cn-north-1", "--prices", path)
    assert run(capsys, *show)[1].splitlines()[1].split()[3:] == [
        "unknown",
        "2026-11-01",
        "0.7",
        "CNY/h;",
        "own",
        "price",
    ]
    assert run(capsys, *show, "--rate", "CNY=0.14")[1].splitlines()[1].split()[3] == "0.098"


def test_a_type_that_is_not_priced_there_says_where_it_is_and_exits_1(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, out, err = run(capsys, "prices", "show", "eia2.medium", "--region", "eu-west-1")
    assert (code, out) == (1, "")
    assert err.splitlines() == [
        "eia2.medium: no price here; priced in us-west-2",
        "eia2.medium: no longer sold (by the list of 2024-10-10)",
        "0 prices; packaged prices",
    ]


def test_a_type_that_nobody_prices_says_so_and_exits_1(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, "prices", "show", "trn2.48xlarge")
    assert code == 1
    assert err.splitlines()[0] == "trn2.48xlarge: no price here; no price of it is known"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["m5.lrge"], "there is no instance type 'm5.lrge' in the prices in use (did you mean m5.large?)"),
        (["m5.large", "--region", "us-wset-2"], "there is no region 'us-wset-2' in the prices in use (did you mean us-west-2?)"),
        (["m5.large", "--purchase", "ondemand"], "there is no purchase option 'ondemand' in the prices in use (did you mean on_demand?)"),
        (["m5.large", "--rate", "CNY"], '--rate "CNY" is not a currency and what one unit is worth in USD, like CNY=0.14'),
    ],
)  # fmt: skip
def test_what_there_is_not_is_named_with_the_closest_and_exits_2(
    capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    assert run(capsys, "prices", "show", *arguments) == (2, "", f"advisor: {said}\n")


def test_the_committed_prices_are_clean(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "prices", "check")
    assert (code, out) == (0, "")
    assert err.startswith("nothing wrong with 3")
    assert err.endswith("packaged prices\n")


def test_a_snapshot_is_checked_on_its_own_and_its_problems_exit_1(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    folder = tmp_path / "snapshot"
    shutil.copytree(committed("pricing_data"), folder)
    (folder / "on_demand.csv").write_text(
        "instance_type,region,price_usd_per_hour,as_of,source\n"
        "m5.large,us-west-2,0.096,2026-11-01,x\n"
        "m5.large,us-west-2,0.096,2026-11-01,x\n"
        "m5.xlarge,us-west-2,0.09,2026-11-01,x\n",
        encoding="utf-8",
    )
    (folder / "reserved.csv").unlink()
    code, out, err = run(capsys, "prices", "check", folder)
    assert code == 1
    assert out.splitlines() == [
        "m5.large us-west-2 on_demand: priced twice",
        "m5.xlarge us-west-2 on_demand: 0.09 is below the smaller m5.large (0.096)",
    ]
    assert err.startswith("2 problems in ")


def test_an_own_file_is_checked_over_the_prices_in_use(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "rates.csv"
    path.write_text(HEADER + "m5.large,us-west-2,on_demand,9.6,2026-11-01,typo\n", encoding="utf-8")
    code, out, _ = run(capsys, "prices", "check", path)
    assert code == 1
    assert any(line.startswith("m5.large us-west-2 on_demand: 9.6 is ") for line in out.splitlines())


def test_a_file_that_cannot_be_read_exits_2(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "rates.csv"
    path.write_text(HEADER, encoding="utf-8")
    assert run(capsys, "prices", "check", path) == (
        2,
        "",
        f"advisor: {path}: no price row after the header\n",
    )
    code, _, err = run(capsys, "prices", "check", tmp_path / "none")
    assert (code, err) == (2, f"advisor: {tmp_path / 'none'}: cannot be opened (No such file or directory)\n")


@pytest.mark.parametrize("command", ["show", "check"])
def test_the_help_has_examples(capsys: pytest.CaptureFixture[str], command: str) -> None:
    code, out, _ = run(capsys, "prices", command, "--help")
    assert code == 0
    assert f"  advisor prices {command} " in out.split("Examples:")[1]
