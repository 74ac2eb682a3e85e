"""What sync costs through the gateway: live streams, pushes, first syncs, deltas.

    python3 -B Benchmarks/Sync/sync.py [idle] [delivery] [push] [first] [delta] [--program .build/release/portico]
        [--records N] [--store N] [--streams N] [--seconds N] [--delivery N]

Prints one line a figure. Each part has a gateway and a store of its own, on one core, and asks from another. Streams are
plain HTTP; each push is durable before it is answered. `push` compares with inserts by a C program on sqlite3 at the same
durability (Benchmarks/Store/peer.c), one commit each and one for a hundred.
"""

import argparse
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(FOLDER.parent / folder) for folder in ("Gateway", "Listeners")]

from devices import Caller, Streams, push_rate  # noqa: E402
from listeners import Listeners  # noqa: E402
from portico import Portico  # noqa: E402
from processes import LOAD_CORE  # noqa: E402

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


def say(name, value):
    print(f"- {name}: {value}", flush=True)


def idle(gateway, token, options):
    caller = Caller(gateway.port, token)
    caller.push(1)
    checkpoint = caller.pull()[2]
    # What the first streams bring into memory is not theirs.
    Streams(gateway.port, token, 20, f"collections=notes&checkpoint={checkpoint}").close()
    before = gateway.resident_megabytes()
    streams = Streams(gateway.port, token, options.streams, f"collections=notes&checkpoint={checkpoint}")
    time.sleep(1)
    each = (gateway.resident_megabytes() - before) * 1024 / options.streams
    say(f"{options.streams} idle live streams, KiB each (at most 40, aim 20)", f"{each:.1f}")
    streams.close()


def delivery(gateway, token, options, rate=5):
    """One write at a time, so seldom that each finds the gateway at rest."""
    caller, count = Caller(gateway.port, token), min(1_000, options.streams)
    caller.push(1)
    with tempfile.TemporaryDirectory() as folder:
        listeners = Listeners(folder)

        def listen(seconds):
            query = f"collections=notes&checkpoint={caller.pull()[2]}"
            return listeners.run("sync", gateway.port, count, seconds, rate, 0, query, token)

        # What the first words bring into memory is not counted.
        listen(2)
        began = gateway.processor_seconds()
        heard = listen(options.delivery)
        spent = gateway.processor_seconds() - began
    assert (heard.lost, heard.repeated) == (0, 0), heard
    for name, aim, delays in (("acknowledged", " (aim 6)", heard.since_acknowledged), ("sent", "", heard.since_sent)):
        say(f"a write to {count} live streams, from when it was {name}, p50{aim}, p99 and largest in ms",
            ", ".join(f"{delay:.1f}" for delay in delays))
    say(f"the same: {heard.delivered} deliveries, the server's processor time for each, streams opened too, in us",
        f"{spent / heard.delivered * 1e6:.1f}")


def push(gateway, token, options):
    with tempfile.TemporaryDirectory() as folder:
        binary = pathlib.Path(folder, "peer")
        subprocess.run(["cc", "-O2", FOLDER.parent / "Store" / "peer.c", "-o", binary, "-lsqlite3"], check=True)
        base = {batch: peer_rate(binary, pathlib.Path(folder, f"{batch}.sqlite"), batch, options.seconds) for batch in (1, 100)}
    say("inserts a second by sqlite3 in C, one commit each and one for a hundred", f"{base[1]:.0f} and {base[100]:.0f}")
    for batch in (1, 10, 100):
        for clients in (1, 8, 64):
            rate = push_rate(gateway.port, token, batch, clients, options.seconds)
            say(f"mutations a second, batches of {batch}, {clients} clients",
                f"{rate:.0f} ({rate / base[1]:.2f} of one commit each, {rate / base[100]:.2f} of one for a hundred)")


def peer_rate(binary, path, batch, seconds):
    done = subprocess.run([binary, path, str(batch), str(seconds)], check=True, capture_output=True, text=True)
    return float(done.stdout)


def first(gateway, token, options):
    caller = Caller(gateway.port, token)
    caller.fill(options.records)
    before = gateway.resident_megabytes()
    began = time.monotonic()
    records, size, _ = caller.pull()
    took = time.monotonic() - began
    assert records == options.records, records
    busy = gateway.processor_seconds()
    began = time.monotonic()
    unread = caller.pull_unread()
    took_unread = time.monotonic() - began
    busy = gateway.processor_seconds() - busy
    assert unread == size, (unread, size)
    say(f"first sync of {records} records, records a second (aim 100000; Python parses them too)", f"{records / took:.0f}")
    say("first sync, the same by a caller that does not parse, and for a second of the server's processor time",
        f"{records / took_unread:.0f} and {records / busy:.0f}")
    say("first sync, bytes a record", f"{size / records:.0f}")
    say("first sync, the server's memory before and after, MiB", f"{before:.0f} and {gateway.resident_megabytes():.0f}")


def delta(gateway, token, options, changes=100, rounds=20):
    caller, present, middles = Caller(gateway.port, token), 0, []
    for goal in (options.store // 100, options.store):
        caller.fill(goal - present)
        checkpoint = caller.pull()[2]
        caller.push(changes)
        present = goal + changes
        times = []
        for _ in range(rounds):
            began = time.monotonic()
            records, size, _ = caller.pull(checkpoint)
            times.append((time.monotonic() - began) * 1000)
        assert records == changes, records
        middles.append(statistics.median(times))
        say(f"delta of {records} changes among {present} records, ms and bytes", f"{middles[-1]:.1f} and {size}")
    say("delta, the large store's time to the small one's (aim 1)", f"{middles[1] / middles[0]:.2f}")


PARTS = {"idle": idle, "delivery": delivery, "push": push, "first": first, "delta": delta}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=[[], *PARTS])
    parser.add_argument("--program", type=pathlib.Path)
    parser.add_argument("--records", type=int, default=100_000)
    parser.add_argument("--store", type=int, default=1_000_000)
    parser.add_argument("--streams", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--delivery", type=float, default=20, help="seconds of one write after the other")
    options = parser.parse_args()
    if options.program:
        Gateway.program = options.program.resolve()
    # Every stream is a file here and there.
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
    if os.cpu_count() > 1:
        os.sched_setaffinity(0, {int(LOAD_CORE)})
    print("## Sync\n", flush=True)
    for part in options.parts or PARTS:
        with tempfile.TemporaryDirectory(prefix="portico-sync-") as folder, Gateway(folder) as gateway:
            PARTS[part](gateway, gateway.log_in(), options)


if __name__ == "__main__":
    main()
