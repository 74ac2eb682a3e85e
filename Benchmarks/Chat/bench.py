"""The chat: posting against the store's own pace, live delivery against NATS, pages of a long history. Prints a section
of RESULTS.md.

    bench.py [--seconds N] [--listeners N] [--messages N] [--config FILE] [--only posting|live|history]

Needs `make build`, the driver store-speed, wrk, a C compiler and nats-server. All of it shares the machine's processors.
"""
import argparse

import os
import random
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(REPOSITORY / "Benchmarks" / folder) for folder in ("Gateway", "Listeners")]
from listeners import Listeners  # noqa: E402
from portico import Portico  # noqa: E402
from processes import Server  # noqa: E402

SETTINGS = ["--set", "limits.streamsPerPrincipal=100000", "--set", "log.level=warning"]
USERS = ["alice", "bob", "carol", "admin"]


class Chat(Portico):
    """The demo's accounts, with as many streams as one likes."""

    def __init__(self, folder, config):
        super().__init__(folder, Path(folder, "data"), *SETTINGS)
        self.config = config

    def command(self):
        command = super().command()
        return [self.config if self.config and str(part).endswith("demo.yaml") else part for part in command]

    def token(self, user):
        return self.json("/auth/login", {"username": user, "password": "portico-demo"})["accessToken"]

    def room(self, members):
        """With names beside those who listen, so that the room is as large as it says."""
        fields = {"name": "bench", "members": USERS + [f"member-{n}" for n in range(members - len(USERS))]}
        return self.json("/api/v1/chat/rooms", fields, self.token("alice"))["id"]


class NATS(Server):
    name = "nats-server"

    def command(self):
        return ["nats-server", "-a", "127.0.0.1", "-p", "-1"]

    @property
    def port(self):
        return re.search(r"client connections on 127.0.0.1:(\d+)", self.said()).group(1)

    base = None

    def is_ready(self):
        return "Server is ready" in self.said()


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--seconds", type=float, default=60)
    arguments.add_argument("--listeners", type=int, default=1000)
    arguments.add_argument("--messages", type=int, default=1_000_000)
    arguments.add_argument("--config", type=Path, help="instead of the demo's")
    arguments.add_argument("--only", choices=["posting", "live", "history"])
    options = arguments.parse_args()
    print("## The chat\n")
    with tempfile.TemporaryDirectory(prefix="chat-bench-") as place:
        for name, work in (("live", live), ("posting", posting), ("history", history)):
            if options.only in (None, name):
                work(Path(place, name), options)
                sys.stdout.flush()


def live(place, options):
    place.mkdir()
    listeners = Listeners(place)

    def run(kind, port, reconnects, room, *tokens):
        heard = listeners.run(kind, port, options.listeners, options.seconds, 50, reconnects, room, *tokens)
        print(kind, heard, file=sys.stderr)
        return heard

    rows = []
    with Chat(place / "gateway", options.config) as gateway:
        room, tokens = gateway.room(options.listeners), [gateway.token(user) for user in USERS]
        port = gateway.base.rsplit(":", 1)[1]
        rows.append(("gateway, durable", run("chat", port, 0, room, *tokens)))
        with NATS(place / "peer") as peer:
            rows.append(("nats-server, not stored", run("nats", peer.port, 0, "room")))
        tokens = [gateway.token(user) for user in USERS]
        rows.append(("gateway, a tenth of the streams cut", run("chat", port, options.listeners // 10, room, *tokens)))
        memory = gateway.resident_megabytes()
    print(f"{options.listeners:,} streams of one room of as many members (four of them listen), 50 posts a second for"
          f" {options.seconds:.0f} s, from the post to its arrival.\n")
    print("| | delivered | lost | repeated | p50 ms | p99 ms | largest ms |\n|---|---:|---:|---:|---:|---:|---:|")
    for name, heard in rows:
        p50, p99, most = heard.since_sent
        print(f"| {name} | {heard.delivered:,} | {heard.lost} | {heard.repeated} | {p50:.1f} | {p99:.1f} | {most:.1f} |")
    print(f"\nThe gateway had {memory:.0f} MB in the end.\n")


def posting(place, options):
    seconds = min(options.seconds, 10)
    with Chat(place / "gateway", options.config) as gateway:
        room = gateway.room(4)
        path = f"{gateway.base}/chat/v1/rooms/{room}/messages"
        environment = {**os.environ, "TOKEN": gateway.token("alice")}
        rates = []
        for _ in range(3):
            text = subprocess.run(
                ["wrk", "-t1", "-c64", f"-d{seconds:.0f}s", "-s", HERE / "post.lua", path], env=environment, check=True,
                capture_output=True, text=True).stdout
            count, microseconds, failed = map(int, text.split("RESULT ")[1].split()[:3])
            assert not failed, text
            rates.append(count / microseconds * 1e6)
    lines = subprocess.run(
        [REPOSITORY / ".build/release/store-speed", str(seconds), "--mutations"], check=True, capture_output=True,
        text=True).stdout.splitlines()
    ceiling = next(int(line.split()[3]) for line in lines if line.split()[1:3] == ["1", "64"])
    print(f"64 clients post {max(rates):,.0f} durable messages a second (best of three rounds of {seconds:.0f} s); the store"
          f" alone takes {ceiling:,} single mutations of 64 clients: {max(rates) / ceiling:.2f} of them.\n")


def history(place, options):
    with Chat(place / "gateway", options.config) as gateway:
        token = gateway.token("alice")
        print("Pages of 50 messages anywhere in a room's history, 8 clients.\n")
        print("| messages | p50 ms | p99 ms |\n|---:|---:|---:|")
        for count in (1_000, options.messages):
            room = gateway.room(4)
            seqs = fill(gateway, room, count, token)
            paths = place / "paths"
            paths.write_text("".join(
                f"/chat/v1/rooms/{room}/messages?limit=50&before={random.choice(seqs)}\n" for _ in range(2000)))
            environment = {**os.environ, "TOKEN": token, "PATHS": str(paths)}
            best = min((measure(gateway, environment) for _ in range(3)), key=lambda found: found[1])
            print(f"| {count:,} | {best[0] / 1000:.2f} | {best[1] / 1000:.2f} |")
            token = gateway.token("alice")
    print()


def measure(gateway, environment):
    text = subprocess.run(
        ["wrk", "-t1", "-c8", "-d5s", "-s", HERE / "read.lua", gateway.base], env=environment, check=True,
        capture_output=True, text=True).stdout
    p50, p99, failed = map(int, text.split("RESULT ")[1].split()[:3])
    assert not failed, text
    return p50, p99


def fill(gateway, room, count, token):
    """Through sync, a thousand messages a push; some of their places in the room."""
    seqs, sequence, client = [], 0, os.urandom(8).hex()
    renewed = time.monotonic()
    for begin in range(0, count, 1000):
        if time.monotonic() - renewed > 600:
            token, renewed = gateway.token("alice"), time.monotonic()
        mutations = [
            {"sequence": sequence + n + 1, "operation": "create", "collection": "messages", "id": f"{client}-{begin + n}",
             "fields": {"room": room, "text": f"Message number {begin + n} of a long history"}}
            for n in range(min(1000, count - begin))]
        sequence += len(mutations)
        outcomes = gateway.json("/sync/v1/push", {"clientId": client, "mutations": mutations}, token)["outcomes"]
        assert all(outcome["outcome"] == "applied" for outcome in outcomes), outcomes[:3]
        seqs.append(outcomes[-1]["record"]["seq"] if "record" in outcomes[-1] else outcomes[-1]["rev"])
    return seqs


main()
