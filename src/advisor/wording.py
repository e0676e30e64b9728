"""How names and figures are written in the sentences of an answer: reasons, notes, headline."""

from collections.abc import Iterable, Sequence
from math import ceil, floor, isfinite, log10


def _decimals(value: float) -> int:
    """Decimals that show three significant digits; 0.9999 is shown as 1.00."""
    return 2 - floor(log10(float(f"{abs(value):.2e}")))


def figure(value: float) -> str:
    """Write a number with three significant digits and no exponent: 18.7, 205, 1,240, 0.0231."""
    if not isfinite(value):
        return "unknown"
    if value == 0:
        return "0"
    digits = max(0, _decimals(value))
    shown = f"{value:,.{digits}f}"
    return shown.rstrip("0").rstrip(".") if "." in shown and len(shown) > 6 else shown


def at_least_milliseconds(value: float) -> str:
    """Write a latency rounded up to three significant digits: a limit of that much is kept."""
    step = 10.0 ** (floor(log10(value)) - 2)
    rounded = ceil(value / step - 1e-9) * step
    return milliseconds(float(f"{rounded:.12g}"))


def milliseconds(value: float) -> str:
    """Write a latency or a limit as it was given, up to six significant digits: 15 ms, 10.7513 ms."""
    return f"{value:.6g} ms"


def money(value: float) -> str:
    """Write dollars with at least three significant digits and never less than cents: $0.226, $12.40, $1,240.00."""
    if not isfinite(value):
        return "an unknown price"
    digits = 2 if value == 0 else max(2, _decimals(value))
    return f"${value:,.{digits}f}"


def percent(fraction: float) -> str:
    """Write a share with at most one decimal, and never round it to 0 % or 100 % when it is neither."""
    shown = f"{100 * fraction:.1f}".removesuffix(".0")
    if shown == "100" and fraction < 1:
        return "over 99.9 %"
    if shown == "0" and fraction > 0:
        return "under 0.1 %"
    return f"{shown} %"


def listing(names: Iterable[object], most: int = 6) -> str:
    """Join names for a sentence, and count those past `most`: "a, b and 3 others"."""
    found: Sequence[str] = [str(name) for name in names]
    if len(found) <= most:
        return ", ".join(found[:-1]) + (" and " if len(found) > 1 else "") + "".join(found[-1:])
    rest = len(found) - most + 1
    return f"{', '.join(found[: most - 1])} and {rest} others"


def plural(count: int, singular: str, several: str | None = None) -> str:
    """Write a count with its noun: "1 option", "1,200 options"."""
    return f"{count:,} {singular if count == 1 else several or singular + 's'}"


def option_name(instance_type: str, accelerator: str = "", count: int = 0) -> str:
    """Write an option as it is shown: `m5.large + 2 x eia2.medium`."""
    if not accelerator:
        return instance_type
    return f"{instance_type} + {accelerator}" if count == 1 else f"{instance_type} + {count} x {accelerator}"


def purchase_name(purchase_option: str) -> str:
    """Write a purchase option for a sentence: "on demand", "reserved 1yr no upfront"."""
    return purchase_option.replace("_", " ")
