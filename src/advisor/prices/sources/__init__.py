"""Where prices come from: one module a source, named here. See `ask` for what a source is."""

from collections.abc import Callable
from typing import Final

from advisor.prices.sources.ask import Answer, Ask, Part
from advisor.prices.sources.bulk import bulk
from advisor.prices.sources.elastic_inference import elastic_inference
from advisor.prices.sources.instance_types import instance_types
from advisor.prices.sources.price_list import price_list
from advisor.prices.sources.sagemaker import sagemaker
from advisor.prices.sources.savings_plans import savings_plans, savings_plans_api
from advisor.prices.sources.spot import spot

SOURCES: Final[dict[str, Callable[[Ask], list[Part]]]] = {
    "bulk": bulk,
    "api": price_list,
    "savings-plans": savings_plans,
    "savings-plans-api": savings_plans_api,
    "spot": spot,
    "instance-types": instance_types,
    "sagemaker": sagemaker,
    "elastic-inference": elastic_inference,
}
"""Name of a source -> the function that asks it."""

ALL: Final = ("bulk", "savings-plans", "spot", "instance-types", "sagemaker")
"""What `all` stands for: each kind of price once (`api` and `savings-plans-api` list what the public files hold)."""

__all__ = ["ALL", "SOURCES", "Answer", "Ask", "Part"]
