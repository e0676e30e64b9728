"""What every test shares: no price folder of the person who runs them is read or written."""

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def own_folders(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Point the advisor's data folder at an empty one, for this process and those it starts."""
    folder = tmp_path / "data-home"
    monkeypatch.setenv("ADVISOR_DATA_HOME", str(folder))
    for name in ("ADVISOR_PRICES", "ADVISOR_BENCHMARKS"):
        monkeypatch.delenv(name, raising=False)
    return folder
