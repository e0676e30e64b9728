"""How names and figures are written in the sentences of an answer: reasons, notes, headline."""

from collections.abc import Iterable, Sequence
from math import ceil, floor, inf, isfinite, log10


def decimals(value: float, digits: int = 3) -> int:
    """Return the decimals that show so many significant digits, negative for whole tens: 0.9999 is shown as 1.00."""
    return digits - 1 - floor(log10(float(f"{abs(value):.{digits - 1}e}")))


def figure(value: float) -> str:
    """Write a number with three significant digits and no exponent: 18.7, 205, 1,240, 0.0231."""
    if not isfinite(value):
        return "unknown"
    if value == 0:
        return "0"
    digits = max(0, decimals(value))
    shown = f"{value:,.{digits}f}"
    return shown.rstrip("0").rstrip(".") if "." in shown and len(shown) > 6 else shown


def lower_limits(edges: Sequence[float], asked: float | None) -> list[str]:
    """Write rising limits rounded up, so that each, when typed, gives the answer that begins at its edge.

    Three significant digits, and more where those would pass the next edge, or an asked limit at or above the edge.
    An edge of infinity is `unknown`.

    Args:
        edges: least limits in ms of some answers, rising.
        asked: the limit of the question in ms.
    """
    shown = []
    for edge, following in zip(edges, [*edges, inf][1:], strict=True):
        ceiling = asked if asked is not None and edge <= asked * (1 + 1e-9) else inf
        found = rounded = edge
        for digits in range(3, 13):
            rounded = _rounded_up(edge, digits)
            if rounded < following and rounded <= ceiling:
                found = rounded
                break
        else:
            found = min(rounded, ceiling)
        shown.append(f"{found:,.12g}" if isfinite(found) else "unknown")
    return shown


def _rounded_up(value: float, digits: int) -> float:
    """Round up to significant digits, whole numbers at the most."""
    if not isfinite(value):
        return value
    places = max(0, digits - 1 - floor(log10(value)))
    return float(f"{ceil(value * 10**places - 1e-9) / 10**places:.12g}")


def milliseconds(value: float) -> str:
    """Write a latency or a limit as it was given, up to six significant digits: 15 ms, 10.7513 ms."""
    return f"{value:.6g} ms"


def money(value: float) -> str:
    """Write dollars with at least three significant digits and never less than cents: $0.226, $12.40, $1,240.00."""
    if not isfinite(value):
        return "an unknown price"
    digits = 2 if value == 0 else max(2, decimals(value))
    return f"${value:,.{digits}f}"


def percent(fraction: float) -> str:
    """Write a share with at most one decimal, and never round it to 0 % or 100 % when it is neither."""
    shown = f"{100 * fraction:.1f}".removesuffix(".0")
    if shown == "100" and fraction < 1:
        return "over 99.9 %"
    if shown == "0" and fraction > 0:
        return "under 0.1 %"
    return f"{shown} %"


def chance(probability: float) -> str:
    """Write a probability in whole per cent; what a model says is never certain: never 0 % or 100 %."""
    if probability >= 0.995:
        return ">99 %"
    return "<1 %" if probability <= 0.005 else f"{100 * probability:.0f} %"


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
