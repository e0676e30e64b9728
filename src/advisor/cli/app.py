"""`advisor app`: start the dashboard, on this machine only unless told otherwise, with nothing that leaves it."""

import os
import sys
from pathlib import Path
from typing import Final

import click

from advisor.errors import MissingExtraError, QuestionError

SETTINGS: Final = {
    "server.headless": "true",
    "server.maxUploadSize": "50",
    "browser.gatherUsageStats": "false",
    "client.toolbarMode": "minimal",
    "client.showErrorDetails": "none",
    "client.showErrorLinks": "false",
    "runner.magicEnabled": "false",
    "theme.paddingTop": "2.5rem",
    "theme.metricValueFontSize": "1.65rem",
    "theme.light.primaryColor": "#0067a3",
    "theme.dark.primaryColor": "#4fa9de",
}
"""Settings of the server; `.streamlit/config.toml` holds the same for `streamlit run app.py`."""


@click.command(
    epilog="""\b
Examples:
  advisor app
  advisor app --port 8080
  advisor app --benchmarks results/ --prices prices.csv
  advisor app --address 0.0.0.0 --public-name advisor.example.org
"""
)
@click.option(
    "--port", type=click.IntRange(1, 65535), default=8501, show_default=True, help="Port to listen on."
)
@click.option(
    "--address",
    default="127.0.0.1",
    show_default=True,
    help="Address to listen on; this machine only, unless changed.",
)
@click.option(
    "--public-name",
    metavar="HOST",
    help="Name under which a proxy serves it: browsers that come by it are let in.",
)
@click.option(
    "--prices",
    type=click.Path(path_type=Path),
    envvar="ADVISOR_PRICES",
    help="Price rows of your own (a file), or a snapshot (a folder).  [env: ADVISOR_PRICES]",
)
@click.option(
    "--benchmarks",
    multiple=True,
    type=click.Path(),
    envvar="ADVISOR_BENCHMARKS",
    help="Result files or folders in place of the packaged ones. Repeats.  [env: ADVISOR_BENCHMARKS]",
)  # fmt: skip
def app(
    port: int, address: str, public_name: str | None, prices: Path | None, benchmarks: tuple[str, ...]
) -> int:
    """Open the dashboard: move a limit, watch the answer change, share the link, take the report away.

    It listens on this machine only; usage statistics and the look-up of the public address are off.
    """
    try:
        from streamlit import net_util
        from streamlit.web import cli as streamlit_cli
    except ImportError:
        raise MissingExtraError(
            "the dashboard needs streamlit: install the extra `dashboard` (pip install '.[dashboard]' in a checkout)"
        ) from None
    if public_name is not None and not public_name.strip():
        raise QuestionError("--public-name is empty: give the host name that browsers use")
    if prices is not None:
        os.environ["ADVISOR_PRICES"] = str(prices)
    if benchmarks:
        os.environ["ADVISOR_BENCHMARKS"] = os.pathsep.join(benchmarks)
    # Streamlit would ask the internet for this machine's public address when it listens on all addresses.
    net_util.get_external_ip = net_util.get_internal_ip = lambda: None
    settings = {**SETTINGS, "server.port": str(port), "server.address": address}
    if public_name is not None:
        settings["browser.serverAddress"] = public_name
    page = Path(__file__).parents[1] / "dashboard" / "page.py"
    click.echo(f"dashboard on http://{address}:{port}  (stop with Ctrl-C)", err=True)
    arguments = ["run", str(page), *(f"--{name}={value}" for name, value in settings.items())]
    try:
        streamlit_cli.main(args=arguments, prog_name="streamlit", standalone_mode=False)
    except SystemExit as stop:
        return int(stop.code or 0) if not isinstance(stop.code, str) else 2
    finally:
        sys.stderr.flush()
    return 0
