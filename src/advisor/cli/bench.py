"""`advisor bench`: measure a model on the hardware this is started on."""

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, Final

import click

from advisor.bench.settings import Settings
from advisor.cli import options
from advisor.errors import QuestionError

if TYPE_CHECKING:
    from advisor.bench import Measured, Progress, Result

_INTERRUPTED: Final = 130

_SECTIONS: Final = {
    "What is measured": (
        "model", "backend", "name", "device", "precision", "input", "input_file", "batch_size", "sequence_length",
    ),
    "How it is sent": (
        "concurrency", "copies", "parallel", "rate", "arrivals", "in_flight_limit", "runs", "spread_s", "gc", "seed",
    ),
    "When it stops": ("requests", "seconds", "until", "until_width", "latency_limit_ms", "percentile", "confidence"),
    "Backends": (
        "torch_mode", "weights", "trust_model", "provider", "threads", "neuron_cores", "shared_weights", "protocol",
        "header", "timeout_s", "error_fraction",
    ),
    "Where it runs": ("instance_type", "accelerators", "usd_per_hour", "note"),
}  # fmt: skip
"""Every setting, under the heading its flag is shown below."""

_FLAGS: Final = {"spread_s": "spread", "timeout_s": "timeout"}
_METAVARS: Final = {
    "model": "MODEL", "backend": "NAME", "name": "NAME", "device": "cpu|cuda:N|neuron:N|eia:N", "precision": "FORMAT",
    "input": "NAME:TYPE:SHAPE", "input_file": "FILE", "batch_size": "1,2,4", "sequence_length": "25,50",
    "concurrency": "1,2,4", "rate": "PER_SECOND", "spread_s": "DURATION", "seconds": "DURATION",
    "until_width": "PERCENT", "latency_limit_ms": "MS", "percentile": "P", "confidence": "FRACTION",
    "torch_mode": "MODES", "weights": "FILE", "provider": "NAME", "neuron_cores": "0-3", "header": "NAME:VALUE",
    "timeout_s": "DURATION", "error_fraction": "FRACTION", "instance_type": "TYPE", "accelerators": "FILE",
    "usd_per_hour": "USD", "note": "TEXT",
}  # fmt: skip


class Sectioned(click.Command):
    """A command whose flags are shown under headings."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        place = {field: title for title, fields in _SECTIONS.items() for field in fields}
        rows: dict[str, list[tuple[str, str]]] = {title: [] for title in (*_SECTIONS, "Result")}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None:
                rows[place.get(parameter.name or "", "Result")].append(record)
        for title, records in rows.items():
            with formatter.section(title):
                formatter.write_dl(records)


def _settings_flags(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add one flag a setting; the values arrive as text, and `Settings` is what judges them."""
    for field in reversed([field for fields in _SECTIONS.values() for field in fields]):
        info = Settings.model_fields[field]
        flag = "--" + _FLAGS.get(field, field).replace("_", "-")
        if info.annotation is bool:
            made = click.option(flag, field, is_flag=True, default=None, help=options.field_help(info))
        else:
            words = options.literals(info.annotation)
            repeats = field in ("input", "header")
            made = click.option(
                flag,
                field,
                multiple=repeats,
                type=click.Choice(words) if words and field != "torch_mode" else str,
                metavar=_METAVARS.get(field, None if words else "NUMBER"),
                help=options.field_help(info, repeats=repeats),
            )
        command = made(command)
    return command


@click.group()
def bench() -> None:
    """Measure a model on the hardware this is started on.

    The result file is read by `advisor recommend --benchmarks FILE`.
    """


@bench.command(
    cls=Sectioned,
    epilog="""\b
Examples:
  advisor bench run --recipe bert-base --latency-limit-ms 50 --until decided
  advisor bench run --backend torch --model model.ts --input ids:int64:1x128
  advisor bench run --backend torch --model my_module:build --torch-mode trace,script --input x:float32:1x3x224x224
  advisor bench run --backend onnxruntime --model model.onnx --input ids:int64:BxS --batch-size 1,2,4 --sequence-length 25,50
  advisor bench run --backend http --model http://127.0.0.1:8000/v2/models/m/infer --protocol kserve \\
      --input x:float32:1x16 --rate 50 --seconds 60s
  advisor bench run --backend command --model "./serve --stdio" --input-file requests.jsonl
  advisor bench run --backend python --model my_module:infer --runs 5 --spread 10m --requests 200
""",
)
@_settings_flags
@click.option(
    "--recipe",
    metavar="NAME",
    help="Settings written down: a recipe (see `advisor bench recipes`) or a TOML file.",
)
@click.option(
    "--output",
    "-o",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Result file, JSON lines.  [default: MODEL.jsonl in this folder]",
)
@click.option("--resume", is_flag=True, help="Go on with an interrupted result file of the same settings.")
@click.option("--force", is_flag=True, help="Replace an existing result file.")
@click.option("--quiet", "-q", is_flag=True, help="Show no progress.")
def run(
    *, recipe: str | None, output: Path | None, resume: bool, force: bool, quiet: bool, **given: Any
) -> int:
    """Measure a model and write a result file.

    Requests are sent one after another (or several at once, or on a schedule) until their number is reached, the time
    is over or the verdict is settled. What was measured stays in the file however the measurement ends.
    """
    from advisor.bench import recipes
    from advisor.bench.runner import run as measure

    if resume and force:
        raise QuestionError("give --resume or --force, not both")
    stated = {field: value for field, value in given.items() if value not in (None, ())}
    fields = (recipes.read(recipe) if recipe else {}) | stated
    if "model" not in fields or "backend" not in fields:
        raise QuestionError("give --model and --backend, or --recipe")
    if fields.get("usd_per_hour") is None:
        fields["usd_per_hour"] = _known_price(fields.get("instance_type"))
    settings = Settings.make(**fields)
    path = output or Path(f"{settings.model_name()}.jsonl")
    with _ending_on_terminate():
        result = measure(
            settings, path, resume=resume, force=force, report=None if quiet else Screen(sys.stderr.isatty())
        )
    _summarise(result, settings)
    return _INTERRUPTED if result.interrupted else 0


@bench.command(
    epilog="""\b
Examples:
  advisor bench demo
  advisor bench demo --usd-per-hour 0.34
"""
)
@click.option("--usd-per-hour", type=click.FloatRange(min=0, min_open=True), help="What this machine costs.")
@click.option(
    "--requests", type=click.IntRange(min=1), default=200, show_default=True, help="Inferences to time."
)
@click.option(
    "--output",
    "-o",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Keep the result file.  [default: it is not kept]",
)
@click.option("--force", is_flag=True, help="Replace an existing result file.")
def demo(*, usd_per_hour: float | None, requests: int, output: Path | None, force: bool) -> int:
    """Time a small numpy model here and set this machine beside the committed data."""
    from advisor.bench import demo as show
    from advisor.reports import EXPORTERS, Presentation

    with _ending_on_terminate():
        found = show(
            Screen(sys.stderr.isatty()),
            usd_per_hour=usd_per_hour,
            requests=requests,
            output=output,
            force=force,
        )
    click.echo(EXPORTERS["terminal"](found.advice, Presentation()).decode(), nl=False)
    if not found.priced:
        click.echo(
            "\nThis machine has no price, so it cannot be ranked: say what it costs with --usd-per-hour.",
            err=True,
        )
    return 0 if found.advice.recommended is not None else 1


@bench.command()
def recipes() -> int:
    """List the recipes for `advisor bench run --recipe NAME`."""
    from advisor.bench import recipes as written

    for name in written.names():
        settings = written.read(name)
        click.echo(f"{name:<12} {settings['backend']:<8} {settings.get('note', '')}")
    return 0


@bench.command()
def where() -> int:
    """Show what a result file would say of this machine, as JSON."""
    import json

    from advisor.bench.surroundings import surroundings

    click.echo(json.dumps(surroundings(), indent=2))
    return 0


class Screen:
    """Shows progress on stderr: one line that is rewritten on a terminal, one line a report elsewhere."""

    def __init__(self, live: bool) -> None:
        self._live = live
        self._section = 0

    def __call__(self, progress: "Progress") -> None:
        if progress.section != self._section:
            self._section = progress.section
            title = f"{progress.label} ({progress.section} of {progress.section_count})"
            click.echo(("\n" if self._live and progress.section > 1 else "") + title, err=True)
        line = describe(progress)
        click.echo(f"\r\x1b[2K{line}" if self._live else line, err=True, nl=not self._live)


def describe(progress: "Progress") -> str:
    """Return one line: requests, percentiles with intervals, verdict so far, time left, dollars spent."""
    parts = [f"run {progress.run_id}: {progress.request_count} requests"]
    if progress.error_count:
        parts.append(f"{progress.error_count} failed")
    for percentile, estimate in progress.percentiles_ms.items():
        parts.append(f"P{percentile:g} {interval(estimate)} ms")
    if progress.verdict:
        parts.append(progress.verdict)
    if progress.remaining_s is not None:
        parts.append(f"{duration(progress.remaining_s)} left")
    if progress.spent_usd is not None:
        parts.append(f"${progress.spent_usd:.4f} spent")
    return ", ".join(parts)


def interval(estimate: Any) -> str:
    """Return `12.3 (11.9 .. 12.8)`; a bound that the data cannot give (or that no latency can have) is `?`."""
    low, high = (
        "?" if bound is None or bound <= 0 else _figure(bound) for bound in (estimate.low, estimate.high)
    )
    return f"{_figure(estimate.point)} ({low} .. {high})"


def _figure(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def duration(seconds: float) -> str:
    """Return `45 s`, `3 min` or `1.5 h`."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


def _summarise(result: "Result", settings: Settings) -> None:
    if sys.stderr.isatty():
        click.echo(err=True)
    for section in result.sections:
        click.echo(summary(section, settings))
        for remark in remarks(section):
            click.echo(f"   -  {remark}", err=True)
    state = "interrupted; go on with --resume; so far in" if result.interrupted else "kept in"
    click.echo(f"{state} {result.path}; read it with: advisor recommend --benchmarks {result.path}", err=True)


def summary(section: "Measured", settings: Settings) -> str:
    """Return one line of what a configuration showed."""
    row, found = section.header["benchmark"], section.assessment
    parts = [f"{row['model']} {row['backend']}"]
    if row["sequence_length"]:
        parts.append(f"length {row['sequence_length']}")
    parts.append(f"batch {row['batch_size']}, concurrency {row['concurrency']}:")
    if found is None or found.quantile_ms is None:
        return " ".join([*parts, "measured before" if section.end else "nothing succeeded"])
    parts.append(f"P{settings.percentile:g} {interval(found.quantile_ms)} ms,")
    parts.append(f"mean {interval(found.mean_ms)} ms, grade {found.grade}")
    if settings.latency_limit_ms is not None:
        parts.append(f"- {found.verdict} at {settings.latency_limit_ms:g} ms")
    end = section.end or {}
    if "cold_call_ms" in end:
        parts.append(
            f"(cold call {_figure(end['cold_call_ms'])} ms, warm-up {end.get('warmup_count', 0)} requests)"
        )
    return " ".join(parts)


def remarks(section: "Measured") -> list[str]:
    """Return what a reader of a configuration's line must know."""
    found, end = section.assessment, section.end or {}
    return list(dict.fromkeys((*(found.notes if found else ()), *end.get("notes", ()))))


@contextmanager
def _ending_on_terminate() -> Iterator[None]:
    """End a measurement on SIGTERM as on Ctrl-C: what was measured is kept."""

    def interrupt(_: int, __: FrameType | None) -> None:
        raise KeyboardInterrupt

    previous = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, previous)


def _known_price(stated: str | None) -> float | None:
    """Return the on-demand price of the instance this runs on (or was said to be), where it is known."""
    from advisor import prices
    from advisor.bench.surroundings import instance

    here = instance()
    kind, region = here.get("instance_type") or stated, here.get("region", "us-west-2")
    if kind is None:
        return None
    table = prices.load().prices
    chosen = (
        table["instance_type"].eq(kind)
        & table["region"].eq(region)
        & table["purchase_option"].eq("on_demand")
    )
    found = table.loc[chosen, "price_usd_per_hour"].dropna()
    return float(found.iloc[0]) if len(found) else None
