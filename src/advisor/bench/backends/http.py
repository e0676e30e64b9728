"""A server: JSON POST to any URL, the KServe v2 form (Triton), and SageMaker's invoke-endpoint."""

import json
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPSConnection
from typing import Any, Final
from urllib.parse import SplitResult, urlsplit

import numpy as np

from advisor.bench.backends.loaded import Loaded
from advisor.bench.inputs import Requests
from advisor.bench.settings import Point, Settings
from advisor.errors import MissingExtraError, QuestionError

_KSERVE_TYPES: Final = {
    "bool": "BOOL", "uint8": "UINT8", "int8": "INT8", "int32": "INT32", "int64": "INT64",
    "float16": "FP16", "float32": "FP32", "float64": "FP64",
}  # fmt: skip
"""numpy type -> tensor type of the Open Inference Protocol (KServe v2, section "Tensor Data Types")."""

_SIGNATURE_LIFE_S: Final = 60.0
"""A signature is used again this long; AWS accepts one for five minutes."""


@contextmanager
def http(settings: Settings, point: Point, requests: Requests) -> Iterator[Loaded]:  # noqa: ARG001
    """Post each request over a connection that each lane keeps open.

    Raises:
        QuestionError: not an http(s) URL, a header without a colon, or a protocol that needs arrays.
        MissingExtraError: an AWS endpoint without the `aws` extra.
    """
    url = urlsplit(settings.model)
    if url.scheme not in ("http", "https") or not url.hostname:
        raise QuestionError("--model must be a URL for the http backend, like http://127.0.0.1:8080/predict")
    headers = {"Content-Type": "application/json", **_headers(settings.header)}
    target = (url.path or "/") + (f"?{url.query}" if url.query else "")
    sign = _signer(settings, url) if _is_sagemaker_aws(settings, url) else None
    local = threading.local()
    opened: list[HTTPConnection] = []

    def infer(body: bytes) -> bytes:
        connection = getattr(local, "connection", None)
        if connection is None:
            connection = local.connection = _connection(url, settings.timeout_s)
            opened.append(connection)
        try:
            connection.request("POST", target, body, headers if sign is None else sign(body, headers))
            response = connection.getresponse()
            answer: bytes = response.read()
        except Exception:
            connection.close()
            raise
        if not 200 <= response.status < 300:
            raise ConnectionError(f"HTTP {response.status}")
        return answer

    try:
        yield Loaded(
            infer=infer,
            bodies=tuple(_encode(body, settings.protocol) for body in requests.bodies),
            backend=f"http-{settings.protocol}",
            software="",
            notes=("latency as this client saw it: the network and the server's queue are in it",),
            host="unknown",
        )
    finally:
        for connection in opened:
            connection.close()


def _connection(url: SplitResult, timeout_s: float) -> HTTPConnection:
    kind = HTTPSConnection if url.scheme == "https" else HTTPConnection
    return kind(url.hostname or "", url.port, timeout=timeout_s)


def _headers(lines: tuple[str, ...]) -> dict[str, str]:
    headers = {}
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon or not name.strip():
            raise QuestionError('--header must be "Name: value"')
        headers[name.strip()] = value.strip()
    return headers


def _encode(body: Any, protocol: str) -> bytes:
    arrays = isinstance(body, dict) and body and all(isinstance(v, np.ndarray) for v in body.values())
    if not arrays:
        if body is None:
            raise QuestionError("the http backend needs --input or --input-file with one JSON body a line")
        return json.dumps(body, ensure_ascii=False).encode()
    if protocol == "kserve":
        inputs = [
            {
                "name": name,
                "shape": list(array.shape),
                "datatype": _KSERVE_TYPES[str(array.dtype)],
                "data": array.ravel().tolist(),
            }
            for name, array in body.items()
        ]
        return json.dumps({"inputs": inputs}).encode()
    lists = {name: array.tolist() for name, array in body.items()}
    if protocol == "sagemaker":
        return json.dumps(next(iter(lists.values())) if len(lists) == 1 else lists).encode()
    return json.dumps({"inputs": lists}).encode()


def _is_sagemaker_aws(settings: Settings, url: SplitResult) -> bool:
    return settings.protocol == "sagemaker" and (url.hostname or "").endswith(
        (".amazonaws.com", ".amazonaws.com.cn")
    )


def _signer(settings: Settings, url: SplitResult) -> Callable[[bytes, Mapping[str, str]], dict[str, str]]:
    """Return what signs a request to `runtime.sagemaker.REGION.amazonaws.com` with the user's own credentials."""
    try:
        from botocore.auth import SigV4Auth
        from botocore.awsrequest import AWSRequest
        from botocore.session import Session
    except ImportError:
        raise MissingExtraError(
            "an AWS endpoint needs signed requests: install the extra `aws` (pip install '.[aws]' in a checkout)"
        ) from None
    credentials = Session().get_credentials()
    if credentials is None:
        raise QuestionError("no AWS credentials were found to sign requests: run `aws configure`")
    parts = (url.hostname or "").split(".")
    region = parts[2] if len(parts) > 4 else os.environ.get("AWS_DEFAULT_REGION", "us-east-1")
    signed: dict[bytes, tuple[float, dict[str, str]]] = {}

    def sign(body: bytes, headers: Mapping[str, str]) -> dict[str, str]:
        now = time.monotonic()
        kept = signed.get(body)
        if kept is None or now - kept[0] > _SIGNATURE_LIFE_S:
            request = AWSRequest("POST", settings.model, headers=dict(headers), data=body)
            SigV4Auth(credentials, "sagemaker", region).add_auth(request)
            kept = signed[body] = (now, dict(request.headers.items()))
        return kept[1]

    return sign
