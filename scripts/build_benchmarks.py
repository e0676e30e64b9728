"""Make the tables in `benchmarks/` from a folder of published results: python scripts/build_benchmarks.py FACTS [--into DIR].

FACTS holds a folder `published` with the tables as they were extracted from their sources. The same input gives the same
bytes. What is mapped, dropped, doubted or noted is written out below, a function a source; what each column means is in
benchmarks/README.md. With `--test-data DIR` the published figures that tests compare with are written too.
"""

import argparse
import csv
import re
from collections.abc import Iterable, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Final

from advisor.tables import BENCHMARK_KEY, BenchmarkRows, percentile_of

Row = dict[str, str]

MLPERF_BACKENDS: Final = {
    "tflite_cpp-cpu-tflite-vmaster-default_config": ("tflite", "tflite master"),
    "tflite_armnn_cpp-cpu-armnn_tflite-v22.11-using_neon": ("armnn-tflite neon", "armnn-tflite 22.11"),
    "tflite_cpp-cpu-armnn_tflite-v22.11-default_config": ("armnn-tflite default", "armnn-tflite 22.11"),
    "reference-gpu-pytorch-v1.13.1-default_config": ("pytorch", "pytorch 1.13.1"),
    "reference-gpu-pytorch-v2.1.0.dev20230303-default_config": ("pytorch", "pytorch 2.1.0.dev20230303"),
}
MLPERF_PRECISIONS: Final = {"float": "fp32", "fp32": "fp32", "uint8": "uint8", "int8": "int8"}

NEURON_MODELS: Final = {
    "BERT base": "bert-base",
    "BERT base (bert-base-cased)": "bert-base-cased",
    "BERT base (bert-base-uncased)": "bert-base-uncased",
    "DistilBERT base (distilbert-base-uncased)": "distilbert-base-uncased",
    "DistilBERT base (distilbert-base-uncased-finetuned-sst-2-english)": "distilbert-base-uncased-finetuned-sst-2-english",
    "DistilRoBERTa base (distilroberta-base)": "distilroberta-base",
    "OpenPose": "openpose",
    "Resnet-50": "resnet-50",
    "YOLO v4": "yolo-v4",
}
NEURON_CORES_A_DEVICE: Final = 4

EI_SPELLINGS: Final = {
    "": "",
    "NA": "",
    "eia.medium": "eia1.medium",
    "eia.large": "eia1.large",
    "eia.xlarge": "eia1.xlarge",
}

RESNET50_CONFIGURATIONS: Final = {
    "keras_cpu_8": ("keras", ""),
    "EI_8_eia2.large": ("keras elastic-inference", ""),
    "keras_gpu_8": ("keras", ""),
    "trt_fp32_8": ("tensorrt", "fp32"),
    "trt_fp16_8": ("tensorrt", "fp16"),
    "trt_int8_8": ("tensorrt", "int8"),
    "inf1_compiled_batch_size_1_compiled_cores_1": ("neuron batch 1 cores 1", ""),
    "inf1_compiled_batch_size_5_compiled_cores_1": ("neuron batch 5 cores 1", ""),
    "inf1_compiled_batch_size_1_compiled_cores_4": ("neuron batch 1 cores 4", ""),
}


def main() -> None:
    """Read the published tables and write ours."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("facts", type=Path, help="folder that holds published/")
    parser.add_argument("--into", type=Path, default=Path(__file__).resolve().parents[1] / "benchmarks")
    parser.add_argument("--test-data", type=Path, help="write the figures that tests need into this folder")
    arguments = parser.parse_args()
    published = arguments.facts / "published"
    arguments.into.mkdir(parents=True, exist_ok=True)
    for name, rows in (
        ("encoders.csv", encoders(published / "neuron_vs_cpu_gpu_encoder_philschmid.csv")),
        ("mlperf_single_stream.csv", mlperf(published / "mlperf_v3.0_aws_singlestream.csv")),
        ("neuron_inf1_history.csv", neuron(published / "neuron_inf1_history_p90.csv")),
        ("faster_rcnn_elastic_inference.csv", faster_rcnn(published / "ei_tensorflow_fasterrcnn.csv")),
        ("resnet50_elastic_inference.csv", resnet50(published / "ei_resnet50_shashankprasanna.csv")),
        ("openai_gpt_elastic_inference.csv", openai_gpt()),
    ):
        write(arguments.into / name, rows)
    if arguments.test_data:
        arguments.test_data.mkdir(parents=True, exist_ok=True)
        write_test_data(published, arguments.facts / "prices", arguments.test_data)


def encoders(path: Path) -> list[Row]:
    """BERT-family encoders and ViT on c6i, g5, inf1, inf2: mean, standard deviation, P95 of 100 calls."""
    doubt = "the source's own summary page shows 10-20 % lower figures, of another run"
    return [
        {
            "model": row["model"],
            "sequence_length": row["sequence_length"],
            "input_shape": "" if row["sequence_length"] else "3x224x224",
            "instance_type": row["instance_type"],
            "backend": "neuron" if row["instance_type"].startswith("inf") else "",
            "sample_count": row["n_requests"],
            "latency_mean_ms": row["mean_ms"],
            "latency_std_ms": row["std_ms"],
            "latency_p95_ms": row["p95_ms"],
            "source": "philschmid/aws-neuron-samples@381667c71c4e (2023-06-28)",
            **_doubt(
                doubt
                if (row["model"], row["instance_type"]) == ("distilbert_base_uncased", "c6i.2xlarge")
                else ""
            ),
        }
        for row in _read(path)
    ]


def mlperf(path: Path) -> list[Row]:
    """MLPerf inference 3.0, single stream: nanoseconds of loadgen's summary, thousands of queries a row."""
    rows = []
    for row in _read(path):
        if row["result_valid"] != "VALID" or row["scenario"] != "singlestream":
            continue
        backend, software = MLPERF_BACKENDS[row["implementation"]]
        model = re.sub(r"-precision_(float|uint8)-", r" \1 ", row["benchmark"])
        precision = re.search(r"[ -](float|fp32|uint8|int8)[ -]", model)
        burstable = row["instance_type"].startswith("t2.")
        rows.append(
            {
                "model": model,
                "instance_type": row["instance_type"],
                "backend": backend,
                "precision": MLPERF_PRECISIONS[precision[1]] if precision else "",
                "software": software,
                "sample_count": row["queries_processed"],
                "latency_mean_ms": _from_ns(row["mean_ns"]),
                "latency_min_ms": _from_ns(row["min_ns"]),
                "latency_max_ms": _from_ns(row["max_ns"]),
                **{
                    f"latency_p{p}_ms": _from_ns(row[f"p{p}_ns"])
                    for p in ("50", "90", "95", "97", "99", "99_9")
                },
                "load_kind": "single_stream",
                "source": "mlcommons/inference_results_v3.0@1948f9b5b93c, open/cTuning (2023)",
                "note": "a burstable type: its latencies have two modes" if burstable else "",
            }
        )
    return rows


def neuron(path: Path) -> list[Row]:
    """AWS's own inf1 table through eleven Neuron releases: percentiles and throughput, no mean.

    A row that only repeats the figures of an earlier release was not measured again; it is dropped.
    """
    figures = (
        "avg_throughput_per_s",
        "max_throughput_per_s",
        "p50_ms",
        "p90_ms",
        "p95_ms",
        "p99_ms",
        "p100_ms",
    )
    setting = ("name", "model", "instance_type", "batch_size", "threads")
    seen: set[tuple[str, ...]] = set()
    rows = []
    for row in sorted(_read(path), key=lambda row: row["date"]):
        measured = tuple(row[name] for name in (*setting, *figures))
        if measured in seen:
            continue
        seen.add(measured)
        cores = int(row["num_cores"])
        pipeline = row["run_mode"] == "Model Pipeline"
        precision = re.search(r"\((fp\d+),b(\d+),", row["name"])
        rows.append(
            {
                "model": NEURON_MODELS[row["model"]],
                "instance_type": row["instance_type"],
                "backend": f"neuron {row['framework'].split()[0].lower()}",
                "precision": precision[1] if precision else "",
                "software": f"neuron {row['neuron_version']} ({row['framework']})",
                "batch_size": row["batch_size"],
                "concurrency": "1" if row["threads"] in {"", "0"} else row["threads"],
                "copies": "1" if pipeline else str(cores),
                "shards": str(cores // NEURON_CORES_A_DEVICE) if pipeline else "1",
                "latency_max_ms": row["p100_ms"],
                **{f"latency_p{p}_ms": row[f"p{p}_ms"] for p in ("50", "90", "95", "99")},
                "throughput_per_s": row["avg_throughput_per_s"],
                "load_kind": "closed",
                "measured_on": row["date"],
                "source": f"aws-neuron/aws-neuron-sdk@{row['commit'][:12]}",
                **_doubt(_neuron_doubt(row, precision[2] if precision else "")),
            }
        )
    return rows


def _neuron_doubt(row: Row, batch_in_name: str) -> str:
    """Say what is wrong with a row's load: throughput x P50 must be near batch x threads (Little's law)."""
    in_flight = float(row["avg_throughput_per_s"]) * float(row["p50_ms"]) / 1000
    threads = 1 if row["threads"] in {"", "0"} else int(row["threads"])
    stated = int(row["batch_size"]) * threads
    if 0.75 * stated <= in_flight <= 1.25 * stated:
        return ""
    name = f"; its name says batch {batch_in_name}" if batch_in_name not in {"", row["batch_size"]} else ""
    unstated = " (threads not stated)" if row["threads"] in {"", "0"} else ""
    return (
        f"throughput x P50 is {in_flight:.0f} inferences in flight, the row states {stated}{unstated}{name}"
    )


def faster_rcnn(path: Path) -> list[Row]:
    """Faster R-CNN on m5 hosts x eia1, CPU and GPU: one figure a row, an average by the source's notebook.

    The second table of the source repeats two rows of the first; they are kept once.
    """
    rows = [
        {
            "model": "faster-rcnn-resnet50",
            "input_shape": "1080x1920x3",
            "instance_type": row["client_instance"],
            "attached_accelerator": EI_SPELLINGS[row["accelerator"]],
            "attached_accelerator_count": "1" if row["accelerator"] else "0",
            "backend": "tensorflow",
            "latency_mean_ms": row["latency_ms"],
            "source": "awsvik/tensorflow-amazon-elastic-inference@f4e677ff94d6 (2019-10-28)",
            "note": "the source does not name the statistic; by its notebook an average after one warm-up call",
        }
        for row in _read(path)
    ]
    return list({tuple(row.values()): row for row in rows}.values())


def resnet50(path: Path) -> list[Row]:
    """ResNet-50 over 50,000 images on c5 + eia2, g4dn and inf1: latencies of whole batches."""
    rows = []
    for row in _read(path):
        backend, precision = RESNET50_CONFIGURATIONS[row["config"]]
        accelerator = "" if row["accelerator"] in EI_SPELLINGS else row["accelerator"]
        predicted, wall = float(row["prediction_time"]), float(row["wall_time"])
        doubt = ""
        if wall > 2 * predicted:
            doubt = f"predictions took {predicted:.0f} s of {wall:.0f} s: perhaps timed before the result was there"
        rows.append(
            {
                "model": "resnet-50",
                "instance_type": row["instance_type"],
                "attached_accelerator": accelerator,
                "attached_accelerator_count": "1" if accelerator else "0",
                "backend": backend,
                "precision": precision,
                "batch_size": row["user_batch_size"],
                "sample_count": str(50_000 // int(row["user_batch_size"])),
                "latency_mean_ms": row["latency_mean"],
                "latency_min_ms": row["latency_min"],
                "latency_p50_ms": row["latency_median"],
                "latency_p99_ms": row["latency_99th_percentile"],
                "source": "shashankprasanna/ai-accelerators-examples@c8c9c828e987 (2020-10-20)",
                **_doubt(doubt),
            }
        )
    return rows


def openai_gpt() -> list[Row]:
    """One run of OpenAI GPT on m5.large + eia2.xlarge, the project's own measurement as reported; its date is not known."""
    return [
        {
            "model": "openai-gpt",
            "instance_type": "m5.large",
            "attached_accelerator": "eia2.xlarge",
            "attached_accelerator_count": "1",
            "sample_count": "999",
            "latency_mean_ms": "10.2795",
            "latency_p50_ms": "9.76729",
            "latency_p90_ms": "10.7727",
            "latency_p95_ms": "13.0613",
            "source": "the project's own measurement, as reported (date unknown)",
            "note": "999 inferences after one discarded cold call",
        }
    ]


def write_test_data(published: Path, prices: Path, folder: Path) -> None:
    """Write the published figures that tests compare with, in our own units."""
    _write_columns(
        folder / "fmbench_gated_runs.csv",
        [
            {
                "run": row["run"],
                "model": row["experiment"],
                "input_shape": row["payload"].removesuffix(".jsonl"),
                "instance_type": row["instance_type"],
                "concurrency": row["concurrency"],
                "latency_p50_ms": _from_s(row["latency_p50_s"]),
                "latency_p95_ms": _from_s(row["latency_p95_s"]),
                "latency_p99_ms": _from_s(row["latency_p99_s"]),
                "transactions_per_minute": row["transactions_per_minute"],
                "error_fraction": row["error_rate"],
                "price_usd_per_hour": row["implied_price_per_hour_usd"],
                "published_usd_per_transaction": row["price_per_txn_usd_published"],
                "latency_limit_p95_ms": _from_s(row["latency_budget_p95_s"]),
                "cost_limit_usd_per_10k": row["cost_budget_per_10k_usd"],
                "published_latency_failed": row["latency_criterion_failed"].lower(),
                "published_cost_failed": row["cost_criterion_failed"].lower(),
                "published_best_concurrency": row["published_best_concurrency"],
                "measured_on": row["run_time_utc"][:10],
                "source": f"aws-samples/foundation-model-benchmarking-tool@{row['commit'][:12]}",
            }
            for row in _read(published / "fmbench_ec2_gated_runs.csv")
        ],
    )
    _write_columns(
        folder / "faster_rcnn_published_costs.csv",
        [
            {
                "published_table": row["table"].split("_")[0],
                "instance_type": row["client_instance"],
                "attached_accelerator": EI_SPELLINGS[row["accelerator"]],
                "latency_mean_ms": row["latency_ms"],
                "published_usd_per_hour": row["price_per_hour_usd_published"],
                "published_usd_per_100k": row["cost_per_100k_usd_published"],
                "source": "awsvik/tensorflow-amazon-elastic-inference@f4e677ff94d6 (2019-10-28)",
            }
            for row in _read(published / "ei_tensorflow_fasterrcnn.csv")
        ],
    )
    changes = _read(prices / "on_demand_changes.csv")
    _write_columns(
        folder / "price_changes.csv",
        [
            {
                **{name: row[name] for name in ("instance_type", "region")},
                "price_usd_per_hour": row["usd_per_hour"],
                "first_seen_on": row["first_seen"],
                "last_seen_on": row["last_seen"],
            }
            for row in changes
            if row["instance_type"].startswith(("r7g.", "p4d", "p5"))
        ],
    )


def write(path: Path, rows: Iterable[Mapping[str, str]]) -> None:
    """Write the columns that any row fills, in the order of the table, sorted by its key."""
    defaults = {
        "batch_size": "1",
        "concurrency": "1",
        "copies": "1",
        "shards": "1",
        "attached_accelerator_count": "0",
    }
    table = [dict(row) for row in rows]
    order = [name for name in BenchmarkRows.to_schema().columns if not name.startswith("latency_p")]
    percentiles = sorted(
        {name for row in table for name in row if percentile_of(name)}, key=lambda n: percentile_of(n) or 0
    )
    at = order.index("latency_max_ms") + 1
    order = [*order[:at], *percentiles, *order[at:]]
    unknown = {name for row in table for name in row} - set(order)
    if unknown:
        raise SystemExit(f"{path.name}: no column of the benchmark table: {sorted(unknown)}")
    used = [
        name for name in order if any(row.get(name, "") not in {"", defaults.get(name, "")} for row in table)
    ]
    if "quality" in used:
        for row in table:
            row["quality"] = row.get("quality") or "ok"
    table.sort(key=lambda row: [_sortable(row.get(name, "")) for name in BENCHMARK_KEY])
    _write_columns(path, [{name: row.get(name, defaults.get(name, "")) for name in used} for row in table])


def _sortable(text: str) -> tuple[int, str]:
    return (int(text), "") if text.isdecimal() else (0, text)


def _write_columns(path: Path, rows: list[Row]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def _read(path: Path) -> list[Row]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _doubt(note: str) -> Row:
    return {"quality": "suspect", "note": note} if note else {}


def _from_ns(text: str) -> str:
    return _plain(Decimal(text) / 1_000_000)


def _from_s(text: str) -> str:
    return _plain(Decimal(text) * 1000)


def _plain(value: Decimal) -> str:
    return f"{value.normalize():f}"


if __name__ == "__main__":
    main()
