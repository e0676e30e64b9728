"""Where a measurement ran: instance, CPU, accelerators, versions, load. Nothing that identifies a person or a host.

Every question has a short time-out and may fail: what could not be found out is left out and said under `problems`.
"""

import json
import os
import platform
import re
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterable
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from advisor.errors import InputError
from advisor.text import clean

METADATA_BASE: Final = "http://169.254.169.254"
"""Instance metadata service; `AWS_EC2_METADATA_SERVICE_ENDPOINT` names another one, as in AWS's own tools."""

_METADATA_PATIENCE_S: Final = 1.0
_TOOL_PATIENCE_S: Final = 10.0
_INSTANCE_TYPE = re.compile(r"[a-z][a-z0-9-]*\.[a-z0-9-]+")
_REGION = re.compile(r"[a-z]{2}(-[a-z]+)+-\d")
_TELLING_FEATURES: Final = (
    "avx", "avx2", "avx512f", "avx512_vnni", "avx512_bf16", "avx512_fp16", "avx_vnni", "amx_bf16", "amx_int8", "amx_tile",
    "fma", "f16c", "sse4_2", "asimd", "asimddp", "asimdhp", "bf16", "i8mm", "sve", "sve2",
)  # fmt: skip
_THREAD_VARIABLES: Final = (
    "OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NEURON_RT_NUM_CORES",
)  # fmt: skip
_NEURON_LS: Final = ("neuron-ls", "/opt/aws/neuron/bin/neuron-ls")
_GPU_QUERY: Final = ("index", "name", "memory.total", "driver_version", "persistence_mode", "clocks.max.sm")


def surroundings(
    *,
    accelerators: Path | None = None,
    metadata_base: str | None = None,
) -> dict[str, Any]:
    """Describe the machine this runs on, as plain JSON values.

    Args:
        accelerators: a `describe-accelerators --json` listing of Elastic Inference.
        metadata_base: base URL of the instance metadata service.

    Raises:
        InputError: the listing cannot be read (it was given on purpose).
    """
    problems: list[str] = []
    where: dict[str, Any] = {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "cpu": cpu(),
        "memory_mib": _memory_mib(),
        "load_average": load_average(),
        "thread_settings": _thread_settings(),
        "gpus": gpus(problems),
        "neuron_devices": neuron_devices(problems),
        **instance(metadata_base, problems),
    }
    if accelerators is not None:
        where["elastic_inference"] = elastic_inference(accelerators)
    where["problems"] = problems
    return {key: value for key, value in where.items() if value not in (None, [], {}, "")}


def instance(base: str | None = None, problems: list[str] | None = None) -> dict[str, str]:
    """Ask the instance metadata service (version 2) for the instance type and the region; {} off EC2."""
    if os.environ.get("AWS_EC2_METADATA_DISABLED", "").lower() == "true" and base is None:
        return {}
    address = urlsplit(base or os.environ.get("AWS_EC2_METADATA_SERVICE_ENDPOINT") or METADATA_BASE)
    answers = _within(_METADATA_PATIENCE_S, lambda: _metadata(address.hostname or "", address.port or 80))
    if not isinstance(answers, tuple):
        return {}
    kind, region = answers
    if _INSTANCE_TYPE.fullmatch(kind) is None:
        if problems is not None:
            problems.append("the instance metadata service gave no instance type")
        return {}
    return {"instance_type": kind} | ({"region": region} if _REGION.fullmatch(region) else {})


def _metadata(host: str, port: int) -> tuple[str, str]:
    connection = HTTPConnection(host, port, timeout=_METADATA_PATIENCE_S / 2)

    def ask(method: str, path: str, headers: dict[str, str]) -> str:
        connection.request(method, path, headers=headers)
        response = connection.getresponse()
        body = response.read(4096)
        if response.status != 200:
            raise HTTPException(str(response.status))
        return body.decode("ascii", "replace").strip()

    try:
        token = ask(
            "PUT", "/latest/api/token", {"X-aws-ec2-metadata-token-ttl-seconds": "60", "Content-Length": "0"}
        )
        with_token = {"X-aws-ec2-metadata-token": token}
        return (
            ask("GET", "/latest/meta-data/instance-type", with_token),
            ask("GET", "/latest/meta-data/placement/region", with_token),
        )
    finally:
        connection.close()


def _within(seconds: float, ask: Callable[[], Any]) -> Any:
    """Return what `ask` returns, or the error, or None where it takes longer than `seconds`."""
    answer: list[Any] = []

    def run() -> None:
        try:
            answer.append(ask())
        except (OSError, HTTPException, ValueError) as error:
            answer.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    return answer[0] if answer else None


def cpu() -> dict[str, Any]:
    """Describe the CPU: model, counts, frequency governor, features that matter for inference."""
    import psutil

    text = _read(Path("/proc/cpuinfo"))
    named = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
    flags = re.search(r"^(?:flags|Features)\s*:\s*(.+)$", text, re.MULTILINE)
    present = set(flags[1].split()) if flags else set()
    return {
        "model": clean(named[1].strip()) if named else clean(platform.processor() or platform.machine()),
        "logical_count": psutil.cpu_count(),
        "physical_count": psutil.cpu_count(logical=False),
        "governor": _read(Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")).strip()
        or "not known",
        "features": [name for name in _TELLING_FEATURES if name in present],
    }


def gpus(problems: list[str]) -> list[dict[str, Any]]:
    """Ask nvidia-smi for the GPUs: index, name, memory, driver; [] where it is not installed."""
    query = f"--query-gpu={','.join(_GPU_QUERY)}"
    text = _tool(("nvidia-smi",), (query, "--format=csv,noheader,nounits"), problems)
    return parse_gpus(text, problems) if text is not None else []


def parse_gpus(text: str, problems: list[str]) -> list[dict[str, Any]]:
    """Read the comma-separated answer of nvidia-smi; a row that is not of that form is a problem."""
    rows = []
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.split(",")]
        if len(cells) != len(_GPU_QUERY) or not cells[0].isdigit():
            problems.append(f"nvidia-smi: {clean(line)[:80]}")
            continue
        index, name, memory, driver, _, clock = cells
        rows.append(
            {
                "index": int(index),
                "name": clean(name),
                "memory_mib": _number(memory),
                "driver": clean(driver),
                "max_clock_mhz": _number(clock),
            }
        )
    return rows


def gpu_memory_used_mib(index: int) -> float | None:
    """Ask nvidia-smi how much memory of one GPU is in use now."""
    arguments = (f"--id={index}", "--query-gpu=memory.used", "--format=csv,noheader,nounits")
    text = _tool(("nvidia-smi",), arguments, [])
    return _number(text.strip()) if text is not None else None


def neuron_devices(problems: list[str]) -> list[dict[str, Any]]:
    """Ask neuron-ls for the Neuron devices: cores and memory of each; [] where it is not installed."""
    text = _tool(_NEURON_LS, ("--json-output",), problems)
    return parse_neuron_devices(text, problems) if text is not None else []


def parse_neuron_devices(text: str, problems: list[str]) -> list[dict[str, Any]]:
    """Read the JSON answer of neuron-ls: a list of devices, memory in bytes (processes are left out)."""
    try:
        return [
            {
                "index": int(device["neuron_device"]),
                "core_count": int(device["nc_count"]),
                "memory_mib": int(device["memory_size"]) / 2**20,
            }
            for device in list(json.loads(text))
        ]
    except (ValueError, TypeError, KeyError, AttributeError):
        problems.append("neuron-ls gave an answer that is not its usual JSON list")
        return []


def elastic_inference(path: Path) -> list[dict[str, Any]]:
    """Read a `describe-accelerators --json` listing: ordinal, type and health of each accelerator.

    Both the listing of AWS's `ei` tool (`devices` with an ordinal) and that of the service (`acceleratorSet`, in
    order) are read. Ids, account numbers and resource names are left out.

    Raises:
        InputError: no such file, or neither form.
    """
    try:
        listing = json.loads(path.read_text(encoding="utf-8"))
        if "devices" in listing:
            found = [_attached(int(row["ordinal"]), row["type"], row["status"]) for row in listing["devices"]]
        else:
            found = [
                _attached(
                    index, row["acceleratorType"], (row.get("acceleratorHealth") or {}).get("status", "")
                )
                for index, row in enumerate(listing["acceleratorSet"])
            ]
    except OSError as error:
        raise InputError(f"--accelerators {path.name} cannot be read: {error.strerror}") from None
    except (ValueError, TypeError, KeyError, AttributeError):
        raise InputError(
            f"--accelerators {path.name} is no describe-accelerators listing: give the output of "
            "`ei describe-accelerators --json`"
        ) from None
    return sorted(found, key=lambda row: int(row["ordinal"]))


def _attached(ordinal: int, kind: str, health: str) -> dict[str, Any]:
    return {
        "ordinal": ordinal,
        "type": clean(str(kind)),
        "health": clean(str(health)).lower() or "not stated",
    }


def _tool(names: Iterable[str], arguments: tuple[str, ...], problems: list[str]) -> str | None:
    program = next((found for name in names if (found := shutil.which(name))), None)
    if program is None:
        return None
    name = Path(program).name
    try:
        answer = subprocess.run(
            [program, *arguments],
            capture_output=True,
            text=True,
            timeout=_TOOL_PATIENCE_S,
            check=False,
            errors="replace",
        )
    except subprocess.TimeoutExpired:
        problems.append(f"{name} gave no answer within {_TOOL_PATIENCE_S:g} s")
        return None
    except OSError as error:
        problems.append(f"{name} cannot be started: {error.strerror}")
        return None
    if answer.returncode:
        said = (answer.stderr or answer.stdout).strip().splitlines()
        problems.append(f"{name} failed ({answer.returncode}){': ' + clean(said[0])[:80] if said else ''}")
        return None
    return answer.stdout


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _read(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""


def _memory_mib() -> float:
    import psutil

    return round(float(psutil.virtual_memory().total) / 2**20, 1)


def load_average() -> float:
    """Return the mean number of busy processes over the last minute."""
    import psutil

    return round(float(psutil.getloadavg()[0]), 2)


def _thread_settings() -> dict[str, int]:
    return {name: int(os.environ[name]) for name in _THREAD_VARIABLES if os.environ.get(name, "").isdigit()}
