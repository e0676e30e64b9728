"""A Python callable: `module:function`."""

import importlib
import platform
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from advisor.bench.backends.loaded import Loaded
from advisor.bench.inputs import Requests
from advisor.bench.settings import Point, Settings
from advisor.errors import QuestionError


@contextmanager
def python(settings: Settings, point: Point, requests: Requests) -> Iterator[Loaded]:  # noqa: ARG001
    """Call a function once a request: with the array, with several arrays in order, with a JSON value, or with nothing.

    Raises:
        QuestionError: no such module or function.
    """
    function = find(settings.model)
    yield Loaded(
        infer=lambda arguments: function(*arguments),
        bodies=tuple(_arguments(body) for body in requests.bodies),
        backend="python",
        software=f"python {platform.python_version()}",
    )


def find(name: str) -> Callable[..., Any]:
    """Import what `module:function` names; modules of the working folder are found.

    Raises:
        QuestionError: no such module or function, or it cannot be called.
    """
    module_name, colon, attribute = name.partition(":")
    if not colon:
        raise QuestionError(f'--model "{name}" is not module:function')
    if "" not in sys.path:
        sys.path.insert(0, "")
    try:
        module = importlib.import_module(module_name)
    except ImportError as error:
        raise QuestionError(f'--model "{name}": the module cannot be imported: {error}') from None
    function: Any = module
    for part in attribute.split("."):
        function = getattr(function, part, None)
    if not callable(function):
        raise QuestionError(f'--model "{name}": {module_name} has no function {attribute}')
    found: Callable[..., Any] = function
    return found


def _arguments(body: Any) -> tuple[Any, ...]:
    if body is None:
        return ()
    return tuple(body.values()) if isinstance(body, dict) and _are_arrays(body) else (body,)


def _are_arrays(body: dict[str, Any]) -> bool:
    return bool(body) and all(hasattr(value, "dtype") for value in body.values())
