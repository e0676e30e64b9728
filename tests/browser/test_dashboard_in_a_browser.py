"""The dashboard in a real browser: Debian's chromium, driven by Playwright, against `advisor app` as a user starts it."""

import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

CHROMIUM = shutil.which("chromium")
pytestmark = [
    pytest.mark.browser,
    pytest.mark.xdist_group("browser"),
    pytest.mark.skipif(CHROMIUM is None, reason="needs Debian's chromium: apt-get install chromium"),
]

ROOT = Path(__file__).parents[2]
OUTPUT = ROOT / "test-output" / "dashboard"
IDLE = "[data-testid=stApp][data-test-script-state=notRunning]"
HEADLINE = ".st-key-answer h3"
VIEWS = (
    "Cost and latency", "Trade-off", "Distributions", "Sensitivity", "Memory", "Regions", "Compare", "Data", "Measure here",
)  # fmt: skip
ATTACK = "<img src=x onerror=hacked=1><script>hacked=1</script> ![x](http://evil.example/x.png) [y](javascript:hacked=1)"
SAMPLES = "model,instance_type,latency_ms,run_id\n" + "".join(
    f'"{{model}}",{kind},{base + (at * 37 % 41) / 20 + (6 if at < 12 else 0)},{run}\n'
    for kind, base in (("c5.large", 9), ("g5.2xlarge", 4))
    for run in range(2)
    for at in range(300)
)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Start the dashboard as its command does, from another folder."""
    folder = tmp_path_factory.mktemp("elsewhere")
    port = free_port()
    environment = {name: value for name, value in os.environ.items() if not name.startswith("ADVISOR_")}
    environment["ADVISOR_DATA_HOME"] = str(folder / "data")
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen(
            [sys.executable, "-m", "advisor", "app", "--port", str(port)],
            cwd=folder,
            env=environment,
            stdout=log,
            stderr=log,
        )
        try:
            health = f"http://127.0.0.1:{port}/_stcore/health"
            for _ in range(240):
                try:
                    if urllib.request.urlopen(health, timeout=2).read() == b"ok":
                        break
                except OSError:
                    assert server.poll() is None, (folder / "log").read_text()
                    time.sleep(0.25)
            yield f"http://127.0.0.1:{port}"
        finally:
            server.terminate()
            assert server.wait(30) == 0
    assert "Traceback" not in (folder / "log").read_text()


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


Opener = Callable[..., Any]


@pytest.fixture
def visit(browser: Any, address: str) -> Iterator[Opener]:
    """Open pages in contexts of their own; fails on a console error, a page error or a request to any other host."""
    contexts, wrong = [], []

    def at(
        query: str = "", width: int = 1440, height: int = 900, scheme: str = "light", url: str | None = None
    ) -> Any:
        context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(60_000)
        page.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("dialog", lambda dialog: wrong.append(f"dialog {dialog.message}"))
        page.on("request", lambda request: _judge(request.url, address, wrong))
        page.on("websocket", lambda ws: _judge(ws.url.replace("ws://", "http://"), address, wrong))
        page.goto(url or f"{address}/{query}")
        page.wait_for_selector(HEADLINE)
        idle(page)
        return page

    yield at
    for context in contexts:
        context.close()
    assert wrong == []


def _judge(url: str, address: str, wrong: list[str]) -> None:
    if not url.startswith((address, "data:", "blob:")):
        wrong.append(f"request to {url}")


def idle(page: Any) -> None:
    """Wait until the page has answered: it stays idle over two looks."""
    for _ in range(2):
        page.wait_for_timeout(150)
        page.wait_for_selector(IDLE)


def headline(page: Any) -> str:
    return str(page.inner_text(HEADLINE))


def set_limit(page: Any, value: str) -> None:
    box = page.locator(".st-key-latency_limit_ms input")
    box.fill(value)
    box.press("Enter")
    idle(page)


def asked(page: Any) -> dict[str, list[str]]:
    return parse_qs(urlsplit(page.url).query)


def choose(page: Any, key: str, option: str) -> None:
    page.locator(f".st-key-{key} input").first.fill(option)
    page.locator("[role=option]", has_text=option).first.click()
    idle(page)


def test_the_first_view_is_the_answer_with_its_picture(visit: Opener) -> None:
    page = visit()
    assert headline(page).startswith("inf2.xlarge serves bert_base_uncased")
    assert "$0.226" in page.inner_text(".st-key-figures")
    assert page.locator("[data-testid=stVegaLiteChart] svg .mark-rect path").count() >= 4
    assert page.locator("[data-testid=stDataFrame] canvas").count() >= 1
    assert asked(page) == {}


def test_moving_the_limit_flips_the_answer_and_the_link_reopens_it(visit: Opener) -> None:
    page = visit()
    set_limit(page, "20")
    page.wait_for_function(f"document.querySelector('{HEADLINE}').innerText.startsWith('inf1.2xlarge')")
    assert asked(page) == {"latency_limit_ms": ["20"]}
    again = visit(url=page.url)
    assert headline(again) == headline(page)
    # The box is painted a moment after the answer: wait for its value, which must then be the link's.
    again.wait_for_function("document.querySelector('.st-key-latency_limit_ms input').value === '20'")
    idle(again)
    assert again.locator(".st-key-latency_limit_ms input").input_value() == "20"


def test_every_kind_of_control_is_in_the_link(visit: Opener) -> None:
    page = visit()
    choose(page, "model", "bert_large_uncased")
    choose(page, "region", "us-east-1")
    page.get_by_text("No latency limit").click()
    idle(page)
    page.get_by_text("Memory", exact=True).first.click()
    size = page.locator(".st-key-model_size input")
    size.fill("1.3GB")
    size.press("Enter")
    idle(page)
    page.get_by_role("radio", name="Trade-off").click()
    idle(page)
    link = asked(page)
    assert link["model"] == ["bert_large_uncased"]
    assert link["region"] == ["us-west-2", "us-east-1"]
    assert link["no_limit"] == ["true"]
    assert link["model_size"] == ["1.3GB"]
    assert link["view"] == ["Trade-off"]
    again = visit(url=page.url)
    assert headline(again) == headline(page)
    again.wait_for_selector(".st-key-chart_tradeoff_0 svg")


def test_the_main_controls_work_by_keyboard_alone(visit: Opener) -> None:
    page = visit()
    page.keyboard.press("Tab")

    def tab_to(selector: str) -> None:
        for _ in range(60):
            if page.evaluate(
                f"!!document.activeElement.closest('{selector}') && document.activeElement.matches('input, button[role=radio], [role=radio]')"
            ):
                return
            page.keyboard.press("Tab")
        raise AssertionError(f"{selector} is not reached by Tab")

    tab_to(".st-key-model")
    page.keyboard.type("bert_large")
    page.keyboard.press("Enter")
    idle(page)
    assert "bert_large_uncased" in headline(page)
    tab_to(".st-key-latency_limit_ms")
    page.keyboard.press("Control+a")
    page.keyboard.type("60")
    page.keyboard.press("Enter")
    idle(page)
    assert "within 60 ms" in headline(page)
    tab_to(".st-key-view")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    idle(page)
    assert asked(page)["view"] == ["Trade-off"]


def add_results(page: Any, path: Path) -> None:
    page.get_by_text("Your own files").click()
    page.locator(".st-key-results input[type=file]").set_input_files(path)
    idle(page)


def test_an_uploaded_file_is_answered_from_and_a_link_without_it_says_so(
    visit: Opener, tmp_path: Path
) -> None:
    file = tmp_path / "mine.csv"
    file.write_text(SAMPLES.replace("{model}", "mine"))
    page = visit()
    add_results(page, file)
    choose(page, "model", "mine")
    assert "serves mine" in headline(page)
    page.get_by_role("radio", name="Distributions").click()
    page.wait_for_selector(".st-key-chart_over_time_0 svg")
    idle(page)
    page.screenshot(path=_picture("uploaded-distributions"))
    assert asked(page)["uploads"] == ["mine.csv"]
    other = page.context.browser.new_page()
    other.goto(page.url)
    other.wait_for_selector("text=files that are not here: mine.csv", timeout=60_000)
    other.close()


def test_a_file_that_cannot_be_read_is_one_line(visit: Opener, tmp_path: Path) -> None:
    file = tmp_path / "bad.csv"
    file.write_text("model,instance_type,latency_ms\nmine,c5.large,fast\n")
    page = visit()
    add_results(page, file)
    assert 'bad.csv line 2: latency_ms "fast" is not a number' in page.inner_text("[data-testid=stAlert]")


def test_names_that_a_user_supplies_stay_text(visit: Opener, tmp_path: Path) -> None:
    file = tmp_path / "attack.csv"
    file.write_text(SAMPLES.replace("{model}", ATTACK))
    page = visit()
    add_results(page, file)
    choose(page, "model", ATTACK)
    assert ATTACK in headline(page)
    for view in VIEWS[:-1]:
        page.get_by_role("radio", name=view, exact=True).click()
        idle(page)
        assert page.evaluate("window.hacked") is None
        assert page.locator("img[src*=evil], a[href*=javascript], img[src=x]").count() == 0


FORMS = {
    "HTML page": "html", "Spreadsheet": "xlsx", "CSV": "csv", "JSON": "json", "Markdown": "md",
}  # fmt: skip


def test_the_downloads_are_the_bytes_of_the_command_line(visit: Opener, tmp_path: Path) -> None:
    page = visit("?latency_limit_ms=20&model_size=440MB")
    page.get_by_role("button", name="Report").click()
    flags = ["--model", "bert_base_uncased", "--sequence-length", "512", "--latency-limit-ms", "20", "--model-size", "440MB"]  # fmt: skip
    for form, suffix in FORMS.items():
        page.locator(".st-key-form").get_by_text(form, exact=True).click()
        button = page.get_by_role("button", name=f"Download {suffix}")
        button.wait_for()
        idle(page)
        with page.expect_download() as download:
            button.click()
        assert download.value.suggested_filename == f"advice.{suffix}"
        told = tmp_path / f"told.{suffix}"
        subprocess.run(
            [sys.executable, "-m", "advisor", "recommend", *flags, "--output", str(told)],
            check=True,
            cwd=tmp_path,
        )
        assert Path(download.value.path()).read_bytes() == told.read_bytes(), form


def test_the_html_report_opens_without_any_request(browser: Any, tmp_path: Path) -> None:
    report = tmp_path / "advice.html"
    subprocess.run([sys.executable, "-m", "advisor", "recommend", "--output", str(report)], check=True)
    page = browser.new_page()
    said: list[str] = []
    page.on("request", lambda request: said.append(request.url))
    page.on("console", lambda message: said.append(message.text))
    page.goto(report.as_uri())
    assert said == [report.as_uri()]
    assert page.locator("figure svg").first.is_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    page.screenshot(path=_picture("report"), full_page=True)
    page.close()


def _picture(name: str) -> str:
    OUTPUT.mkdir(parents=True, exist_ok=True)
    return str(OUTPUT / f"{name}.png")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(("width", "height"), [(1440, 900), (800, 1000)])
def test_every_view_fits_the_window(visit: Opener, scheme: str, width: int, height: int) -> None:
    page = visit("?model_size=440MB", width, height, scheme)
    for view in VIEWS:
        page.get_by_role("radio", name=view, exact=True).click()
        idle(page)
        page.wait_for_timeout(400)
        name = re.sub(r"\W+", "-", view.lower())
        page.screenshot(path=_picture(f"{name}-{width}x{height}-{scheme}"))
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        for box in page.locator("[data-testid=stVegaLiteChart] svg").all():
            area = box.bounding_box()
            assert area["x"] >= 0
            assert area["x"] + area["width"] <= width


def test_this_machine_is_measured_with_progress_and_set_beside_the_published(visit: Opener) -> None:
    page = visit("?view=Measure+here")
    page.locator(".st-key-demo_usd_per_hour input").fill("0.1")
    page.locator(".st-key-demo_usd_per_hour input").press("Enter")
    idle(page)
    page.get_by_role("button", name="Measure", exact=True).click()
    page.locator(".st-key-progress", has_text=re.compile("[0-9]+ requests")).wait_for()
    page.wait_for_selector(".st-key-chart_demo_0 svg", timeout=120_000)
    assert page.locator(".st-key-chart_demo_0 svg", has_text="local").count() == 1
