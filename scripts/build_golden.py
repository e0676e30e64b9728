"""Write the golden files of the reports anew: `python scripts/build_golden.py`. Read the difference before you commit it."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.answers import golden_reports  # noqa: E402
from tests.comparisons import golden_comparisons  # noqa: E402


def main() -> None:
    """Write every golden file and say which changed."""
    for kind, files in (("reports", golden_reports()), ("comparisons", golden_comparisons())):
        folder = ROOT / "tests" / "golden" / kind
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            path = folder / name
            if not path.exists() or path.read_bytes() != content:
                path.write_bytes(content)
                print(f"changed: {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
