"""Which EC2 instance should serve this model, what will it cost, and how sure are we?

The public face; every name is imported when it is first used, so that `import advisor` costs nothing:

    advice = advisor.advise(advisor.load_prices(), advisor.read_benchmarks("results/"), advisor.Workload(...))
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from advisor.advice import Advice
    from advisor.advise import advise
    from advisor.compare import compare
    from advisor.errors import (
        AdvisorError,
        InputError,
        MeasurementError,
        MissingExtraError,
        PricesError,
        QuestionError,
    )
    from advisor.evidence import assess, assess_many
    from advisor.formats import packaged as packaged_benchmarks
    from advisor.formats import read as read_benchmarks
    from advisor.prices import load as load_prices
    from advisor.workload import Workload

__version__ = "0.1.0"

_FACE: Final = {
    "Advice": "advisor.advice:Advice",
    "AdvisorError": "advisor.errors:AdvisorError",
    "InputError": "advisor.errors:InputError",
    "MeasurementError": "advisor.errors:MeasurementError",
    "MissingExtraError": "advisor.errors:MissingExtraError",
    "PricesError": "advisor.errors:PricesError",
    "QuestionError": "advisor.errors:QuestionError",
    "Workload": "advisor.workload:Workload",
    "advise": "advisor.advise:advise",
    "assess": "advisor.evidence:assess",
    "assess_many": "advisor.evidence:assess_many",
    "compare": "advisor.compare:compare",
    "load_prices": "advisor.prices:load",
    "packaged_benchmarks": "advisor.formats:packaged",
    "read_benchmarks": "advisor.formats:read",
}
"""Public name -> where it lives ("module:attribute")."""

__all__ = [
    "Advice",
    "AdvisorError",
    "InputError",
    "MeasurementError",
    "MissingExtraError",
    "PricesError",
    "QuestionError",
    "Workload",
    "advise",
    "assess",
    "assess_many",
    "compare",
    "load_prices",
    "packaged_benchmarks",
    "read_benchmarks",
]


def __getattr__(name: str) -> Any:
    if name not in _FACE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, attribute = _FACE[name].split(":")
    return getattr(import_module(module), attribute)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])


class _Face(ModuleType):
    """Python binds an imported submodule to its package: `advisor.advise` must stay the function all the same."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in _FACE and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Face
