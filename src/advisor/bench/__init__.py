"""The live benchmark: measure a model on the hardware this is started on.

    from pathlib import Path
    from advisor.bench import Settings, run
    result = run(Settings.make(backend="python", model="my_module:infer"), Path("result.jsonl"))

`result.path` is read by `advisor.formats.read`; `demo` times a small model here and compares it with committed data.
"""

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from advisor.bench.demonstration import Demo, demo
    from advisor.bench.ledger import Progress
    from advisor.bench.runner import Result, run
    from advisor.bench.settings import Settings
    from advisor.bench.trial import Measured

_WHERE: Final = {
    "Demo": "advisor.bench.demonstration",
    "Measured": "advisor.bench.trial",
    "Progress": "advisor.bench.ledger",
    "Result": "advisor.bench.runner",
    "Settings": "advisor.bench.settings",
    "demo": "advisor.bench.demonstration",
    "run": "advisor.bench.runner",
}

__all__ = ["Demo", "Measured", "Progress", "Result", "Settings", "demo", "run"]


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_WHERE[name]), name)
