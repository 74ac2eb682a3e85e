"""A mirror of a million employees beside `sqlite3 .import` of the same rows. Prints a section of RESULTS.md.

    million.py [--employees N] [--changes N]

The other system is `portico-stand-in`, which answers 500 rows a page. Measured are the first refresh, the gateway's memory
and other callers' writes meanwhile, then a refresh after a few rows have changed, its log entries, and what a device that
had everything fetches after it.

`sqlite3` imports a file of the rows that the mirror has afterwards, into a table with the same columns and indexes, and
syncs each transaction to the disk as the gateway does. It asks no other system, reads no JSON and compares nothing. The
processor time that the other system needs for its pages runs on the same cores and is shown.
"""

import argparse
import csv
import http.client
import json
import os
import pathlib
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "Tests/EndToEnd"))
os.environ.setdefault("PORTICO_BUILD", str(ROOT / ".build/release"))

from harness import Gateway, run_portico
from stand_in import StandIn

CONFIGURATION = """
http: {{ host: 127.0.0.1 }}
log: {{ access: false }}
plugins: [{{ path: notes-worker }}]
identity: {{ basic: {{ enabled: true }}, demoAccounts: [{{ name: alice, password: portico-demo, roles: [member] }}] }}
upstreams:
  hr: {{ url: '{url}/', networks: [127.0.0.1/32], deadline: 30s }}
adapters:
  employees: {{ access: public-read, upstream: hr, protocol: json, freshFor: 1d, guard: {{ share: 1 }} }}
  notes: {{ access: public }}
"""
MIRROR = "employees/employees"
TICKS = os.sysconf("SC_CLK_TCK")


def processor_seconds(process):
    fields = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def highest_megabytes(process):
    status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")) / 1024


class Writer(threading.Thread):
    """A caller who writes a note every tenth of a second, and how long each took."""

    def __init__(self, port):
        super().__init__(daemon=True)
        self.port, self.milliseconds, self.ends = port, [], threading.Event()

    def run(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        while not self.ends.is_set():
            began = time.perf_counter()
            connection.request("POST", "/api/v1/notes/notes", '{"title": "meanwhile"}', {"Content-Type": "application/json"})
            answer = connection.getresponse()
            answer.read()
            assert answer.status == 201, answer.status
            self.milliseconds.append((time.perf_counter() - began) * 1000)
            time.sleep(0.1)

    def stop(self):
        """p50, p99 and the longest."""
        self.ends.set()
        self.join()
        times = sorted(self.milliseconds)
        return ", ".join(f"{times[min(len(times) - 1, int(len(times) * share))]:.1f}" for share in (0.5, 0.99, 1)) + " ms"


class Device:
    def __init__(self, gateway):
        self.gateway, self.checkpoint = gateway, None
        self.token = gateway.login("alice").json()["accessToken"]

    def pull(self):
        """How many operations came."""
        count = 0
        while True:
            body = {"collections": ["employees"], "limit": 1000}
            if self.checkpoint:
                body["checkpoint"] = self.checkpoint
            answer = self.gateway.send("POST", "/sync/v1/pull", body, token=self.token)
            assert answer.status == 200, answer
            page = answer.json()
            count += len(page["operations"])
            self.checkpoint = page.get("next") or page["complete"]["checkpoint"]
            if "complete" in page:
                return count


def refresh(gateway):
    began = time.perf_counter()
    done = run_portico(
        "mirrors", "refresh", MIRROR, "--data", str(gateway.data), "--output", "json", program="porticoctl", timeout=3600)
    assert done.returncode == 0, done.stderr
    print(done.stdout.strip(), file=sys.stderr)
    return time.perf_counter() - began


def database(gateway):
    return sqlite3.connect(f"file:{gateway.data}/portico.sqlite?mode=ro", uri=True)


def log_entries(gateway):
    connection = database(gateway)
    try:
        return connection.execute(
            "SELECT count(*) FROM portico_log JOIN portico_collection ON number = collection WHERE adapter = 'employees'"
        ).fetchone()[0]
    finally:
        connection.close()


def peer(gateway, folder):
    """Seconds that `sqlite3` needs for the same rows, table and indexes."""
    connection, file = database(gateway), folder / "rows.csv"
    statements = [row[0] for row in connection.execute(
        "SELECT sql FROM sqlite_schema WHERE (tbl_name = ?1 OR name = ?1 || '~search') AND sql IS NOT NULL "
        "ORDER BY type = 'index', name", (MIRROR,))]
    with open(file, "w", newline="") as rows:
        csv.writer(rows).writerows(connection.execute(f'SELECT * FROM "{MIRROR}"'))
    connection.close()
    script = ["PRAGMA journal_mode = WAL;", "PRAGMA synchronous = FULL;", *(statement + ";" for statement in statements)]
    script.append(f'.import --csv "{file}" "{MIRROR}"')
    if any("VIRTUAL" in statement for statement in statements):
        script.append(f"""INSERT INTO "{MIRROR}~search" ("{MIRROR}~search") VALUES ('rebuild');""")
    began = time.perf_counter()
    done = subprocess.run(
        ["sqlite3", folder / "peer.sqlite"], input="\n".join(script) + "\n", text=True, capture_output=True, check=False)
    assert done.returncode == 0 and not done.stderr, done.stderr[:500]
    return time.perf_counter() - began


def measure(gateway, stand_in, folder, options):
    writer = Writer(gateway.port)
    writer.start()
    before = processor_seconds(stand_in.process)
    first = refresh(gateway)
    asked = processor_seconds(stand_in.process) - before
    first_writes, memory = writer.stop(), highest_megabytes(gateway.process)
    imported = peer(gateway, folder)
    device = Device(gateway)
    device.pull()
    entries = log_entries(gateway)
    stand_in.order("change", options.changes)
    writer = Writer(gateway.port)
    writer.start()
    second = refresh(gateway)
    second_writes = writer.stop()
    entries, fetched = log_entries(gateway) - entries, device.pull()
    rows = options.employees
    print("## Mirrors")
    print()
    print(f"{rows:,} employees of another system in JSON, 500 a page. `sqlite3 .import` of the same rows into the same columns and")
    print("indexes, from a file, asks no other system. The other system's processor time is on the same cores.")
    print()
    print("| | s | rows/s | of `sqlite3 .import` | other callers' writes: p50, p99, longest | memory |")
    print("|---|---|---|---|---|---|")
    print(f"| `sqlite3 .import` | {imported:.1f} | {rows / imported:,.0f} | 1 | | |")
    print(f"| first refresh | {first:.1f} ({asked:.1f} s of the other system) | {rows / first:,.0f} | {imported / first:.2f} | "
          f"{first_writes} | {memory:.0f} MB |")
    print(f"| refresh after {options.changes} rows have changed | {second:.1f} | {rows / second:,.0f} | {imported / second:.2f} | "
          f"{second_writes} | |")
    print()
    print(f"That refresh wrote {entries} log entries; a device that had every row then fetched {fetched} records.")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--employees", type=int, default=1_000_000)
    parser.add_argument("--changes", type=int, default=3)
    options = parser.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="portico-mirrors-"))
    stand_in = StandIn("--employees", options.employees)
    config = folder / "portico.yaml"
    config.write_text(CONFIGURATION.format(url=stand_in.address))
    gateway = Gateway(config=str(config))
    try:
        measure(gateway, stand_in, folder, options)
    finally:
        gateway.remove()
        stand_in.stop()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
