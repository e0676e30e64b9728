"""The documentation: derived pages are what the code says, links lead somewhere, and the README's recipes run."""

import contextlib
import io
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from advisor import formats
from advisor.cli import COMMANDS, main, options

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def test_every_derived_page_is_what_the_code_says() -> None:
    # In a process of its own: click keeps a command's first help option, and other tests call commands without their group.
    checked = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "build_docs.py"), "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert checked.returncode == 0, f"{checked.stdout}{checked.stderr}if meant: python scripts/build_docs.py"


def test_every_command_is_documented_with_an_example() -> None:
    page = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    sections = re.split(r"^(#{2,3}) advisor (.+)$", page, flags=re.MULTILINE)[1:]
    texts = dict(zip(sections[1::3], sections[2::3], strict=True))
    assert {name.split()[0] for name in texts} == set(COMMANDS)
    for name, text in texts.items():
        is_group = "COMMAND [ARGS]" in text
        assert is_group or f"advisor {name}" in text.split("Examples:")[-1], f"{name} has no example"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_to_a_file_leads_to_one(page: Path) -> None:
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text):
        if "://" not in target:
            assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_page_says_to_install_somebody_elses_package(page: Path) -> None:
    assert not re.search(
        r"pip install\s+['\"]?(advisor|ec2-serving-advisor)", page.read_text(encoding="utf-8")
    )


# ------------------------------------------------------------------------------------------------- recipes


def recipes(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, flags=re.DOTALL | re.MULTILINE)


def run_line(line: str) -> tuple[int, str]:
    """Run one line of a recipe; `advisor` in this process, with its redirection."""
    words = shlex.split(line)
    if words[0] != "advisor":
        done = subprocess.run([sys.executable, *words[1:]], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout
    target = Path(words[words.index(">") + 1]) if ">" in words else None
    words = words[: words.index(">")] if ">" in words else words
    shown = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    with contextlib.redirect_stdout(shown), pytest.raises(SystemExit) as stop:
        main(words[1:])
    said = shown.buffer.getvalue()
    if target is not None:
        target.write_bytes(said)
    return int(stop.value.code or 0), said.decode()


def test_the_recipes_of_the_readme_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One after the other in one folder, as a reader would run them; the packaged data is read once."""
    catalogue, benchmarks = options.catalogue(None), formats.packaged()
    monkeypatch.setattr(options, "catalogue", lambda *_: catalogue)
    monkeypatch.setattr(formats, "packaged", lambda: benchmarks)
    monkeypatch.chdir(tmp_path)
    assert len(recipes("sh")) == 5
    for line in "".join(recipes("sh")).splitlines():
        code, said = run_line(line)
        assert code in ((0, 1) if "--decide proven" in line else (0,)), f"{line}\n{said}"
    made = {path.name for path in tmp_path.iterdir()}
    assert made == {"results.csv", "answer.json", "answer.schema.json", "plan.xlsx"}
    capsys.readouterr()
    (example,) = recipes("python")
    exec(compile(example, "README.md", "exec"), {})
    assert "my-model" in capsys.readouterr().out
