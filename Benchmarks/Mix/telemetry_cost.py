#!/usr/bin/env python3
"""Measures what metrics and traces cost: the processor time of the mix with traces off and at 1 % sampling, beside another
build such as one before metrics. Fails where one of them takes more than the limit above the first. The requests of the mix
ask for their traces to be recorded, so another side follows its callers and records most of them; it has no limit.

    python3 -B Benchmarks/Mix/telemetry_cost.py [--baseline FOLDER] [--rounds 5] [--seconds 3] [--limit 5]

FOLDER is the other build's `.build/release`. Needs the machine for itself.
"""

import argparse
import http.server
import statistics
import sys
import tempfile
import threading
from contextlib import ExitStack
from pathlib import Path

HERE = Path(__file__).resolve().parent
# Behind this folder, which has a bench.py too.
sys.path.append(str(HERE.parent / "Gateway"))

import mix  # noqa: E402
from bench import CONNECTIONS, MEMORY, WARM_UP, Side  # noqa: E402
from closed_loop import ClosedLoop  # noqa: E402
from portico import BUILD  # noqa: E402
from servers import MixPortico, configuration, recorded  # noqa: E402

#: What the generator is told, and streams of a connection.
PROTOCOLS = [("HTTP/1.1", "http1", 1)]


class Collector(http.server.ThreadingHTTPServer):
    """Takes spans and counts their requests."""

    daemon_threads = True

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            self.rfile.read(int(self.headers["Content-Length"]))
            self.server.taken += 1
            self.send_response(200)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, *arguments):
            pass

    def __init__(self):
        self.taken = 0
        super().__init__(("127.0.0.1", 0), self.Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def settings(self):
        port = self.server_address[1]
        return [
            f"--set=upstreams.collector.url=http://127.0.0.1:{port}/", "--set=upstreams.collector.networks=[127.0.0.1/32]",
            "--set=traces.upstream=collector", "--set=traces.ratio=0.01"]

    @property
    def sampled(self):
        """The ratio alone decides."""
        return [*self.settings, "--set=traces.followCallers=false"]


class Built(MixPortico):
    """Of a build of its own."""

    def __init__(self, build, *arguments):
        super().__init__(*arguments)
        self.build = build

    def command(self):
        return [self.build / "portico", *super().command()[1:]]


def side(name, build, folder, configured, running, *settings):
    place = folder / name.replace(" ", "-").replace("%", "")
    data = place / "data"
    place.mkdir()
    gateway = running.enter_context(Built(build, place / "run", data, configured, None, *settings))
    tokens = gateway.sign_in()
    divisions = sorted({row["division"] for row in gateway.records("/api/v1/employees/employees", tokens[0])})
    [feed] = recorded(gateway, [mix.Request("GET", mix.FEED, {})])
    tag = {name.lower(): value for name, value in feed.fields}["etag"]
    requests = mix.requests(divisions, tag, tokens, True)
    file = place / "requests"
    mix.write_file(file, requests, recorded(gateway, requests))
    return Side(name, gateway, file)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--baseline", type=Path, help="another build's folder")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=3, help="of one run")
    parser.add_argument("--limit", type=float, default=5, help="percent")
    options = parser.parse_args()
    collector = Collector()
    with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as folder, ExitStack() as running:
        folder = Path(folder)
        loop, configured = ClosedLoop(folder), configuration(folder)
        sides = [side("baseline", options.baseline, folder, configured, running)] if options.baseline else []
        sides.append(side("traces off", BUILD, folder, configured, running))
        sides.append(side("traces at 1 %", BUILD, folder, configured, running, *collector.sampled))
        sides.append(side("traces as callers ask", BUILD, folder, configured, running, *collector.settings))
        print("| protocol | side | processor time of a request, µs | requests a second | beside the first |")
        print("|---|---|---|---|---|")
        worst = 0
        for title, generator, streams in PROTOCOLS:
            for number in range(-1, options.rounds):
                for each in sides if number % 2 else reversed(sides):
                    run = loop.run(
                        each.server, generator, each.file, CONNECTIONS, options.seconds if number >= 0 else WARM_UP, streams,
                        seed=number + 2)
                    if number >= 0:
                        each.runs.append(run)
            first = statistics.median(run.server for run in sides[0].runs)
            for each in sides:
                cost = statistics.median(run.server for run in each.runs)
                rate = statistics.median(run.requests_per_second for run in each.runs)
                more = (cost / first - 1) * 100
                if each is not sides[-1]:
                    worst = max(worst, more)
                print(f"| {title} | {each.name} | {cost:.1f} | {rate:,.0f} | {more:+.1f} % |")
                each.runs.clear()
        if not collector.taken:
            raise SystemExit("the collector got no spans")
        if worst > options.limit:
            raise SystemExit(f"{worst:.1f} % is more than {options.limit} %")


if __name__ == "__main__":
    main()
