"""Hosting prices of SageMaker (`ml.*`), which are not those of the EC2 type of the same size."""

from advisor.prices.sources.ask import Ask, Part
from advisor.prices.sources.bulk import offer_parts
from advisor.prices.sources.skus import SAGEMAKER


def sagemaker(ask: Ask) -> list[Part]:
    """On-demand prices of real-time endpoints from the public offer files."""
    return offer_parts(ask, SAGEMAKER)
