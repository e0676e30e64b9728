"""The live benchmark: measure a model on the hardware this is started on.

    from pathlib import Path
    from advisor.bench import Settings, run
    result = run(Settings.make(backend="python", model="my_module:infer"), Path("result.jsonl"))

`result.path` is read by `advisor.formats.read`; `demo` times a small model here and compares it with committed data.
"""

from advisor.bench.demo import Demo, demo
from advisor.bench.ledger import Progress
from advisor.bench.runner import Measured, Result, run
from advisor.bench.settings import Settings

__all__ = ["Demo", "Measured", "Progress", "Result", "Settings", "demo", "run"]
