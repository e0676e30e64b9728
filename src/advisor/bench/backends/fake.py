"""A given latency distribution on a virtual clock: proves the harness, the statistics and the file, in no time."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

import numpy as np

from advisor.bench.backends.loaded import Loaded, Virtual
from advisor.bench.inputs import Requests
from advisor.bench.settings import Point, Settings
from advisor.errors import QuestionError

_DISTRIBUTIONS: Final[dict[str, tuple[int, Callable[..., float]]]] = {
    "constant": (1, lambda _, value: value),
    "exponential": (1, lambda random, mean: random.exponential(mean)),
    "gamma": (2, lambda random, shape, scale: random.gamma(shape, scale)),
    "lognormal": (2, lambda random, median, sigma: median * np.exp(sigma * random.standard_normal())),
    "uniform": (2, lambda random, low, high: random.uniform(low, high)),
}
"""Name -> how many parameters (milliseconds first), and how one latency is drawn."""


@contextmanager
def fake(settings: Settings, point: Point, requests: Requests) -> Iterator[Loaded]:
    """Draw latencies from `settings.model`, like `lognormal:10:0.25` (median 10 ms, sigma of the logarithm 0.25).

    Raises:
        QuestionError: an unknown distribution, or parameters that are not positive numbers.
    """
    name, _, rest = settings.model.partition(":")
    try:
        count, draw = _DISTRIBUTIONS[name]
        parameters = [float(part) for part in rest.split(":")]
    except (KeyError, ValueError):
        count, parameters = 0, []
    if not count or len(parameters) != count or not all(0 < value < 1e9 for value in parameters):
        known = "constant:10, exponential:10, gamma:4:2.5, lognormal:10:0.25, uniform:5:15"
        raise QuestionError(f'--model "{settings.model}" is not a distribution in ms: {known}')
    random = np.random.default_rng([settings.seed, point.concurrency, point.batch_size or 1])
    yield Loaded(
        infer=lambda _: None,
        bodies=requests.bodies,
        backend="fake",
        software="fake",
        notes=("drawn from a given distribution on a virtual clock: not a measurement",),
        host="unknown",
        virtual=Virtual(
            service_s=lambda: max(draw(random, *parameters), 1e-6) / 1000.0,
            fails=lambda: settings.error_fraction > 0 and random.random() < settings.error_fraction,
        ),
    )
