#!/usr/bin/env python3
"""Measures the gateway against nginx and a FastAPI service and prints the section of RESULTS.md."""

import argparse
import math
import shutil
import sys
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import login_cost
import odata_versions
import report
from answers import ask, headers_of, prepared
from calls import CALLS, NOTE
from fastapi_server import Content, FastAPIPeer
from load import CONNECTIONS, burst
from nginx import Nginx
from portico import Portico

MEMORY = Path("/dev/shm")
MOST_MEGABYTES, MOST_MILLISECONDS = 100, 300


@dataclass(frozen=True)
class Result:
    call: object
    size: int
    bursts: dict  # server name -> its best burst
    megabytes: dict
    microseconds: dict  # of processor time for one request, the least of all bursts


def main():
    arguments = _arguments()
    with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as folder:
        data = Path(folder, "data")
        with Portico(Path(folder, "first"), data):
            pass  # the first start loads the sample data
        shutil.copytree(data, Path(folder, "data-of-forgetful"), ignore=shutil.ignore_patterns("*.sock"))
        with ExitStack() as servers:
            gateway = servers.enter_context(Portico(folder, data))
            token = gateway.log_in()
            gateway.json("/api/v1/notes/notes", NOTE, token)
            answers = {call: ask(gateway.base, call, headers_of(call, token)) for call in CALLS}
            feed = next(answer for call, answer in answers.items() if call.path.startswith("/plists/"))
            forgetful = servers.enter_context(
                Portico(Path(folder, "forgetful"), Path(folder, "data-of-forgetful"), "--set", "http.limits.answerCache=0B"))
            nginx = servers.enter_context(Nginx(folder, answers))
            peer = servers.enter_context(FastAPIPeer(folder, Content.of(gateway, token, feed, [{**NOTE, "owner": "alice"}])))
            peers = {nginx: None, peer: peer.tokens["alice"]}
            keeping, asking = {gateway: token, **peers}, {forgetful: forgetful.log_in(), **peers}
            results = [
                _measure(call, len(answers[call].body), keeping if call.is_kept else asking, arguments) for call in CALLS]
            limits = _limits(gateway, results)
        costs = login_cost.measured(folder, data, arguments.rounds, arguments.seconds)
        versions = odata_versions.measured(folder, data, arguments.rounds, arguments.seconds)
        print(report.text(results, limits, CONNECTIONS, arguments.rounds, arguments.seconds))
        print(login_cost.text(costs))
        print(odata_versions.text(versions))


def _arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=4, help="of one burst")
    return parser.parse_args()


def _measure(call, size, tokens, arguments):
    headers = {server: prepared(server.base, call, token) for server, token in tokens.items()}
    bursts, megabytes, microseconds = {}, {}, {}
    for _ in range(arguments.rounds):
        for server in tokens:
            before = server.processor_seconds()
            seen = burst(server.base, call, headers[server], arguments.seconds)
            answered = seen.requests_per_second * arguments.seconds
            spent = server.processor_seconds() - before
            cost = spent * 1e6 / answered if spent and answered else float("nan")
            print(f"{call.name}: {server.name} {seen.requests_per_second:,.0f}/s", file=sys.stderr)
            bursts[server.name] = max(seen, bursts.get(server.name, seen), key=lambda best: best.requests_per_second)
            microseconds[server.name] = min(microseconds.get(server.name, math.inf), cost)
            megabytes[server.name] = max(megabytes.get(server.name, 0), server.resident_megabytes())
    return Result(call, size, bursts, megabytes, microseconds)


def _limits(gateway, results):
    megabytes = max(result.megabytes[gateway.name] for result in results)
    return [
        (f"resident memory, {CONNECTIONS} connections", megabytes, MOST_MEGABYTES, "MB"),
        ("start to first answer", gateway.seconds_to_first_answer * 1000, MOST_MILLISECONDS, "ms"),
    ]


if __name__ == "__main__":
    main()
