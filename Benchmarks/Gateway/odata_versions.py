"""What OData's older version costs: one page of the same entities in JSON of version 4, and in JSON and Atom of version 2.

On its own, against a release build: `python3 -B Benchmarks/Gateway/odata_versions.py`."""

import tempfile
from dataclasses import dataclass
from pathlib import Path

from calls import Call
from load import burst
from portico import Portico

LEAST_RATIO = 0.7
JSON = {"Accept": "application/json"}
# In the order of the key, so that what is measured is the writing and not the sorting.
PAGE = "Students?$filter=GPA%20ge%203&$top="
CALLS = {
    rows: [
        Call(f"OData 4, JSON, {rows}", "GET", f"/odata/v4/admissions/{PAGE}{rows}", of_nginx=None, headers=JSON),
        Call(f"OData 2, JSON, {rows}", "GET", f"/odata/v2/admissions/{PAGE}{rows}", of_nginx=None, headers=JSON),
        Call(f"OData 2, Atom, {rows}", "GET", f"/odata/v2/admissions/{PAGE}{rows}", of_nginx=None, headers={}),
    ] for rows in (20, 100)
}


class ODataPortico(Portico):
    name = "portico-odata"


@dataclass(frozen=True)
class Cost:
    call: object
    of_version4: float  # requests a second
    own: float

    @property
    def ratio(self):
        return self.own / self.of_version4


def measured(folder, data, rounds, seconds):
    """Best of the rounds, in which the three take turns."""
    costs = []
    with ODataPortico(folder, data) as gateway:
        token = {"Authorization": f"Bearer {gateway.log_in()}"}
        for calls in CALLS.values():
            rates = dict.fromkeys(calls, 0)
            for _ in range(rounds):
                for call in calls:
                    seen = burst(gateway.base, call, call.headers | token, seconds)
                    rates[call] = max(rates[call], seen.requests_per_second)
            costs += [Cost(call, rates[calls[0]], rates[call]) for call in calls[1:]]
    return costs


def text(costs):
    """The rows for RESULTS.md."""
    rows = "".join(
        f"| {cost.call.name} entities | {cost.of_version4:,.0f} | {cost.own:,.0f} | {cost.ratio:.2f}× | "
        f"{LEAST_RATIO:.2f}× | {'yes' if cost.ratio >= LEAST_RATIO else '**no**'} |\n" for cost in costs)
    return (
        "| the same entities | OData 4, JSON, requests/s | so, requests/s | ratio | asked | reached |\n"
        f"|---|---:|---:|---:|---:|---|\n{rows}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        with Portico(Path(place, "first"), Path(place, "data")):
            pass  # the first start loads the sample data
        print(text(measured(place, Path(place, "data"), rounds=3, seconds=4)))
