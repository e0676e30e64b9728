"""The documentation: derived pages are what the code says, links lead somewhere, and the README's recipes run."""

import contextlib
import io
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from advisor import formats
from advisor.cli import COMMANDS, main, options
from advisor.tables import Benchmarks, Catalogue
from scripts import build_docs

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
RECIPES = pytest.mark.xdist_group("recipes")
"""They build on each other's files, so one worker runs them all."""
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("name", ["docs/commands.md", "docs/tables.md", "README.md"])
def test_a_derived_page_is_what_the_code_says(name: str) -> None:
    made = {
        "docs/commands.md": build_docs.commands_page,
        "docs/tables.md": build_docs.tables_page,
        "README.md": build_docs.readme,
    }
    assert (ROOT / name).read_text(encoding="utf-8") == made[name](), "if meant: python scripts/build_docs.py"


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


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which the recipes run one after the other, as a reader would run them."""
    return tmp_path_factory.mktemp("recipes")


@pytest.fixture(scope="module")
def packaged() -> tuple[Catalogue, Benchmarks]:
    return options.catalogue(None), formats.packaged()


@pytest.fixture
def inside(
    folder: Path, packaged: tuple[Catalogue, Benchmarks], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Path]:
    """Work in that folder, with the packaged data read once."""
    monkeypatch.setattr(options, "catalogue", lambda *_: packaged[0])
    monkeypatch.setattr(formats, "packaged", lambda: packaged[1])
    monkeypatch.chdir(folder)
    return iter([folder])


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


@RECIPES
@pytest.mark.usefixtures("inside")
@pytest.mark.parametrize("recipe", range(5))
def test_a_recipe_of_the_readme_runs(recipe: int) -> None:
    for line in recipes("sh")[recipe].splitlines():
        code, said = run_line(line)
        proven_only = "--decide proven" in line
        assert code == 0 or (proven_only and code == 1), f"{line}\n{said}"


@RECIPES
def test_there_are_five_recipes_and_they_leave_their_files(folder: Path) -> None:
    assert len(recipes("sh")) == 5
    assert {"results.csv", "answer.json", "answer.schema.json", "plan.xlsx"} <= {
        path.name for path in folder.iterdir()
    }


@RECIPES
@pytest.mark.usefixtures("inside")
def test_the_python_of_the_readme_runs(capsys: pytest.CaptureFixture[str]) -> None:
    (example,) = recipes("python")
    exec(compile(example, "README.md", "exec"), {})
    assert "my-model" in capsys.readouterr().out
