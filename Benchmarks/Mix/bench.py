#!/usr/bin/env python3
"""Measures the gateway under requests that differ, against nginx, SwiftNIO alone and a FastAPI service, over HTTP/1.1,
HTTP/1.1 with TLS and HTTP/2, and prints the section of RESULTS.md.

    python3 -B Benchmarks/Mix/bench.py [--rounds 3] [--seconds 3] [--protocols http1,https1,http2] [--peers nginx,nio,fastapi]
"""

import argparse
import json
import shutil
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "Gateway"))

import mix  # noqa: E402
import mix_report  # noqa: E402
from answers import Answer  # noqa: E402
from certificate import Certificate  # noqa: E402
from closed_loop import ClosedLoop  # noqa: E402
from fastapi_server import Content, FastAPIPeer  # noqa: E402
from servers import MixNginx, MixPortico, NIOPeer, configuration, recorded  # noqa: E402

CONNECTIONS, WARM_UP = 64, 1
MEMORY = Path("/dev/shm")
# What the generator is told, how many streams a connection has, and the limits: the gateway's requests a second to those
# of nginx where answers are cached.
PROTOCOLS = [
    mix_report.Protocol("HTTP/1.1", "http1", 1, of_nginx=0.6),
    mix_report.Protocol("HTTP/1.1, TLS", "https1", 1, of_nginx=0.5),
    mix_report.Protocol("HTTP/2, TLS, 1 stream", "http2", 1, of_nginx=0.4),
    mix_report.Protocol("HTTP/2, TLS, 10 streams", "http2", 10, of_nginx=0.4),
]


@dataclass
class Side:
    """A server, and the file of what it is asked."""

    name: str
    server: object
    file: Path
    runs: list = field(default_factory=list)


class Bench:
    def __init__(self, folder, running, options):
        self.folder, self.running, self.options = Path(folder), running, options
        self.certificate = Certificate(folder)
        self.loop = ClosedLoop(folder)
        self.configuration = configuration(folder)
        self.data = self.folder / "data"
        with self._portico("first", self.data, None):
            pass  # the first start loads the sample data and makes the accounts
        self.content = None
        # Of the first gateway, whose bytes the peers answer from memory.
        self.requests = self.answers = None
        self.gateways = {}  # by whether it has TLS and whether it caches
        self.peers = {}

    def _portico(self, name, data, certificate, *settings):
        chosen = [f"--set={setting}" for setting in self.options.set]
        return MixPortico(self.folder / name, data, self.configuration, certificate, *settings, *chosen)

    def gateway(self, is_secure, is_caching):
        """The running gateway and its two files of requests: reads, and reads with writes."""
        key = (is_secure, is_caching)
        if key not in self.gateways:
            name = f"{'tls' if is_secure else 'clear'}-{'caching' if is_caching else 'asking'}"
            data = self.folder / f"data-{name}"
            shutil.copytree(self.data, data, ignore=shutil.ignore_patterns("*.sock"))
            settings = [] if is_caching else ["--set=http.limits.answerCache=0B"]
            gateway = self.running.enter_context(
                self._portico(name, data, self.certificate if is_secure else None, *settings))
            self.gateways[key] = gateway, self._files(gateway, gateway.sign_in())
        return self.gateways[key]

    def _files(self, gateway, tokens):
        rows = gateway.records("/api/v1/employees/employees", tokens[0])
        self.divisions = sorted({row["division"] for row in rows})
        [feed] = recorded(gateway, [mix.Request("GET", mix.FEED, {})])
        fields = {name.lower(): value for name, value in feed.fields}
        if not self.content:
            answer = Answer(feed.status, fields["content-type"], fields["etag"], feed.body)
            self.content = Content.of(gateway, tokens[0], answer, mix.notes())
        files = {}
        for with_writes in (False, True):
            requests = mix.requests(self.divisions, fields["etag"], tokens, with_writes)
            answers = recorded(gateway, requests)
            if not with_writes and not self.requests:
                self.requests, self.answers = requests, answers
            files[with_writes] = gateway.folder / f"requests-{with_writes}"
            mix.write_file(files[with_writes], requests, answers)
        return files

    def sides(self, protocol, with_writes):
        is_secure = protocol.generator != "http1"
        certificate = self.certificate if is_secure else None
        gateway, files = self.gateway(is_secure, is_caching=True)
        sides = [Side("portico", gateway, files[with_writes])]
        if not with_writes:
            asking, asked = self.gateway(is_secure, is_caching=False)
            sides.append(Side("portico, nothing cached", asking, asked[False]))
            sides += self._from_memory(certificate, protocol.generator)
        if "fastapi" in self.options.peers:
            place = self.folder / f"peers-{protocol.generator}"
            sides.append(self._fastapi(place, certificate, protocol.generator == "http2", with_writes))
        return sides

    def _from_memory(self, certificate, generator):
        place, version = self.folder / f"peers-{generator}", "http2" if generator == "http2" else "http1"
        made = {
            "nginx": lambda: MixNginx(place, self.requests, self.answers, certificate),
            "nio": lambda: NIOPeer(place, self.requests, self.answers, version, certificate)}
        for name in made:
            if name in self.options.peers:
                server = self._once(place / name, made[name])
                file = place / f"{name}-requests"
                mix.write_file(file, self.requests, self.answers, is_numbered=True)
                yield Side(name, server, file)

    def _fastapi(self, place, certificate, is_http2, with_writes):
        peer = self._once(place / "fastapi", lambda: FastAPIPeer(place, self.content, certificate, is_http2))
        [feed] = recorded(peer, [mix.Request("GET", mix.FEED, {})])
        tag = {name.lower(): value for name, value in feed.fields}["etag"]
        requests = mix.requests(self.divisions, tag, list(peer.tokens.values()), with_writes)
        answers = recorded(peer, requests)
        if not with_writes:
            self._compare(requests, answers)
        file = place / f"fastapi-requests-{with_writes}"
        mix.write_file(file, requests, answers)
        return Side("fastapi", peer, file)

    def _once(self, place, make):
        started = self.peers.get(place)
        if not started:
            started = self.peers[place] = self.running.enter_context(make())
        return started

    def _compare(self, requests, answers):
        """The peer says what the gateway says."""
        for request, answer, own in zip(requests, answers, self.answers, strict=True):
            left, right = answer.body, own.body
            if request.path == mix.SEARCH:
                left, right = json.loads(left), json.loads(right)
            if left != right:
                raise SystemExit(f"{request.path} {request.body}: fastapi answers {answer.body}, the gateway {own.body}")

    def measured(self, protocol, with_writes):
        sides = self.sides(protocol, with_writes)
        self._prove(protocol, sides[0].server)
        for number in range(-1, self.options.rounds):
            for side in sides if number % 2 else reversed(sides):
                seconds = self.options.seconds if number >= 0 else WARM_UP
                run = self.loop.run(
                    side.server, protocol.generator, side.file, CONNECTIONS, seconds, protocol.streams, seed=number + 2)
                if number >= 0:
                    side.runs.append(run)
                    print(f"{protocol.name}, {side.name}: {run.requests_per_second:,.0f}/s, {run.server:.1f} µs", file=sys.stderr)
        return mix_report.Measured(protocol, with_writes, {side.name: side.runs for side in sides})

    def _prove(self, protocol, gateway):
        """The generator notices one wrong byte, or what it counts means nothing."""
        health = [mix.Request("GET", "/health/live", {})]
        [answer] = recorded(gateway, health)
        file = gateway.folder / "requests-wrong"
        mix.write_file(file, health, [replace(answer, body=answer.body[:-1] + b"?")])
        try:
            self.loop.run(gateway, protocol.generator, file, 1, 0, protocol.streams)
        except SystemExit:
            return
        raise SystemExit(f"{protocol.name}: the generator did not notice a wrong byte")

    def at_rest(self):
        """Resident memory of the caching gateways with their connections open after all of this."""
        for is_secure, generator, streams in ((False, "http1", 1), (True, "http2", 10)):
            if (is_secure, True) in self.gateways:
                gateway, files = self.gateway(is_secure, is_caching=True)
                yield generator, self.loop.held(
                    gateway, generator, files[False], CONNECTIONS, WARM_UP, lambda: _settled(gateway), streams)


def _settled(server):
    time.sleep(1)
    return server.resident_megabytes()


def main():
    options = _options()
    with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as folder, ExitStack() as running:
        bench = Bench(folder, running, options)
        chosen = [protocol for protocol in PROTOCOLS if protocol.generator in options.protocols.split(",")]
        measured = [bench.measured(protocol, with_writes) for protocol in chosen for with_writes in (False, True)]
        print(mix_report.text(measured, dict(bench.at_rest()), CONNECTIONS, options.rounds, options.seconds))


def _options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=3, help="of one run")
    parser.add_argument("--protocols", default="http1,https1,http2")
    parser.add_argument("--peers", default="nginx,nio,fastapi")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="for the gateways")
    options = parser.parse_args()
    options.peers = options.peers.split(",")
    return options


if __name__ == "__main__":
    main()
