"""A running gateway with an adapter that breaks in every way, under load: what the others notice, and when it answers again.

    python3 -B Benchmarks/Workers/chaos.py [--faults 1000] [--program .build/release/portico] [--fault NAME …]

The hostile adapter is a program in C (`hostile_adapter.c`); the other one that is measured is built in (users), and the Notes
worker, in Swift, is killed from outside. Each round asks the others on schedule by `Resilience/open_loop.c` for some seconds
without faults, then as long with faults, one after the other and under load of the hostile adapter, too. Prints one line a
figure with its goal, and exits 1 where the gateway ended, kept descriptors, or did not serve an adapter again.
"""

import argparse
import http.client
import json
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import tempfile
import time

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(FOLDER.parent / "Gateway"), str(FOLDER.parents[1] / "Tests/EndToEnd")]

import cbor  # noqa: E402
import processes  # noqa: E402
from portico import BUILD, Portico  # noqa: E402

# Faults by what is seen of them: the call fails and the program is started again; it does so once heartbeats are missed; or the
# program goes on, and the next call is answered.
ENDING = ["kill", "trap", "exit", "memory", "garbage", "frame", "depth", "twice", "stranger", "credit", "result"]
HANGING = ["hang", "spin", "close"]
GOING_ON = ["fork", "flood", "log", "requests", "value"]
FAULTS = ENDING + ["kill", "trap"] + HANGING + GOING_ON
OTHER_RATE, HOSTILE_RATE, SECONDS = 100, 20, 15
# A cold start of either side, and the first faults of each kind; then what the gateway keeps of the memory that thousands of
# requests at once took, which differs between the first dozens of times.
WARM_UP = [*sorted(set(FAULTS)), *["requests"] * 60]
HANG = {"heartbeat": "100ms", "heartbeatTolerance": "1s"}


def operation(name):
    text = {"string": [0, 100]}
    return {"name": name, "summary": "Breaks.", "effect": "writes", "output": text}


class Gateway(Portico):
    program = BUILD / "portico"

    def __init__(self, folder):
        super().__init__(folder, pathlib.Path(folder, "data"))
        place = pathlib.Path(folder, "program")
        place.mkdir()
        subprocess.run(["cc", "-O2", "-o", place / "hostile", FOLDER / "hostile_adapter.c"], check=True)
        operations = ["fine", *(f"fault-{name}" for name in sorted(set(FAULTS)))]
        (place / "hostile.declaration").write_bytes(cbor.dumps({"declaration": {
            "name": "hostile", "title": "Hostile", "summary": "Breaks.", "version": "1", "access": "public",
            "operations": [operation(name) for name in operations]}}))
        self.configuration = pathlib.Path(folder, "chaos.yaml")
        # JSON is YAML. Each fault is a first one: what is measured is the restart, and not how restarts are spaced.
        self.configuration.write_text(json.dumps({
            "store": {"sampleData": True}, "http": {"limits": {"answerCache": "0B"}}, "log": {"access": False},
            "identity": {"basic": {"enabled": True}},
            "plugins": [{"path": "./program/hostile"}, {"path": "notes-worker"}],
            "adapters": {
                "users": {"access": "public"}, "notes": {"access": "public"},
                "hostile": {"worker": {
                    "limits": {"memory": "256MiB"}, "supervision": {**HANG, "stableUptime": "1ms", "crashesToFail": 1000}}}}}))

    def command(self):
        return [self.program, *super().command()[1:]]

    @property
    def port(self):
        return int(self.base.rsplit(":", 1)[1])

    def _pids(self):
        """Without its programs, which come and go."""
        return [self.process.pid]

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def threads(self):
        return len(os.listdir(f"/proc/{self.process.pid}/task"))

    def worker(self, name):
        """The process of a worker by its program's name; None where there is none at the moment."""
        for process in pathlib.Path(f"/proc/{self.process.pid}/task").glob("*/children"):
            for child in process.read_text().split():
                try:
                    if name in pathlib.Path(f"/proc/{child}/cmdline").read_bytes().split(b"\0")[0].decode():
                        return int(child)
                except (FileNotFoundError, ProcessLookupError):
                    continue
        return None


class Caller:
    """One connection, which is made again when it was closed."""

    def __init__(self, port):
        self._port, self._connection = port, None

    def post(self, path):
        for attempt in (1, 2):
            try:
                if self._connection is None:
                    self._connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=60)
                self._connection.request("POST", path, b"{}", {"Content-Type": "application/json"})
                answer = self._connection.getresponse()
                answer.read()
                return answer.status
            except (http.client.HTTPException, ConnectionError):
                self._connection = None
                if attempt == 2:
                    raise

    def until_served(self, path, seconds=30):
        """Milliseconds until a call is answered again."""
        began = time.monotonic()
        while self.post(path) != 200:
            if time.monotonic() - began > seconds:
                raise SystemExit(f"{path} is not served again within {seconds} s")
            time.sleep(0.001)
        return (time.monotonic() - began) * 1000


HOSTILE, NOTES = "/api/v1/hostile/operations/", "/api/v1/notes/operations/share"


class Faults:
    """Makes one fault after the other, and notes what came of it."""

    def __init__(self, gateway, names):
        self.gateway, self.names, self.made = gateway, names, 0
        self.caller = Caller(gateway.port)
        self.waits, self.statuses, self.noted = {}, {}, time.monotonic()

    def make(self):
        name = self.names[self.made % len(self.names)]
        self.made += 1
        status = self.caller.post(f"{HOSTILE}fault-{name}")
        wait = self.caller.until_served(HOSTILE + "fine")
        self.waits.setdefault(name, []).append(wait)
        self.statuses.setdefault(name, set()).add(status)
        # Of the other worker's ends the gateway learns by themselves. It has run for a second then, after which by default one is
        # launched again at once.
        rested = time.monotonic() - self.noted > 1.5
        if rested and self.made % 10 == 0 and (process := self.gateway.worker("notes-worker")):
            os.kill(process, signal.SIGKILL)
            began = time.monotonic()
            while self.gateway.worker("notes-worker") in (None, process) or not self.is_note_served():
                if time.monotonic() - began > 30:
                    raise SystemExit("the notes are not served again")
                time.sleep(0.001)
            self.noted = time.monotonic()
            self.waits.setdefault("notes killed", []).append((self.noted - began) * 1000)

    def is_note_served(self):
        """The operation finds no such note, which the program says: it is there."""
        connection = http.client.HTTPConnection("127.0.0.1", self.gateway.port, timeout=60)
        try:
            connection.request("POST", NOTES, b'{"id": "none", "with": []}', {"Content-Type": "application/json"})
            return connection.getresponse().status != 503
        finally:
            connection.close()

    def make_until(self, end):
        while time.monotonic() < end:
            self.make()


class OpenLoop:
    def __init__(self, folder):
        self.program = pathlib.Path(folder, "open-loop")
        subprocess.run(["cc", "-O2", "-o", self.program, FOLDER.parent / "Resilience/open_loop.c"], check=True)

    def ask(self, port, request, rate, seconds, connections=200):
        """A process that asks on schedule, or as fast as it is answered where the rate is 0; its output is a line of JSON."""
        process = subprocess.Popen(
            [self.program, *map(str, (port, rate, seconds, connections, 20))], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        process.stdin.write(request)
        process.stdin.close()
        return process

    @staticmethod
    def said(process):
        said = json.loads(process.stdout.read())
        process.wait()
        return said


def request(method, path):
    body = b"{}" if method == "POST" else b""
    return (f"{method} {path} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        ).encode() + body


def round_of(gateway, loop, faults, seconds):
    """What the built-in adapter's callers see in so many seconds; faults: None for none."""
    others = loop.ask(gateway.port, request("GET", "/api/v1/users/users?limit=20"), OTHER_RATE, seconds)
    hostile = loop.ask(gateway.port, request("POST", HOSTILE + "fine"), HOSTILE_RATE, seconds)
    if faults:
        faults.make_until(time.monotonic() + seconds)
    return loop.said(others), loop.said(hostile)


def settled(measure, gateway):
    """The least of some looks, since connections of the load may be on their way out."""
    looks = []
    for _ in range(10):
        time.sleep(0.5)
        looks.append(measure(gateway))
    return min(looks)


def report(name, value, goal, reached):
    print(f"{name}: {value} (goal: {goal}) {'reached' if reached else 'MISSED'}", flush=True)
    return reached


def percentile(times, share):
    return sorted(times)[min(len(times) - 1, int(len(times) * share))]


def run(folder, count, names):
    processes.SERVER_CORE = f"0-{os.cpu_count() - 1}"  # The programs share the gateway's processors.
    with Gateway(folder) as gateway:
        loop, faults = OpenLoop(folder), Faults(gateway, WARM_UP)
        for _ in WARM_UP:
            faults.make()
        round_of(gateway, loop, None, 3)
        faults = Faults(gateway, names)
        before = [settled(measure, gateway) for measure in (Gateway.descriptors, Gateway.threads, Gateway.resident_megabytes)]
        ratios, quiet_all, faulty_all, failed, refused, answered, memory = [], [], [], {}, 0, 0, []
        while faults.made < count:
            quiet, _ = round_of(gateway, loop, None, SECONDS)
            faulty, hostile = round_of(gateway, loop, faults, SECONDS)
            quiet_all.append(quiet["accepted"]["p99"] / 1000)
            faulty_all.append(faulty["accepted"]["p99"] / 1000)
            ratios.append(faulty_all[-1] / quiet_all[-1])
            for status, number in faulty["statuses"].items():
                if status != "200":
                    failed[status] = failed.get(status, 0) + number
            refused += hostile["statuses"].get("503", 0)
            answered += hostile["statuses"].get("200", 0)
            memory.append(f"{gateway.resident_megabytes():.0f}")
        is_up = gateway.process.poll() is None
        after = [settled(measure, gateway) for measure in (Gateway.descriptors, Gateway.threads, Gateway.resident_megabytes)]
        print(f"load of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
        results = [
            report(f"{faults.made} faults, the gateway is up", is_up, "True", is_up),
            report("the other adapter's failed calls", failed or 0, "0", not failed),
        ]
        report(
            f"its p99 in ms with faults, medians of {len(ratios)} rounds (without {statistics.median(quiet_all):.1f})",
            f"{statistics.median(faulty_all):.1f}, ratio {statistics.median(ratios):.2f}", "within 1.5 times",
            statistics.median(ratios) <= 1.5)
        print(f"the hostile adapter's other callers: {answered} answered, {refused} answered 503")
        for name, times in sorted(faults.waits.items()):
            statuses = ", ".join(map(str, sorted(faults.statuses.get(name, []))))
            report(
                f"{name}: {len(times)}, answered {statuses or 'nothing'}; served again after ms, median "
                f"{statistics.median(times):.1f}, p99 {percentile(times, 0.99):.1f}",
                f"{statistics.median(times):.1f}", "100", statistics.median(times) <= 100)
        for name, old, new in zip(("descriptors", "threads", "MiB in memory"), before, after):
            grown = new - old
            reached = grown <= (30 if name == "MiB in memory" else 2)
            results.append(report(f"{name} before and after", f"{old:.0f}, {new:.0f}", "no growth", reached))
        print(f"MiB in memory after each round: {', '.join(memory)}")
        return all(results)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--faults", type=int, default=1000)
    parser.add_argument("--fault", nargs="*", choices=sorted(set(FAULTS)), default=FAULTS)
    parser.add_argument("--program", type=pathlib.Path)
    options = parser.parse_args()
    if options.program:
        Gateway.program = options.program.resolve()
    with tempfile.TemporaryDirectory(prefix="portico-chaos-") as folder:
        sys.exit(0 if run(folder, options.faults, options.fault) else 1)


if __name__ == "__main__":
    main()
