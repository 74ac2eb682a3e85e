"""The section on the gateway in RESULTS.md."""

_INTRODUCTION = """\
## The gateway, one request repeated

What an app does that polls: each call by itself, the same bytes on every connection, over HTTP/1.1 in clear. The requests
just sent are in every cache of the gateway and of the processor; the section above has the traffic of many users.
Each server on one core, wrk with {connections} connections on the other, access logs on for all, best of {rounds}
rounds of {seconds} s that take turns. nginx answers the gateway's own bytes out of memory and checks no login; FastAPI
(uvicorn, uvloop, httptools, orjson, SQLite) does the same work, one process. The gateway keeps answers until a record
changes; "not kept" is asked of one that was told to keep none. The processor's time for one request, the kernel's
included, is the least of all rounds; where the machine is busy it tells more than requests per second.

| call | bytes | server | requests/s | p50 ms | p99 ms | processor µs | resident MB | gateway is |
|---|---:|---|---:|---:|---:|---:|---:|---|
"""


def text(results, limits, connections, rounds, seconds):
    introduction = _INTRODUCTION.format(connections=connections, rounds=rounds, seconds=seconds)
    rows = "".join(row for result in results for row in _rows(result))
    return f"{introduction}{rows}\n{_limits(limits)}"


def _rows(result):
    gateway = result.bursts["portico"].requests_per_second
    for name, burst in result.bursts.items():
        size = str(result.size) if name == "portico" else ""
        call = result.call.name if name == "portico" else ""
        verdict = _verdict(result, name, gateway / burst.requests_per_second)
        yield (
            f"| {call} | {size} | {name} | {burst.requests_per_second:,.0f} | {burst.p50:.2f} | {burst.p99:.2f} | "
            f"{result.microseconds[name]:.1f} | {result.megabytes[name]:.0f} | {verdict} |\n")


def _verdict(result, name, ratio):
    of_fastapi = result.call.of_fastapi if result.size < 10_000 else None
    asked = {"portico": None, "nginx": result.call.of_nginx, "fastapi": of_fastapi}[name]
    if not asked:
        return "" if name == "portico" else f"{ratio:.2f}×"
    floor, goal = asked
    reached = "goal" if ratio >= goal else "floor" if ratio >= floor else "**below**"
    return f"{ratio:.2f}× (of {floor:g}×{f' to {goal:g}×' if goal > floor else ''}: {reached})"


def _limits(limits):
    rows = "".join(
        f"| {what} | {measured:.0f} {unit} | {limit} {unit} | {'yes' if measured < limit else '**no**'} |\n"
        for what, measured, limit, unit in limits)
    return f"| | measured | asked | reached |\n|---|---:|---:|---|\n{rows}"
