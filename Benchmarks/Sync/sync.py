"""What sync costs through the gateway: live streams, pushes, first syncs, deltas.

    python3 -B Benchmarks/Sync/sync.py [idle] [delivery] [push] [first] [delta] [--program .build/release/portico]
        [--records N] [--store N] [--streams N]

Prints one line a figure. Streams are plain HTTP; each push is durable before it is answered. `push` compares with
inserts of the same size through Python's sqlite3 at the same durability, one commit each and one commit for a hundred.
"""

import argparse
import http.client
import json
import pathlib
import select
import socket
import sqlite3
import statistics
import sys
import tempfile
import threading
import time
import uuid

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parent / "Gateway"))

from portico import Portico  # noqa: E402

SETTINGS = [
    part for setting in (
        "limits.streamsPerPrincipal=100000", "sync.live.heartbeat=300s", "store.sampleData=false", "log.access=false",
        "sync.limits.mutations=100000", "http.limits.body=256MiB", "http.limits.inFlightPerCaller=1024",
    ) for part in ("--set", setting)
]


class Gateway(Portico):
    program = None

    def __init__(self, folder):
        super().__init__(folder, pathlib.Path(folder, "data"), *SETTINGS)

    def command(self):
        first, *rest = super().command()
        return [self.program or first, *rest]

    @property
    def port(self):
        return int(self.base.rsplit(":", 1)[1])


class Caller:
    """One connection that stays, as a device has it."""

    def __init__(self, gateway, token):
        self.connection = http.client.HTTPConnection("127.0.0.1", gateway.port, timeout=600)
        self.headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json", "Accept": "application/json"}
        self.client, self.sequence = str(uuid.uuid4()), 0

    def post(self, path, message):
        self.connection.request("POST", path, json.dumps(message), self.headers)
        answer = self.connection.getresponse()
        body = answer.read()
        assert answer.status == 200, (answer.status, body[:300])
        return json.loads(body), len(body)

    def push(self, count, text="x" * 100):
        mutations = []
        for _ in range(count):
            self.sequence += 1
            mutations.append({"sequence": self.sequence, "operation": "create", "collection": "notes",
                "id": str(uuid.uuid4()), "fields": {"title": "t", "text": text}})
        answer, _ = self.post("/sync/v1/push", {"clientId": self.client, "mutations": mutations})
        assert all(outcome["outcome"] == "applied" for outcome in answer["outcomes"]), answer["outcomes"][0]

    def pull(self, checkpoint=None, limit=10_000):
        """Records, bytes and the checkpoint of a whole pull."""
        records = size = 0
        while True:
            message = {"collections": ["notes"], "limit": limit, **({"checkpoint": checkpoint} if checkpoint else {})}
            page, length = self.post("/sync/v1/pull", message)
            records, size = records + len(page["operations"]), size + length
            if "complete" in page:
                return records, size, page["complete"]["checkpoint"]
            checkpoint = page["next"]


def say(name, value):
    print(f"{name}: {value}", flush=True)


class Streams:
    """Many live streams in one thread."""

    def __init__(self, gateway, token, count, query):
        self.poll, self.sockets = select.epoll(), {}
        request = (f"GET /sync/v1/live?{query} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {token}\r\n\r\n").encode()
        for number in range(count):
            connection = socket.create_connection(("127.0.0.1", gateway.port))
            connection.sendall(request)
            self.sockets[connection.fileno()] = connection
            self.poll.register(connection.fileno(), select.EPOLLIN)
            if number % 100 == 99:
                self.settle(0.02)
        self.settle(1)

    def settle(self, quiet):
        while events := self.poll.poll(quiet):
            for descriptor, _ in events:
                assert self.sockets[descriptor].recv(65536)

    def times(self, began):
        """Until each stream has said something: how long after `began`, in milliseconds."""
        waiting, times = set(self.sockets), []
        while waiting:
            events = self.poll.poll(30)
            assert events, f"{len(waiting)} streams say nothing"
            now = time.monotonic()
            for descriptor, _ in events:
                self.sockets[descriptor].recv(65536)
                if descriptor in waiting:
                    waiting.remove(descriptor)
                    times.append((now - began[0]) * 1000)
        return times

    def close(self):
        for connection in self.sockets.values():
            connection.close()


def idle(gateway, token, options):
    caller = Caller(gateway, token)
    caller.push(1)
    checkpoint = caller.pull()[2]
    before = gateway.resident_megabytes()
    streams = Streams(gateway, token, options.streams, f"collections=notes&checkpoint={checkpoint}")
    time.sleep(1)
    each = (gateway.resident_megabytes() - before) * 1024 / options.streams
    say(f"{options.streams} idle live streams, KiB each (at most 40, aim 20)", f"{each:.1f}")
    streams.close()


def delivery(gateway, token, options, rounds=20):
    caller, count = Caller(gateway, token), min(1_000, options.streams)
    caller.push(1)
    checkpoint = caller.pull()[2]
    streams = Streams(gateway, token, count, f"collections=notes&checkpoint={checkpoint}")
    middles, lasts = [], []
    for _ in range(rounds):
        began = [time.monotonic()]
        writer = threading.Thread(target=lambda: (caller.push(1), began.__setitem__(0, time.monotonic())))
        writer.start()
        writer.join()
        times = sorted(streams.times(began))
        middles.append(times[len(times) // 2])
        lasts.append(times[int(len(times) * 0.99)])
        streams.settle(0.05)
    say(f"acknowledged write to {count} streams, p50 ms (aim 6)", f"{statistics.median(middles):.1f}")
    say(f"acknowledged write to {count} streams, p99 ms", f"{statistics.median(lasts):.1f}")
    streams.close()


def push(gateway, token, options, seconds=4):
    with tempfile.TemporaryDirectory() as folder:
        base = {batch: inserts(pathlib.Path(folder, f"{batch}.sqlite"), batch, seconds) for batch in (1, 100)}
    say("sqlite3 inserts a second, one commit each / for a hundred", f"{base[1]:.0f} / {base[100]:.0f}")
    for batch in (1, 10, 100):
        for clients in (1, 8, 64):
            made = [0] * clients

            def work(place):
                caller, end = Caller(gateway, token), time.monotonic() + seconds
                while time.monotonic() < end:
                    caller.push(batch)
                    made[place] += batch

            threads = [threading.Thread(target=work, args=(place,)) for place in range(clients)]
            began = time.monotonic()
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            rate = sum(made) / (time.monotonic() - began)
            say(f"mutations a second, batches of {batch}, {clients} clients",
                f"{rate:.0f} ({rate / base[1]:.2f} of one commit each, {rate / base[100]:.2f} of one for a hundred)")


def inserts(path, batch, seconds):
    database = sqlite3.connect(path, isolation_level=None)
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("PRAGMA synchronous = FULL")
    database.execute("CREATE TABLE note (id TEXT PRIMARY KEY, title TEXT, text TEXT, owner TEXT, modified REAL)")
    made, began = 0, time.monotonic()
    while time.monotonic() - began < seconds:
        database.execute("BEGIN IMMEDIATE")
        for _ in range(batch):
            database.execute("INSERT INTO note VALUES (?, 't', ?, 'alice', 0)", (str(uuid.uuid4()), "x" * 100))
        database.execute("COMMIT")
        made += batch
    return made / (time.monotonic() - began)


def fill(gateway, token, count):
    caller = Caller(gateway, token)
    for _ in range(0, count, 5_000):
        caller.push(min(5_000, count))
    return caller


def first(gateway, token, options):
    caller = fill(gateway, token, options.records)
    before = gateway.resident_megabytes()
    began = time.monotonic()
    records, size, _ = caller.pull()
    took = time.monotonic() - began
    say(f"first sync of {records} records, records a second (aim 100000; Python parses them too)", f"{records / took:.0f}")
    say("first sync, bytes a record", f"{size / records:.0f}")
    say("first sync, server memory before and after, MiB", f"{before:.0f} {gateway.resident_megabytes():.0f}")


def delta(gateway, token, options, changes=100):
    caller = Caller(gateway, token)
    present = caller.pull()[0]
    for goal in (present, options.store):
        fill(gateway, token, max(0, goal - present))
        present = max(goal, present)
        checkpoint = caller.pull()[2]
        caller.push(changes)
        times = []
        for _ in range(20):
            began = time.monotonic()
            records, size, _ = caller.pull(checkpoint)
            times.append((time.monotonic() - began) * 1000)
        say(f"delta of {records} among {present + changes} records, ms and bytes",
            f"{statistics.median(times):.1f} {size}")
        present += changes


PARTS = {"idle": idle, "delivery": delivery, "push": push, "first": first, "delta": delta}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*")
    parser.add_argument("--program", type=pathlib.Path)
    parser.add_argument("--records", type=int, default=100_000)
    parser.add_argument("--store", type=int, default=1_000_000)
    parser.add_argument("--streams", type=int, default=10_000)
    options = parser.parse_args()
    if options.program:
        Gateway.program = options.program.resolve()
    with tempfile.TemporaryDirectory(prefix="portico-sync-") as folder, Gateway(folder) as gateway:
        token = gateway.log_in()
        for part in options.parts or PARTS:
            PARTS[part](gateway, token, options)


if __name__ == "__main__":
    main()
