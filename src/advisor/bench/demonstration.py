"""A measurement that needs nothing but numpy, set beside the committed data: what `advisor bench demo` shows."""

import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from advisor.bench.ledger import Report
from advisor.bench.runner import Result, run
from advisor.bench.settings import Settings

if TYPE_CHECKING:
    from advisor.advice import Advice
    from advisor.tables import Catalogue

MODEL: Final = "distilbert_base_uncased"
SEQUENCE_LENGTH: Final = 16
LATENCY_LIMIT_MS: Final = 15.0

_LAYERS, _WIDTH, _HEADS, _VOCABULARY = 6, 768, 12, 1000
_NOTE: Final = "DistilBERT's arithmetic in numpy with random weights"

Floats = np.ndarray[Any, np.dtype[np.float32]]


@dataclass(frozen=True)
class Demo:
    """What the demo found.

    Attributes:
        result: the measurement of this machine.
        advice: this machine beside the committed data.
        priced: this machine has a price, so that it can be ranked.
    """

    result: Result
    advice: "Advice"
    priced: bool


def demo(
    progress: Report | None = None,
    *,
    usd_per_hour: float | None = None,
    requests: int = 200,
    seconds: float = 10.0,
    output: Path | None = None,
    force: bool = False,
) -> Demo:
    """Time a small transformer here and ask which option should serve it.

    DistilBERT (Sanh et al. 2019: 6 layers, 768 wide, 12 heads) at 16 tokens is written out in numpy with random
    weights: the same arithmetic as the models of the committed data, so that its latency may stand beside theirs.

    Args:
        progress: called about once a second with what is known.
        usd_per_hour: what this machine costs; without it, it is measured and shown but cannot be ranked.
        requests: inferences to time.
        seconds: longest duration of the measurement.
        output: where the result file is kept; default: nowhere.
        force: replace an existing `output`.
    """
    settings = Settings.make(
        backend="python",
        model="advisor.bench.demonstration:infer",
        name=MODEL,
        input=(f"ids:int64:1x{SEQUENCE_LENGTH}",),
        requests=requests,
        seconds=seconds,
        latency_limit_ms=LATENCY_LIMIT_MS,
        usd_per_hour=usd_per_hour,
        note=_NOTE,
    )
    if output is not None:
        result = run(settings, output, force=force, report=progress)
        return Demo(result, _advice(result, usd_per_hour), usd_per_hour is not None)
    with tempfile.TemporaryDirectory() as folder:
        result = run(settings, Path(folder) / "demo.jsonl", report=progress)
        return Demo(result, _advice(result, usd_per_hour), usd_per_hour is not None)


def _advice(result: Result, usd_per_hour: float | None) -> "Advice":
    from advisor import formats, prices
    from advisor.advise import advise
    from advisor.workload import Workload

    catalogue = prices.load()
    here = formats.read_upload("this machine", result.path.read_bytes())
    kind = str(here.rows["instance_type"].iloc[0])
    if usd_per_hour is not None:
        catalogue = _with_price(catalogue, kind, usd_per_hour)
    question = Workload.ask(
        model=MODEL,
        sequence_length=SEQUENCE_LENGTH,
        latency_limit_ms=LATENCY_LIMIT_MS,
        purchase=("on_demand", "custom") if usd_per_hour is not None else ("on_demand",),
    )
    return advise(catalogue, formats.combine(formats.packaged(), here), question)


def _with_price(catalogue: "Catalogue", instance_type: str, usd_per_hour: float) -> "Catalogue":
    import pandas as pd

    from advisor.prices.catalogue import overlay
    from advisor.tables import Prices

    row = {
        "instance_type": instance_type,
        "region": "us-west-2",
        "purchase_option": "custom",
        "statistic": "list",
        "zone": "",
        "currency": "USD",
        "price_usd_per_hour": usd_per_hour,
        "price_local_per_hour": float("nan"),
        "upfront_usd": float("nan"),
        "months": pd.NA,
        "as_of": datetime.now(UTC).date().isoformat(),
        "source": "--usd-per-hour",
        "note": "",
    }
    return overlay(catalogue, Prices.validate(pd.DataFrame([row])), origin="--usd-per-hour")


_weights: list[tuple[Floats, ...]] = []


def infer(ids: np.ndarray[Any, np.dtype[np.int64]]) -> Floats:
    """Run the encoder over token ids, shape (batch, length); returns (batch, length, 768)."""
    if not _weights:
        _weights.extend(_draw_weights())
    (words, places), *layers = _weights
    x = _normal(words[ids] + places[: ids.shape[1]])
    for layer in layers:
        x = _layer(x, layer)
    return x


def _draw_weights() -> list[tuple[Floats, ...]]:
    random = np.random.default_rng(0)

    def draw(*shape: int) -> Floats:
        return random.standard_normal(shape, np.float32) * np.float32(0.02)

    tables: tuple[Floats, ...] = (draw(_VOCABULARY, _WIDTH), draw(512, _WIDTH))
    return [
        tables,
        *(
            (
                draw(_WIDTH, 3 * _WIDTH),
                draw(_WIDTH, _WIDTH),
                draw(_WIDTH, 4 * _WIDTH),
                draw(4 * _WIDTH, _WIDTH),
            )
            for _ in range(_LAYERS)
        ),
    ]


def _layer(x: Floats, weights: tuple[Floats, ...]) -> Floats:
    mix, out, up, down = weights
    batch, length, width = x.shape
    query, key, value = (
        part.reshape(batch, length, _HEADS, width // _HEADS).transpose(0, 2, 1, 3)
        for part in np.split(x @ mix, 3, axis=-1)
    )
    scores = query @ key.transpose(0, 1, 3, 2) / np.float32((width // _HEADS) ** 0.5)
    shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
    shares /= shares.sum(axis=-1, keepdims=True)
    seen = (shares @ value).transpose(0, 2, 1, 3).reshape(batch, length, width)
    x = _normal(x + seen @ out)
    inner = x @ up
    cubed = inner * inner * inner
    gelu = (
        np.float32(0.5)
        * inner
        * (1 + np.tanh(np.float32(0.7978846) * (inner + np.float32(0.044715) * cubed)))
    )
    return _normal(x + gelu @ down)


def _normal(x: Floats) -> Floats:
    centred = x - x.mean(axis=-1, keepdims=True)
    normal: Floats = centred / np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + np.float32(1e-12))
    return normal
