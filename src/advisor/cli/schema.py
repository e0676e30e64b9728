"""`advisor schema`: what the tables, the question and the answer are made of."""

import json

import click

from advisor.cli.listing import as_table
from advisor.reports.schema import NAMES, columns, json_schema, meaning


@click.command(
    epilog="""\b
Examples:
  advisor schema
  advisor schema prices
  advisor schema answer --format json > answer.schema.json
"""
)
@click.argument("name", metavar="[NAME]", type=click.Choice(NAMES), required=False)
@click.option(
    "--format",
    "format_name",
    type=click.Choice(("table", "json")),
    help="A table to read, or a JSON schema (draft 2020-12).  [default: table; json for `answer`]",
)
def schema(name: str | None, format_name: str | None) -> int:
    """Describe a table, the question or the answer: columns, units, bounds.

    NAME is one of instances, accelerators, prices, benchmarks, ranked, rejected, workload, answer. Without a name it lists
    what can be described.
    """
    if name is None:
        rows = [{"name": each, "meaning": meaning(each)} for each in NAMES]
        click.echo(
            _as_json({each: json_schema(each) for each in NAMES}) if format_name == "json" else as_table(rows)
        )
    elif format_name == "json" or name == "answer":
        if format_name == "table":
            raise click.UsageError(
                "the answer is nested and has no table: leave --format out, or see `advisor schema ranked`"
            )
        click.echo(_as_json(json_schema(name)))
    else:
        click.echo(f"{name}: {meaning(name)}\n\n{as_table(columns(name))}")
    return 0


def _as_json(described: object) -> str:
    return json.dumps(described, indent=2, ensure_ascii=False)
