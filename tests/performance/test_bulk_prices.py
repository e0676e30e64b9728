"""Reading the public offer files: time against `csv.reader` alone, and memory that does not grow with the file."""

import csv
import io
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from advisor.prices.sources.ask import Ask
from advisor.prices.sources.bulk import read_csv
from advisor.prices.sources.skus import EC2
from tests.aws_answers import PUBLISHED, TWELVE_TERMS, item, offer_csv, offer_json, other_units

ROOT = Path(__file__).parents[2]
COLUMNS = 91
TYPES = 40
MIB = 2**20

pytestmark = pytest.mark.performance
needs_proc = pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="no /proc to read the peak memory from"
)


def copies(count: int) -> Iterator[dict[str, Any]]:
    """Units of a few types, most of them not meant, as in the real files: thirty of one kind for each accepted one."""
    for number in range(count):
        instance_type = f"m{number % TYPES}.large"
        for unit in other_units(instance_type)[:8]:
            unit["product"] = unit["product"] | {"sku": f"{unit['product']['sku']}{number:08d}"}
            yield unit
        if number < TYPES:
            yield item(f"MEANT{number:08d}", instance_type, reserved=TWELVE_TERMS)


def write_csv(path: Path, repeats: int) -> None:
    """Write an offer file of 91 columns as long as asked: its units again and again under the same SKUs."""
    fill = [f"Attribute {n}" for n in range(COLUMNS - 24)]
    head, _, rows = offer_csv(copies(TYPES * 4), columns=fill).partition(b'"Attribute 66"\n')
    # About 700 bytes a line, a third of its columns filled, as in the real files.
    rows = rows.replace(b'"","",""', b'"","","Up to 12 Gigabit"')
    meant = b"".join(line for line in rows.splitlines(keepends=True) if b"MEANT" in line)
    other = b"".join(line for line in rows.splitlines(keepends=True) if b"MEANT" not in line)
    with path.open("wb") as file:
        file.write(head + b'"Attribute 66"\n' + meant)
        for _ in range(repeats):
            file.write(other)


def write_json(path: Path, size: int) -> None:
    """Write a JSON offer file of at least a size: products first, then terms, as AWS does."""
    units = [json.loads(json.dumps(unit)) for unit in copies(TYPES)]
    meant = [unit for unit in units if unit["product"]["sku"].startswith("MEANT")]
    small = json.loads(offer_json(meant))
    other = next(unit for unit in units if unit["product"]["sku"].startswith("DEDICATED"))
    other["product"]["attributes"] |= {f"attribute{n}": "Up to 12500 Megabit" for n in range(20)}
    product, term = json.dumps(other["product"], indent=2), json.dumps(other["terms"]["Reserved"], indent=2)
    count = size // (len(product) + len(term) + 30)
    with path.open("w") as file:
        file.write(
            f'{{"formatVersion": "v1.0", "offerCode": "AmazonEC2", "publicationDate": "{PUBLISHED}",\n"products": {{'
        )
        file.write(",\n".join(f'"{sku}": {json.dumps(p)}' for sku, p in small["products"].items()))
        for number in range(count):
            file.write(f',\n"DEDICATED{number:09d}": {product}')
        file.write('},\n"terms": {"OnDemand": ')
        file.write(json.dumps(small["terms"]["OnDemand"]))
        file.write(',\n"Reserved": {')
        file.write(",\n".join(f'"{sku}": {json.dumps(t)}' for sku, t in small["terms"]["Reserved"].items()))
        for number in range(count):
            file.write(f',\n"DEDICATED{number:09d}": {term}')
        file.write("}}}\n")


MEASURE = """
import re, sys
from advisor.prices.sources.ask import Ask
from advisor.prices.sources.bulk import bulk
from pathlib import Path
import ijson, pandas
def peak():  # of this process alone: ru_maxrss would start at that of the parent
    return int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) * 1024
idle = peak()
(part,) = bulk(Ask(saved=Path(sys.argv[1])))
found = part.fetch()
print(len(found.prices), peak(), idle)
"""


def measured(folder: Path) -> tuple[int, int, int]:
    """Read the saved file of a folder in a process of its own: rows, peak and idle bytes."""
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, str(folder)], cwd=ROOT, capture_output=True, text=True, check=True
    )
    rows, peak, idle = map(int, done.stdout.split())
    return rows, peak, idle


def fastest(call: Callable[[], object], times: int = 3) -> float:
    best = float("inf")
    for _ in range(times):
        started = time.process_time()
        call()
        best = min(best, time.process_time() - started)
    return best


def test_a_csv_offer_file_is_read_within_three_times_csv_reader_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "AmazonEC2.csv"
    write_csv(path, 25)
    data = path.read_bytes()

    def alone() -> int:
        return sum(1 for _ in csv.reader(io.TextIOWrapper(io.BytesIO(data), encoding="utf-8", newline="")))

    def ours() -> int:
        return len(read_csv(io.BytesIO(data), "file", Ask(), EC2).prices)

    assert ours() == TYPES * 13
    ratio = fastest(ours) / fastest(alone)
    with capsys.disabled():
        print(
            f"\nbulk CSV, {len(data) / MIB:.0f} MiB, {alone():,} lines: {ratio:.2f} x csv.reader alone (target 3)"
        )
    assert ratio <= 3.0


@needs_proc
def test_memory_is_the_same_for_a_csv_file_five_times_as_long(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    peaks = []
    for repeats in (20, 100):
        folder = tmp_path / str(repeats)
        folder.mkdir()
        write_csv(folder / "AmazonEC2.csv", repeats)
        rows, peak, idle = measured(folder)
        assert rows == TYPES * 13
        peaks.append(peak)
        size = (folder / "AmazonEC2.csv").stat().st_size
        with capsys.disabled():
            print(f"\nbulk CSV, {size / MIB:.0f} MiB: peak {peak / MIB:.0f} MiB, idle {idle / MIB:.0f} MiB")
    assert peaks[1] - peaks[0] < 10 * MIB


@needs_proc
def test_a_json_offer_file_of_450_mb_is_read_within_300_mb(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "AmazonEC2.json"
    write_json(path, 450_000_000)
    started = time.monotonic()
    rows, peak, idle = measured(tmp_path)
    with capsys.disabled():
        print(f"\nbulk JSON, {path.stat().st_size / 1e6:.0f} MB: peak {peak / 1e6:.0f} MB (idle {idle / 1e6:.0f} MB), {time.monotonic() - started:.0f} s (target 300 MB)")  # fmt: skip
    path.unlink()
    assert rows == TYPES * 13
    assert peak <= 300e6
