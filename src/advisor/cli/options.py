"""Flags that several commands share, and what they stand for."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, get_args

import click

from advisor.errors import InputError

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

    from advisor.tables import Benchmarks, Catalogue

Command = Callable[..., Any]


def price_options(command: Command) -> Command:
    """Add `--prices` and `--rate`; they arrive as `prices` and `rate`, which `catalogue` takes."""
    for option in (
        click.option(
            "--rate",
            multiple=True,
            metavar="CURRENCY=USD",
            help="What one unit of a currency is worth in USD, like CNY=0.14. Repeats.",
        ),
        click.option(
            "--prices",
            type=click.Path(path_type=Path),
            envvar="ADVISOR_PRICES",
            help="Price rows of your own (a file), or a whole snapshot (a folder). They win over the packaged ones.  "
            "[env: ADVISOR_PRICES]",
        ),
    ):
        command = option(command)
    return command


expanded_size_option: Final = click.option(
    "--max-expanded-size",
    metavar="SIZE",
    help="Largest size that a compressed file may expand to.  [default: 4GiB]",
)
"""`--max-expanded-size`, which `expanded_bytes` reads."""


def benchmark_options(command: Command) -> Command:
    """Add `--benchmarks`, `--with-published`, `--max-expanded-size`, which `measured` takes."""
    for option in (
        expanded_size_option,
        click.option(
            "--with-published", is_flag=True, help="Add the packaged published results to your own files."
        ),
        click.option(
            "--benchmarks",
            multiple=True,
            type=click.Path(),
            envvar="ADVISOR_BENCHMARKS",
            help="Result files, folders or globs in place of the packaged ones. Repeats.  [env: ADVISOR_BENCHMARKS]",
        ),
    ):
        command = option(command)
    return command


def output_option(command: Command) -> Command:
    """Add `--output`, which `output.write` takes."""
    return click.option(
        "--output",
        "-o",
        type=click.Path(path_type=Path, dir_okay=False),
        help="File to write.  [default: stdout]",
    )(command)


def literals(annotation: Any) -> list[str]:
    """Return the words that a field accepts, where it accepts only some."""
    found: list[str] = []
    for argument in get_args(annotation):
        found += [argument] if isinstance(argument, str) else literals(argument)
    return found


def field_help(info: "FieldInfo", *, repeats: bool = False) -> str:
    """Return the help of a flag that stands for a field: its description, and its default where that says something."""
    said = f"{info.description}."
    said = said[0].upper() + said[1:] + (" Repeats." if repeats else "")
    default = info.default
    if info.is_required() or info.default_factory is not None or default in (None, (), "", False, 0):
        return said
    if isinstance(default, tuple):
        shown = ", ".join(map(str, default))
    else:
        shown = f"{default:g}" if isinstance(default, float) else str(default)
    return f"{said}  [default: {shown}]"


def rates(pairs: Sequence[str]) -> dict[str, float]:
    """Read `CNY=0.14` pairs.

    Raises:
        InputError: a pair that is not a currency and a positive number.
    """
    read = {}
    for pair in pairs:
        currency, _, amount = pair.partition("=")
        try:
            value = float(amount)
        except ValueError:
            value = 0.0
        if not (currency.isalpha() and len(currency) == 3 and 0 < value < float("inf")):
            raise InputError(
                f'--rate "{pair}" is not a currency and what one unit is worth in USD, like CNY=0.14'
            )
        read[currency.upper()] = value
    return read


def catalogue(prices: Path | None, rate: Sequence[str] = ()) -> "Catalogue":
    """Load the prices that the flags ask for."""
    from advisor.prices import load

    return load(prices, rates=rates(rate))


def measured(
    benchmarks: Sequence[str],
    with_published: bool,
    max_expanded_size: str | None,
    known: "Catalogue",
) -> "Benchmarks":
    """Read the benchmarks that the flags ask for; without any, the packaged ones."""
    from advisor import formats

    if not benchmarks:
        return formats.packaged()
    own = formats.read(
        benchmarks, known_types=known.types, max_expanded_bytes=expanded_bytes(max_expanded_size)
    )
    return formats.combine(own, formats.packaged()) if with_published else own


def expanded_bytes(size: str | None) -> int:
    """Read `--max-expanded-size`.

    Raises:
        InputError: not a size.
    """
    from advisor.formats import MAX_EXPANDED_BYTES
    from advisor.workload import parse_size

    if size is None:
        return MAX_EXPANDED_BYTES

    try:
        return int(str(parse_size(size)))
    except ValueError as error:
        raise InputError(f"--max-expanded-size: {error}") from None
