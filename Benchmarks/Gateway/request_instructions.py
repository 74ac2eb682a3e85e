#!/usr/bin/env python3
"""Counts the instructions that the gateway takes for a request, by callgrind, and holds them against
Benchmarks/Gateway/instructions.tsv: exit 1 where one grew by more than the margin. `--record` writes the file anew.

Everything runs on one processor, so there is one event loop and one thread of tasks; the store's own threads are counted
too. Each request is made by one caller, one after the other. The least of three rounds counts, since timers of the gateway
fall into some of them.
"""

import argparse
import http.client
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

BENCHMARKS = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(BENCHMARKS))
from instructions import hold, instructions  # noqa: E402

ROOT = BENCHMARKS.parent
RECORD = BENCHMARKS / "Gateway/instructions.tsv"
WARM, COUNTED, ROUNDS = 100, 100, 3
START_SECONDS = 600
CONFIGURATION = {
    "http": {"port": 0}, "store": {"sampleData": True}, "log": {"access": False}, "limits": {"requestsPerMinute": 10_000_000},
    "identity": {"tokens": {"accessLifetime": "1d"}, "demoAccounts": [{"name": "alice", "password": "portico-demo"}]},
    "adapters": {"users": {"access": {"read": "login", "write": "login"}}},
}
USER = "GET", "/v2/100"
PULL = "POST", "/sync/v1/pull", {"collections": ["users"], "limit": 10}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--record", action="store_true", help="write the figures as the ones to hold")
    parser.add_argument("--program", type=pathlib.Path, default=ROOT / ".build/release/portico", help="default: %(default)s")
    options = parser.parse_args()
    with Gateway(options.program) as gateway:
        measured = {
            ("user", "cached"): gateway.measure(lambda _: USER), ("pull", "of ten"): gateway.measure(lambda _: PULL),
            ("push", "of one"): gateway.measure(push)}
    with Gateway(options.program, "http.limits.answerCache=0B") as gateway:
        measured["user", "uncached"] = gateway.measure(lambda _: USER)
    hold(measured, RECORD, "request", options.record)


def push(number):
    """The creation of one record, each of another number."""
    key = 100_000 + number
    return "POST", "/sync/v1/push", {"clientId": "0b5c2f7e-7a35-4f0e-9c6e-4f1d2b6a9a01", "mutations": [{
        "sequence": number, "operation": "create", "collection": "users", "id": str(key),
        "fields": {"UserId": key, "UserName": f"Fake {key}", "ShoeSize": "9M"}}]}


class Gateway:
    """A gateway under callgrind on one processor, which counts while it is told to."""

    def __init__(self, program, *settings):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="portico-instructions-"))
        config = self.folder / "portico.yaml"
        config.write_text(json.dumps(CONFIGURATION))  # JSON is YAML.
        processor = min(os.sched_getaffinity(0))
        # Valgrind ends over newer debug information than it knows.
        stripped = self.folder / "portico"
        subprocess.run(["objcopy", "--strip-debug", str(program), str(stripped)], check=True)
        preloaded = self.folder / "sigsuspend.so"
        subprocess.run(
            ["cc", "-shared", "-fPIC", "-O1", "-o", str(preloaded), str(BENCHMARKS / "Gateway/sigsuspend.c"), "-ldl"], check=True)
        self.log = open(self.folder / "log", "w")
        self.process = subprocess.Popen(
            ["taskset", "-c", str(processor), "valgrind", "--tool=callgrind", "--instr-atstart=no",
             f"--callgrind-out-file={self.folder}/count", str(stripped), "serve", "--config", str(config),
             "--data", str(self.folder / "data"), *(part for one in settings for part in ("--set", one))],
            stdout=subprocess.PIPE, stderr=self.log, text=True,
            env={**os.environ, "LD_PRELOAD": str(preloaded)})

    def __enter__(self):
        try:
            line = self.process.stdout.readline()
            if not line.startswith("listening on"):
                sys.exit((self.folder / "log").read_text())
            self.connection = http.client.HTTPConnection("127.0.0.1", int(line.rsplit(":", 1)[1]), timeout=START_SECONDS)
            self.token = None
            self.token = self.ask("POST", "/auth/login", {"username": "alice", "password": "portico-demo"})["accessToken"]
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(START_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
        self.log.close()
        shutil.rmtree(self.folder)

    def ask(self, method, path, body=None):
        headers = {"Accept": "application/json", **({"Content-Type": "application/json"} if body else {})}
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        self.connection.request(method, path, body and json.dumps(body), headers)
        answer = self.connection.getresponse()
        found = json.loads(answer.read())
        if answer.status != 200 or any(one["outcome"] != "applied" for one in found.get("outcomes", [])):
            sys.exit(f"{method} {path}: {answer.status} {found}")
        return found

    def control(self, *arguments):
        subprocess.run(["callgrind_control", *arguments, str(self.process.pid)], check=True, capture_output=True)

    def measure(self, request):
        """Instructions of a request. `request`: the one of a number, counted from 1."""
        numbers = iter(range(1, WARM + ROUNDS * COUNTED + 1))
        self.control("-i", "on")
        for _ in range(WARM):
            self.ask(*request(next(numbers)))
        figures = []
        for _ in range(ROUNDS):
            self.control("-z")
            for _ in range(COUNTED):
                self.ask(*request(next(numbers)))
            before = set(self.folder.glob("count.*"))
            self.control("-d")
            figures.append(sum(map(instructions, self.dumps(before))) // COUNTED)
        self.control("-i", "off")
        return min(figures)

    def dumps(self, before):
        """What was written since; complete once it has its sum."""
        end = time.monotonic() + START_SECONDS
        while time.monotonic() < end:
            new = set(self.folder.glob("count.*")) - before
            if new and all(re.search(r"^(?:totals|summary): \d", one.read_text(), re.MULTILINE) for one in new):
                return new
            time.sleep(0.1)
        sys.exit("callgrind writes no figures")


if __name__ == "__main__":
    main()
