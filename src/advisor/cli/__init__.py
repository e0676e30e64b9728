"""The command line: a table of commands, each imported only when it is called."""

import gc
import os
import sys
from collections.abc import Mapping
from importlib import import_module
from typing import Any, Final, NoReturn

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


class _ReaderGoneError(Exception):
    """Whoever read our output has seen enough (`| head`). No OSError: click would make that exit code 1 of ours."""


class LazyGroup(click.Group):
    """A group that shows its help without importing any command.

    Its table is command name -> where it lives ("module:attribute") and its one line of help.
    """

    def __init__(self, *args: Any, table: Mapping[str, tuple[str, str]], **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.table = table

    def invoke(self, ctx: click.Context) -> Any:
        try:
            code = super().invoke(ctx)
            if sys.stdout is not None:  # closed by `>&-`
                sys.stdout.flush()
        except BrokenPipeError:
            raise _ReaderGoneError from None
        return code

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(self.table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in self.table:
            return None
        module, attribute = self.table[cmd_name][0].split(":")
        if module not in sys.modules:
            _import_in_peace(module)
        command: click.Command = getattr(sys.modules[module], attribute)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in self.table and not args[0].startswith("-"):
            from advisor.text import closest

            ctx.fail(f'there is no command "{args[0]}"{closest(args[0], self.table)}')
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in self.table.items()])


def _import_in_peace(module: str) -> None:
    """Import without looking for garbage: what an import makes stays, and looking costs a tenth of the start-up."""
    gc.disable()
    try:
        import_module(module)
    finally:
        gc.freeze()
        gc.enable()


def _print_version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted:
        from advisor import __version__

        click.echo(f"advisor {__version__}")
        ctx.exit()


@click.group(cls=LazyGroup, table=COMMANDS, context_settings={"help_option_names": ["-h", "--help"]})
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
        _fail("stopped", 130)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        sys.exit(2)
    except click.UsageError as error:
        where = error.ctx.command_path if error.ctx else "advisor"
        _fail(f"{error.format_message()} (see: {where} --help)", 2)
    except click.ClickException as error:
        _fail(error.format_message(), 2)
    except AdvisorError as error:
        _fail(str(error), 2)
    except _ReaderGoneError:
        # The interpreter must not try to flush the rest.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(128 + 13)
    except OSError as error:
        _fail(f"{error.filename or 'output'}: {error.strerror or error}", 2)
    sys.exit(code if isinstance(code, int) else 0)


def _fail(message: str, code: int) -> NoReturn:
    from advisor.text import printable

    click.echo(f"advisor: {printable(message)}", err=True)
    sys.exit(code)
