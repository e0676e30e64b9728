"""What is measured and how: the settings of one `bench run`."""

import hashlib
import re
from itertools import product
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self
from urllib.parse import urlsplit

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from advisor.errors import QuestionError
from advisor.text import clean

_DURATION = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(ms|s|m|min|h|)\s*")
_SECONDS: Final = {"ms": 0.001, "s": 1.0, "": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}


def parse_duration(value: object) -> object:
    """Read `10m`, `1.5h`, `30s` or plain seconds as seconds.

    Raises:
        ValueError: no number, or an unknown unit.
    """
    if value is None or isinstance(value, int | float):
        return value
    found = _DURATION.fullmatch(str(value))
    if found is None:
        raise ValueError(f'"{value}" is not a duration: write 30s, 10m or 1h')
    return float(found[1]) * _SECONDS[found[2]]


def parse_share(value: object) -> object:
    """Read `2%` or `0.02` as a fraction.

    Raises:
        ValueError: no number.
    """
    if not isinstance(value, str):
        return value
    text = value.strip()
    try:
        return float(text[:-1]) / 100 if text.endswith("%") else float(text)
    except ValueError:
        raise ValueError(f'"{value}" is not a share: write 2% or 0.02') from None


def _several(value: Any) -> Any:
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(","))
    return (value,) if isinstance(value, int | float) else value


def _one_or_more(value: Any) -> Any:
    return (value,) if isinstance(value, str) else value


Counts = Annotated[tuple[Annotated[int, Field(ge=1)], ...], BeforeValidator(_several)]
Texts = Annotated[tuple[str, ...], BeforeValidator(_one_or_more)]
Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False), BeforeValidator(parse_duration)]
Modes = Annotated[
    tuple[Literal["eager", "trace", "script", "compile"], ...],
    Field(min_length=1),
    BeforeValidator(_several),
]


_WITHOUT_END: Final = 10**9
"""Requests of a run that only the time ends."""


class Settings(BaseModel):
    """How a measurement is made. Frozen; field names are the flags of `advisor bench run` and the keys of a recipe."""

    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=())

    model: str = Field(min_length=1, description="file, module:function, URL, command line or distribution")
    backend: str = Field(description="what runs the model")
    name: str | None = Field(None, description="model name in the result; default: from the model")
    device: str = Field("cpu", pattern=r"^(cpu|cuda:\d+|neuron:\d+|eia:\d+)$", description="where it runs")
    precision: str = Field("fp32", description="number format (torch casts the model; others state it)")

    input: Texts = Field(
        (), description="name:type:shape, like ids:int64:1x128; B and S stand for the sweeps"
    )
    input_file: str | None = Field(None, description=".npz, or JSON lines used in order")
    batch_size: Counts = Field((), description="batch sizes to measure")
    sequence_length: Counts = Field((), description="sequence lengths to measure")

    torch_mode: Modes = Field(("eager",), description="eager, trace, script, compile")
    weights: str | None = Field(None, description="state dict for a model given as module:function")
    trust_model: bool = Field(False, description="load a pickled model, which may run its own code")
    provider: str | None = Field(None, description="ONNX Runtime execution provider")
    threads: int | None = Field(
        None, ge=1, description="threads inside one inference; default: the library's"
    )
    neuron_cores: str | None = Field(None, pattern=r"^\d+([,-]\d+)*$", description="NEURON_RT_VISIBLE_CORES")
    shared_weights: bool = Field(False, description="NEURON_RT_MULTI_INSTANCE_SHARED_WEIGHTS")
    protocol: Literal["json", "kserve", "sagemaker"] = Field("json", description="form of the HTTP request")
    header: Texts = Field((), description='HTTP headers, "Name: value"; values are never written')
    timeout_s: Seconds = Field(60.0, gt=0, description="longest wait for an answer (http, command)")
    error_fraction: float = Field(0.0, ge=0, le=1, description="share of failures of the fake backend")

    concurrency: Counts = Field((1,), min_length=1, description="requests in flight (closed loop)")
    copies: int = Field(1, ge=1, description="copies of the model loaded")
    parallel: Literal["threads", "processes"] = Field("threads", description="what the copies run in")
    rate: float | None = Field(None, gt=0, allow_inf_nan=False, description="open loop: arrivals per second")
    arrivals: Literal["poisson", "constant"] = Field("poisson", description="open loop: spacing of arrivals")
    in_flight_limit: int = Field(64, ge=1, description="open loop: most requests in flight")

    requests: int | None = Field(
        None, ge=1, description="requests of a run; default 1000, the ceiling with --until"
    )
    seconds: Seconds | None = Field(None, gt=0, description="longest duration of a run")
    until: Literal["decided"] | None = Field(None, description="stop when the verdict is settled")
    until_width: Annotated[float | None, BeforeValidator(parse_share)] = Field(
        None, gt=0, lt=1, description="stop when the percentile's interval is this narrow"
    )
    latency_limit_ms: float | None = Field(None, gt=0, allow_inf_nan=False, description="limit to decide")
    percentile: float = Field(90.0, gt=0, lt=100, description="percentile that is promised")
    confidence: float = Field(0.95, gt=0.5, lt=1, description="of the printed intervals")
    runs: int = Field(1, ge=1, description="separate runs (five make grade A)")
    spread_s: Seconds = Field(0.0, description="time between the starts of two runs")
    gc: Literal["on", "off"] = Field("on", description="Python's garbage collection while measuring")
    seed: int = Field(0, ge=0, description="of random inputs and arrivals")

    instance_type: str | None = Field(None, description="stated by the user where it cannot be found out")
    note: str = Field("", description="what a reader of the result must know")
    accelerators: str | None = Field(None, description="file with a describe-accelerators --json listing")
    usd_per_hour: float | None = Field(
        None, gt=0, allow_inf_nan=False, description="price, for dollars spent"
    )

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.until and self.latency_limit_ms is None:
            raise ValueError("--until decided needs --latency-limit-ms")
        if self.until and self.until_width:
            raise ValueError("give --until decided or --until-width, not both")
        if self.rate is not None and self.concurrency != (1,):
            raise ValueError("--rate is an open loop and --concurrency a closed one: give one of them")
        if self.parallel == "threads" and self.rate is None and max(self.concurrency) < self.copies:
            raise ValueError(f"{self.copies} copies need --concurrency {self.copies} or more to be used")
        if self.parallel == "processes" and any(count % self.copies for count in self.concurrency):
            raise ValueError("with --parallel processes the concurrency must be a multiple of the copies")
        if self.input and self.input_file:
            raise ValueError("give --input or --input-file, not both")
        return self

    @classmethod
    def make(cls, **fields: Any) -> Self:
        """Make settings from fields of any accepted form.

        Raises:
            QuestionError: one line that names the setting, what it holds and what is accepted.
        """
        try:
            return cls(**fields)
        except ValidationError as error:
            first = error.errors()[0]
            message = first["msg"].removeprefix("Value error, ")
            where = "--" + str(first["loc"][0]).replace("_", "-") if first["loc"] else ""
            if not where:
                raise QuestionError(message) from None
            if first["type"] == "missing":
                raise QuestionError(f"{where} is missing") from None
            raise QuestionError(f"{where}: {message} (got {first['input']!r})") from None

    @property
    def open_loop(self) -> bool:
        """Requests arrive on a schedule, whether or not earlier ones were answered."""
        return self.rate is not None

    @property
    def request_ceiling(self) -> int:
        """Most requests of one run."""
        if self.requests is not None:
            return self.requests
        if self.until_rule:
            return 100_000
        if self.seconds is None:
            return 1000
        return _WITHOUT_END if self.rate is None else round(1.5 * self.rate * self.seconds) + 1000

    @property
    def until_rule(self) -> bool:
        """A run is judged while it goes on (several runs are judged between them)."""
        return bool(self.until or self.until_width)

    def model_name(self) -> str:
        """The name the result carries: as given, or the file's, function's or program's own."""
        if self.name:
            return self.name
        if self.backend == "http":
            return urlsplit(self.model).path.strip("/").replace("/", "-") or "http"
        if self.backend == "command":
            return Path(self.model.split()[0]).name
        if ":" in self.model and self.backend != "fake":
            return self.model.rpartition(":")[2]
        return "fake" if self.backend == "fake" else Path(self.model).stem

    def shown(self) -> dict[str, Any]:
        """The settings as they are written: no path, host, header value or command argument.

        What is left out is replaced by a short digest, so that a resumed run can be told from another one.
        """
        written = self.model_dump(exclude={"header", "usd_per_hour"}, mode="json")
        written["model"] = _shown_model(self.backend, self.model)
        for key in ("weights", "input_file", "accelerators"):
            if written[key] is not None:
                written[key] = clean(Path(written[key]).name)
        written["header_names"] = sorted(line.partition(":")[0].strip() for line in self.header)
        written["private_digest"] = _digest(self)
        return written


def _shown_model(backend: str, model: str) -> str:
    if backend == "http":
        parts = urlsplit(model)
        return clean(f"{parts.scheme}://[host]{parts.path}")
    if backend == "command":
        return clean(Path(model.split(maxsplit=1)[0]).name)
    return clean(model if backend == "fake" else Path(model).name)


def _digest(settings: Settings) -> str:
    digest = hashlib.sha256()
    for part in (settings.model, *sorted(settings.header)):
        digest.update(part.encode() + b"\0")
    for name in (settings.model, settings.weights, settings.input_file):
        path = Path(name) if name else None
        if path is not None and settings.backend not in ("http", "fake", "command") and path.is_file():
            with path.open("rb") as file:
                digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()[:16]


class Point(BaseModel):
    """One configuration of the sweep: a section of the result file."""

    model_config = ConfigDict(frozen=True)

    mode: str
    batch_size: int | None
    sequence_length: int | None
    concurrency: int


def points(settings: Settings) -> list[Point]:
    """Every configuration to measure: modes x batch sizes x sequence lengths x concurrencies, in the order given."""
    modes = settings.torch_mode if settings.backend == "torch" else ("",)
    return [
        Point(mode=mode, batch_size=batch, sequence_length=length, concurrency=concurrency)
        for mode, batch, length, concurrency in product(
            modes,
            settings.batch_size or (None,),
            settings.sequence_length or (None,),
            (1,) if settings.open_loop else settings.concurrency,
        )
    ]
