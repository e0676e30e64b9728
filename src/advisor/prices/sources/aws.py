"""Talking to AWS with the user's account: clients with a bounded rate, and errors as one line without secrets."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any, Final

from advisor.errors import MissingExtraError, PricesError
from advisor.prices.sources import web
from advisor.text import clean

ATTEMPTS: Final = 5
NO_ACCOUNT: Final = "or use --source bulk, which needs no account"
_REGION: Final = re.compile(r"(?<=-\d)-.+")
"""What follows the region in the code of a local zone group: -lax-1 in us-west-2-lax-1."""
_EXPIRED: Final = frozenset({"ExpiredToken", "ExpiredTokenException", "RequestExpired"})
_REFUSED: Final = frozenset({"AuthFailure", "InvalidClientTokenId", "UnrecognizedClientException", "InvalidSignatureException"})  # fmt: skip
_DENIED: Final = frozenset({"AccessDenied", "AccessDeniedException", "UnauthorizedOperation"})
_THROTTLED: Final = frozenset(
    {"Throttling", "ThrottlingException", "RequestLimitExceeded", "TooManyRequestsException"}
)


def client(service: str, region: str, timeout_s: float) -> Any:
    """Return a boto3 client that keeps within the rate AWS allows and backs off when throttled.

    Raises:
        MissingExtraError: boto3 is not installed.
        PricesError: the profile or the region cannot be used.
    """
    try:
        import boto3
        from botocore.config import Config
    except ImportError:
        raise MissingExtraError(
            "this source asks AWS through boto3, which is not installed: python -m pip install boto3"
        ) from None
    config = Config(
        connect_timeout=timeout_s,
        read_timeout=timeout_s,
        retries={"mode": "adaptive", "total_max_attempts": ATTEMPTS},
        user_agent_extra="ec2-serving-advisor",
    )
    with plainly(service, region):
        return boto3.client(service, region_name=region, config=config)  # type: ignore[call-overload]


@contextmanager
def plainly(service: str, region: str) -> Iterator[None]:
    """Turn every error of AWS or of the way there into one line that holds no key, account or ARN.

    Raises:
        PricesError: what went wrong and what to do.
    """
    from botocore import exceptions as aws

    where = f"{service} in {region}"
    try:
        yield
    except aws.ClientError as error:
        code = clean(str(error.response.get("Error", {}).get("Code", "unknown error")))
        raise PricesError(f"{where}: {_said(code, error)}") from None
    except (aws.NoCredentialsError, aws.PartialCredentialsError):
        raise PricesError(
            f"no AWS credentials: set AWS_PROFILE or run `aws configure`, {NO_ACCOUNT}"
        ) from None
    except (aws.TokenRetrievalError, aws.SSOTokenLoadError, aws.UnauthorizedSSOTokenError):
        raise PricesError(f"the AWS sign-in has expired: run `aws sso login`, {NO_ACCOUNT}") from None
    except (aws.ReadTimeoutError, aws.ConnectTimeoutError):
        raise PricesError(f"{where}: timed out: try again later, or give a longer --timeout") from None
    except (aws.HTTPClientError, aws.EndpointConnectionError):
        raise PricesError(f"{where}: cannot be reached: check the network and the region's name") from None
    except aws.BotoCoreError as error:
        raise PricesError(f"{where}: {clean(' '.join(str(error).split()))}") from None


def _said(code: str, error: Any) -> str:
    if code in _EXPIRED:
        return f"the AWS credentials have expired: sign in again, {NO_ACCOUNT}"
    if code in _REFUSED:
        return f"AWS does not know these credentials ({code}): check AWS_PROFILE, {NO_ACCOUNT}"
    if code in _DENIED:
        return f"{error.operation_name} is not allowed: docs/prices.md has the policy to ask for"
    if code in _THROTTLED:
        return f"throttled {ATTEMPTS} times: try again later, or with --workers 1"
    return f"{error.operation_name} failed ({code})"


def saved_answer(path: Path) -> Any:
    """Return a JSON answer saved earlier.

    Raises:
        PricesError: it cannot be read or is not JSON.
    """
    try:
        with web.open_file(path) as stream:
            return json.loads(stream.read())
    except (OSError, EOFError) as error:
        raise PricesError(f"{path}: cannot be read ({error}): was it saved whole?") from None
    except ValueError as error:
        raise PricesError(f"{path}: not JSON ({error})") from None


def day_of(answer: Any, saved: Path | None = None) -> str:
    """Return the day (UTC, ISO) of an answer that states none: its HTTP date, or the date of the file it was saved in."""
    headers = answer.get("ResponseMetadata", {}).get("HTTPHeaders", {}) if isinstance(answer, dict) else {}
    if sent := headers.get("date"):
        return parsedate_to_datetime(sent).astimezone(UTC).date().isoformat()
    if saved is not None:
        return datetime.fromtimestamp(saved.stat().st_mtime, UTC).date().isoformat()
    return datetime.now(UTC).date().isoformat()


def pricing_region(region: str) -> str:
    """Return the region whose endpoint answers price questions about a region: there are only a few."""
    if region.startswith("cn-"):
        return "cn-northwest-1"
    return "eusc-de-east-1" if region.startswith("eusc-") else "us-east-1"


def enabled_regions(asked: tuple[str, ...], timeout_s: float) -> list[str]:
    """Return the regions to ask EC2 in: those asked (of a local zone its region), or all that the account has enabled."""
    if asked:
        return sorted({_REGION.sub("", region) for region in asked})
    ec2 = client("ec2", _home(), timeout_s)
    with plainly("ec2", _home()):
        answer = ec2.describe_regions(AllRegions=False)
    return sorted(region["RegionName"] for region in answer["Regions"])


def _home() -> str:
    import os

    return os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or "us-east-1"
