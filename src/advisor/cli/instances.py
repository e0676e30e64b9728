"""`advisor instances`: the instance types there are, with their hardware facts."""

from math import isnan
from pathlib import Path
from typing import Any

import click

from advisor.cli import options
from advisor.cli.listing import as_csv, as_json, as_table
from advisor.errors import QuestionError
from advisor.tables import KINDS, MIB_PER_GIB
from advisor.workload import parse_size

_RIGHT = frozenset({"vCPU", "GiB", "GiB each"})
_WIDEST = 24


@click.command(
    epilog="""\b
Examples:
  advisor instances --kind inferentia --kind trainium
  advisor instances --family g5 --min-memory 32GiB
  advisor instances --arch arm64 --format csv > arm.csv
  advisor instances --family p3 --include-retired
"""
)
@click.option("--family", multiple=True, metavar="NAME", help="Only this family (g5). Repeats.")
@click.option("--kind", multiple=True, type=click.Choice(KINDS), help="Only what is served by this. Repeats.")
@click.option("--arch", multiple=True, type=click.Choice(["x86_64", "arm64"]), help="Only this CPU. Repeats.")
@click.option("--min-memory", metavar="SIZE", help="Least memory of the host, like 32GiB.")
@click.option("--include-retired", is_flag=True, help="Also types that AWS no longer sells.")
@click.option(
    "--format", "format_name", type=click.Choice(["table", "csv", "json"]), default="table", show_default=True
)
@options.price_options
def instances(
    *,
    family: tuple[str, ...],
    kind: tuple[str, ...],
    arch: tuple[str, ...],
    min_memory: str | None,
    include_retired: bool,
    format_name: str,
    prices: Path | None,
    rate: tuple[str, ...],
) -> int:
    """List instance types and attachable accelerators with their hardware facts.

    Exit code 1: none fits.
    """
    from advisor.prices import listing

    catalogue = options.catalogue(prices, rate)
    found = listing.instances(
        catalogue,
        families=family,
        kinds=kind,
        architectures=arch,
        min_memory_mib=_mib(min_memory),
        include_retired=include_retired,
    )
    if format_name == "csv":
        click.echo(as_csv(found))
    elif format_name == "json":
        click.echo(as_json(found, "instances"))
    elif len(found):
        click.echo(as_table([_cells(row) for row in found.to_dict("records")], right=_RIGHT))
    click.echo(f"{len(found)} types; {', '.join(catalogue.origin)}", err=True)
    return 0 if len(found) else 1


def _mib(size: str | None) -> float:
    if size is None:
        return 0.0
    try:
        parsed = parse_size(size)
    except ValueError as error:
        raise QuestionError(f"--min-memory: {error}") from None
    return float(str(parsed)) / 2**20


def _cells(row: dict[Any, Any]) -> dict[str, str]:
    count = row["accelerator_count"]
    name = row["accelerator_name"] or ("unknown" if row["accelerator_kind"] == "" else "")
    accelerator = name if isnan(count) else f"{count:g} x {name}"
    return {
        "type": row["instance_type"],
        "kind": row["kind"],
        "vCPU": _number(row["vcpu_count"]),
        "GiB": _number(row["memory_mib"], MIB_PER_GIB),
        "CPU": row["cpu_arch"].removesuffix("_mac"),
        "accelerator": accelerator if len(accelerator) <= _WIDEST else f"{accelerator[: _WIDEST - 1]}…",
        "GiB each": _number(row["accelerator_memory_mib"], MIB_PER_GIB),
        "sold": {"sold": "yes", "closed": "no"}.get(row["availability"], "unknown"),
    }


def _number(value: Any, unit: int = 1) -> str:
    import pandas as pd

    return "" if pd.isna(value) else f"{round(float(value) / unit, 2):g}"
