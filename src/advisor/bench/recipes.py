"""Measurements that are written down: TOML files whose keys are settings."""

import tomllib
from pathlib import Path
from typing import Any

from advisor.data import committed
from advisor.errors import InputError, QuestionError
from advisor.text import closest


def names() -> list[str]:
    """Return the names of the committed recipes, sorted."""
    return sorted(path.stem for path in (committed("benchmarks") / "recipes").glob("*.toml"))


def read(name: str) -> dict[str, Any]:
    """Return the settings of a committed recipe, or of a TOML file of one's own.

    Raises:
        QuestionError: no such recipe; names those there are.
        InputError: a file that is not TOML.
    """
    path = Path(name) if name.endswith(".toml") else committed("benchmarks") / "recipes" / f"{name}.toml"
    if not path.is_file():
        known = names()
        raise QuestionError(f"--recipe {name}: there are {', '.join(known)}{closest(name, known)}")
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path.name} is not a recipe: {error}") from None
