"""Flags that several commands share, and what they stand for."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from advisor.errors import InputError

if TYPE_CHECKING:
    from advisor.tables import Benchmarks, Catalogue

FOUR_GIB: Final = 4 * 2**30

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


def benchmark_options(command: Command) -> Command:
    """Add `--benchmarks`, `--with-published`, `--max-expanded-size`, which `measured` takes."""
    for option in (
        click.option(
            "--max-expanded-size",
            metavar="SIZE",
            help="Largest size that a compressed file may expand to.  [default: 4GiB]",
        ),
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
        benchmarks, known_types=known_types(known), max_expanded_bytes=expanded_bytes(max_expanded_size)
    )
    return formats.combine(own, formats.packaged()) if with_published else own


def known_types(known: "Catalogue") -> set[str]:
    """Return every instance and accelerator type that the catalogue knows."""
    return {
        *known.instances["instance_type"],
        *known.prices["instance_type"],
        *known.accelerators["accelerator_type"],
    }


def expanded_bytes(size: str | None) -> int:
    """Read `--max-expanded-size`.

    Raises:
        InputError: not a size.
    """
    if size is None:
        return FOUR_GIB
    from advisor.workload import parse_size

    try:
        return int(str(parse_size(size)))
    except ValueError as error:
        raise InputError(f"--max-expanded-size: {error}") from None
