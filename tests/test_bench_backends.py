"""The backends that need nothing but Python: callables, processes, servers; and what every backend must hold."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from advisor.bench import Settings, backends, run
from advisor.bench.backends import BACKENDS, Loaded
from advisor.bench.inputs import requests_for
from advisor.bench.resultfile import read
from advisor.bench.settings import points
from advisor.errors import InputError, MeasurementError, MissingExtraError, QuestionError

HERE = Path(__file__).parent


@pytest.fixture(autouse=True)
def _off_ec2(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


@contextmanager
def loaded(**fields: Any) -> Iterator[Loaded]:
    settings = Settings.make(**fields)
    (point,) = points(settings)
    with BACKENDS[settings.backend](settings, point, requests_for(settings, point)) as found:
        yield found


@contextmanager
def server(kind: str) -> Iterator[str]:
    with subprocess.Popen(
        [sys.executable, str(HERE / "bench_server.py"), kind], stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            yield f"http://127.0.0.1:{int(process.stdout.readline())}"
        finally:
            process.kill()


def example(name: str) -> dict[str, Any]:
    answering = "import sys; [print(len(line), flush=True) for line in sys.stdin]"
    return {
        "command": {"model": f"{sys.executable} -c '{answering}'", "input": "x:float32:1x4"},
        "fake": {"model": "constant:10"},
        "python": {"model": "tests.bench_models:echo", "input": "x:float32:1x4"},
    }[name]


@pytest.mark.parametrize("name", ["command", "fake", "python"])
def test_a_backend_loads_answers_and_releases(name: str) -> None:
    with loaded(backend=name, **example(name)) as found:
        assert found.backend.startswith(name)
        assert found.software
        for body in found.bodies:
            found.infer(body)


def test_every_backend_is_named_by_its_file() -> None:
    files = {path.stem for path in Path(backends.__file__).parent.glob("*.py")}
    assert set(BACKENDS) == files - {"__init__", "loaded"}


def test_random_inputs_have_the_stated_shape_and_type_and_repeat_by_seed() -> None:
    def drawn(seed: int) -> Any:
        settings = Settings.make(
            backend="python",
            model="m:f",
            seed=seed,
            input=("ids:int64:1x128", "image:float32:2x3x8x8", "m:bool:4"),
        )
        return requests_for(settings, points(settings)[0]).bodies

    first = drawn(0)[0]
    assert [(array.shape, str(array.dtype)) for array in first.values()] == [
        ((1, 128), "int64"),
        ((2, 3, 8, 8), "float32"),
        ((4,), "bool"),
    ]
    assert first["ids"].min() >= 0
    assert np.array_equal(first["image"], drawn(0)[0]["image"])
    assert not np.array_equal(first["image"], drawn(1)[0]["image"])
    assert not np.array_equal(first["image"], drawn(0)[1]["image"])


def test_a_sweep_replaces_the_first_sizes_where_no_letter_says_which() -> None:
    settings = Settings.make(
        backend="python",
        model="m:f",
        input=("ids:int64:1x128", "y:float32:1x7"),
        batch_size="4",
        sequence_length="25",
    )
    body = requests_for(settings, points(settings)[0]).bodies[0]
    assert body["ids"].shape == (4, 25)
    settings = Settings.make(
        backend="python",
        model="m:f",
        input=("ids:int64:BxS", "y:float32:Bx7"),
        batch_size="4",
        sequence_length="25",
    )
    requests = requests_for(settings, points(settings)[0])
    assert requests.bodies[0]["ids"].shape == (4, 25)
    assert requests.bodies[0]["y"].shape == (4, 7)
    assert (requests.batch_size, requests.sequence_length, requests.input_shape) == (4, 25, "")


def test_an_image_has_an_input_shape_and_no_length() -> None:
    settings = Settings.make(backend="python", model="m:f", input="image:float32:Bx3x224x224", batch_size="2")
    requests = requests_for(settings, points(settings)[0])
    assert (requests.batch_size, requests.sequence_length, requests.input_shape) == (2, None, "3x224x224")


def test_json_lines_are_sent_in_order_and_a_broken_one_is_named(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.write_text('{"a": 1}\n\n{"a": 2}\n')
    settings = Settings.make(backend="http", model="http://127.0.0.1/", input_file=str(path))
    assert requests_for(settings, points(settings)[0]).bodies == ({"a": 1}, {"a": 2})
    path.write_text('{"a": 1}\n{"a": \n')
    with pytest.raises(InputError, match=r"r\.jsonl line 2 is not JSON"):
        requests_for(settings, points(settings)[0])


def test_arrays_come_from_a_file_that_may_not_hold_pickles(tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    np.savez(path, ids=np.zeros((3, 5), np.int64))
    settings = Settings.make(backend="python", model="m:f", input_file=str(path))
    requests = requests_for(settings, points(settings)[0])
    assert (requests.batch_size, requests.sequence_length) == (3, 5)
    np.savez(path, evil=np.array([{"a": 1}], dtype=object))
    with pytest.raises(InputError, match=r"x\.npz is not an \.npz file of plain arrays"):
        requests_for(settings, points(settings)[0])


def test_a_callable_gets_its_arrays_in_order_a_json_value_or_nothing(tmp_path: Path) -> None:
    with loaded(backend="python", model="tests.bench_models:echo", input=("a:int64:1", "b:int64:2")) as found:
        assert [array.shape for array in found.infer(found.bodies[0])] == [(1,), (2,)]  # type: ignore[attr-defined]
    with loaded(backend="python", model="tests.bench_models:echo") as found:
        assert found.infer(found.bodies[0]) == ()


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("no_colon", "is not module:function"),
        ("no.such.module:f", "the module cannot be imported"),
        ("tests.bench_models:nothing", "has no function nothing"),
        ("tests.bench_models:calls", "has no function calls"),
    ],
)
def test_a_callable_that_is_not_there_is_said(model: str, message: str) -> None:
    with pytest.raises(QuestionError, match=message), loaded(backend="python", model=model):
        pass


def test_a_command_answers_line_by_line_and_is_ended_with_its_measurement() -> None:
    with loaded(backend="command", **example("command")) as found:
        assert int(str(found.infer(found.bodies[0]))) == len(found.bodies[0])
        assert json.loads(found.bodies[0])["x"]
        (pid,) = found.pids
        os.kill(pid, 0)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_a_command_is_not_given_to_a_shell(tmp_path: Path) -> None:
    marker = tmp_path / "made"
    program = "import sys; print(sys.argv[1], flush=True); input()"
    with loaded(backend="command", model=f"{sys.executable} -c '{program}' '$(touch {marker})'") as found:
        assert str(found.infer(found.bodies[0])).startswith("$(touch ")
    assert not marker.exists()


def test_a_command_that_dies_or_is_silent_is_a_failed_request() -> None:
    with loaded(backend="command", model=f"{sys.executable} -c 'input()'") as found:
        with pytest.raises(ChildProcessError, match="ended with code 0"):
            found.infer(found.bodies[0])
        with pytest.raises(ChildProcessError):
            found.infer(found.bodies[0])
    with (
        loaded(
            backend="command", model=f"{sys.executable} -c 'import time; time.sleep(60)'", timeout_s=0.2
        ) as found,
        pytest.raises(TimeoutError),
    ):
        found.infer(found.bodies[0])


def test_a_program_that_is_not_there_is_said() -> None:
    with (
        pytest.raises(MeasurementError, match="no-such-program cannot be started"),
        loaded(backend="command", model="/x/no-such-program"),
    ):
        pass


def test_the_form_of_an_http_request_is_that_of_its_protocol() -> None:
    with server("echo") as base:
        fields = {"backend": "http", "input": "x:float32:1x2", "header": ("X-Key: v",)}

        def told(model: str, protocol: str) -> dict[str, Any]:
            with loaded(model=base + model, protocol=protocol, **fields) as found:
                answer: dict[str, Any] = json.loads(found.infer(found.bodies[0]))  # type: ignore[arg-type]
                return answer

        plain = told("/predict?v=1", "json")
        assert plain["line"] == "POST /predict?v=1 HTTP/1.1"
        assert plain["headers"]["x-key"] == "v"
        assert plain["headers"]["content-type"] == "application/json"
        values = plain["body"]["inputs"]["x"]
        assert np.shape(values) == (1, 2)

        kserve = told("/v2/models/m/infer", "kserve")["body"]["inputs"]
        assert kserve == [{"name": "x", "shape": [1, 2], "datatype": "FP32", "data": values[0]}]

        assert told("/invocations", "sagemaker")["body"] == values


def test_an_http_status_that_is_no_success_is_a_failed_request(tmp_path: Path) -> None:
    with server("unavailable") as base:
        settings = Settings.make(backend="http", model=base, input="x:float32:1x2")
        with pytest.raises(MeasurementError, match="the first request failed: ConnectionError: HTTP 503"):
            run(settings, tmp_path / "r.jsonl")


def test_a_server_that_is_not_there_is_said_and_its_address_is_not_written(tmp_path: Path) -> None:
    import socket

    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        port = bound.getsockname()[1]
    settings = Settings.make(backend="http", model=f"http://127.0.0.1:{port}/", input="x:float32:1x2")
    with pytest.raises(MeasurementError, match="the first request failed: ConnectionRefusedError"):
        run(settings, tmp_path / "r.jsonl")


def test_an_aws_endpoint_is_signed_with_the_users_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    from urllib.parse import urlsplit

    signer = sys.modules["advisor.bench.backends.http"]._signer
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.delenv("AWS_SESSION_TOKEN", raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", os.devnull)
    url = "https://runtime.sagemaker.eu-west-1.amazonaws.com/endpoints/m/invocations"
    settings = Settings.make(backend="http", model=url, protocol="sagemaker", input="x:float32:1x2")
    headers = signer(settings, urlsplit(url))(b"[]", {"Content-Type": "application/json"})
    assert "Credential=AKIDEXAMPLE/" in headers["Authorization"]
    assert "/eu-west-1/sagemaker/aws4_request" in headers["Authorization"]
    assert "secret" not in str(headers)


def test_a_backend_whose_library_is_missing_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("torch", "onnxruntime", "torch_neuronx"):
        monkeypatch.setitem(sys.modules, name, None)
    for backend, message in (
        (
            "torch",
            r"torch is not installed: install the extra `torch` \(pip install '.\[torch\]' in a checkout\)",
        ),
        (
            "onnxruntime",
            r"onnxruntime is not installed: install the extra `onnx` \(pip install '.\[onnx\]' in a checkout\)",
        ),
        ("neuron", "torch-neuronx is not installed: AWS serves it from its own"),
    ):
        settings = Settings.make(backend=backend, model="m.onnx", input="x:float32:1x2")
        with pytest.raises(MissingExtraError, match=message):
            run(settings, tmp_path / "r.jsonl")
    assert list(tmp_path.iterdir()) == []


def test_a_server_that_stalls_is_seen_by_an_open_loop_and_not_by_a_closed_one(tmp_path: Path) -> None:
    """Stalled 500 ms in each 5 s, a tenth of evenly spaced requests wait 0 .. 500 ms: P99 is 450 ms."""
    with server("stall") as base:
        fields = {"backend": "http", "model": base, "input": "x:float32:1x2", "percentile": 99.0}
        opened = run(
            Settings.make(rate=100.0, arrivals="constant", requests=1000, **fields), tmp_path / "open.jsonl"
        ).sections[0]
        latency = np.array(read(tmp_path / "open.jsonl")[0].latency_ms)
        assert np.percentile(latency, 99) == pytest.approx(450.0, rel=0.10)
        assert opened.header["benchmark"]["load_kind"] == "open"

        closed = run(
            Settings.make(seconds=5.2, requests=100_000, **fields), tmp_path / "closed.jsonl"
        ).sections[0]
        latency = np.array(read(tmp_path / "closed.jsonl")[0].latency_ms)
        assert latency.max() > 200.0
        assert np.percentile(latency, 99) < 100.0
        assert closed.header["benchmark"]["load_kind"] == "closed"
        assert "cannot see" in closed.header["benchmark"]["note"]
