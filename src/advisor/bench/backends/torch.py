"""PyTorch: eager, TorchScript by trace or by script (saved and loaded), torch.compile, an ONNX file by onnx2torch."""

import sys
import tempfile
import types
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import numpy as np

from advisor.bench.backends.loaded import Loaded
from advisor.bench.backends.python import find
from advisor.bench.inputs import Arrays, Requests
from advisor.bench.settings import Point, Settings
from advisor.errors import InputError, MeasurementError, MissingExtraError, QuestionError

_PRECISIONS: Final = {"fp32": "float32", "fp16": "float16", "bf16": "bfloat16"}


@contextmanager
def torch(settings: Settings, point: Point, requests: Requests) -> Iterator[Loaded]:
    """Run a module of PyTorch without autograd, one inference a request.

    Arrays are on the host before the clock starts; copying them to the device and waiting for it are part of the
    latency.

    Raises:
        MissingExtraError: torch (or onnx2torch, torcheia) is not installed.
        QuestionError: an unknown precision or a device of another backend.
        MeasurementError: the device is not there.
        InputError: a model file that cannot be loaded safely.
    """
    torch = module("torch", "torch")
    if settings.precision not in _PRECISIONS:
        raise QuestionError(
            f"--precision {settings.precision}: the torch backend takes {', '.join(_PRECISIONS)}"
        )
    kind = getattr(torch, _PRECISIONS[settings.precision])
    if settings.threads:
        torch.set_num_threads(settings.threads)
    device = _device(torch, settings.device)
    bodies = tuple(tensors(torch, body, kind) for body in requests.bodies)
    model = load(torch, settings).eval()
    if settings.precision != "fp32":
        model = model.to(kind)
    model = model.to(device)
    example = tuple(tensor.to(device) for tensor in bodies[0])
    mode = "torchscript" if isinstance(model, torch.jit.ScriptModule) else point.mode
    if mode != "torchscript":
        model = _prepared(torch, model, mode, example)
    if settings.device.startswith("eia:"):
        model = _attached(torch, model, int(settings.device.partition(":")[2]))
    yield Loaded(
        infer=_infer(torch, model, device),
        bodies=bodies,
        backend=f"torch-{mode}" + ("-eia" if settings.device.startswith("eia:") else ""),
        software=f"torch {torch.__version__}",
        notes=("the ONNX file was converted by onnx2torch",) if settings.model.endswith(".onnx") else (),
        peak_device_mib=lambda: (
            torch.cuda.max_memory_reserved(device) / 2**20 if device.type == "cuda" else None
        ),
        facts={"torch": str(torch.__version__), "torch_thread_count": torch.get_num_threads()},
    )
    if device.type == "cuda":
        del model
        torch.cuda.empty_cache()


def module(name: str, extra: str) -> Any:
    """Import an optional dependency.

    Raises:
        MissingExtraError: it is not installed, with how to install it.
    """
    import importlib

    try:
        return importlib.import_module(name)
    except ImportError:
        raise MissingExtraError(
            f"{name} is not installed: install the extra `{extra}` (pip install '.[{extra}]' in a checkout)"
            if extra in ("torch", "onnx")
            else f"{name} is not installed: {extra}"
        ) from None


def tensors(torch: Any, body: Arrays | None, kind: Any) -> tuple[Any, ...]:
    """Return the arrays of a request as tensors on the host; floating ones in the model's precision.

    Raises:
        QuestionError: the request holds no arrays.
    """
    if not isinstance(body, dict) or not all(isinstance(array, np.ndarray) for array in body.values()):
        raise QuestionError("this backend needs arrays: give --input name:type:shape or an .npz file")
    made = [torch.from_numpy(array) for array in body.values()]
    return tuple(tensor.to(kind) if tensor.is_floating_point() else tensor for tensor in made)


def load(torch: Any, settings: Settings) -> Any:
    """Load a module: a TorchScript file, `module:function` (with a state dict), an ONNX file, a trusted pickle.

    Raises:
        InputError: a file that is none of these, or that would run its own code and is not trusted.
    """
    path = Path(settings.model)
    if not path.is_file() and ":" in settings.model:
        torch.manual_seed(settings.seed)
        model = find(settings.model)()
        if settings.weights:
            model.load_state_dict(_state(torch, Path(settings.weights)))
        return model
    if not path.is_file():
        raise InputError(f"{path} does not exist: give a model file or module:function")
    if path.suffix == ".onnx":
        return _from_onnx(path)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            return torch.jit.load(str(path), map_location="cpu")
    except RuntimeError:
        if not settings.trust_model:
            raise InputError(
                f"{path.name} is not TorchScript, and a pickled model runs its own code when loaded: give it as "
                "module:function with --weights, or --trust-model where you trust the file"
            ) from None
    model = torch.load(str(path), map_location="cpu", weights_only=False)
    if not isinstance(model, torch.nn.Module):
        raise InputError(
            f"{path.name} holds a {type(model).__name__}, not a model: use module:function with --weights"
        )
    return model


def _state(torch: Any, path: Path) -> Any:
    try:
        return torch.load(str(path), map_location="cpu", weights_only=True)
    except Exception as error:  # noqa: BLE001 - unpickling raises anything
        raise InputError(
            f"--weights {path.name} is not a plain state dict: {str(error).splitlines()[0]}"
        ) from None


def _from_onnx(path: Path) -> Any:
    """Convert an ONNX file; onnx2torch imports torchvision for one operator only, so a stand-in serves."""
    onnx = module("onnx", "torch")
    if "torchvision" not in sys.modules:
        try:
            import torchvision  # noqa: F401
        except ImportError:
            vision, operators = types.ModuleType("torchvision"), types.ModuleType("torchvision.ops")
            vision.ops, operators.roi_align = operators, None  # type: ignore[attr-defined]
            sys.modules.update({"torchvision": vision, "torchvision.ops": operators})
    onnx2torch = module("onnx2torch", "pip install --no-deps onnx2torch")
    try:
        return onnx2torch.convert(_without_aliases(onnx.load(str(path))))
    except NotImplementedError as error:
        raise InputError(
            f"{path.name} has an operator that onnx2torch does not know ({error}): export with opset 16 or lower"
        ) from None


def _without_aliases(model: Any) -> Any:
    """Name weights directly where an Identity stands for them: the exporter writes equal weights once so."""
    stored = {weight.name for weight in model.graph.initializer}
    aliases = {
        node.output[0]: node.input[0]
        for node in model.graph.node
        if node.op_type == "Identity" and node.input[0] in stored
    }
    for node in model.graph.node:
        for position, name in enumerate(node.input):
            node.input[position] = aliases.get(name, name)
    return model


def _device(torch: Any, name: str) -> Any:
    if name.startswith("neuron"):
        raise QuestionError("--device neuron:N needs --backend neuron")
    if name.startswith("cuda"):
        index = int(name.partition(":")[2])
        count = torch.cuda.device_count() if torch.cuda.is_available() else 0
        if index >= count:
            raise MeasurementError(
                f"--device {name}: torch sees {count} GPUs here; nothing was measured on the host"
            )
    return torch.device("cpu" if name.startswith("eia") else name)


def _prepared(torch: Any, model: Any, mode: str, example: tuple[Any, ...]) -> Any:
    if mode == "eager":
        return model
    if mode == "compile":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            return torch.compile(model)
    with warnings.catch_warnings(), torch.inference_mode(), tempfile.TemporaryDirectory() as folder:
        warnings.simplefilter("ignore", DeprecationWarning)
        warnings.simplefilter("ignore", torch.jit.TracerWarning)
        scripted = torch.jit.trace(model, example) if mode == "trace" else torch.jit.script(model)
        path = str(Path(folder) / "model.ts")
        torch.jit.save(scripted, path)
        return torch.jit.load(path, map_location=example[0].device)


def _attached(torch: Any, model: Any, ordinal: int) -> Any:
    if not isinstance(model, torch.jit.ScriptModule):
        raise QuestionError("--device eia:N serves TorchScript: give --torch-mode trace or script")
    torcheia = module(
        "torcheia", "it came with AWS's Elastic Inference build of PyTorch, which AWS has withdrawn"
    )
    return torcheia.jit.attach_eia(model, ordinal)


def _infer(torch: Any, model: Any, device: Any) -> Callable[[tuple[Any, ...]], Any]:
    if device.type == "cuda":

        def on_gpu(body: tuple[Any, ...]) -> Any:
            with torch.inference_mode():
                answer = model(*(tensor.to(device, non_blocking=True) for tensor in body))
                torch.cuda.synchronize(device)
                return answer

        return on_gpu

    def on_host(body: tuple[Any, ...]) -> Any:
        with torch.inference_mode():
            return model(*body)

    return on_host
