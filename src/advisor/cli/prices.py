"""`advisor prices`: show prices, check them, bring newer ones."""

from math import isnan
from pathlib import Path
from typing import Any, Final

import click

from advisor.cli import LazyGroup, options
from advisor.cli.listing import as_csv, as_json, as_table
from advisor.wording import plural

COMMANDS: Final = {
    "show": ("advisor.cli.prices:show", "Show the prices of some types by region and purchase option."),
    "check": ("advisor.cli.prices:check", "Check what must hold of prices and hardware facts."),
    "refresh": ("advisor.cli.prices_refresh:refresh", "Bring AWS's own prices of today."),
    "diff": ("advisor.cli.prices_refresh:diff", "Say what changed between two snapshots."),
}
"""Command name -> where it lives ("module:attribute") and its one line of help."""


@click.group(cls=LazyGroup, table=COMMANDS)
def prices() -> None:
    """Show, check, refresh and compare prices.

    In use are: --prices, else ADVISOR_PRICES, over the refreshed snapshot, else over the packaged one.
    """


@click.command(
    epilog="""\b
Examples:
  advisor prices show inf2.xlarge g5.2xlarge --region us-west-2
  advisor prices show m5.large --purchase on_demand --format csv
  advisor prices show m5.large --prices negotiated.csv
"""
)
@click.argument("types", nargs=-1, required=True, metavar="TYPE...")
@click.option("--region", multiple=True, metavar="REGION", help="Only this region. Repeats.")
@click.option("--purchase", multiple=True, metavar="OPTION", help="Only this purchase option. Repeats.")
@click.option(
    "--format", "format_name", type=click.Choice(["table", "csv", "json"]), default="table", show_default=True
)
@options.price_options
def show(
    *,
    types: tuple[str, ...],
    region: tuple[str, ...],
    purchase: tuple[str, ...],
    format_name: str,
    prices: Path | None,
    rate: tuple[str, ...],
) -> int:
    """Show the prices of instance types and attachable accelerators, cheapest first.

    Exit code 1: there is no such price.
    """
    from advisor.prices import listing

    catalogue = options.catalogue(prices, rate)
    found = listing.prices(catalogue, types, regions=region, purchase_options=purchase)
    if format_name == "csv":
        click.echo(as_csv(found))
    elif format_name == "json":
        click.echo(as_json(found, "prices"))
    elif len(found):
        click.echo(as_table([_cells(row) for row in found.to_dict("records")], right=frozenset({"USD/h"})))
    for name in types:
        if name not in set(found["instance_type"]):
            sold = sorted(set(catalogue.prices.loc[catalogue.prices["instance_type"] == name, "region"]))
            elsewhere = f"; priced in {', '.join(sold)}" if sold else "; no price of it is known"
            click.echo(f"{name}: no price here{elsewhere}", err=True)
    closed = listing.closed(catalogue, types)
    for name, on in closed.items():
        click.echo(f"{name}: no longer sold (by the list of {on})", err=True)
    sources = f", sources {', '.join(sorted(set(found['source'])))}" if len(found) else ""
    click.echo(f"{plural(len(found), 'price')}{sources}; {', '.join(catalogue.origin)}", err=True)
    return 0 if len(found) else 1


@click.command(
    epilog="""\b
Examples:
  advisor prices check
  advisor prices check negotiated.csv
  advisor prices check pricing_data/
"""
)
@click.argument("path", required=False, type=click.Path(path_type=Path))
def check(path: Path | None) -> int:
    """Check what must hold of prices and hardware facts; of the ones in use where no PATH is given.

    A folder that holds a whole snapshot is checked on its own, other files with what they are laid over.

    Exit codes: 0 clean, 1 problems found, 2 cannot be read.
    """
    from advisor.prices import integrity, load, snapshot

    if path is not None and path.is_dir() and snapshot.is_snapshot(path):
        catalogue = snapshot.read(path, origin=str(path))
    else:
        catalogue = load(path)
    problems = integrity.check(catalogue)
    for problem in problems:
        click.echo(problem)
    found = f"{len(problems)} problems in" if problems else "nothing wrong with"
    counted = f"{len(catalogue.prices)} prices of {len(catalogue.instances)} instance types"
    click.echo(f"{found} {counted}; {', '.join(catalogue.origin)}", err=True)
    return 1 if problems else 0


def _cells(row: dict[Any, Any]) -> dict[str, str]:
    import pandas as pd

    usd, local = row["price_usd_per_hour"], row["price_local_per_hour"]
    said = (
        row["zone"],
        "" if row["statistic"] == "list" else row["statistic"],
        "" if pd.isna(row["months"]) else f"{row['months']} months",
        "" if isnan(local) else f"{local:.6g} {row['currency']}/h",
        row["note"],
    )
    return {
        "type": row["instance_type"],
        "region": row["region"],
        "purchase": row["purchase_option"],
        "USD/h": "unknown" if isnan(usd) else f"{usd:.6g}",
        "as of": row["as_of"],
        "note": "; ".join(text for text in said if text),
    }
