"""Write the pages and blocks that are derived from the code: `python scripts/build_docs.py` (`--check` only compares).

docs/commands.md    the help of every command
docs/tables.md      every column of every table, and every field of the question
README.md           the picture of the terminal report, between its two marks
"""

import argparse
import sys
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import click

from advisor.cli import COMMANDS, cli
from advisor.reports import EXPORTERS, Presentation
from advisor.reports.markdown import escaped
from advisor.reports.schema import NAMES, columns, meaning

ROOT = Path(__file__).resolve().parents[1]
PICTURE_DAY = date(2026, 11, 29)
"""The day on which the picture of the README was taken: ages are counted to it."""
BEGIN, END = "<!-- report -->\n```text\n", "```\n<!-- /report -->\n"


def commands_page() -> str:
    """Return docs/commands.md."""
    lines = [
        "# Commands",
        "",
        "Every command with its help, as `--help` prints it. This page is made by `scripts/build_docs.py`.",
        "",
        "Exit codes: 0 found, 1 nothing qualifies, 2 wrong use or wrong input. Data goes to stdout, all else to stderr.",
        "",
        "Completion of commands, flags and their words, for the shell in use (bash, zsh or fish):",
        "",
        '    eval "$(_ADVISOR_COMPLETE=bash_source advisor)"      # in ~/.bashrc',
        '    eval "$(_ADVISOR_COMPLETE=zsh_source advisor)"       # in ~/.zshrc',
        "    _ADVISOR_COMPLETE=fish_source advisor | source      # in ~/.config/fish/config.fish",
        "",
    ]
    context = click.Context(cli, info_name="advisor")
    for name in COMMANDS:
        command = cli.get_command(context, name)
        assert command is not None, name
        lines += list(_command(command, name, context, depth=2))
    return "\n".join(lines)


def _command(command: click.Command, name: str, parent: click.Context, depth: int) -> Iterator[str]:
    context = click.Context(
        command, info_name=name, parent=parent, max_content_width=100, terminal_width=100,
        help_option_names=["-h", "--help"],
    )  # fmt: skip
    yield from (f"{'#' * depth} {context.command_path}", "", "```text", *_help(command, context), "```", "")
    if isinstance(command, click.Group):
        for sub in command.list_commands(context):
            found = command.get_command(context, sub)
            assert found is not None, sub
            yield from _command(found, sub, context, depth + 1)


def _help(command: click.Command, context: click.Context) -> list[str]:
    return [line.rstrip() for line in command.get_help(context).splitlines()]


def tables_page() -> str:
    """Return docs/tables.md."""
    lines = [
        "# Tables",
        "",
        "Every column of every table, and every field of the question. The program checks them where data comes in; `advisor schema` prints",
        "them, `--format json` as a JSON schema. This page is made by `scripts/build_docs.py`.",
        "",
        "Unknown is empty (`null` in JSON), never 0; only columns that say so may be unknown. Text that is not known is empty.",
        "",
    ]
    for name in NAMES:
        if name == "answer":
            continue
        rows = columns(name)
        lines += [f"## {name}", "", meaning(name), ""]
        lines += [f"| {' | '.join(rows[0])} |", f"|{'---|' * len(rows[0])}"]
        lines += [f"| {' | '.join(_cell(key, cell) for key, cell in row.items())} |" for row in rows]
        lines.append("")
    return "\n".join(lines)


def _cell(key: str, cell: str) -> str:
    return f"`{cell}`" if key == "name" else escaped(cell)


def picture() -> str:
    """Return the terminal report of the default question on the day of the picture."""
    from advisor import formats, prices
    from advisor.advise import advise
    from advisor.workload import EXAMPLE, Workload

    advice = advise(prices.packaged(), formats.packaged(), Workload.ask(**EXAMPLE, today=PICTURE_DAY))
    return EXPORTERS["terminal"](advice, Presentation()).decode()


def readme() -> str:
    """Return README.md with the picture between its marks."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    before, found, rest = text.partition(BEGIN)
    assert found, f"README.md has lost its mark {BEGIN!r}"
    _, end, after = rest.partition(END)
    assert end, f"README.md has lost its mark {END!r}"
    return before + BEGIN + picture() + END + after


def pages() -> dict[str, str]:
    """Return every derived page: path -> what it must hold."""
    return {"docs/commands.md": commands_page(), "docs/tables.md": tables_page(), "README.md": readme()}


def main() -> int:
    """Write what changed, or with --check only say so; exit code 1 where a page is not what it must be."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing")
    check = parser.parse_args().check
    changed = [name for name, text in pages().items() if _read(ROOT / name) != text]
    for name in changed:
        if not check:
            (ROOT / name).write_text(pages()[name], encoding="utf-8")
        print(f"{'differs' if check else 'written'}: {name}")
    return 1 if check and changed else 0


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""


if __name__ == "__main__":
    sys.exit(main())
