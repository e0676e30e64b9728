"""Write the golden files of the reports anew: `python scripts/build_golden.py`. Read the difference before you commit it."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.answers import golden_reports  # noqa: E402


def main() -> None:
    """Write every golden report and say which changed."""
    folder = ROOT / "tests" / "golden" / "reports"
    folder.mkdir(parents=True, exist_ok=True)
    for name, report in golden_reports().items():
        path = folder / name
        if not path.exists() or path.read_bytes() != report:
            path.write_bytes(report)
            print(f"changed: {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
