"""Where the committed facts are: inside an installed wheel, or beside `src/` in a checkout."""

from importlib.resources import files
from pathlib import Path

from advisor.errors import PricesError


def committed(folder: str) -> Path:
    """Return the folder of committed facts called `folder` ("pricing_data" or "benchmarks").

    Raises:
        PricesError: neither the installed package nor a checkout holds it.
    """
    packaged = Path(str(files("advisor"))) / "_data" / folder
    checkout = Path(__file__).resolve().parents[2] / folder
    for place in (packaged, checkout):
        if place.is_dir():
            return place
    raise PricesError(
        f"the committed folder {folder}/ is missing from this installation: install the package again"
    )
