"""Why a candidate was rejected, in one clause."""

from collections.abc import Mapping
from dataclasses import asdict
from functools import lru_cache
from math import nan
from typing import Any

import numpy as np
import pandas as pd

from advisor.arrays import IntArray
from advisor.candidates import SPOT_MAX_AGE
from advisor.constraints import STEPS, Failure
from advisor.contest import Contest
from advisor.tables import Catalogue
from advisor.wording import listing, money, option_name, purchase_name


class Reasons:
    """Words the rejections of one contest."""

    def __init__(self, contest: Contest, catalogue: Catalogue, wins_from: Mapping[int, str]) -> None:
        """Keep what the clauses need.

        Args:
            contest: the candidates with the steps they were lost at.
            catalogue: where else a type is sold.
            wins_from: place of a candidate -> the limit in ms from which it would be recommended, as it is written.
        """
        self._contest = contest
        self._catalogue = catalogue
        self._wins_from = wins_from
        self._sold = lru_cache(maxsize=None)(self._sold_rows)

    def of(self, places: IntArray) -> list[dict[str, Any]]:
        """Return failed, value, limit, unit and reason of each candidate."""
        found = []
        for place in places.tolist():
            row = asdict(self._failure(place))
            found.append({"failed": row.pop("step"), **row})
        return found

    def _failure(self, place: int) -> Failure:
        contest = self._contest
        option, step = contest.option(place), STEPS[contest.step[place]]
        if option.barred is not None and step == "filter":
            return option.barred
        if step == "filter":
            price, most = (
                float(contest.candidates.usd_per_hour[place]),
                contest.workload.max_usd_per_hour or nan,
            )
            return Failure(
                step, price, most, "USD/h", f"{money(price)} an hour is over the ceiling of {money(most)}"
            )
        if step == "availability":
            return self._unavailable(place)
        if step == "price":
            return Failure(step, nan, nan, "USD/h", self._unpriced(place))
        if step == "cost":
            return Failure(step, nan, nan, "USD", self._uncosted(place))
        if option.failure is None:
            return Failure(
                step,
                nan,
                nan,
                "",
                "the measurement is doubted by its own note, and no sound one keeps the promise",
            )
        return self._late(place, option.failure) if step == "latency" else option.failure

    def _late(self, place: int, failure: Failure) -> Failure:
        limit = self._wins_from.get(place)
        if limit is None:
            return failure
        words = {"cost": "cheapest", "served-cost": "cheapest", "latency": "fastest"}[
            self._contest.workload.objective
        ]
        cost = money(float(self._contest.objective_cost[place]))
        reason = f"{failure.reason}; would be {words} from {limit} ms ({cost})"
        return Failure(failure.step, failure.value, failure.limit, failure.unit, reason)

    def _unavailable(self, place: int) -> Failure:
        contest, option = self._contest, self._contest.option(place)
        if option.facts.closed_types and not contest.workload.include_retired:
            since = f" (as of {option.facts.closed_on})" if option.facts.closed_on else ""
            names = listing(option.facts.closed_types)
            verb = "is" if len(option.facts.closed_types) == 1 else "are"
            return Failure(
                "availability",
                nan,
                nan,
                "",
                f"{names} {verb} no longer sold{since}: --include-retired ranks it",
            )
        host = option.measurement.configuration["instance_type"]
        return Failure("availability", nan, nan, "", self._not_sold(host))

    def _not_sold(self, name: str) -> str:
        """Why no row of the asked regions and purchase options prices a type."""
        workload = self._contest.workload
        rows = self._sold(name)
        asked = listing([r for r in workload.region if r != "all"]) or "any region"
        how = listing([purchase_name(p) for p in workload.purchase if p != "all"]) or "any purchase option"
        if rows.empty:
            return f"no price of {name} is known in any region: give one with --prices"
        here = rows if "all" in workload.region else rows[rows["region"].isin(list(workload.region))]
        if not here.empty:
            others = sorted(set(here["purchase_option"]))
            if others == ["capacity_block"]:
                return f"{name} is sold as a capacity block only in {asked}"
            return (
                f"no {how} price in {asked}; there it is priced {listing(purchase_name(o) for o in others)}"
            )
        same = (
            rows
            if "all" in workload.purchase
            else rows[rows["purchase_option"].isin(list(workload.purchase))]
        )
        regions = sorted(set(same["region"] if not same.empty else rows["region"]))
        return f"not sold in {asked}; sold in {listing(regions)}"

    def _sold_rows(self, name: str) -> pd.DataFrame:
        prices: pd.DataFrame = self._catalogue.prices
        return prices[prices["instance_type"] == name]

    def _unpriced(self, place: int) -> str:
        at, workload = self._contest.candidates, self._contest.workload
        configuration = self._contest.option(place).measurement.configuration
        host_row, accelerator = int(at.host_row[place]), configuration["attached_accelerator"]
        if host_row < 0:
            return self._not_sold(configuration["instance_type"])
        row = at.book.rows.iloc[host_row]
        if at.book.stale[host_row] and not np.isnan(at.usd_per_hour[place]):
            return (
                f"the spot price of {row['as_of'] or 'an unknown day'} ({money(at.usd_per_hour[place])}/h) is older than "
                f"{SPOT_MAX_AGE.days} days on {workload.today}: --stale-spot ranks it"
            )
        if np.isnan(at.host_usd_per_hour[place]):
            return _without_usd(configuration["instance_type"], row)
        if at.accelerator_row[place] >= 0:
            return _without_usd(accelerator, at.accelerator_book.rows.iloc[int(at.accelerator_row[place])])
        regions = sorted(set(self._sold(accelerator)["region"]))
        where = f"; it is priced in {listing(regions)}" if regions else " in any region"
        return f"no price of {option_name(accelerator)} is known{'' if not regions else ' in ' + row['region']}{where}"

    def _uncosted(self, place: int) -> str:
        measurement = self._contest.option(place).measurement
        if self._contest.workload.objective == "served-cost":
            return "served cost unknown: no throughput was reported"
        if np.isnan(measurement.mean_ms):
            return "cost unknown: no mean latency was reported"
        return "cost unknown: requests failed, and how many succeeded was not reported"


def _without_usd(name: str, row: "pd.Series[Any]") -> str:
    if row["purchase_option"] == "capacity_block":
        return f"{name} is sold as a capacity block only: the price is set when it is reserved"
    if row["currency"] not in {"", "USD"}:
        return f"{name} is priced in {row['currency']} in {row['region']}: give a rate with --rate {row['currency']}=..."
    return f"the price of {name} is not known in {row['region']}"
