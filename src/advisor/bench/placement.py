"""What a measurement ran on: the option, as the result's columns and notes say it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

from advisor.bench.settings import Settings
from advisor.errors import MeasurementError, QuestionError
from advisor.text import clean

_LOOPBACK: Final = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True)
class Placement:
    """Where it ran.

    Attributes:
        columns: instance type, attached accelerator and its count.
        notes: what is not sure of it, each one clause.
        suspect: what served is not known.
    """

    columns: dict[str, Any]
    notes: tuple[str, ...] = ()
    suspect: bool = False


def placement(settings: Settings, where: Mapping[str, Any]) -> Placement:
    """Say what it ran on.

    Args:
        settings: what the user states.
        where: what this machine says of itself (`surroundings`).

    Raises:
        QuestionError: the statement contradicts the machine, or says nothing of a server that is elsewhere.
        MeasurementError: the asked accelerator is not attached or not healthy.
    """
    found, stated = where.get("instance_type"), settings.instance_type
    notes: list[str] = []
    if settings.backend == "http" and (urlsplit(settings.model).hostname or "") not in _LOOPBACK:
        if stated is None:
            raise QuestionError("the server is not this machine: say what it runs on with --instance-type")
        found = None
    if found and stated and found != stated:
        raise QuestionError(f"--instance-type {stated}: this machine is a {found}")
    if stated and not found:
        notes.append("instance type stated by the user")
    columns: dict[str, Any] = {
        "instance_type": clean(found or stated or "local"),
        "attached_accelerator": "",
        "attached_accelerator_count": 0,
    }
    suspect = False
    if settings.device.startswith("eia:"):
        kind = _accelerator(int(settings.device.partition(":")[2]), where.get("elastic_inference"))
        suspect = kind is None
        if kind is None:
            notes.append("which accelerator is attached is not known: give --accelerators")
        columns |= {"attached_accelerator": kind or "unknown", "attached_accelerator_count": 1}
    return Placement(columns, tuple(notes), suspect)


def _accelerator(ordinal: int, listing: Sequence[Mapping[str, Any]] | None) -> str | None:
    if listing is None:
        return None
    row = next((row for row in listing if row["ordinal"] == ordinal), None)
    if row is None:
        there = ", ".join(f"eia:{row['ordinal']}" for row in listing) or "none"
        raise MeasurementError(f"--device eia:{ordinal}: no such accelerator is attached; there is {there}")
    if row["health"] not in ("healthy", "ok", "not stated"):
        raise MeasurementError(f"--device eia:{ordinal}: the accelerator says it is {row['health']}")
    return str(row["type"])
