"""What the request validation costs the calls of Benchmarks/Gateway: two builds of one tree, of which one has it taken
out (README.md says what that is), asked in turns.

    python3 -B Benchmarks/Resilience/strictness.py --strict FOLDER --lenient FOLDER [--rounds 9] [--seconds 2]

A folder is one that was built for release, or a copy. What counts is the processor's time for one request, the kernel's
included, of all of a server's threads: each on one core, wrk on the other, so requests per second are its inverse. Prints
a row for each call: the least of all rounds, and the median over the rounds of strict to lenient, each with the round
beside it.
"""

import argparse
import math
import pathlib
import statistics
import sys
import tempfile
import time
from contextlib import ExitStack

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parent / "Gateway"))

from answers import headers_of, prepared  # noqa: E402
from calls import CALLS, NOTE  # noqa: E402
from load import burst  # noqa: E402
from portico import Portico  # noqa: E402

MOST = 1.05


class Build(Portico):
    def __init__(self, folder, build, *settings):
        super().__init__(folder, pathlib.Path(folder, "data"), *settings)
        self.build = build.resolve()

    def command(self):
        return [self.build / "portico", *super().command()[1:]]

    def nanoseconds(self):
        """On the processor, of all threads, those that have ended too: the process's clock (clock_getcpuclockid(3))."""
        return time.clock_gettime_ns((~self.process.pid << 3) | 2)


def served(folder, build, *settings):
    place = pathlib.Path(folder)
    place.mkdir()
    return Build(place, build, *settings)


def cost(server, call, headers, seconds):
    """Microseconds for one request."""
    before = server.nanoseconds()
    answered = burst(server.base, call, headers, seconds).requests_per_second * seconds
    return (server.nanoseconds() - before) / 1000 / answered


def measured(call, servers, tokens, options):
    headers = {name: prepared(server.base, call, tokens[name]) for name, server in servers.items()}
    costs = {name: [] for name in servers}
    for number in range(options.rounds):
        order = list(servers) if number % 2 else list(reversed(servers))
        for name in order:
            costs[name].append(cost(servers[name], call, headers[name], options.seconds))
    return costs


def row(call, costs):
    strict, lenient = min(costs["strict"]), min(costs["lenient"])
    paired = statistics.median(left / right for left, right in zip(costs["strict"], costs["lenient"]))
    ratio = strict / lenient
    return f"| {call.name} | {lenient:.2f} | {strict:.2f} | {ratio:.3f} | {paired:.3f} |", ratio


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--strict", type=pathlib.Path, required=True)
    parser.add_argument("--lenient", type=pathlib.Path, required=True)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--seconds", type=int, default=2)
    options = parser.parse_args()
    builds, ratios = {"strict": options.strict, "lenient": options.lenient}, []
    print("| call | lenient, processor µs | strict | ratio of the least | median of the pairs |\n|---|---:|---:|---:|---:|")
    with tempfile.TemporaryDirectory(prefix="portico-strict-") as folder, ExitStack() as running:
        start = lambda kind, *settings: {
            name: running.enter_context(served(f"{folder}/{name}-{kind}", build, *settings))
            for name, build in builds.items()}
        keeping = start("keeping")
        asking = start("asking", "--set", "http.limits.answerCache=0B")
        tokens = {True: sign_in(keeping), False: sign_in(asking)}
        for call in CALLS:
            costs = measured(call, keeping if call.is_kept else asking, tokens[call.is_kept], options)
            line, ratio = row(call, costs)
            ratios.append(ratio)
            print(line, flush=True)
    mean = math.exp(statistics.mean(map(math.log, ratios)))
    print(f"\nall calls: {mean:.3f}; the worst: {max(ratios):.3f} (asked: {MOST})")


def sign_in(servers):
    tokens = {}
    for name, server in servers.items():
        tokens[name] = server.log_in()
        server.json("/api/v1/notes/notes", NOTE, tokens[name])
    return tokens


if __name__ == "__main__":
    main()
