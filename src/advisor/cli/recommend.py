"""`advisor recommend`: the question from flags or a file, one call of `advise`, one report."""

import os
import shutil
import sys
import tomllib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, get_origin

import click
from pydantic import AliasChoices
from pydantic.fields import FieldInfo

from advisor.advice import Advice, Note
from advisor.cli import options
from advisor.cli.output import write
from advisor.errors import InputError, QuestionError
from advisor.reports import EXPORTERS, PER, SUFFIXES, Presentation
from advisor.text import closest
from advisor.workload import EXAMPLE, Workload

_FLAGS: Final = {"between_run_sd_fraction": "between_run_sd"}
"""Fields whose flag is shorter than the field."""

_METAVARS: Final = {
    "sequence_length": "TOKENS", "input_shape": "SHAPE", "model_size_bytes": "SIZE", "input_size_bytes": "SIZE",
    "latency_limit_ms": "MS", "percentile": "P", "today": "YYYY-MM-DD", "max_usd_per_hour": "USD",
    "headroom": "FACTOR", "confidence": "FRACTION", "between_run_sd_fraction": "FRACTION", "region": "REGION",
    "purchase": "OPTION", "exclude": "NAME", "model": "NAME",
}  # fmt: skip

_BINARY: Final = ("xlsx", "html")


def _names(field: str, info: FieldInfo) -> list[str]:
    """The names a file may use for a field: its own, and its alias."""
    alias = info.validation_alias
    choices = [str(choice) for choice in alias.choices] if isinstance(alias, AliasChoices) else []
    return list(dict.fromkeys([field, *choices]))


def _flag(field: str, info: FieldInfo) -> str:
    return "--" + _FLAGS.get(field, _names(field, info)[-1]).replace("_", "-")


def workload_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add one flag a field of `Workload`; its values arrive as text, and `Workload` is what judges them."""
    for field, info in reversed(Workload.model_fields.items()):
        several = get_origin(info.annotation) is tuple
        flag = _flag(field, info)
        if info.annotation is bool:
            made = click.option(
                f"{flag}/--no-{flag[2:]}", field, default=None, help=options.field_help(info, repeats=several)
            )
        else:
            words = options.literals(info.annotation)
            made = click.option(
                flag,
                field,
                multiple=several,
                type=click.Choice(words) if words else str,
                metavar=None if words else _METAVARS.get(field, "NUMBER"),
                help=options.field_help(info, repeats=several),
            )
        command = made(command)
    return command


@click.command(
    epilog="""\b
Examples:
  advisor recommend
  advisor recommend --latency-limit-ms 20 --percentile 95
  advisor recommend --benchmarks results/ --model my-model --latency-limit-ms 50
  advisor recommend --region all --purchase all --top 20
  advisor recommend --workload question.toml --format xlsx --output plan.xlsx
"""
)
@workload_options
@click.option(
    "--workload",
    "workload_file",
    type=click.Path(path_type=Path),
    help="TOML file with the question; its keys are the flags with underscores. Flags win over it.",
)
@options.price_options
@options.benchmark_options
@click.option(
    "--format",
    "format_name",
    type=click.Choice(list(EXPORTERS)),
    help="Form of the report.  [default: by the suffix of --output, else terminal]",
)
@options.output_option
@click.option(
    "--top", type=click.IntRange(min=1), default=10, show_default=True, help="Rows shown in a text report."
)
@click.option(
    "--per",
    type=click.Choice(list(PER)),
    default="100k",
    show_default=True,
    help="Inferences that a shown cost is for (JSON, CSV and the spreadsheet keep per 100,000).",
)
def recommend(
    *,
    workload_file: Path | None,
    prices: Path | None,
    rate: tuple[str, ...],
    benchmarks: tuple[str, ...],
    with_published: bool,
    max_expanded_size: str | None,
    format_name: str | None,
    output: Path | None,
    top: int,
    per: str,
    **flags: Any,
) -> int:
    """Say which option should serve a model, what it costs and why.

    Three steps: what fits in memory, what keeps the latency limit, what costs least. Without arguments it answers an
    example from the packaged data: BERT base, 512 tokens, P90 within 15 ms, in us-west-2.

    Exit code: 0 found, 1 nothing qualifies, 2 wrong use or wrong input.
    """
    format_name = format_name or (SUFFIXES.get(output.suffix.lower(), "terminal") if output else "terminal")
    on_screen = output is None and sys.stdout is not None and sys.stdout.isatty()
    if on_screen and format_name in _BINARY:
        raise QuestionError(f"{format_name} is not for a terminal: name a file with --output")
    fields = _asked(flags, workload_file)
    notes = [] if benchmarks else _fill_in_example(fields)
    workload = Workload.ask(**fields)

    from advisor.advise import advise

    catalogue = options.catalogue(prices, rate)
    measured = options.measured(benchmarks, with_published, max_expanded_size, catalogue)
    advice = advise(catalogue, measured, workload)
    advice = replace(advice, notes=(*notes, *advice.notes))
    write(EXPORTERS[format_name](advice, _presentation(top, per, on_screen)), output)
    return _exit_code(advice)


def _asked(flags: dict[str, Any], file: Path | None) -> dict[str, Any]:
    """Return what was asked, the flags over the file; what was not said is left out."""
    said = {field: value for field, value in flags.items() if value not in (None, ())}
    return (_read_workload(file) if file else {}) | said


def _read_workload(file: Path) -> dict[str, Any]:
    try:
        content = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{file}: cannot be read ({error.strerror})") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{file}: not a TOML file ({error})") from None
    fields = {name: field for field, info in Workload.model_fields.items() for name in _names(field, info)}
    asked: dict[str, Any] = {}
    for key, value in content.items():
        if key not in fields:
            raise QuestionError(
                f'{file}: unknown key "{key}"{closest(key, fields)}; the keys are listed by `advisor schema workload`'
            )
        if fields[key] in asked:
            raise QuestionError(f'{file}: "{key}" says again what "{fields[key]}" says: keep one')
        asked[fields[key]] = value
    return asked


def _fill_in_example(fields: dict[str, Any]) -> list[Note]:
    """Ask the example about the packaged data where no model is named, and say so."""
    if "model" in fields or "input_shape" in fields:
        return []
    missing = {field: value for field, value in EXAMPLE.items() if field not in fields}
    fields |= missing
    said = ", ".join(
        f"{_flag(field, Workload.model_fields[field])} {value:g}"
        if isinstance(value, float)
        else f"{_flag(field, Workload.model_fields[field])} {value}"
        for field, value in missing.items()
    )
    return [Note("example_question", f"no model was named, so the example is asked: {said}")]


def _presentation(top: int, per: str, on_screen: bool) -> Presentation:
    if not on_screen:
        return Presentation(top=top, per=per)  # type: ignore[arg-type]
    colour = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    width = min(140, shutil.get_terminal_size((100, 40)).columns)
    return Presentation(top=top, per=per, width=width, colour=colour)  # type: ignore[arg-type]


def _exit_code(advice: Advice) -> int:
    return 0 if advice.recommended is not None else 1
