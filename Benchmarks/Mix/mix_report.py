"""The section on the mix in RESULTS.md."""

import statistics
from dataclasses import dataclass

OF_NGINX_UNCACHED, OF_FASTAPI, OF_NIO = 0.15, 6, 1.3
MOST_MEGABYTES = 100
UNCACHED = "portico, nothing cached"


@dataclass(frozen=True)
class Protocol:
    name: str
    generator: str
    streams: int
    of_nginx: float


@dataclass(frozen=True)
class Measured:
    protocol: Protocol
    with_writes: bool
    runs: dict  # side -> its runs, in the order of the rounds


_INTRODUCTION = """\
## The gateway, requests that differ

{connections} connections, each of which walks over a thousand requests in an order of its own: 500 users by id, 250 employee
pages of other criteria, the feed 125 times and 125 times with its validator, of 200 accounts with their tokens, each with a
trace id that was never sent before. "10 % writes": a tenth change a note of the account. Every answer's status, length and
bytes are compared. Each server has one core, the generator (`Benchmarks/Mix/closed_loop.c`) the other; access logs on, the
same certificate, TLS 1.3 with AES-128-GCM. nginx answers the gateway's own bodies out of its configuration (`return`), reads
no body and checks no login. `nio` is SwiftNIO alone, which sends the gateway's own heads and bodies. FastAPI does the same
work on the same data (uvicorn; for HTTP/2 hypercorn; uvloop, orjson, SQLite), one process. Medians of {rounds} rounds of
{seconds} s that take turns; a ratio is the median of the rounds' ratios. What is asked is compared with the requests that
one second of a server's processor time, the kernel's included, answers: that holds where the machine is busy and where the
generator is no faster than nginx. The generator cost {generator}.

| protocol | requests | server | requests/s | p50 ms | p99 ms | largest ms | processor µs | gateway's requests/s | for the same processor time |
|---|---|---|---:|---:|---:|---:|---:|---:|---|
"""


def text(measured, at_rest, connections, rounds, seconds):
    costs = [run.generator for one in measured for runs in one.runs.values() for run in runs]
    shares = [run.generator / run.server for one in measured for name, runs in one.runs.items() for run in runs
              if name.startswith("portico")]
    generator = (
        f"{min(costs):.1f} to {max(costs):.1f} µs a request, {min(shares):.0%} to {max(shares):.0%} of the gateway's own cost")
    introduction = _INTRODUCTION.format(connections=connections, rounds=rounds, seconds=seconds, generator=generator)
    rows = "".join(row for one in measured for row in _rows(one))
    return f"{introduction}{rows}\n{_memory(at_rest, connections)}"


def _rows(one):
    first = True
    for name, runs in one.runs.items():
        middle = {part: statistics.median(getattr(run, part) for run in runs)
                  for part in ("requests_per_second", "p50", "p99", "largest", "server")}
        requests = "10 % writes" if one.with_writes else "reads"
        yield (
            f"| {one.protocol.name if first else ''} | {requests if first else ''} | {name} | "
            f"{middle['requests_per_second']:,.0f} | {middle['p50']:.2f} | {middle['p99']:.2f} | {middle['largest']:.1f} | "
            f"{middle['server']:.1f} | {_speed(one, name)} | {_share(one, name)} |\n")
        first = False


def _ratio(one, name, part, own="portico"):
    return statistics.median(
        getattr(ours, part) / getattr(theirs, part) for ours, theirs in zip(one.runs[own], one.runs[name], strict=True))


def _speed(one, name):
    return "" if name.startswith("portico") else f"{_ratio(one, name, 'requests_per_second'):.2f}×"


def _share(one, name):
    """What the gateway answers in the time that the peer needs for one request; of SwiftNIO alone, what it costs more."""
    if name.startswith("portico"):
        return ""
    cost = _ratio(one, name, "server")
    if name == "nio":
        return f"costs {cost:.2f}× (at most {OF_NIO}×: {'yes' if cost <= OF_NIO else '**no**'})"
    said = _against(1 / cost, OF_FASTAPI if name == "fastapi" else one.protocol.of_nginx)
    if name == "nginx" and UNCACHED in one.runs:
        said += f"; nothing cached {_against(1 / _ratio(one, name, 'server', UNCACHED), OF_NGINX_UNCACHED)}"
    return said


def _against(ratio, goal):
    return f"{ratio:.2f}× (asked {goal:g}×: {'yes' if ratio >= goal else '**no**'})"


def _memory(at_rest, connections):
    rows = "".join(
        f"| resident memory, {connections} connections at rest after the mix, {name} | {megabytes:.0f} MB | {MOST_MEGABYTES} MB | "
        f"{'yes' if megabytes < MOST_MEGABYTES else '**no**'} |\n" for name, megabytes in at_rest.items())
    return f"| | measured | asked | reached |\n|---|---:|---:|---|\n{rows}"
