"""Where a measurement ran: instance metadata, GPUs, Neuron devices, Elastic Inference, and what must not be told."""

import json
import socket
import stat
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from advisor.bench import surroundings as bench_surroundings
from advisor.bench.surroundings import (
    elastic_inference,
    gpus,
    instance,
    neuron_devices,
    parse_gpus,
    parse_neuron_devices,
    surroundings,
)
from advisor.errors import InputError

RECORDED = Path(__file__).parent / "data" / "bench"


@contextmanager
def metadata(answers: dict[str, str], *, delay_s: float = 0.0, status: int = 200) -> Iterator[str]:
    """Serve instance metadata, version 2: a token must be asked for, and sent."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self, code: int, text: str) -> None:
            time.sleep(delay_s)
            body = text.encode()
            self.send_response(code)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_PUT(self) -> None:
            fits = self.path == "/latest/api/token" and self.headers["X-aws-ec2-metadata-token-ttl-seconds"]
            self.answer(status if fits else 400, "the-token")

        def do_GET(self) -> None:
            if self.headers["X-aws-ec2-metadata-token"] != "the-token":
                self.answer(401, "")
            elif self.path in answers:
                self.answer(200, answers[self.path])
            else:
                self.answer(404, "")

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    class Server(ThreadingHTTPServer):
        def handle_error(self, *_: object) -> None:
            """Say nothing of a client that did not wait."""

    server = Server(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


ON_EC2 = {"/latest/meta-data/instance-type": "g4dn.xlarge", "/latest/meta-data/placement/region": "us-west-2"}


def test_on_ec2_the_instance_type_and_region_are_read_with_a_token() -> None:
    with metadata(ON_EC2) as base:
        assert instance(base) == {"instance_type": "g4dn.xlarge", "region": "us-west-2"}


def test_off_ec2_nothing_listens_and_nothing_is_said(free_port: int) -> None:
    assert instance(f"http://127.0.0.1:{free_port}") == {}


@pytest.fixture
def free_port() -> int:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        return int(bound.getsockname()[1])


def test_a_slow_metadata_service_is_not_waited_for() -> None:
    with metadata(ON_EC2, delay_s=3.0) as base:
        began = time.monotonic()
        assert instance(base) == {}
        assert time.monotonic() - began < 2.0


def test_a_metadata_service_that_dribbles_is_not_waited_for() -> None:
    """Every byte comes in time for the socket; the answer as a whole never does."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def dribble() -> None:
            with suppress(OSError):
                connection, _ = listening.accept()
                with connection:
                    for byte in b"HTTP/1.1 200 OK\r\nContent-Length: 40\r\n\r\n":
                        connection.sendall(bytes([byte]))
                        time.sleep(0.1)

        threading.Thread(target=dribble, daemon=True).start()
        began = time.monotonic()
        assert instance(f"http://127.0.0.1:{listening.getsockname()[1]}") == {}
        assert time.monotonic() - began < 2.0


@pytest.mark.parametrize(
    "answers",
    [
        {"/latest/meta-data/instance-type": "<html>login</html>", "/latest/meta-data/placement/region": "x"},
        {"/latest/meta-data/instance-type": "", "/latest/meta-data/placement/region": "us-west-2"},
    ],
)
def test_an_answer_that_is_no_instance_type_is_a_problem_and_not_a_name(answers: dict[str, str]) -> None:
    problems: list[str] = []
    with metadata(answers) as base:
        assert instance(base, problems) == {}
    assert problems == ["the instance metadata service gave no instance type"]


def test_a_metadata_service_that_gives_no_token_or_lacks_an_answer_says_nothing() -> None:
    with metadata(ON_EC2, status=403) as base:
        assert instance(base) == {}
    with metadata({}) as base:
        assert instance(base) == {}


def test_the_metadata_service_can_be_switched_off_and_moved_as_in_aws_tools(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with metadata(ON_EC2) as base:
        monkeypatch.setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", base)
        assert instance()["instance_type"] == "g4dn.xlarge"
        monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
        assert instance() == {}


def tool(folder: Path, name: str, script: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IEXEC)


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    return tmp_path


def test_gpus_are_listed_as_nvidia_smi_says_and_an_unsupported_field_is_unknown(tools: Path) -> None:
    tool(tools, "nvidia-smi", f"cat {RECORDED}/nvidia-smi/four_gpus.csv")
    problems: list[str] = []
    found = gpus(problems)
    assert [gpu["index"] for gpu in found] == [0, 1, 2, 3]
    assert found[0] == {
        "index": 0,
        "name": "NVIDIA A10G",
        "memory_mib": 23028.0,
        "driver": "550.127.05",
        "max_clock_mhz": 1710.0,
    }
    assert found[3]["max_clock_mhz"] is None
    assert problems == []


def test_a_malformed_answer_of_nvidia_smi_is_a_problem_a_line() -> None:
    problems: list[str] = []
    assert parse_gpus((RECORDED / "nvidia-smi" / "malformed.csv").read_text(), problems) == []
    assert len(problems) == 2
    assert problems[1] == "nvidia-smi: 0, Tesla T4, 15360"


def test_tools_that_are_missing_fail_or_hang_are_left_out(
    tools: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    problems: list[str] = []
    assert gpus(problems) == []
    assert neuron_devices(problems) == []
    assert problems == []

    tool(tools, "nvidia-smi", "echo 'No devices were found' >&2; exit 6")
    assert gpus(problems) == []
    assert problems == ["nvidia-smi failed (6): No devices were found"]

    monkeypatch.setattr(bench_surroundings, "_TOOL_PATIENCE_S", 0.2)
    tool(tools, "nvidia-smi", "exec sleep 30")
    began = time.monotonic()
    assert gpus(problems) == []
    assert time.monotonic() - began < 5
    assert problems[1] == "nvidia-smi gave no answer within 0.2 s"


def test_neuron_devices_have_cores_and_memory_in_mebibytes(tools: Path) -> None:
    tool(tools, "neuron-ls", f'[ "$1" = --json-output ] && cat {RECORDED}/neuron-ls/trn1.2xlarge.json')
    problems: list[str] = []
    assert neuron_devices(problems) == [{"index": 0, "core_count": 2, "memory_mib": 32768.0}]
    assert problems == []


def test_processes_that_neuron_ls_lists_are_not_told() -> None:
    problems: list[str] = []
    found = parse_neuron_devices((RECORDED / "neuron-ls" / "inf1.6xlarge.json").read_text(), problems)
    assert [device["core_count"] for device in found] == [4, 4, 4, 4]
    assert "secret" not in json.dumps(found)


@pytest.mark.parametrize("text", ["not json", '{"a": 1}', '[{"neuron_device": 0}]', "[1]", "null"])
def test_a_malformed_answer_of_neuron_ls_is_a_problem(text: str) -> None:
    problems: list[str] = []
    assert parse_neuron_devices(text, problems) == []
    assert problems == ["neuron-ls gave an answer that is not its usual JSON list"]


def test_the_listing_of_the_tool_gives_ordinal_type_and_health_by_ordinal() -> None:
    assert elastic_inference(RECORDED / "describe-accelerators" / "tool.json") == [
        {"ordinal": 0, "type": "eia2.medium", "health": "healthy"},
        {"ordinal": 1, "type": "eia2.large", "health": "unhealthy"},
    ]


def test_the_listing_of_the_service_is_read_in_order_and_its_resource_names_are_left_out() -> None:
    assert elastic_inference(RECORDED / "describe-accelerators" / "service.json") == [
        {"ordinal": 0, "type": "eia1.xlarge", "health": "ok"}
    ]


def test_a_listing_that_cannot_be_read_is_refused_because_it_was_given(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"malformed\.json is no describe-accelerators listing"):
        elastic_inference(RECORDED / "describe-accelerators" / "malformed.json")
    with pytest.raises(InputError, match=r"nothing\.json cannot be read"):
        elastic_inference(tmp_path / "nothing.json")


def test_surroundings_name_the_cpu_and_no_host_user_or_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wJalrXUtnFEMI-secret")
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    import platform

    found = surroundings()
    text = json.dumps(found)
    assert found["cpu"]["model"]
    assert found["cpu"]["logical_count"] >= 1
    assert found["thread_settings"] == {"OMP_NUM_THREADS": 3}
    assert "wJalrXUtnFEMI" not in text
    assert platform.node() not in text
