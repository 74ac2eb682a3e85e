"""What being signed in costs: one call of a gateway that leaves it open, made with a token and made by nobody."""

from dataclasses import dataclass

from calls import Call
from load import burst
from portico import Portico

LEAST_RATIO = 0.85
CALLS = [
    Call("feed, 200", "GET", "/plists/sonnets", of_nginx=None),
    Call("a user", "GET", "/v2/101", of_nginx=None, headers={"Accept": "application/json"}),
]


class OpenPortico(Portico):
    name = "portico-open"

    def command(self):
        return [*super().command(), "--set", "adapters.users.access=public-read"]


@dataclass(frozen=True)
class Cost:
    call: object
    by_nobody: float  # requests a second
    with_token: float

    @property
    def ratio(self):
        return self.with_token / self.by_nobody


def measured(folder, data, rounds, seconds):
    """Best of the rounds, which take turns."""
    with OpenPortico(folder, data) as gateway:
        token = {"Authorization": f"Bearer {gateway.log_in()}"}
        return [_cost(gateway, call, token, rounds, seconds) for call in CALLS]


def _cost(gateway, call, token, rounds, seconds):
    rates = {False: 0, True: 0}
    for _ in range(rounds):
        for signed_in in rates:
            headers = call.headers | (token if signed_in else {})
            rates[signed_in] = max(rates[signed_in], burst(gateway.base, call, headers, seconds).requests_per_second)
    return Cost(call, rates[False], rates[True])


def text(costs):
    """The rows for RESULTS.md. That a sign-in is one round trip more than Basic is counted, not measured: the login's
    answer brings the token that every further call is made with."""
    rows = "".join(
        f"| {cost.call.name} | {cost.by_nobody:,.0f} | {cost.with_token:,.0f} | {cost.ratio:.2f}× | "
        f"{LEAST_RATIO:.2f}× | {'yes' if cost.ratio >= LEAST_RATIO else '**no**'} |\n" for cost in costs)
    return (
        "| the same call | by nobody, requests/s | with a token | ratio | asked | reached |\n"
        f"|---|---:|---:|---:|---:|---|\n{rows}\n"
        "Round trips to the first protected answer: 1 with Basic, 2 with a sign-in, 1 each from then on.\n")
