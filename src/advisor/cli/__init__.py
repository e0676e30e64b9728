"""The command line: a table of commands, each imported only when it is called."""

import sys
from importlib import import_module
from typing import Any, Final

import click

from advisor.errors import AdvisorError

COMMANDS: Final = {
    "recommend": (
        "advisor.cli.recommend:recommend",
        "Say which option should serve a model, what it costs and why.",
    ),
    "compare": (
        "advisor.cli.compare:compare",
        "Set a candidate against a baseline: latency, throughput, price, cost.",
    ),
    "benchmarks": (
        "advisor.cli.benchmarks:benchmarks",
        "List, show and check measured latencies; write a template.",
    ),
    "instances": ("advisor.cli.instances:instances", "List instance types with their hardware facts."),
    "prices": ("advisor.cli.prices:prices", "Show, check, refresh and compare prices."),
    "bench": ("advisor.cli.bench:bench", "Measure a model on the hardware this is started on."),
    "app": ("advisor.cli.app:app", "Open the dashboard."),
    "schema": ("advisor.cli.schema:schema", "Describe the tables and the answer: columns, units, bounds."),
}
"""Command name -> where it lives ("module:attribute") and its one line of help."""


class LazyGroup(click.Group):
    """A group that shows its help without importing any command."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in COMMANDS:
            return None
        module, attribute = COMMANDS[cmd_name][0].split(":")
        command: click.Command = getattr(import_module(module), attribute)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])


def _print_version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted:
        from advisor import __version__

        click.echo(f"advisor {__version__}")
        ctx.exit()


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Show the version.",
)
def cli() -> None:
    """Which EC2 instance should serve this model, what will it cost, and how sure are we?

    Exit codes: 0 found, 1 nothing qualifies, 2 wrong use or wrong input. Data goes to stdout, all else to stderr.
    """


def main(arguments: list[str] | None = None) -> Any:
    """Run the command line; one line on stderr and exit code 2 for every error raised on purpose."""
    try:
        code = cli.main(args=arguments, prog_name="advisor", standalone_mode=False)
    except click.exceptions.Abort:
        click.echo("advisor: stopped", err=True)
        sys.exit(130)
    except click.ClickException as error:
        click.echo(f"advisor: {error.format_message()}", err=True)
        sys.exit(2)
    except AdvisorError as error:
        from advisor.text import printable

        click.echo(f"advisor: {printable(error)}", err=True)
        sys.exit(2)
    sys.exit(code if isinstance(code, int) else 0)
