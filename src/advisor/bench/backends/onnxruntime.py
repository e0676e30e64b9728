"""ONNX Runtime with any of its execution providers."""

import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from advisor.bench.backends.loaded import Loaded
from advisor.bench.backends.torch import load, module, tensors
from advisor.bench.inputs import Arrays, Requests
from advisor.bench.settings import Point, Settings
from advisor.bench.surroundings import gpu_memory_used_mib
from advisor.errors import InputError, QuestionError

_HOST: Final = "CPUExecutionProvider"
_OPSET: Final = 16
"""The newest that onnx2torch reads, so that one file serves both ways."""


@contextmanager
def onnxruntime(settings: Settings, point: Point, requests: Requests) -> Iterator[Loaded]:  # noqa: ARG001
    """Run an ONNX file; a model given as `module:function` is exported by torch first.

    ONNX Runtime serves on the host without an error where the asked provider does not load or does not know an
    operator. Both are found and make the result suspect.

    Raises:
        MissingExtraError: onnxruntime is not installed.
        InputError: a file that it cannot load.
        QuestionError: inputs that the model does not have.
    """
    runtime = module("onnxruntime", "onnx")
    with tempfile.TemporaryDirectory() as folder:
        path = _file(settings, requests, Path(folder))
        asked = settings.provider or (
            "CUDAExecutionProvider" if settings.device.startswith("cuda") else _HOST
        )
        session, note = _session(runtime, settings, path, asked)
        bodies = tuple(_fed(session, body) for body in requests.bodies)
        short = asked.removesuffix("ExecutionProvider").lower()
        yield Loaded(
            infer=lambda body: session.run(None, body),
            bodies=bodies,
            backend=f"onnxruntime-{short}",
            software=f"onnxruntime {runtime.__version__}",
            notes=(note,) if note else (),
            suspect=bool(note),
            peak_device_mib=lambda: (
                gpu_memory_used_mib(int(settings.device.partition(":")[2]))
                if settings.device.startswith("cuda")
                else None
            ),
            facts={"onnxruntime": str(runtime.__version__), "onnxruntime_providers": session.get_providers()},
        )


def _file(settings: Settings, requests: Requests, folder: Path) -> Path:
    path = Path(settings.model)
    if path.is_file():
        return path
    if ":" not in settings.model:
        raise InputError(f"{path} does not exist: give an ONNX file or module:function")
    torch = module("torch", "torch")
    path = folder / "model.onnx"
    model = load(torch, settings).eval()
    body = requests.bodies[0]
    example = tensors(torch, body, torch.float32)
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            model,
            example,
            str(path),
            dynamo=False,
            opset_version=_OPSET,
            input_names=list(body),
            verbose=False,
        )
    return path


def _session(runtime: Any, settings: Settings, path: Path, asked: str) -> tuple[Any, str]:
    """Return a session, and what to say where it does not run (wholly) on the asked provider."""
    options: dict[str, str] = {}
    if settings.device.startswith("cuda"):
        options["device_id"] = settings.device.partition(":")[2]
    if asked == _HOST:
        return _started(runtime, settings, path, [_HOST], strict=False), ""
    if asked not in runtime.get_available_providers():
        session = _started(runtime, settings, path, [_HOST], strict=False)
        return session, f"this ONNX Runtime has no {asked}: it was measured on the host"
    try:
        session = _started(runtime, settings, path, [(asked, options), _HOST], strict=True)
        note = ""
    except InputError:
        session = _started(runtime, settings, path, [(asked, options), _HOST], strict=False)
        note = f"{asked} does not know every operator: a part was measured on the host"
    if asked not in session.get_providers():
        return session, f"{asked} did not load: it was measured on the host"
    return session, note


def _started(runtime: Any, settings: Settings, path: Path, providers: list[Any], *, strict: bool) -> Any:
    options = runtime.SessionOptions()
    options.log_severity_level = 3
    if settings.threads:
        options.intra_op_num_threads = settings.threads
    if strict:
        options.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
    try:
        return runtime.InferenceSession(str(path), options, providers=providers)
    except Exception as error:  # noqa: BLE001 - its errors have no common root but this
        raise InputError(
            f"{path.name} cannot be loaded by ONNX Runtime: {str(error).splitlines()[0]}"
        ) from None


def _fed(session: Any, body: Arrays | None) -> Arrays:
    names = [given.name for given in session.get_inputs()]
    if not isinstance(body, dict) or not all(hasattr(array, "dtype") for array in body.values()):
        raise QuestionError(f"the model takes {', '.join(names)}: give --input name:type:shape for each")
    if set(body) == set(names):
        return body
    if len(names) != 1 or len(body) != 1:
        raise QuestionError(f"the model takes {', '.join(names)}; --input gives {', '.join(body)}")
    return {names[0]: next(iter(body.values()))}
