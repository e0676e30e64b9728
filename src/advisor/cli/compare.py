"""`advisor compare`: a candidate beside a baseline."""

from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from advisor.cli import options
from advisor.cli.output import write
from advisor.errors import QuestionError

if TYPE_CHECKING:
    from advisor.compare import Side
    from advisor.tables import Benchmarks, Catalogue
    from advisor.workload import Workload

_FORMATS: Final = ("terminal", "json", "csv", "markdown")
_SUFFIXES: Final = {".json": "json", ".csv": "csv", ".md": "markdown"}


@click.command(
    epilog="""\b
Examples:
  advisor compare --baseline g5.2xlarge --candidate inf2.xlarge --model bert_base_uncased --sequence-length 512
  advisor compare --baseline before.jsonl --candidate after.jsonl
  advisor compare --baseline m5.large+eia2.medium --candidate c5.4xlarge --benchmarks results/ --format json
"""
)
@click.option(
    "--baseline", required=True, metavar="OPTION|FILE", help="What is there: an option, or a result file."
)
@click.option(
    "--candidate",
    "candidates",
    required=True,
    multiple=True,
    metavar="OPTION|FILE",
    help="What would replace it. Repeats.",
)
@click.option("--anyway", is_flag=True, help="Compare even where model, length, shape, batch or load differ.")
@click.option("--model", metavar="NAME", help="Model name; may be left out where the files hold one.")
@click.option("--sequence-length", type=int, metavar="TOKENS", help="Input length in tokens.")
@click.option("--input-shape", metavar="SHAPE", help='Shape of one input, like "3x224x224".')
@click.option("--batch-size", type=int, metavar="NUMBER", help="Only this batch size.")
@click.option("--concurrency", type=int, metavar="NUMBER", help="Only this concurrency.")
@click.option(
    "--region", default="us-west-2", show_default=True, metavar="REGION", help="Region of the prices."
)
@click.option(
    "--purchase",
    default="on_demand",
    show_default=True,
    metavar="OPTION",
    help="Purchase option of the prices.",
)
@click.option(
    "--confidence", type=float, default=0.95, show_default=True, metavar="FRACTION", help="Of the intervals."
)
@options.price_options
@options.benchmark_options
@click.option(
    "--format",
    "format_name",
    type=click.Choice(_FORMATS),
    help="Form of the report.  [default: by the suffix of --output, else terminal]",
)
@options.output_option
def compare(
    *,
    baseline: str,
    candidates: tuple[str, ...],
    anyway: bool,
    model: str | None,
    sequence_length: int | None,
    input_shape: str | None,
    batch_size: int | None,
    concurrency: int | None,
    region: str,
    purchase: str,
    confidence: float,
    prices: Path | None,
    rate: tuple[str, ...],
    benchmarks: tuple[str, ...],
    with_published: bool,
    max_expanded_size: str | None,
    format_name: str | None,
    output: Path | None,
) -> int:
    """Set a candidate against a baseline: latency, throughput, price, cost.

    An option (g5.2xlarge, m5.large+eia2.medium) is looked up in the benchmarks; anything that is a file is read. Changes have
    an interval where raw latencies are known, and are called significant only where it does not hold zero.
    """
    from advisor.compare import compare as set_against
    from advisor.reports.comparison import FORMATS
    from advisor.workload import Workload

    workload = Workload.ask(
        model=model,
        sequence_length=sequence_length,
        input_shape=input_shape,
        batch_size=() if batch_size is None else (batch_size,),
        concurrency=() if concurrency is None else (concurrency,),
        region=(region,),
        purchase=(purchase,),
        confidence=confidence,
    )
    catalogue = options.catalogue(prices, rate)
    names = (baseline, *candidates)
    shared = None
    if not all(Path(name).exists() for name in names):
        shared = options.measured(benchmarks, with_published, max_expanded_size, catalogue)
    first, *others = (
        _side(name, shared, catalogue, workload, options.expanded_bytes(max_expanded_size)) for name in names
    )
    found = [set_against(first, other, confidence=confidence, anyway=anyway) for other in others]
    format_name = format_name or (_SUFFIXES.get(output.suffix.lower(), "terminal") if output else "terminal")
    write(FORMATS[format_name](found), output)
    return 0


def _side(
    name: str,
    shared: "Benchmarks | None",
    catalogue: "Catalogue",
    workload: "Workload",
    max_expanded_bytes: int,
) -> "Side":
    """Read a file, or look an option up."""
    from advisor import formats
    from advisor.compare import Side, find, hourly_price

    path = Path(name)
    if path.exists():
        own = formats.read([name], known_types=catalogue.types, max_expanded_bytes=max_expanded_bytes)
        measurement = find(own, None, workload)
        shown = f"{path.name} ({measurement.option})"
    elif path.suffix in {".csv", ".json", ".jsonl", ".parquet", ".xlsx"} or "/" in name:
        raise QuestionError(f"{name}: there is no such file")
    else:
        assert shared is not None  # noqa: S101
        measurement = find(shared, name, workload)
        shown = measurement.option
    return Side(shown, measurement, hourly_price(catalogue, measurement, workload))
