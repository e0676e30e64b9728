"""`advisor benchmarks`: what was measured, and files to measure with."""

from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from advisor.cli import options, output
from advisor.cli.listing import as_csv, as_json, as_table
from advisor.errors import InputError

if TYPE_CHECKING:
    from advisor.tables import Benchmarks

_RIGHT: Final = frozenset(
    {"rows", "length", "batch", "in flight", "n", "mean ms", "P50", "P90", "P95", "P99", "/s"}
)
_WIDEST: Final = 44
_PATHS: Final = click.argument("paths", nargs=-1, type=click.Path())
_FORMAT: Final = click.option(
    "--format", "format_name", type=click.Choice(["table", "csv", "json"]), default="table", show_default=True
)


@click.group()
def benchmarks() -> None:
    """List, show and check measured latencies; write a template."""


@benchmarks.command(
    "list",
    epilog="""\b
Examples:
  advisor benchmarks list
  advisor benchmarks list results/ --format csv
  advisor benchmarks list --model bert_base_uncased""",
)
@_PATHS
@click.option("--model", "models", multiple=True, metavar="NAME", help="Only this model. Repeats.")
@_FORMAT
@options.expanded_size_option
def list_(
    *, paths: tuple[str, ...], models: tuple[str, ...], format_name: str, max_expanded_size: str | None
) -> int:
    """List the models that were measured: inputs, options, evidence, sources.

    PATHS are result files, folders or globs; without any, the packaged benchmarks.
    """
    from advisor.formats import listing

    held = _read(paths, max_expanded_size)
    found = listing.models(held, models)
    if format_name == "csv":
        click.echo(as_csv(found))
    elif format_name == "json":
        click.echo(as_json(found, "models"))
    else:
        click.echo(as_table([_model(row) for row in found.to_dict("records")], right=_RIGHT))
    click.echo(f"{len(found)} of {held.rows['model'].nunique()} models; {', '.join(held.origin)}", err=True)
    return 0


@benchmarks.command(
    epilog="""\b
Examples:
  advisor benchmarks show bert_base_uncased
  advisor benchmarks show my-model results/*.csv --format json"""
)
@click.argument("model")
@_PATHS
@_FORMAT
@options.expanded_size_option
def show(model: str, *, paths: tuple[str, ...], format_name: str, max_expanded_size: str | None) -> int:
    """Show every row of one model.

    PATHS are result files, folders or globs; without any, the packaged benchmarks.
    """
    from advisor.formats import listing

    held = _read(paths, max_expanded_size)
    found = listing.of_model(held, model)
    if format_name == "csv":
        click.echo(as_csv(found))
    elif format_name == "json":
        click.echo(as_json(found, "benchmarks"))
    else:
        click.echo(as_table(_filled([_row(row) for row in found.to_dict("records")]), right=_RIGHT))
    click.echo(f"{len(found)} of {len(held.rows)} rows; {', '.join(held.origin)}", err=True)
    return 0


@benchmarks.command(
    epilog="""\b
Examples:
  advisor benchmarks check results.csv
  advisor benchmarks check results/ 'more/*.parquet'"""
)
@click.argument("paths", nargs=-1, required=True, type=click.Path())
@options.expanded_size_option
@options.price_options
def check(
    paths: tuple[str, ...], *, max_expanded_size: str | None, prices: Path | None, rate: tuple[str, ...]
) -> int:
    """Read result files and say what was understood of each.

    Every file is looked at; exit code 2: one of them cannot be read.
    """
    from advisor import formats
    from advisor.formats import listing
    from advisor.text import printable

    limit, code, parts = options.expanded_bytes(max_expanded_size), 0, []
    known = options.catalogue(prices, rate).types
    for path in formats.find(paths):
        try:
            (part,) = formats.read_files([path], known_types=known, max_expanded_bytes=limit)
            click.echo("\n".join(printable(line) for line in listing.summary(part)))
            parts.append(part)
        except InputError as error:
            click.echo(f"advisor: {printable(error)}", err=True)
            code = 2
    formats.together(parts)
    return code


@benchmarks.command(
    epilog="""\b
Examples:
  advisor benchmarks template > results.csv
  advisor benchmarks template --raw --output requests.csv"""
)
@click.option("--raw", is_flag=True, help="One row a request, in place of one row a benchmark run.")
@options.output_option
@click.option("--force", is_flag=True, help="Replace the file where there is one.")
def template(*, raw: bool, output: Path | None, force: bool) -> int:
    """Write a commented CSV file to fill in; `advisor benchmarks check` accepts it as it is."""
    from advisor.formats import description

    _write(description.template(raw=raw).encode(), output, force=force)
    return 0


def _write(data: bytes, path: Path | None, *, force: bool) -> None:
    if path is not None and path.exists() and not force:
        raise InputError(f"{path} exists: name another --output, or replace it with --force")
    output.write(data, path)


def _read(paths: tuple[str, ...], max_expanded_size: str | None) -> "Benchmarks":
    from advisor import formats

    if not paths:
        return formats.packaged()
    return formats.read(paths, max_expanded_bytes=options.expanded_bytes(max_expanded_size))


def _model(row: Mapping[Hashable, Any]) -> dict[str, str]:
    inputs = " ".join(str(row[name]) for name in ("sequence_lengths", "input_shapes") if row[name])
    return {
        "model": str(row["model"]),
        "lengths, shapes": _short(inputs, 32),
        "rows": str(row["row_count"]),
        "options": _short(str(row["options"]), _WIDEST),
        "evidence": str(row["evidence"]),
        "source": _short(str(row["sources"]), _WIDEST),
    }


def _row(row: Mapping[Hashable, Any]) -> dict[str, str]:
    shown = {
        "option": str(row["option"]),
        "length": _number(row["sequence_length"]),
        "shape": str(row["input_shape"]),
        "backend": str(row["backend"]),
        "software": _short(str(row["software"]), 28),
        "batch": _number(row["batch_size"]),
        "in flight": _number(row["concurrency"]),
        "run": str(row["run_id"]),
        "n": _number(row["sample_count"]),
        "mean ms": _number(row["latency_mean_ms"]),
    }
    for rank in (50, 90, 95, 99):
        shown[f"P{rank}"] = _number(row.get(f"latency_p{rank}_ms"))
    shown["/s"] = _number(row["throughput_per_s"])
    shown["quality"] = "" if row["quality"] == "ok" else str(row["quality"])
    return shown


def _filled(rows: list[dict[str, str]]) -> list[dict[str, str]]:
    """Leave out the columns in which nothing stands."""
    kept = [name for name in rows[0] if any(row[name] for row in rows)]
    return [{name: row[name] for name in kept} for row in rows]


def _number(value: object) -> str:
    if isinstance(value, int):
        return str(value)
    return f"{value:.4g}" if isinstance(value, float) and value == value else ""  # noqa: PLR0124 (NaN)


def _short(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 3]}..."
