"""Make the pictures of the dashboard that README and docs show: start it, open it in chromium, keep two views.

Needs the dev environment and Debian's chromium. Run from the root of a checkout: python scripts/take_screenshots.py
"""

import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

IMAGES = Path(__file__).resolve().parents[1] / "docs" / "images"
PICTURES = {
    "dashboard-light": ("light", ""),
    "dashboard-dark": ("dark", "?view=Trade-off"),
}
"""File name -> colour scheme and link."""
MOST_BYTES = 300_000


def main() -> int:
    """Take the pictures; returns 0 when both were made."""
    from playwright.sync_api import sync_playwright

    chromium = shutil.which("chromium")
    if chromium is None:
        sys.stderr.write("chromium is not installed: apt-get install chromium\n")
        return 2
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = subprocess.Popen([sys.executable, "-m", "advisor", "app", "--port", str(port)])
    try:
        _wait_for(f"http://127.0.0.1:{port}/_stcore/health")
        IMAGES.mkdir(parents=True, exist_ok=True)
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
            for name, (scheme, link) in PICTURES.items():
                context = browser.new_context(
                    viewport={"width": 1440, "height": 900},
                    color_scheme="dark" if scheme == "dark" else "light",
                )
                page = context.new_page()
                page.goto(f"http://127.0.0.1:{port}/{link}")
                page.wait_for_selector("[data-testid=stVegaLiteChart] svg", timeout=60_000)
                page.wait_for_selector("[data-testid=stApp][data-test-script-state=notRunning]")
                page.wait_for_timeout(1500)
                path = IMAGES / f"{name}.png"
                page.screenshot(path=path)
                context.close()
                print(f"{path.name}: {path.stat().st_size:,} bytes")
            browser.close()
    finally:
        server.terminate()
        server.wait(30)
    return 0 if all((IMAGES / f"{name}.png").stat().st_size < MOST_BYTES for name in PICTURES) else 1


def _wait_for(address: str) -> None:
    for _ in range(240):
        try:
            with urllib.request.urlopen(address, timeout=2):
                return
        except OSError:
            time.sleep(0.25)
    raise SystemExit("the dashboard did not start")


if __name__ == "__main__":
    sys.exit(main())
