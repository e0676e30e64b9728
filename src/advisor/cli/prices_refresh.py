"""`advisor prices refresh` and `advisor prices diff`."""

from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from advisor.cli import options
from advisor.errors import PricesError

if TYPE_CHECKING:
    import pandas as pd

    from advisor.prices.refresh import Refreshed
    from advisor.tables import Catalogue

_SHOWN: Final = 20
# Kept here as words so that `--help` does not import the sources; a test holds them against SOURCES.
SOURCE_NAMES: Final = (
    "bulk",
    "api",
    "savings-plans",
    "savings-plans-api",
    "spot",
    "instance-types",
    "sagemaker",
    "elastic-inference",
    "all",
)


@click.command(
    epilog="""\b
Examples:
  advisor prices refresh --region us-west-2
  advisor prices refresh --source bulk --source savings-plans
  advisor prices refresh --from answers/ --source api
  advisor prices refresh --into pricing_data --accept"""
)
@click.option("--source", "-s", "sources", multiple=True, type=click.Choice(SOURCE_NAMES), default=("bulk",), show_default=True, help="What to ask. bulk, savings-plans, sagemaker and elastic-inference need no account; the others use boto3. all: each kind of price once. Repeats.")  # fmt: skip
@click.option("--region", "regions", multiple=True, metavar="REGION", help="Region or local zone group. Repeats.  [default: all that the source has]")  # fmt: skip
@click.option("--from", "saved", type=click.Path(path_type=Path, file_okay=False), help="Folder of answers saved earlier, read instead of asking AWS.")  # fmt: skip
@click.option("--base-url", metavar="URL", help="Where the public files are served.  [default: https://pricing.us-east-1.amazonaws.com]")  # fmt: skip
@click.option("--into", type=click.Path(path_type=Path, file_okay=False, exists=True), help="Renew this folder, in the layout of pricing_data/, and not your own data.")  # fmt: skip
@click.option("--accept", is_flag=True, help="Keep the new prices even where they are suspicious.")
@click.option("--workers", type=click.IntRange(1, 32), default=4, show_default=True, help="Regions asked at the same time.")  # fmt: skip
@click.option("--timeout", "timeout_s", type=click.FloatRange(min=0, min_open=True), default=60.0, show_default=True, metavar="SECONDS", help="Longest wait for an answer, and for the next bytes of one.")  # fmt: skip
@click.option("--window-days", type=click.IntRange(1, 90), default=7, show_default=True, help="How far back spot prices are read.")  # fmt: skip
def refresh(
    *,
    sources: tuple[str, ...],
    regions: tuple[str, ...],
    saved: Path | None,
    base_url: str | None,
    into: Path | None,
    accept: bool,
    workers: int,
    timeout_s: float,
    window_days: int,
) -> int:
    """Bring AWS's own prices and hardware facts.

    They go into your data folder, never into the installed program. A refresh that fails in one region, or that is suspicious
    and not accepted, changes nothing.
    """
    from advisor.prices import store
    from advisor.prices.refresh import base_catalogue
    from advisor.prices.refresh import refresh as ask_sources
    from advisor.prices.sources import ALL
    from advisor.prices.sources.ask import PUBLIC_OFFERS, Ask

    names = tuple(dict.fromkeys(n for source in sources for n in (ALL if source == "all" else (source,))))
    ask = Ask(regions, saved, base_url or PUBLIC_OFFERS, timeout_s, window_days)
    with store.locked(store.prices_folder()):
        base = base_catalogue(into)
        found = ask_sources(base, names, ask, workers=workers, progress=_say)
        _report(found)
        if found.suspicious and not accept:
            count = len(found.suspicious)
            raise PricesError(
                f"{count} suspicious {'change' if count == 1 else 'changes'} (above): the last good prices stay; "
                "look at them and run again with --accept"
            )
        if into:
            store.renew(found.catalogue, into)
            where = into
        else:
            where = store.publish(found.catalogue)
    click.echo(f"{_summary(found)}; kept in {where}")
    return 0


@click.command(
    epilog="""\b
Examples:
  advisor prices diff packaged refreshed
  advisor prices diff previous refreshed --format csv
  advisor prices diff pricing_data /tmp/pricing_data"""
)
@click.argument("old")
@click.argument("new")
@click.option(
    "--format", "form", type=click.Choice(["table", "csv", "json"]), default="table", show_default=True
)
@click.option(
    "--top", type=click.IntRange(min=0), default=40, show_default=True, help="Rows of the table; 0: all."
)
@options.output_option
def diff(old: str, new: str, form: str, top: int, output: Path | None) -> int:
    """Show what changed between two price folders: added, removed, moved.

    OLD and NEW are folders in the layout of pricing_data/, or one of the words packaged, refreshed, previous.
    """
    from advisor.cli.output import write
    from advisor.prices.diff import diff as compare

    changes = compare(_catalogue(old).prices, _catalogue(new).prices)
    if form == "csv":
        text = _inert(changes).to_csv(index=False, lineterminator="\n")
    elif form == "json":
        text = _json(changes)
    else:
        text = _table(changes, top)
    write(text.encode(), output)
    return 0


def _catalogue(name: str) -> "Catalogue":
    from advisor.prices import packaged, snapshot, store

    if name == "packaged":
        return packaged()
    if name in {"refreshed", "previous"}:
        folder = store.refreshed() if name == "refreshed" else store.previous()
        if folder is None:
            raise PricesError(f"there are no {name} prices yet: run `advisor prices refresh`")
        return snapshot.read(folder)
    return snapshot.read(Path(name))


def _say(line: str) -> None:
    from advisor.text import printable

    click.echo(printable(line), err=True)


def _report(found: "Refreshed") -> None:
    from advisor.prices.refresh import grouped

    for title, lines in (("refused", grouped(found.refused)), ("suspicious", list(found.suspicious))):
        for line in lines[:_SHOWN]:
            _say(f"{title}: {line}")
        if len(lines) > _SHOWN:
            _say(f"{title}: and {len(lines) - _SHOWN} more")


def _summary(found: "Refreshed") -> str:
    counts = found.changes["change"].value_counts()
    told = ", ".join(f"{int(counts.get(kind, 0)):,} {kind}" for kind in ("added", "removed", "moved"))
    return f"{len(found.catalogue.prices):,} prices: {told}"


def _inert(changes: "pd.DataFrame") -> "pd.DataFrame":
    from advisor.text import inert_cell

    texts: list[str] = list(changes.select_dtypes("str").columns)
    return changes.assign(**{name: changes[name].map(inert_cell) for name in texts})


def _json(changes: "pd.DataFrame") -> str:
    import json

    known = changes.astype(object).where(changes.notna(), None)
    return (
        json.dumps({"schema_version": 1, "changes": known.to_dict("records")}, indent=1, allow_nan=False)
        + "\n"
    )


def _table(changes: "pd.DataFrame", top: int) -> str:
    from advisor.text import printable

    counts = changes["change"].value_counts()
    lines = [", ".join(f"{int(counts.get(kind, 0)):,} {kind}" for kind in ("added", "removed", "moved"))]
    moved_first = changes.assign(size=changes["change_fraction"].abs().fillna(-1.0)).sort_values(
        "size", ascending=False, kind="stable"
    )
    shown = moved_first.head(top) if top else moved_first
    if len(shown):
        lines += ["", f"{'change':8} {'what':64} {'old/h':>10} {'new/h':>10} {'':>8}"]
    for row in shown.to_dict("records"):
        parts = ("instance_type", "region", "purchase_option", "statistic", "zone", "currency")
        name = " ".join(printable(row[part]) for part in parts if row[part] not in {"", "list"})
        fraction = row["change_fraction"]
        percent = "" if isnan(fraction) else f"{fraction:+.1%}"
        old, new = (
            "-" if isnan(v) else f"{v:.5g}" for v in (row["old_price_per_hour"], row["new_price_per_hour"])
        )
        lines.append(f"{row['change']:8} {name:64} {old:>10} {new:>10} {percent:>8}".rstrip())
    if len(shown) < len(changes):
        lines.append(f"and {len(changes) - len(shown):,} more (--top 0 shows all; --format csv, json)")
    return "\n".join(lines) + "\n"
