"""Reads beside a system that hangs or drips, and mirrored reads beside local ones. Prints a section of RESULTS.md.

    neighbours.py [--rounds N] [--seconds N] [--callers N]

One gateway mirrors `portico-stand-in` and serves users of its own. Their reads are measured while the other system is well and
nobody asks for its rows, then while it hangs and while it drips and callers ask for rows that are never fresh, each of whom waits
`waitFor`. Then the same searches are asked of the mirror, all fresh, and of a second gateway that has a copy of the store
without an upstream; no two of a round are alike, so that nothing is answered from memory. Both have the first core; the
load, the callers and the other system share the second one.
"""

import argparse
import http.client
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import ExitStack

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "Gateway"))

from load import processor_burst
from portico import BUILD, Portico
from processes import LOAD_CORE

CONNECTIONS = 8
SEARCH = "/OrganizationInterfaceImplMobile/employeeSearch"
CONFIGURATION = """
http: {{ host: 127.0.0.1 }}
log: {{ access: false }}
store: {{ sampleData: true }}
upstreams:
  hr: {{ url: '{url}/', networks: [127.0.0.1/32], limits: {{ failures: 1000 }} }}
adapters:
  employees: {{ access: public-read{employees} }}
  users: {{ access: public-read }}
"""
READ = 'function request() return wrk.format("GET", "/v2/list", {["Accept"] = "application/xml"}) end'
# Another page and another number of rows each time, for 40,000 requests.
SEARCHES = """
local n = {start}
function request()
  n = n + 1
  local body = string.format(
    '{{"division":"","order":"ASC","rowsPerPage":%d,"pageIndex":%d,"fullName":""}}', 10 + math.floor(n / 100) % 400, n % 100)
  return wrk.format("POST", "{path}", {{["Content-Type"] = "application/json", ["Accept"] = "application/json"}}, body)
end
"""


class Gateway(Portico):
    def __init__(self, name, folder, data, url, employees):
        self.name = name
        super().__init__(folder, data)
        self.configuration = self.folder / "portico.yaml"
        self.configuration.write_text(CONFIGURATION.format(url=url, employees=employees))

    @property
    def port(self):
        return int(self.base.rsplit(":", 1)[1])


def search(port, timeout=30):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
    body = json.dumps({"division": "", "order": "ASC", "rowsPerPage": 5, "pageIndex": 0, "fullName": ""})
    connection.request("POST", SEARCH, body, {"Content-Type": "application/json", "Accept": "application/json"})
    answer = connection.getresponse()
    content = answer.read()
    connection.close()
    return answer.status, content


class Callers:
    """So many callers who ask for rows again and again until the block ends; how often they were answered."""

    def __init__(self, port, count):
        self.port, self.answers, self.others, self.ends = port, 0, 0, threading.Event()
        self.threads = [threading.Thread(target=self.ask, daemon=True) for _ in range(count)]

    def ask(self):
        while not self.ends.is_set():
            status, _ = search(self.port)
            if status == 200:
                self.answers += 1
            else:
                self.others += 1

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        time.sleep(1)
        return self

    def __exit__(self, *_):
        self.ends.set()
        for thread in self.threads:
            thread.join(timeout=30)


def order(port, *words):
    subprocess.run([BUILD / "portico-stand-in", *words, "--port", str(port)], check=True, capture_output=True, timeout=60)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--callers", type=int, default=32)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, ExitStack() as running:
        stand_in = subprocess.Popen(
            ["taskset", "-c", LOAD_CORE, BUILD / "portico-stand-in", "--port", "0", "--employees", "5000"],
            stdout=subprocess.PIPE, text=True)
        running.callback(stand_in.wait)
        running.callback(stand_in.terminate)
        address = stand_in.stdout.readline().split()[-1]
        port = int(address.rsplit(":", 1)[1])
        data = pathlib.Path(folder, "data")
        reads = {"idle": [], "hang": [], "drip": []}
        with Gateway("asking", folder, data, address, ", upstream: hr, protocol: json, freshFor: 1ms, waitFor: 1s") as gateway:
            while search(gateway.port)[0] != 200:
                time.sleep(0.2)
            asked = {}
            for _ in range(options.rounds):
                reads["idle"].append(processor_burst(gateway, READ, options.seconds, CONNECTIONS))
                for fault in ("hang", "drip"):
                    order(port, "fault", fault)
                    with Callers(gateway.port, options.callers) as callers:
                        reads[fault].append(processor_burst(gateway, READ, options.seconds, CONNECTIONS))
                    asked[fault] = (callers.answers, callers.others)
                    order(port, "fault", "none")
        copy = pathlib.Path(folder, "copy")
        shutil.copytree(data, copy, ignore=shutil.ignore_patterns("*.sock"))
        sides = [
            running.enter_context(Gateway("mirror", folder, data, address, ", upstream: hr, protocol: json, freshFor: 1d")),
            running.enter_context(Gateway("local", folder, copy, address, "")),
        ]
        searches = {server.name: [] for server in sides}
        for turn in range(options.rounds):
            for server in sides:
                assert search(server.port)[0] == 200
                searches[server.name].append(
                    processor_burst(
                        server, SEARCHES.format(start=turn * 1_000, path=SEARCH), options.seconds, CONNECTIONS))
    report(reads, searches, asked, options)


def report(reads, searches, asked, options):
    print("## Beside a system that hangs or drips")
    print()
    print(f"{CONNECTIONS} connections read a list of users that is the gateway's own, while {options.callers} callers ask for rows of the system;")
    print("the least p99 of all rounds.")
    print()
    print("| the other system | requests/s | p50, p99 ms | p99 by that when idle | callers' answers, others |")
    print("|---|---|---|---|---|")
    idle = min(run.p99 for run in reads["idle"])
    for name, runs in reads.items():
        best = min(runs, key=lambda run: run.p99)
        told = "" if name == "idle" else "{}, {}".format(*asked[name])
        print(f"| {name} | {best.requests_per_second:,.0f} | {best.p50:.2f}, {best.p99:.2f} | {best.p99 / idle:.2f} | {told} |")
    print()
    print("Searches over mirrored records and over a copy of them that is local, none alike:")
    print()
    print("| | requests/s | p50, p99 ms | processor time µs | by the local one |")
    print("|---|---|---|---|---|")
    least = {name: min(run.microseconds for run in runs) for name, runs in searches.items()}
    for name, runs in searches.items():
        best = max(runs, key=lambda run: run.requests_per_second)
        print(f"| {name} | {best.requests_per_second:,.0f} | {best.p50:.2f}, {best.p99:.2f} | {least[name]:.1f} | {least[name] / least['local']:.2f} |")


if __name__ == "__main__":
    main()
