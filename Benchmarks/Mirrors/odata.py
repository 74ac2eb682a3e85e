"""OData services of another system: a first mirror beside curl, what a change costs, and pages that are called, mirrored and local.
Prints a section of RESULTS.md.

    odata.py [--students N] [--rows N] [--rounds N] [--seconds N]

The other system is `portico-stand-in`, an SAP Gateway (2.0) and a supplier's service (4.0), in pages of 1,000. curl reads all pages of
the students in one process, over one connection that it keeps, by links that were collected before, and throws them away. The mirror
reads them with the system's own credentials, compares and stores them. Then three students change there: how many log entries
the refresh writes and how many requests it makes is counted.

A page of 100 students, each with another `$skip`, is asked of nginx, which hands the stand-in's page through (`proxy_pass`), of the
same set called, mirrored, and imported into a service of the gateway's own. Each server has the first core; the load and the other
system share the second one. Processor time is the server's own for one request, the least of all rounds.
"""

import argparse
import json
import math
import os
import pathlib
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request
from contextlib import ExitStack
from dataclasses import replace

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "Gateway"))
sys.path.insert(0, str(HERE.parent.parent / "Tests/EndToEnd"))
from portico import BUILD, Portico  # noqa: E402

os.environ["PORTICO_BUILD"] = str(BUILD)

from call_through import CONNECTIONS, Nginx  # noqa: E402
from harness import Gateway, run_portico  # noqa: E402
from load import scripted  # noqa: E402
from processes import LOAD_CORE  # noqa: E402
from stand_in import StandIn  # noqa: E402

# To a gateway it would be a key.
del os.environ["PORTICO_BUILD"]

SAP, SUPPLIER = "/sap/opu/odata/sap/ADMISSIONSCOUNSELOR/", "/odata/v4/admissions/"
SYSTEMS = {"2.0": (SAP, "StudentCollection", "sap", "v2"), "4.0": (SUPPLIER, "Students", "supplier", "v4")}
READY = "upstream: back, freshFor: 1d, waitFor: 60s, guard: { share: 1 }"
CONFIGURATION = """
http: {{ host: 127.0.0.1 }}
log: {{ access: false }}
limits: {{ requestsPerMinute: 10000000 }}
upstreams:
  back: {{ url: '{url}/', networks: [127.0.0.1/32], deadline: 30s, limits: {{ connections: 16, queue: 1000 }} }}
adapters:
  odata:
    access: public-read
    services:
{services}
"""
SERVICE = "      {name}: {{ model: {model}, sapName: {sap}{rest} }}"
SCRIPT = """
local n = {start}
function request()
  n = n + 1
  return wrk.format("GET", "{path}?$top=100&$skip=" .. (n * 37 % {span}), {{["Accept"] = "application/json"}})
end
"""


def processor_seconds(*processes):
    """By the clocks of the processes, in nanoseconds: few requests may come to a tick."""
    return sum(time.clock_gettime_ns((~int(pid) << 3) | 2) for pid in processes) / 1e9


def burst(server, script, seconds):
    before = processor_seconds(*server._pids())
    seen = scripted(server.name, server.base, script, seconds, CONNECTIONS)
    used = processor_seconds(*server._pids()) - before
    return replace(seen, microseconds=used / max(1, seen.requests) * 1e6)


class Measured(Portico):
    def __init__(self, name, folder, configuration, *settings):
        self.name = name
        super().__init__(folder, pathlib.Path(folder, f"data-{name}"), *settings)
        self.configuration = configuration


def configure(folder, url, *modes):
    """A configuration of both systems in these modes; the models are fetched beside it."""
    services = []
    for root, _, name, _ in SYSTEMS.values():
        done = run_portico("odata", "fetch", url + root, folder / f"{name}.xml", program="porticoctl")
        assert done.returncode == 0, done
        for mode, rest in modes:
            place = f", path: {root[1:]}, {rest}" if rest else ""
            services.append(SERVICE.format(name=f"{name}-{mode}", model=f"{name}.xml", sap=f"{name}{mode}".upper(), rest=place))
    file = folder / f"{'-'.join(mode for mode, _ in modes)}.yaml"
    file.write_text(CONFIGURATION.format(url=url, services="\n".join(services)))
    return file


def links(system, root, name):
    """The addresses of all pages."""
    found, place = [], f"{root}{name}"
    while place:
        found.append(system.address + place)
        page = system.get(place, {"Accept": "application/json"}).json()
        following = page["d"].get("__next") if "d" in page else page.get("@odata.nextLink")
        address = following and urllib.parse.urljoin(system.address + root, following)
        place = address and address.removeprefix(system.address)
    return found


def read_by_curl(addresses):
    """Seconds for all of them."""
    with tempfile.NamedTemporaryFile("w", suffix=".curl") as file:
        file.write("".join(f'url = "{address}"\noutput = "/dev/null"\n' for address in addresses))
        file.flush()
        began = time.perf_counter()
        subprocess.run(
            ["curl", "--silent", "--show-error", "--fail", "--globoff", "--header", "Accept: application/json", "--config", file.name], check=True)
        return time.perf_counter() - began


def log_entries(gateway):
    connection = sqlite3.connect(f"file:{gateway.data}/portico.sqlite?mode=ro", uri=True)
    try:
        return connection.execute(
            "SELECT count(*) FROM portico_log JOIN portico_collection ON number = collection WHERE adapter = 'odata'").fetchone()[0]
    finally:
        connection.close()


def refresh(gateway, mirror):
    began = time.perf_counter()
    done = run_portico(
        "mirrors", "refresh", mirror, "--data", gateway.data, "--output", "json", program="porticoctl", timeout=3600)
    assert done.returncode == 0, done.stderr
    return time.perf_counter() - began, json.loads(done.stdout)


def measure_mirrors(options):
    rows = []
    with ExitStack() as ends:
        folder = pathlib.Path(tempfile.mkdtemp(prefix="portico-odata-"))
        ends.callback(shutil.rmtree, folder, True)
        system = StandIn("--students", options.students)
        ends.callback(system.stop)
        config = configure(folder, system.address, ("mirrored", READY))
        gateway = Gateway(config=str(config))
        ends.callback(gateway.remove)
        for version, (root, name, service, _) in SYSTEMS.items():
            mirror = f"odata/{service}-mirrored-{name}"
            addresses = links(system, root, name)
            start = processor_seconds(system.process.pid)
            curl = read_by_curl(addresses)
            alone = processor_seconds(system.process.pid) - start
            start = processor_seconds(system.process.pid), processor_seconds(gateway.process.pid)
            first, told = refresh(gateway, mirror)
            used = processor_seconds(system.process.pid) - start[0], processor_seconds(gateway.process.pid) - start[1]
            assert told["created"] == options.students, told
            # Once more, since the machine may have had something else to do.
            curl = min(curl, read_by_curl(addresses))
            entries = log_entries(gateway)
            system.order("change", 3, "--table", "students")
            requests = system.order("status")["requests"]
            second, told = refresh(gateway, mirror)
            requests = system.order("status")["requests"] - requests
            assert told["updated"] == 3, told
            rows.append((version, len(addresses), curl, first, alone, used, second, log_entries(gateway) - entries, requests))
    return rows


def imported(folder, gateway, service, name):
    """The mirrored rows in a service of the gateway's own."""
    found, place = [], f"/odata/v4/{service}-mirrored/{name}"
    while place:
        with urllib.request.urlopen(gateway.base + place, timeout=60) as answer:
            page = json.load(answer)
        found += [{key: value for key, value in row.items() if key == "@odata.type" or "@" not in key} for row in page["value"]]
        following = page.get("@odata.nextLink", page.get("@nextLink"))
        place = following and urllib.parse.urljoin(f"{gateway.base}/odata/v4/{service}-mirrored/", following).removeprefix(gateway.base)
    file = folder / f"{service}.json"
    file.write_text(json.dumps(found))
    done = run_portico(
        "odata", "import", f"{service}-local", name, file, "--data", gateway.data, program="porticoctl", timeout=600)
    assert done.returncode == 0, done


def ask(base, path):
    request = urllib.request.Request(f"{base}{path}?$top=100&$skip=37", headers={"Accept": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        content = answer.read()
    return len(content), len(re.findall(rb'"StudentID":', content))


def measure_pages(options):
    results = {}
    with tempfile.TemporaryDirectory() as folder, ExitStack() as running:
        system = subprocess.Popen(
            ["taskset", "-c", LOAD_CORE, BUILD / "portico-stand-in", "--port", "0", "--students", str(options.rows)],
            stdout=subprocess.PIPE, text=True)
        running.callback(system.wait)
        running.callback(system.terminate)
        address = system.stdout.readline().split()[-1]
        place = pathlib.Path(folder, "configuration")
        place.mkdir()
        config = configure(place, address, ("mirrored", READY), ("called", "upstream: back, mode: call"), ("local", ""))
        gateway = running.enter_context(Measured("portico", folder, config))
        nginx = running.enter_context(Nginx(folder, int(address.rsplit(":", 1)[1])))
        sides = []
        for version, (root, name, service, own) in SYSTEMS.items():
            imported(place, gateway, service, name)
            sides.append((version, "nginx", nginx, root + name))
            sides += [
                (version, mode, gateway, f"/odata/{own}/{service}-{mode}/{name}") for mode in ("called", "mirrored", "local")]
        sizes = {(version, mode): ask(server.base, path) for version, mode, server, path in sides}
        assert {count for _, count in sizes.values()} == {100}, sizes
        for turn in range(options.rounds):
            for version, mode, server, path in sides if turn % 2 else reversed(sides):
                script = SCRIPT.format(start=(turn + 1) * 1_000_003, path=path, span=options.rows - 100)
                run = burst(server, script, options.seconds)
                results.setdefault((version, mode), []).append(run)
                print(f"{version}, {mode}: {run.requests_per_second:,.0f}/s, {run.microseconds:.0f} µs", file=sys.stderr)
    return results, sizes


def told(milliseconds):
    """A burst of few requests has no p99."""
    return "–" if math.isnan(milliseconds) else f"{milliseconds:.1f}"


def report(mirrors, pages, sizes, options):
    print("## OData services of another system")
    print()
    print(f"{options.students:,} students in pages of 1,000. curl reads the same pages in one process over one connection and throws them away.")
    print()
    print("Processor time: the other system's while curl reads; the other system's and the gateway's while the mirror is made.")
    print()
    print("| service | pages | curl, s | first mirror, s | by curl | processor time, s | the same by curl | refresh after 3 changes, s | log entries | requests |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for version, count, curl, first, alone, used, second, entries, requests in mirrors:
        print(f"| {version} | {count} | {curl:.1f} | {first:.1f} | {first / curl:.2f} | {alone:.2f}; {used[0]:.2f} and {used[1]:.2f} | "
              f"{sum(used) / alone:.2f} | {second:.2f} | {entries} | {requests} |")
    print()
    print(f"Pages of 100 of {options.rows:,} students, {CONNECTIONS} connections; nginx hands the other system's page through (`proxy_pass`).")
    print()
    print("| service | | bytes | requests/s | p50, p99 ms | processor time µs | by nginx | by the local one |")
    print("|---|---|---|---|---|---|---|---|")
    least = {side: min(run.microseconds for run in runs) for side, runs in pages.items()}
    for (version, mode), runs in sorted(pages.items(), key=lambda item: (item[0][0], ["nginx", "called", "mirrored", "local"].index(item[0][1]))):
        best, own = max(runs, key=lambda run: run.requests_per_second), least[version, mode]
        print(f"| {version} | {mode} | {sizes[version, mode][0]:,} | {best.requests_per_second:,.0f} | {best.p50:.1f}, {told(best.p99)} | {own:.0f} | "
              f"{own / least[version, 'nginx']:.2f} | {own / least[version, 'local']:.2f} |")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--students", type=int, default=100_000)
    parser.add_argument("--rows", type=int, default=5_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=2)
    options = parser.parse_args()
    mirrors = measure_mirrors(options)
    pages, sizes = measure_pages(options)
    report(mirrors, pages, sizes, options)


if __name__ == "__main__":
    main()
