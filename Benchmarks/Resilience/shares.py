"""What one account that takes all it can get costs another account: the 99th percentile of the other's requests while the
first has 8 connections busy, and 600.

    python3 -B Benchmarks/Resilience/shares.py [pulls] [searches] [records] [changes] [trickle] [--seconds 20]

Prints one line a figure with its goal. PORTICO_BUILD names the folder of another build. The gateway has one core, whatever
asks it the other; where this program may, it goes before the load on that core, so that what is told is the gateway's time
and not the wait for a processor after the answer has come. It takes three times SECONDS for each kind of load.
"""

import argparse
import http.client
import json
import os
import pathlib
import selectors
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(FOLDER.parent / "Gateway")]

from portico import Portico  # noqa: E402
from processes import LOAD_CORE  # noqa: E402

FEW, MANY = 8, 600
# Of the many against the few, and in milliseconds.
MOST_TIMES, MOST = 1.5, 50
PULL = ("POST", "/sync/v1/pull", {"collections": ["employees"], "limit": 500})
LOADS = {
    "pulls": PULL,
    "searches": ("POST", "/OrganizationInterfaceImplMobile/employeeSearch", {"fullName": "a"}),
    "records": ("GET", "/api/v1/employees/employees?limit=500", None),
    "changes": ("POST", "/api/v1/notes/notes", {"title": "t", "text": "t"}),
}
ASKED = ("GET", "/auth/me", None), ("POST", "/sync/v1/pull", {"collections": ["notes"], "limit": 10})


def encoded(method, path, body, token):
    content = b"" if body is None else json.dumps(body).encode()
    head = (
        f"{method} {path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {token}\r\nAccept: application/json\r\n"
        f"X-Requested-With: shares\r\nCache-Control: no-cache\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n")
    return head.encode() + content


class Connection:
    """One request after the other, each sent when the one before is answered."""

    def __init__(self, port, request):
        self.port, self.request, self.answered, self.refused = port, request, 0, 0
        self.connect()

    def connect(self):
        self.socket = socket.create_connection(("127.0.0.1", self.port), timeout=60)
        self.left = None
        self.head = b""
        self.socket.sendall(self.request)

    def read(self):
        """False where the gateway has ended the connection."""
        piece = self.socket.recv(1 << 18)
        if self.left is None:
            self.head += piece
            head, end, rest = self.head.partition(b"\r\n\r\n")
            if end:
                fields = head.lower()
                self.left = int(fields.split(b"content-length: ")[1].split(b"\r\n")[0]) - len(rest)
                self.refused += not head.startswith(b"HTTP/1.1 2")
        else:
            self.left -= len(piece)
        if self.left is not None and self.left <= 0:
            self.answered += 1
            self.left, self.head = None, b""
            self.socket.sendall(self.request)
        return bool(piece)


def take(port, request, count, seconds):
    """`count` connections of one account, for so long. Returns answers and refusals a second."""
    selector = selectors.DefaultSelector()
    connections = [Connection(port, request) for _ in range(count)]
    for connection in connections:
        selector.register(connection.socket, selectors.EVENT_READ, connection)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for key, _ in selector.select(0.1):
            if not key.data.read():
                selector.unregister(key.fileobj)
                key.data.connect()
                selector.register(key.data.socket, selectors.EVENT_READ, key.data)
    for connection in connections:
        connection.socket.close()
    return sum(each.answered for each in connections) / seconds, sum(each.refused for each in connections) / seconds


def precede_the_load():
    """False where the system does not let this process go first."""
    os.sched_setaffinity(0, {int(LOAD_CORE)})
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO | os.SCHED_RESET_ON_FORK, os.sched_param(1))
    except PermissionError:
        return False
    return True


def percentile(port, token, seconds):
    """The 99th percentile in milliseconds of another account's requests, and how many of them were not answered with 2xx."""
    connection, times, failures = http.client.HTTPConnection("127.0.0.1", port, timeout=60), [], 0
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for method, path, body in ASKED:
            began = time.monotonic()
            connection.request(
                method, path, None if body is None else json.dumps(body),
                {"Authorization": f"Bearer {token}", "Content-Type": "application/json"})
            answer = connection.getresponse()
            answer.read()
            times.append((time.monotonic() - began) * 1000)
            failures += answer.status // 100 != 2
            time.sleep(0.01)
    connection.close()
    return statistics.quantiles(times, n=100)[98], failures


def report(name, value, goal, reached):
    print(f"{name}: {value} (goal: {goal}) {'reached' if reached else 'MISSED'}", flush=True)


def beside(gateway, port, name, request, count, seconds):
    loads = [sys.executable, "-B", __file__, "--load", str(port), str(count), str(seconds + 2)]
    with subprocess.Popen(
            ["taskset", "-c", LOAD_CORE, *loads], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as load:
        load.stdin.write(request)
        load.stdin.close()
        time.sleep(1)
        p99, failures = percentile(port, gateway.log_in("bob"), seconds)
        answered, refused = load.stdout.read().decode().split()
    print(f"{name}, {count} connections: {answered} answers a second, {refused} of them refusals", flush=True)
    report(f"{name}, {count} connections, not answered with 2xx", failures, "0", failures == 0)
    return p99


def share(folder, name, seconds):
    # So many requests are no mistake here.
    settings = ["limits.requestsPerMinute=0", "limits.addressRequestsPerMinute=0"]
    gateway = Portico(folder, pathlib.Path(folder, "data"), *(part for each in settings for part in ("--set", each)))
    with gateway:
        port = int(gateway.base.rsplit(":", 1)[1])
        request = encoded(*LOADS[name], gateway.log_in("alice"))
        alone, _ = percentile(port, gateway.log_in("bob"), seconds)
        print(f"{name}, the other alone, p99 ms: {alone:.1f}", flush=True)
        few = beside(gateway, port, name, request, FEW, seconds)
        many = beside(gateway, port, name, request, MANY, seconds)
    print(f"{name}, {FEW} connections, p99 ms: {few:.1f}", flush=True)
    report(f"{name}, {MANY} connections, p99 ms", f"{many:.1f}", MOST, many < MOST)
    report(f"{name}, {MANY} against {FEW} connections", f"{many / few:.2f}", MOST_TIMES, many <= MOST_TIMES * few)


def trickle(folder, seconds):
    """A hundred bodies that come byte by byte behind 404, on a gateway with a hundred connections; twenty honest callers."""
    gateway = Portico(folder, pathlib.Path(folder, "data"), "--set", "http.limits.connections=100",
                      "--set", "http.limits.connectionsPerAddress=100")
    with gateway:
        port = int(gateway.base.rsplit(":", 1)[1])
        done, results = threading.Event(), []

        def abuse():
            try:
                with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
                    connection.sendall(b"POST /nothing HTTP/1.1\r\nHost: a\r\nContent-Length: 200000\r\n\r\n")
                    while not done.wait(1):
                        connection.sendall(b" ")
            except OSError:
                return

        def ask():
            while not done.wait(0.1):
                began = time.monotonic()
                try:
                    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
                        connection.sendall(b"GET /nothing HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
                        results.append((connection.recv(4096).startswith(b"HTTP/1.1 404"), time.monotonic() - began))
                except OSError:
                    results.append((False, time.monotonic() - began))

        threads = [threading.Thread(target=abuse) for _ in range(100)]
        for thread in threads:
            thread.start()
        # Until the first of them have been held for as long as they can be.
        time.sleep(35)
        asking = [threading.Thread(target=ask) for _ in range(20)]
        for thread in asking:
            thread.start()
        time.sleep(seconds)
        done.set()
        for thread in threads + asking:
            thread.join()
    share_answered = sum(answered for answered, _ in results) / max(1, len(results))
    report("trickled bodies, honest requests answered", f"{share_answered:.0%} of {len(results)}", "90%", share_answered >= 0.9)


def main():
    if sys.argv[1:2] == ["--load"]:
        port, count, seconds = sys.argv[2:5]
        answered, refused = take(int(port), sys.stdin.buffer.read(), int(count), float(seconds))
        print(round(answered), round(refused))
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kinds", nargs="*", choices=[*LOADS, "trickle", []])
    parser.add_argument("--seconds", type=float, default=20)
    arguments = parser.parse_args()
    if not precede_the_load():
        print("measured with the load's own priority: figures contain waits for the processor", flush=True)
    for kind in arguments.kinds or [*LOADS, "trickle"]:
        with tempfile.TemporaryDirectory() as folder:
            trickle(folder, arguments.seconds) if kind == "trickle" else share(folder, kind, arguments.seconds)


if __name__ == "__main__":
    main()
