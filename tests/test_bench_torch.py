"""Small real networks through PyTorch and ONNX Runtime on the CPU (`make test-torch`)."""

import sys
import types
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from advisor import formats
from advisor.bench import Settings, run
from advisor.bench.backends import BACKENDS, Loaded
from advisor.bench.inputs import requests_for
from advisor.bench.settings import points
from advisor.errors import InputError, MeasurementError, QuestionError

torch = pytest.importorskip("torch", reason="torch is large: these run in `make test-torch`")
pytest.importorskip("onnxruntime", reason="these run in `make test-torch`")

pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore::DeprecationWarning")]

CNN: dict[str, Any] = {
    "model": "advisor.bench.networks:tiny_cnn",
    "input": "image:float32:Bx3x32x32",
    "threads": 1,
}
TRANSFORMER: dict[str, Any] = {
    "model": "advisor.bench.networks:tiny_transformer",
    "input": "ids:int64:BxS",
    "sequence_length": "16",
}


@pytest.fixture(autouse=True)
def _off_ec2(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


@contextmanager
def loaded(**fields: Any) -> Iterator[Loaded]:
    settings = Settings.make(**fields)
    (point,) = points(settings)
    with BACKENDS[settings.backend](settings, point, requests_for(settings, point)) as found:
        yield found


def answer(**fields: Any) -> np.ndarray[Any, Any]:
    with loaded(**fields) as found:
        given: Any = found.infer(found.bodies[0])
        return np.asarray(given[0] if isinstance(given, list) else given)


@pytest.mark.parametrize("network", [CNN, TRANSFORMER], ids=["cnn", "transformer"])
def test_every_way_through_torch_and_onnx_gives_the_same_answer(
    network: dict[str, Any], tmp_path: Path
) -> None:
    eager = answer(backend="torch", **network)
    assert np.isfinite(eager).all()
    assert eager.std() > 0
    for fields in ({"torch_mode": "trace"}, {"torch_mode": "script"}):
        assert answer(backend="torch", **fields, **network) == pytest.approx(eager, abs=1e-5)
    assert answer(backend="onnxruntime", **network) == pytest.approx(eager, abs=1e-4)

    path = exported(network, tmp_path)
    given = {
        "model": str(path),
        "input": network["input"],
        "sequence_length": network.get("sequence_length", ()),
        "threads": 1,
    }
    assert answer(backend="onnxruntime", **given) == pytest.approx(eager, abs=1e-4)
    assert answer(backend="torch", **given) == pytest.approx(eager, abs=1e-4)
    assert answer(backend="torch", torch_mode="trace", **given) == pytest.approx(eager, abs=1e-4)


def exported(network: dict[str, Any], folder: Path) -> Path:
    from advisor.bench.backends.python import find

    path = folder / "model.onnx"
    torch.manual_seed(0)
    settings = Settings.make(backend="torch", **network)
    name, array = next(iter(requests_for(settings, points(settings)[0]).bodies[0].items()))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            find(network["model"])().eval(),
            (torch.from_numpy(array),),
            str(path),
            dynamo=False,
            opset_version=16,
            input_names=[name],
        )
    return path


def test_torch_compile_gives_the_same_answer() -> None:
    assert answer(backend="torch", torch_mode="compile", **CNN) == pytest.approx(
        answer(backend="torch", **CNN), abs=1e-4
    )


def test_trace_and_script_are_measured_against_each_other_in_one_call(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    run(Settings.make(backend="torch", torch_mode="trace,script", requests=30, **CNN), path)
    rows = formats.read(path).rows
    assert list(rows["backend"]) == ["torch-script", "torch-trace"]
    assert set(rows["software"]) == {f"torch {torch.__version__}"}
    assert list(rows["sample_count"]) == [30, 30]
    assert (rows["input_shape"] == "3x32x32").all()


def test_a_saved_torchscript_file_is_loaded_and_named_so(tmp_path: Path) -> None:
    path = tmp_path / "model.ts"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.jit.save(torch.jit.trace(torch.nn.Linear(4, 2), torch.zeros(1, 4)), str(path))
    with loaded(backend="torch", model=str(path), input="x:float32:1x4") as found:
        assert found.backend == "torch-torchscript"
        assert found.infer(found.bodies[0]).shape == (1, 2)  # type: ignore[attr-defined]


def test_a_pickled_model_is_loaded_only_where_it_is_trusted(tmp_path: Path) -> None:
    path = tmp_path / "model.pt"
    torch.save(torch.nn.Linear(4, 2), str(path))
    fields = {"backend": "torch", "model": str(path), "input": "x:float32:1x4"}
    with pytest.raises(
        InputError, match=r"model\.pt is not TorchScript, and a pickled model runs its own code"
    ):
        answer(**fields)
    assert answer(trust_model=True, **fields).shape == (1, 2)


def test_a_state_dict_is_loaded_without_running_code(tmp_path: Path) -> None:
    from advisor.bench.networks import tiny_cnn

    path = tmp_path / "weights.pt"
    torch.manual_seed(99)
    torch.save(tiny_cnn().state_dict(), str(path))
    trained = answer(backend="torch", weights=str(path), **CNN)
    assert trained != pytest.approx(answer(backend="torch", **CNN))
    torch.save(torch.nn.Linear(4, 2), str(path))
    with pytest.raises(InputError, match=r"--weights weights\.pt is not a plain state dict"):
        answer(backend="torch", weights=str(path), **CNN)


def test_half_precision_is_another_result_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    run(Settings.make(backend="torch", precision="bf16", requests=10, **CNN), path)
    assert list(formats.read(path).rows["precision"]) == ["bf16"]
    with pytest.raises(QuestionError, match="the torch backend takes fp32, fp16, bf16"):
        answer(backend="torch", precision="int4", **CNN)


def test_a_gpu_that_is_not_there_is_an_error_and_not_the_host() -> None:
    if torch.cuda.is_available():
        pytest.skip("this machine has a GPU")
    with pytest.raises(MeasurementError, match="torch sees 0 GPUs here; nothing was measured on the host"):
        answer(backend="torch", device="cuda:0", **CNN)


def test_onnx_runtime_that_falls_back_to_the_host_is_flagged(tmp_path: Path) -> None:
    import onnxruntime

    if "CUDAExecutionProvider" in onnxruntime.get_available_providers():
        pytest.skip("this ONNX Runtime has the provider")
    path = tmp_path / "r.jsonl"
    run(Settings.make(backend="onnxruntime", device="cuda:0", requests=10, **CNN), path)
    row = formats.read(path).rows.iloc[0]
    assert row["quality"] == "suspect"
    assert "it was measured on the host" in row["note"]


def test_inputs_that_the_model_does_not_have_are_named(tmp_path: Path) -> None:
    path = exported(TRANSFORMER, tmp_path)
    with pytest.raises(QuestionError, match="the model takes ids; --input gives a, b"):
        answer(backend="onnxruntime", model=str(path), input=("a:int64:1x16", "b:int64:1x16"))


def test_autograd_is_off_while_measuring() -> None:
    with loaded(backend="torch", **CNN) as found:
        given: Any = found.infer(found.bodies[0])
        assert not given.requires_grad


def test_the_neuron_backend_compiles_saves_loads_and_sets_the_runtime(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With a stand-in for torch-neuronx, which exists on Neuron instances only."""
    stand_in = types.ModuleType("torch_neuronx")
    moved: list[int] = []
    stand_in.trace = torch.jit.trace  # type: ignore[attr-defined]
    stand_in.move_trace_to_device = lambda _, core: moved.append(core)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torch_neuronx", stand_in)
    monkeypatch.setenv("NEURON_RT_VISIBLE_CORES", "")
    monkeypatch.setenv("NEURON_RT_MULTI_INSTANCE_SHARED_WEIGHTS", "")
    import os

    given = answer(backend="neuron", device="neuron:1", neuron_cores="0-1", shared_weights=True, **CNN)
    assert given == pytest.approx(answer(backend="torch", **CNN), abs=1e-5)
    assert moved == [1]
    assert os.environ["NEURON_RT_VISIBLE_CORES"] == "0-1"
    assert os.environ["NEURON_RT_MULTI_INSTANCE_SHARED_WEIGHTS"] == "TRUE"


def test_an_attached_accelerator_serves_torchscript_by_its_ordinal(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a stand-in for torcheia, which came with AWS's own build of PyTorch."""
    stand_in = types.ModuleType("torcheia")
    attached: list[int] = []

    def attach(model: Any, ordinal: int) -> Any:
        attached.append(ordinal)
        return model

    stand_in.jit = types.SimpleNamespace(attach_eia=attach)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torcheia", stand_in)
    with loaded(backend="torch", device="eia:1", torch_mode="trace", **CNN) as found:
        found.infer(found.bodies[0])
        assert found.backend == "torch-trace-eia"
    assert attached == [1]
    with pytest.raises(QuestionError, match="give --torch-mode trace or script"):
        answer(backend="torch", device="eia:1", **CNN)


@pytest.mark.parametrize(
    ("build", "shape", "parameters"),
    [
        ("bert_base", (1, 16), 109_482_240),
        ("resnet50", (1, 3, 224, 224), 25_557_032),
        ("mobilenet_v2", (1, 3, 224, 224), 3_504_872),
    ],
)
def test_the_recipes_networks_have_the_published_sizes(
    build: str, shape: tuple[int, ...], parameters: int
) -> None:
    """Parameters: BERT base 109.5 M with its pooler (less 1,536 token-type weights here); torchvision's models."""
    from advisor.bench import networks

    model = getattr(networks, build)().eval()
    counted = sum(parameter.numel() for parameter in model.parameters())
    expected = parameters - 1536 if build == "bert_base" else parameters
    assert counted == expected
    given = torch.zeros(shape, dtype=torch.long if build == "bert_base" else torch.float32)
    with torch.inference_mode():
        assert torch.isfinite(model(given)).all()


def test_a_recipe_runs_and_its_result_is_read(tmp_path: Path) -> None:
    from advisor.bench import recipes

    path = tmp_path / "r.jsonl"
    run(Settings.make(**(recipes.read("mobilenet") | {"requests": 5, "threads": 1})), path)
    row = formats.read(path).rows.iloc[0]
    assert row["model"] == "mobilenet_v2"
    assert "random weights" in row["note"]
