"""What abuse costs whoever behaves: idle connections, slow senders and readers, load beyond capacity.

    python3 -B Benchmarks/FrontDoor/front_door.py [idle] [slow] [overload] [--program .build/release/portico]

Prints one line a figure with its goal. `slow` needs slowhttptest (Debian); the number of descriptors bounds `idle`.
"""

import argparse
import asyncio
import json
import pathlib
import resource
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parent / "Gateway"))

from portico import REPOSITORY, Portico  # noqa: E402

GET = b"GET /health/live HTTP/1.1\r\nHost: a\r\n\r\n"


class Gateway(Portico):
    program = REPOSITORY / ".build/release/portico"

    def __init__(self, folder, *settings):
        super().__init__(folder, pathlib.Path(folder, "data"))
        self.settings = [part for setting in settings for part in ("--set", setting)]

    def command(self):
        return [self.program, *super().command()[1:], *self.settings]

    @property
    def port(self):
        return int(self.base.rsplit(":", 1)[1])


def report(name, value, goal, reached):
    print(f"{name}: {value} (goal: {goal}) {'reached' if reached else 'MISSED'}", flush=True)


def idle(folder, count=10_000):
    """Memory of connections that asked once and stay."""
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    count = min(count, soft - 200)
    with Gateway(folder) as gateway:
        before = gateway.resident_megabytes()
        connections = []
        for _ in range(count):
            connection = socket.create_connection(("127.0.0.1", gateway.port))
            connection.sendall(GET)
            connections.append(connection)
        for connection in connections:
            connection.recv(4096)
        time.sleep(1)
        each = (gateway.resident_megabytes() - before) * 1024 / count
        for connection in connections:
            connection.close()
    report(f"{count} idle connections, KiB each", f"{each:.1f}", "20", each <= 20)


class Honest(threading.Thread):
    """A caller that asks on and on, and notes how long each answer took."""

    def __init__(self, port):
        super().__init__()
        self.port, self.going, self.times, self.failures = port, True, [], 0

    def run(self):
        while self.going:
            began = time.monotonic()
            try:
                with socket.create_connection(("127.0.0.1", self.port), timeout=30) as connection:
                    connection.sendall(GET)
                    self.failures += not connection.recv(4096).startswith(b"HTTP/1.1 200")
            except OSError:
                self.failures += 1
            self.times.append(time.monotonic() - began)
            time.sleep(0.01)

    def p99(self):
        self.going = False
        self.join()
        return statistics.quantiles(self.times, n=100)[98] * 1000


def slow(folder):
    """slowhttptest's three ways, 1,000 connections each: all closed within the deadline, honest callers hardly slower."""
    deadlines = ["http.deadlines.head=5s", "http.deadlines.request=5s", "http.deadlines.write=5s"]
    with Gateway(folder, *deadlines) as gateway:
        alone = Honest(gateway.port)
        alone.start()
        time.sleep(3)
        usual = alone.p99()
        ways = {
            "headers": ["-H", "-i", "2"], "body": ["-B", "-i", "2", "-s", "100000"],
            "reading": ["-X", "-w", "1", "-y", "8", "-n", "2", "-z", "8", "-k", "3"],
        }
        for name, flags in ways.items():
            path = "/openapi.json" if name == "reading" else "/auth/login"
            honest = Honest(gateway.port)
            honest.start()
            said = subprocess.run(
                ["slowhttptest", *flags, "-c", "1000", "-r", "500", "-l", "12", "-p", "5", "-u", gateway.base + path],
                capture_output=True, text=True, timeout=120).stdout
            during, failures = honest.p99(), honest.failures
            left = open_connections(gateway.port)
            report(f"slow {name}, open after it", left, "0", left == 0)
            report(f"slow {name}, honest p99 in ms (alone {usual:.1f}), {failures} failed", f"{during:.1f}", "50",
                during <= 50 and not failures)
            (pathlib.Path(folder) / f"slow-{name}.log").write_text(said)


def open_connections(port, patience=10):
    """Connections that the gateway still has once the deadline has passed."""
    end = time.monotonic() + patience
    while True:
        with open("/proc/net/tcp") as table:
            rows = [line.split() for line in table][1:]
        left = sum(row[1].endswith(f":{port:04X}") and row[3] == "01" for row in rows)
        if not left or time.monotonic() > end:
            return left
        time.sleep(0.2)


def batch():
    """A call that works: parts of a batch are not kept."""
    calls = [{"id": str(n), "method": "GET", "path": "/api/v1/users/users?limit=20"} for n in range(20)]
    body = json.dumps({"calls": calls}).encode()
    return (b"POST /batch HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: "
        + str(len(body)).encode() + b"\r\n\r\n" + body)


async def ask(port, request, results):
    began = time.monotonic()
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(request)
        answer = await asyncio.wait_for(reader.read(), 30)
        writer.close()
        status = int(answer[9:12]) if answer[:5] == b"HTTP/" else 0
    except (OSError, asyncio.TimeoutError):
        status = 0
    results.append((status, time.monotonic() - began))


async def open_loop(port, request, rate, seconds):
    """Asks at a rate, whether answers come or not."""
    results, asking, began = [], [], time.monotonic()
    for number in range(int(rate * seconds)):
        await asyncio.sleep(max(0, began + number / rate - time.monotonic()))
        asking.append(asyncio.create_task(ask(port, request, results)))
    await asyncio.gather(*asking)
    return results


async def closed_loop(port, request, callers, seconds):
    results, end = [], time.monotonic() + seconds

    async def caller():
        while time.monotonic() < end:
            await ask(port, request, results)

    await asyncio.gather(*[caller() for _ in range(callers)])
    return sum(status == 200 for status, _ in results) / seconds


def overload(folder, seconds=10):
    """An open loop at twice and five times of what it can do."""
    with Gateway(folder, "http.limits.inFlight=16", "http.limits.inFlightPerCaller=16") as gateway:
        request = batch()
        asyncio.run(closed_loop(gateway.port, request, 8, 2))
        peak = asyncio.run(closed_loop(gateway.port, request, 8, seconds))
        print(f"capacity: {peak:.0f} a second")
        for times in (2, 5):
            results = asyncio.run(open_loop(gateway.port, request, times * peak, seconds))
            took = [duration for status, duration in results if status == 200]
            refused = [duration for status, duration in results if status == 503]
            goodput = len(took) / seconds
            report(f"{times}x, work answered", f"{goodput / peak:.0%} of the peak", "80%", goodput >= 0.8 * peak)
            report(f"{times}x, accepted p99", f"{quantile(took):.0f} ms", "1000", quantile(took) < 1000)
            report(f"{times}x, 503 p99 of {len(refused)}", f"{quantile(refused):.0f} ms", "50", quantile(refused) < 50)
            others = sum(status not in (200, 503) for status, _ in results)
            report(f"{times}x, failed", others, "0", others == 0)
        began = time.monotonic()
        asyncio.run(closed_loop(gateway.port, request, 1, 0.01))
        report("seconds to the next answer after it", f"{time.monotonic() - began:.2f}", "5", time.monotonic() - began < 5)
        print(f"resident: {gateway.resident_megabytes():.0f} MiB")


def quantile(times):
    return statistics.quantiles(times, n=100)[98] * 1000 if len(times) > 1 else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", default=["idle", "slow", "overload"])
    parser.add_argument("--program", type=pathlib.Path)
    options = parser.parse_args()
    if options.program:
        Gateway.program = options.program.resolve()
    for part in options.parts or ["idle", "slow", "overload"]:
        with tempfile.TemporaryDirectory(prefix="portico-door-") as folder:
            {"idle": idle, "slow": slow, "overload": overload}[part](folder)


if __name__ == "__main__":
    main()
