"""What abuse costs well-behaved clients: idle connections, slow senders and readers, load beyond capacity. And what an
operator's changes cost them.

    python3 -B Benchmarks/Resilience/resilience.py [idle] [slow] [overload] [changes] [--program .build/release/portico]

Prints one line a figure with its goal. `slow` needs slowhttptest (Debian), `overload` a C compiler; the number of
descriptors bounds `idle`, which needs `Benchmarks/NIOPeers`. The gateway has one core, whatever asks it the other.
"""

import argparse
import json
import pathlib
import resource
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(FOLDER.parent / "Gateway"), str(FOLDER.parent / "Mix")]

import mix  # noqa: E402
from certificate import Certificate  # noqa: E402
from closed_loop import ClosedLoop  # noqa: E402
from nginx import free_port  # noqa: E402
from portico import REPOSITORY, Portico  # noqa: E402
from processes import LOAD_CORE, Server  # noqa: E402
from servers import NIOPeer, recorded  # noqa: E402

# Connections of the open loop at most, and the seconds that it waits for what is due at its end.
CAP, PATIENCE = 4000, 5
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

    def most_megabytes(self):
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.split("VmHWM:")[1].split()[0]) / 1024


def report(name, value, goal, reached):
    print(f"{name}: {value} (goal: {goal}) {'reached' if reached else 'MISSED'}", flush=True)


def idle(folder, count=10_000):
    """Memory of connections that asked once and stay, in clear and with TLS; beside it that of SwiftNIO alone."""
    count = min(count, resource.getrlimit(resource.RLIMIT_NOFILE)[0] - 200)
    certificate, loop = Certificate(folder), ClosedLoop(folder)
    files = [f"http.tls.certificate={certificate.certificate}", f"http.tls.key={certificate.key}"]
    for name, protocol, goal in (("in clear", "http1", 20), ("HTTP/1.1 with TLS", "https1", None), ("HTTP/2", "http2", None)):
        place = pathlib.Path(folder, protocol)
        place.mkdir()
        # They are made one after the other, and the first ones wait for the last.
        gateway = Gateway(place, "http.deadlines.head=15m", *(files if goal is None else []))
        gateway.trust = None if goal else certificate.trust
        requests = [mix.Request("GET", "/health/live", {})]
        with gateway:
            answers = recorded(gateway, requests)
            each = kibibytes_each(loop, gateway, protocol, requests, answers, count)
        version = "http2" if protocol == "http2" else "http1"
        with NIOPeer(place, requests, answers, version, None if goal else certificate) as peer:
            least = kibibytes_each(loop, peer, protocol, requests, answers, count)
        print(f"{count} idle connections, {name}, KiB each: {each:.1f}, SwiftNIO alone {least:.1f}" + (
            f" (goal: {goal}) {'reached' if each <= goal else 'MISSED'}" if goal else ""), flush=True)


def kibibytes_each(loop, server, protocol, requests, answers, count):
    file = server.folder / "requests"
    mix.write_file(file, requests, answers, is_numbered=True)
    loop.run(server, protocol, file, 64, 1)
    before = server.resident_megabytes()
    after = loop.held(server, protocol, file, count, 0, lambda: settled(server))
    return (after - before) * 1024 / count


def settled(server):
    time.sleep(1)
    return server.resident_megabytes()


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


def batch(ends):
    """A call that works: parts of a batch are not kept. `ends`: each comes on a connection of its own."""
    calls = [{"id": str(n), "method": "GET", "path": "/api/v1/users/users?limit=100"} for n in range(100)]
    body = json.dumps({"calls": calls}).encode()
    closing = b"Connection: close\r\n" if ends else b""
    return (b"POST /batch HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n" + closing + b"Content-Length: "
        + str(len(body)).encode() + b"\r\n\r\n" + body)


class Generator:
    """open_loop.c, on the other core than the gateway."""

    def __init__(self, folder, port):
        self.program, self.port = pathlib.Path(folder, "open-loop"), port
        subprocess.run(["cc", "-O2", "-o", self.program, FOLDER / "open_loop.c"], check=True)

    def ask(self, request, rate, seconds, cap):
        """What it saw. Rate 0: as many at once as `cap` says, each when it is answered."""
        arguments = [self.port, rate, seconds, cap, PATIENCE]
        said = subprocess.run(
            ["taskset", "-c", LOAD_CORE, self.program, *map(str, arguments)], input=request, check=True, capture_output=True,
            timeout=seconds + PATIENCE + 30)
        return json.loads(said.stdout)

    def capacity(self, request, seconds):
        return self.ask(request, 0, seconds, 8)["accepted"]["count"] / seconds


class RefusingNginx(Server):
    """Answers each request with 503 and closes: what a refusal costs at least, the kernel's part included."""

    name = "nginx"

    def __init__(self, folder):
        super().__init__(folder)
        self.port = free_port()
        self.base = f"http://127.0.0.1:{self.port}"
        (self.folder / "nginx.conf").write_text(
            f"daemon off; user root; worker_processes 1; pid {self.folder}/nginx.pid; error_log {self.folder}/error.log;\n"
            "events { worker_connections 8192; }\n"
            f"http {{ access_log off; client_body_temp_path {self.folder}/body; server {{ listen 127.0.0.1:{self.port}; "
            "location /health { return 200; } location / { return 503; } } }\n")

    def command(self):
        return ["nginx", "-c", self.folder / "nginx.conf", "-p", self.folder]


def cost_of_refusal(folder, seconds=3):
    """Microseconds of nginx's processor time for a new connection that is answered 503."""
    with RefusingNginx(folder) as nginx:
        generator, request = Generator(folder, nginx.port), GET.replace(b"/health/live", b"/batch").replace(
            b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
        generator.ask(request, 0, 1, 64)
        before = nginx.processor_seconds()
        refused = generator.ask(request, 0, seconds, 64)["refused"]["count"]
        return (nginx.processor_seconds() - before) / refused * 1e6


def overload(folder, seconds=10):
    """An open loop at twice and five times of what it can do."""
    for way, ends in (("connections that are kept", False), ("a connection for each", True)):
        place = pathlib.Path(folder, str(ends))
        place.mkdir()
        with Gateway(place, "http.limits.inFlight=16", "http.limits.inFlightPerCaller=16") as gateway:
            generator, request = Generator(place, gateway.port), batch(ends)
            generator.capacity(request, 2)
            before, spent = gateway.resident_megabytes(), gateway.processor_seconds()
            peak = generator.capacity(request, seconds)
            each = (gateway.processor_seconds() - spent) / (peak * seconds)
            print(f"{way}: capacity {peak:.0f} a second, {each * 1e6:.0f} us of processor time each, {before:.0f} MiB")
            for times in (2, 5):
                spent = gateway.processor_seconds()
                seen = generator.ask(request, times * peak, seconds, CAP)
                spent = gateway.processor_seconds() - spent
                load(f"{way}, {times}x", seen, peak, seconds)
                refusals(f"{way}, {times}x", seen, spent, each)
            recovery(way, generator, request, peak)
            grown = gateway.most_megabytes() - before
            report(f"{way}, memory beyond that, MiB", f"{grown:.0f}", "100", grown < 100)
    least = cost_of_refusal(folder)
    # 80 % of the peak and 420 % refused fit in the core where a refusal costs at most 1/21 of a call.
    print(f"a new connection refused by nginx: {least:.0f} us, {least / each / 1e6:.1%} of a call; 80 % at 5x leaves 4.8 %")


def refusals(name, seen, spent, each):
    """What is left of the processor's time when the accepted calls have cost what they cost at the peak."""
    count = seen["refused"]["count"]
    left = spent - each * seen["accepted"]["count"]
    if count:
        print(f"{name}: {spent:.1f} s of processor time, {left / spent:.0%} of it for refusals, {left / count * 1e6:.0f} us each")


def load(name, seen, peak, seconds):
    accepted, refused, late = seen["accepted"], seen["refused"], seen["late"]
    goodput = accepted["count"] / seconds / peak
    report(f"{name}, work answered", f"{goodput:.0%} of the peak", "80%", goodput >= 0.8)
    report(f"{name}, accepted p99 of {accepted['count']}", f"{accepted['p99'] / 1000:.0f} ms", "1000",
        accepted["p99"] < 1_000_000)
    report(f"{name}, 503 p99 of {refused['count']}", f"{refused['p99'] / 1000:.1f} ms", "50", refused["p99"] < 50_000)
    print(f"{name}: 503 p50 {refused['p50'] / 1000:.1f} ms, largest {refused['largest'] / 1000:.1f}; the generator was late by "
        f"{late['p99'] / 1000:.1f} ms (p99), at most {late['largest'] / 1000:.1f}; {seen['connections']} connections")
    others = {status: count for status, count in seen["statuses"].items() if status not in ("200", "503")}
    report(f"{name}, failed, not sent", f"{others or 0}, {seen['unsent']}", "0, 0", not others and not seen["unsent"])


def recovery(way, generator, request, peak):
    """Seconds, whole ones, until it works as fast as before."""
    for second in range(1, 6):
        if generator.capacity(request, 1) >= 0.9 * peak:
            return report(f"{way}, as fast as before after seconds", second, "5", True)
    report(f"{way}, as fast as before after seconds", "more than 5", "5", False)


class Changing(Gateway):
    """With a configuration that can be written anew while it runs."""

    def __init__(self, folder):
        super().__init__(folder, "adapters.odata.services.admissions.samples=1000")
        demo = (REPOSITORY / "Config/demo.yaml").read_text()
        self.text = demo.replace(": odata/", f": {REPOSITORY}/Config/odata/")
        self.configuration = pathlib.Path(folder, "portico.yaml")
        self.change(64)

    def change(self, number):
        self.configuration.write_text(
            self.text.replace("  port: 8080", f"  port: 8080\n  limits: {{ depth: {64 + number % 64} }}", 1).replace(
                "        access: { read: login, write: login }\n",
                f"        access: {{ read: login, write: login }}\n        pageSize: {10 + number % 50}\n", 1))

    def wait_for(self, text, count):
        while self.said().count(text) < count:
            time.sleep(0.01)


def changes(folder, rate=500, seconds=20):
    """An open loop while nothing happens, while the configuration changes each second, and while it restarts."""
    with Changing(folder) as gateway:
        generator, token = Generator(folder, gateway.port), gateway.log_in()
        request = (f"GET /v2/list HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {token}\r\n\r\n").encode()
        generator.ask(request, rate, 2, CAP)
        quiet = generator.ask(request, rate, seconds, CAP)
        change("nothing", quiet, quiet)
        for name, act, pause in (("reloads", reload, 1), ("restarts", restart, 5)):
            done = threading.Event()
            actor = threading.Thread(target=repeat, args=(gateway, act, pause, done))
            actor.start()
            seen = generator.ask(request, rate, seconds, CAP)
            done.set()
            actor.join()
            change(name, seen, quiet)


def repeat(gateway, act, pause, done):
    number = 0
    while not done.wait(pause):
        number += 1
        act(gateway, number)


def reload(gateway, number):
    gateway.change(number)
    gateway.process.send_signal(signal.SIGHUP)
    gateway.wait_for('"configuration applied"', number)


def restart(gateway, number):
    gateway.process.send_signal(signal.SIGUSR2)
    gateway.wait_for("listening on", number + 1)


def change(name, seen, quiet):
    failed = {status: count for status, count in seen["statuses"].items() if status != "200"}
    report(f"{name}, failed, not sent", f"{failed or 0}, {seen['unsent']}", "0, 0", not failed and not seen["unsent"])
    report(f"{name}, p99 in ms of {seen['accepted']['count']} (nothing {quiet['accepted']['p99'] / 1000:.2f})",
        f"{seen['accepted']['p99'] / 1000:.2f}", "within 2 times", seen["accepted"]["p99"] <= 2 * quiet["accepted"]["p99"])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", default=["idle", "slow", "overload"])
    parser.add_argument("--program", type=pathlib.Path)
    options = parser.parse_args()
    if options.program:
        Gateway.program = options.program.resolve()
    for part in options.parts or ["idle", "slow", "overload"]:
        with tempfile.TemporaryDirectory(prefix="portico-resilience-") as folder:
            {"idle": idle, "slow": slow, "overload": overload, "changes": changes}[part](folder)


if __name__ == "__main__":
    main()
