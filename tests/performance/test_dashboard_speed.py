"""The dashboard against `streamlit hello` in the same run: first full answer, and a moved limit (`make bench`)."""

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pytest

from advisor import formats, prices
from advisor.advise import advise
from advisor.workload import Workload

CHROMIUM = shutil.which("chromium")
pytestmark = [
    pytest.mark.performance,
    pytest.mark.skipif(CHROMIUM is None, reason="needs Debian's chromium: apt-get install chromium"),
]

IDLE = "[data-testid=stApp][data-test-script-state=notRunning]"
ROUNDS = 3
MOVES = 5
CANDIDATES = 50_000
PURCHASES = (
    "on_demand",
    *(f"reserved_{years}yr_{upfront}_upfront" for years in (1, 3) for upfront in ("no", "partial", "all")),
    *(f"compute_savings_plan_{years}yr_{upfront}_upfront" for years in (1, 3) for upfront in ("no", "partial", "all")),
)  # fmt: skip
Command = list[str]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def serving(command: Command, environment: dict[str, str], folder: Path) -> Iterator[str]:
    """Start a server and wait until it answers."""
    port = free_port()
    with (folder / "log").open("ab") as log:
        server = subprocess.Popen(
            [*command, str(port)], env={**os.environ, **environment}, cwd=folder, stdout=log, stderr=log
        )
        try:
            for _ in range(2000):
                try:
                    with urllib.request.urlopen(f"http://127.0.0.1:{port}/_stcore/health", timeout=2):
                        break
                except OSError:
                    assert server.poll() is None, (folder / "log").read_text()
                    time.sleep(0.02)
            yield f"http://127.0.0.1:{port}"
        finally:
            server.terminate()
            server.wait(30)


def app(*flags: str) -> Command:
    return [sys.executable, "-m", "advisor", "app", *flags, "--port"]


HELLO: Command = [
    sys.executable, "-m", "streamlit", "hello", "--server.address", "127.0.0.1", "--server.headless", "true",
    "--browser.gatherUsageStats", "false", "--server.port",
]  # fmt: skip


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=CHROMIUM,
            args=["--no-sandbox", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"],
        )
        yield chromium
        chromium.close()


def first_view_s(browser: Any, command: Command, seen: list[str], folder: Path) -> float:
    """Time from the start of the server to what is seen, in a browser that has never been there."""
    begin = time.perf_counter()
    with serving(command, {"ADVISOR_DATA_HOME": str(folder)}, folder) as address:
        page = browser.new_context().new_page()
        page.goto(address)
        for selector in seen:
            page.wait_for_selector(selector, timeout=120_000)
        page.wait_for_selector(IDLE, timeout=120_000)
        took = time.perf_counter() - begin
        page.context.close()
    return took


def move_s(page: Any, limit: str) -> float:
    """Time from the key that sends another limit to the answer to it, all of it drawn."""
    box = page.locator(".st-key-latency_limit_ms input")
    box.fill(limit)
    begin = time.perf_counter()
    box.press("Enter")
    page.wait_for_function(
        f"document.querySelector('.st-key-answer h3')?.innerText.includes('within {limit} ms')",
        timeout=120_000,
    )
    page.wait_for_selector(IDLE, timeout=120_000)
    return time.perf_counter() - begin


def moves_s(browser: Any, command: Command, link: str, folder: Path) -> list[float]:
    with serving(command, {"ADVISOR_DATA_HOME": str(folder)}, folder) as address:
        page = browser.new_context(viewport={"width": 1440, "height": 900}).new_page()
        page.goto(f"{address}/{link}")
        page.wait_for_selector("[data-testid=stVegaLiteChart] svg", timeout=120_000)
        page.wait_for_selector(IDLE, timeout=120_000)
        took = [move_s(page, str(16 + at)) for at in range(MOVES)]
        page.context.close()
    return took


@pytest.fixture(scope="module")
def hello_s(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> float:
    folder = tmp_path_factory.mktemp("hello")
    return median(first_view_s(browser, HELLO, ["text=Welcome to Streamlit!"], folder) for _ in range(ROUNDS))


def tell(capsys: pytest.CaptureFixture[str], what: str, took_s: float, hello_s: float, target: float) -> None:
    with capsys.disabled():
        print(
            f"\n{what}: {took_s:.2f} s, streamlit hello {hello_s:.2f} s, ratio {took_s / hello_s:.2f} (target {target})"
        )


def test_the_first_full_answer_takes_at_most_three_times_hello(
    browser: Any, hello_s: float, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    seen = [".st-key-answer h3", ".st-key-chart_cost_0 svg", "[data-testid=stDataFrame] canvas"]
    took = median(first_view_s(browser, app(), seen, tmp_path) for _ in range(ROUNDS))
    tell(capsys, "first full answer", took, hello_s, 3.0)
    assert took <= 3.0 * hello_s


def test_a_moved_limit_takes_at_most_half_of_hello(
    browser: Any, hello_s: float, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    took = median(moves_s(browser, app(), "", tmp_path))
    tell(capsys, "a moved limit", took, hello_s, 0.5)
    assert took <= 0.5 * hello_s


def wide(folder: Path) -> tuple[Path, Path, int]:
    """Write benchmarks of a hundred types, and prices of them in every region under 13 purchase options.

    Returns:
        The file of benchmarks, the file of prices, and how many candidates they make.
    """
    catalogue = prices.load()
    sold = catalogue.instances.loc[catalogue.instances["availability"] == "sold", "instance_type"]
    regions = catalogue.locations.loc[catalogue.locations["location_type"] == "region", "region"].tolist()
    random = np.random.default_rng(7)
    measured = [
        "model,instance_type,latency_mean_ms,latency_std_ms,latency_p90_ms,latency_p99_ms,sample_count"
    ]
    priced = ["instance_type,region,purchase_option,price_usd_per_hour,as_of,source"]
    for kind in sold.iloc[:: len(sold) // 100][:100]:
        mean, usd = random.lognormal(2.7, 0.4), random.lognormal(0, 0.8)
        measured.append(f"wide,{kind},{mean:.4f},{mean / 20:.4f},{mean * 1.08:.4f},{mean * 1.2:.4f},1000")
        priced += [
            f"{kind},{region},{purchase},{usd * random.uniform(0.3, 1.3):.5f},2026-11-01,made up"
            for region in regions
            for purchase in PURCHASES
        ]
    files = folder / "wide.csv", folder / "prices.csv"
    for file, lines in zip(files, (measured, priced), strict=True):
        file.write_text("\n".join(lines))
    question = Workload.ask(model="wide", latency_limit_ms=16, region="all", purchase="all")
    answer = advise(prices.load(files[1]), formats.read(files[0]), question)
    return *files, len(answer.ranked) + len(answer.rejected)


def test_a_moved_limit_over_50_000_candidates_takes_at_most_as_long_as_hello(
    browser: Any, hello_s: float, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    results, rates, count = wide(tmp_path)
    assert count >= CANDIDATES
    command = app("--benchmarks", str(results), "--prices", str(rates))
    took = median(moves_s(browser, command, "?model=wide&region=all&purchase=all", tmp_path))
    tell(capsys, f"a moved limit over {count:,} candidates", took, hello_s, 1.0)
    assert took <= hello_s
