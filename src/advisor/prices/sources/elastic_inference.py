"""Prices of attachable accelerators (Elastic Inference), which AWS has closed but whose list may still be had."""

from advisor.prices.sources.ask import Ask, Part
from advisor.prices.sources.bulk import offer_parts
from advisor.prices.sources.skus import ELASTIC_INFERENCE


def elastic_inference(ask: Ask) -> list[Part]:
    """On-demand prices of attachable accelerators from the public offer files."""
    return offer_parts(ask, ELASTIC_INFERENCE)
