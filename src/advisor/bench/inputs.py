"""What is sent to the model: random arrays of stated shapes, arrays from a file, or JSON lines in order."""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from advisor.bench.settings import Point, Settings
from advisor.errors import InputError, QuestionError
from advisor.text import closest

Arrays = dict[str, npt.NDArray[Any]]
"""Input name -> array, in the order the model takes them."""

_TYPES: Final = ("float32", "float64", "float16", "int64", "int32", "int8", "uint8", "bool")
_SPEC = re.compile(r"(?P<name>[^:]+):(?P<type>\w+):(?P<shape>(?:\d+|B|S)(?:x(?:\d+|B|S))*)")
_VARIETY: Final = 8
"""Different random inputs that are sent in turn."""

_RANDOM_TOKENS: Final = 1000
"""Random integers stay below this, so that they are valid tokens of any vocabulary."""


@dataclass(frozen=True)
class Requests:
    """What is sent, in turn, and how the result describes it.

    Attributes:
        bodies: one a request, used in order and then again; arrays by name, or parsed JSON.
        batch_size: inputs in one request.
        sequence_length: tokens of one input, where it is a sequence.
        input_shape: shape of one input, where it is not.
    """

    bodies: tuple[Any, ...]
    batch_size: int
    sequence_length: int | None
    input_shape: str


def requests_for(settings: Settings, point: Point) -> Requests:
    """Make the requests of one configuration.

    Raises:
        QuestionError: an input that is not `name:type:shape`, or a sweep that no input can follow.
        InputError: an input file that cannot be read.
    """
    if settings.input_file:
        return _from_file(Path(settings.input_file), settings, point)
    if not settings.input:
        if settings.batch_size not in ((), (1,)) or settings.sequence_length:
            raise QuestionError(
                "a sweep over --batch-size or --sequence-length needs --input name:type:shape"
            )
        return Requests((None,), 1, None, "")
    random = np.random.default_rng(settings.seed)
    specs = [_parse(text, settings, point) for text in settings.input]
    bodies = tuple({name: _draw(random, kind, shape) for name, kind, shape in specs} for _ in range(_VARIETY))
    return _described(bodies, point)


def _parse(text: str, settings: Settings, point: Point) -> tuple[str, str, tuple[int, ...]]:
    found = _SPEC.fullmatch(text.strip())
    if found is None:
        raise QuestionError(f'--input "{text}" is not name:type:shape, like ids:int64:1x128')
    if found["type"] not in _TYPES:
        known = ", ".join(_TYPES)
        raise QuestionError(
            f'--input "{text}": the type {found["type"]} is not one of {known}{closest(found["type"], _TYPES)}'
        )
    sizes = found["shape"].split("x")
    by_letter = any(letter in part.split(":")[-1] for part in settings.input for letter in "BS")
    if not by_letter:
        if point.batch_size is not None:
            sizes[0] = "B"
        if point.sequence_length is not None and len(sizes) > 1:
            sizes[1] = "S"
    letters = {"B": point.batch_size or 1, "S": point.sequence_length}
    shape = tuple(letters[size] if size in letters else int(size) for size in sizes)
    if None in shape:
        raise QuestionError(f'--input "{text}" has an S: give --sequence-length')
    return found["name"], found["type"], tuple(size for size in shape if size is not None)


def _draw(random: np.random.Generator, kind: str, shape: tuple[int, ...]) -> npt.NDArray[Any]:
    if kind.startswith("float"):
        return random.standard_normal(shape).astype(kind)
    if kind == "bool":
        return np.ones(shape, bool)
    return random.integers(0, min(_RANDOM_TOKENS, int(np.iinfo(kind).max)), shape).astype(kind)


def _described(bodies: tuple[Arrays, ...], point: Point) -> Requests:
    first = next(iter(bodies[0].values()))
    batch = point.batch_size or (int(first.shape[0]) if first.ndim else 1)
    if first.ndim == 2 and np.issubdtype(first.dtype, np.integer):
        return Requests(bodies, batch, int(first.shape[1]), "")
    shape = "x".join(str(size) for size in first.shape[1:])
    return Requests(bodies, batch, point.sequence_length, "" if point.sequence_length else shape)


def _from_file(path: Path, settings: Settings, point: Point) -> Requests:
    if settings.sequence_length or len(settings.batch_size) > 1:
        raise QuestionError(
            "a sweep needs --input name:type:shape: the sizes in --input-file are what they are"
        )
    if not path.is_file():
        raise InputError(f"{path} does not exist: give an .npz file or JSON lines")
    if path.suffix == ".npz":
        return _described((_load_npz(path),), point)
    bodies = _load_lines(path)
    return Requests(bodies, point.batch_size or 1, None, "")


def _load_npz(path: Path) -> Arrays:
    try:
        with np.load(path, allow_pickle=False) as archive:
            arrays: Arrays = {name: archive[name] for name in archive.files}
    except (ValueError, OSError, KeyError, EOFError) as error:
        raise InputError(f"{path.name} is not an .npz file of plain arrays: {error}") from None
    if not arrays:
        raise InputError(f"{path.name} holds no array")
    return arrays


def _load_lines(path: Path) -> tuple[Any, ...]:
    bodies: list[Any] = []
    with path.open(encoding="utf-8-sig") as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                bodies.append(json.loads(line))
            except ValueError as error:
                raise InputError(f"{path.name} line {number} is not JSON: {error}") from None
    if not bodies:
        raise InputError(f"{path.name} holds no request: write one JSON value a line")
    return tuple(bodies)
