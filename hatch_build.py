"""Ship the committed facts inside the wheel (a checkout reads them in place)."""

from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CommittedFacts(BuildHookInterface):  # type: ignore[type-arg]
    """Copy `pricing_data/` and `benchmarks/` to `advisor/_data/` in a standard wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self.target_name == "wheel" and version == "standard":
            for folder in ("pricing_data", "benchmarks"):
                build_data["force_include"][folder] = f"advisor/_data/{folder}"
