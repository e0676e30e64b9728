"""The question: what is served, under which promise, and where it may be bought."""

import re
from datetime import date
from typing import Annotated, Any, Final, Literal

from pydantic import AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from advisor.errors import QuestionError
from advisor.tables import Kind

Objective = Literal["cost", "latency", "served-cost"]
Decide = Literal["measured", "proven"]

_UNITS: Final = {
    "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12,
    "KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40,
}  # fmt: skip
_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]+)\s*")


def parse_size(text: object) -> object:
    """Read a size such as `440MB` (10^6 bytes) or `4KiB` (2^10 bytes) as whole bytes; a number is bytes already.

    Raises:
        ValueError: no unit, an unknown unit, or no number.
    """
    if text is None or isinstance(text, int | float):
        return text
    found = _SIZE.fullmatch(str(text))
    if found is None or found[2].upper() not in _UNITS:
        raise ValueError(
            f'"{text}" is not a size: write a number with B, kB, MB, GB, KiB, MiB or GiB, like 440MB'
        )
    return round(float(found[1]) * _UNITS[found[2].upper()])


def _several(value: Any) -> Any:
    return (value,) if isinstance(value, str | int) else value


Texts = Annotated[tuple[str, ...], BeforeValidator(_several)]
Counts = Annotated[tuple[Annotated[int, Field(ge=1)], ...], BeforeValidator(_several)]
Bytes = Annotated[int, Field(ge=0), BeforeValidator(parse_size)]


class Workload(BaseModel):
    """The question asked. Frozen; the same question over the same data gives the same bytes.

    Field names are the flags of the command line (`latency_limit_ms` is `--latency-limit-ms`) and the keys of
    `--workload file.toml`. Sizes accept text ("440MB"); lists accept a single value.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=(), populate_by_name=True)

    model: str | None = Field(None, description="model name; may be left out where the files hold one")
    sequence_length: int | None = Field(None, ge=1, description="input length in tokens")
    input_shape: str | None = Field(None, description='shape of one input, like "3x224x224"')
    model_size_bytes: Bytes | None = Field(
        None, validation_alias=AliasChoices("model_size_bytes", "model_size"), description="size of the model"
    )
    input_size_bytes: Bytes = Field(
        0, validation_alias=AliasChoices("input_size_bytes", "input_size"), description="size of one input"
    )
    copies: int = Field(1, ge=1, description="copies of the model that must fit (memory only)")
    shared_weights: bool = Field(False, description="copies on one device share one set of weights")
    shards: int = Field(1, ge=1, description="devices that one copy is split over")
    headroom: float = Field(
        1.0, ge=1.0, le=100, allow_inf_nan=False, description="factor on the memory lower bound"
    )
    latency_limit_ms: float | None = Field(
        None,
        gt=0,
        le=1e12,
        allow_inf_nan=False,
        description="limit that the percentile must keep; none: the step is skipped",
    )
    percentile: float = Field(90.0, gt=0, lt=100, description="latency percentile that is promised")
    region: Texts = Field(("us-west-2",), min_length=1, description='regions to buy in, or "all"')
    purchase: Texts = Field(("on_demand",), min_length=1, description='purchase options, or "all"')
    objective: Objective = Field("cost", description="what the ranking minimises")
    batch_size: Counts = Field((), description="only these batch sizes; empty: any")
    concurrency: Counts = Field((), description="only these concurrencies; empty: any")
    max_usd_per_hour: float | None = Field(
        None, gt=0, allow_inf_nan=False, description="ceiling on the option's price"
    )
    arch: Annotated[tuple[Literal["x86_64", "arm64"], ...], BeforeValidator(_several)] = Field(
        (), description="only these CPU architectures; empty: any"
    )
    accelerator_kind: Annotated[tuple[Kind, ...], BeforeValidator(_several)] = Field(
        (), description="only these kinds; empty: any"
    )
    exclude: Texts = Field((), description="instance types, families (g5) or options to leave out")
    include_retired: bool = Field(False, description="rank types that are no longer sold")
    stale_spot: bool = Field(False, description="rank spot prices older than seven days")
    decide: Decide = Field("measured", description="recommend what meets as measured, or only what is proved")
    confidence: float = Field(0.95, gt=0.5, lt=1, description="of the printed intervals")
    between_run_sd_fraction: float = Field(
        0.05, ge=0, le=1, description="assumed run-to-run spread of a mean that has one run only"
    )
    today: date = Field(
        default_factory=date.today, ge=date(2000, 1, 1), description="the day on which ages are counted"
    )

    @classmethod
    def ask(cls, **fields: Any) -> "Workload":
        """Make a question from fields of any accepted form.

        Raises:
            QuestionError: one line that names the field, what it holds and what is accepted.
        """
        try:
            return cls(**fields)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(str(part) for part in first["loc"][:1]) or "question"
            raise QuestionError(
                f"{where}: {first['msg'].removeprefix('Value error, ')} (got {first['input']!r})"
            ) from None


EXAMPLE: Final = {"model": "bert_base_uncased", "sequence_length": 512, "latency_limit_ms": 15.0}
"""The question that the committed data answers where nothing else is asked."""
