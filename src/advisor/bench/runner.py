"""From settings to a result file: every configuration of a sweep."""

from dataclasses import dataclass
from pathlib import Path

from advisor.bench.backends import BACKENDS, Backend
from advisor.bench.ledger import Report
from advisor.bench.placement import Placement, placement
from advisor.bench.resultfile import Section, writing
from advisor.bench.settings import Point, Settings, points
from advisor.bench.surroundings import surroundings
from advisor.bench.trial import Measured, Trial
from advisor.errors import MeasurementError, QuestionError
from advisor.text import closest


@dataclass(frozen=True)
class Result:
    """What `run` leaves.

    Attributes:
        path: the result file, readable by `advisor.formats.read`.
        sections: one a configuration of the sweep, in order.
        interrupted: stopped by the user before its end.
    """

    path: Path
    sections: tuple[Measured, ...]
    interrupted: bool


def run(
    settings: Settings,
    output: Path,
    *,
    resume: bool = False,
    force: bool = False,
    report: Report | None = None,
    metadata_base: str | None = None,
) -> Result:
    """Measure every configuration of `settings` and keep the result in `output`.

    A keyboard interrupt ends the measurement; what was measured stays in the file.

    Args:
        settings: what to measure and how.
        output: result file.
        resume: go on with an interrupted file of the same settings.
        force: replace an existing file.
        report: called about once a second with what is known.
        metadata_base: base URL of the instance metadata service, for tests.

    Raises:
        QuestionError: settings that cannot be measured.
        MeasurementError: the file is taken, holds other settings, or the model does not answer.
        MissingExtraError: an optional dependency of the backend is missing.
        InputError: a model or input file that cannot be read.
    """
    backend = _backend(settings)
    where = (
        {}
        if settings.backend == "fake"
        else surroundings(
            accelerators=Path(settings.accelerators) if settings.accelerators else None,
            metadata_base=metadata_base,
        )
    )
    placed = placement(settings, where)
    wanted = points(settings)
    measured: list[Measured] = []
    with writing(output, resume=resume, force=force) as writer:
        kept = list(writer.sections)
        for number, point in enumerate(wanted):
            before = kept[number] if number < len(kept) else None
            if before is not None:
                _same(before, settings, point, placed, output)
                if before.end is not None:
                    measured.append(Measured(before.header, before.end, None))
                    continue
            section = Trial(
                settings, point, backend, writer, where, placed, number + 1, len(wanted), report, before
            )
            try:
                measured.append(section.measure())
            except KeyboardInterrupt:
                if section.header:
                    measured.append(Measured(section.header, None, section.ledger.judge()))
                return Result(output, tuple(measured), interrupted=True)
    return Result(output, tuple(measured), interrupted=False)


def _backend(settings: Settings) -> Backend:
    if settings.backend not in BACKENDS:
        known = ", ".join(BACKENDS)
        raise QuestionError(
            f"--backend {settings.backend} is not one of {known}{closest(settings.backend, BACKENDS)}"
        )
    kind = settings.device.partition(":")[0]
    able = {"cuda": ("torch", "onnxruntime"), "neuron": ("neuron",), "eia": ("torch",)}
    if kind in able and settings.backend not in able[kind]:
        raise QuestionError(f"--device {settings.device} needs --backend {' or '.join(able[kind])}")
    return BACKENDS[settings.backend]


def _same(before: Section, settings: Settings, point: Point, placed: Placement, output: Path) -> None:
    """Refuse to go on with a file of other settings.

    Raises:
        MeasurementError: names the settings that differ.
    """
    then = before.header.get("benchmark", {}) | before.header.get("settings", {})
    now = placed.columns | settings.shown() | point.model_dump()
    differing = sorted(key for key in now if now[key] != then.get(key))
    if differing:
        names = ", ".join("--" + key.replace("_", "-") for key in differing if key != "private_digest")
        raise MeasurementError(
            f"{output} was measured with other settings ({names or 'the model or a header'}): use the same ones, "
            "or another --output"
        )
