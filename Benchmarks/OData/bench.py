"""OData's queries against the SQL of a C program and against FastAPI with odata-query. Prints a section of RESULTS.md.

    bench.py [--students N] [--visits N] [--seconds N]

The data is the demonstration's, with visits added; the peers' database is filled from the gateway's own answers, so that
all three tell of the same rows. The C program writes the bytes that the gateway answers, which is checked.
"""

import argparse
import hashlib
import http.client
import json
import os
import pathlib
import random
import sqlite3
import subprocess
import sys
import tempfile
import urllib.parse

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "Gateway"))

from calls import Call
from load import burst
from nginx import free_port
from portico import BUILD, REPOSITORY, Portico
from processes import Server
from questions import questions

KINDS = ["Campus tour", "Interview", "Open day", "School visit", "College fair"]
ROOT = "/odata/v4/admissions/"
PLAIN = {"Accept": "application/json;odata.metadata=none"}
AT_ONCE = 100_000
TABLES = """
CREATE TABLE Schools (SchoolID INTEGER PRIMARY KEY, Name TEXT);
CREATE TABLE Students (StudentID INTEGER PRIMARY KEY, FirstName TEXT, LastName TEXT, SchoolID INTEGER, GPA TEXT,
    GPANumber REAL, Status TEXT);
CREATE TABLE Visits (VisitID INTEGER PRIMARY KEY, StudentID INTEGER, Kind TEXT, Interest INTEGER);
"""
INDEXES = """
CREATE INDEX ofSchool ON Students (SchoolID);
CREATE INDEX ofStudent ON Visits (StudentID);
"""


class FastAPIPeer(Server):
    name = "fastapi"

    def __init__(self, folder, database, token):
        super().__init__(folder)
        self.port = free_port()
        self.base = f"http://127.0.0.1:{self.port}"
        self.environment = {
            "PEER_DATABASE": str(database), "PEER_TOKEN_DIGEST": hashlib.sha256(token.encode()).hexdigest()}

    def command(self):
        program = REPOSITORY / ".build/bench-venv/bin/uvicorn"
        return [
            program, "fastapi_peer:app", "--app-dir", HERE, "--loop", "uvloop", "--http", "httptools", "--host",
            "127.0.0.1", "--port", str(self.port)]


class Bench:
    def __init__(self, place, options):
        self.place, self.options = place, options
        self.database = place / "peer.sqlite"

    def run(self):
        data = self.place / "data"
        data.mkdir()
        with Portico(
            self.place, data, "--set", f"adapters.odata.services.admissions.samples={self.options.students}",
            "--set", "http.deadlines.request=300s",
        ) as self.gateway:
            token = self.gateway.log_in()
            self.headers = {"Authorization": f"Bearer {token}", **PLAIN}
            self.add_visits(data)
            self.fill_peer()
            rows = [self.measure(question) for question in questions(self.options.visits)]
            ours = self.load(self.gateway.base)
        with FastAPIPeer(self.place, self.database, token) as peer:
            theirs = self.load(peer.base)
        self.report(rows, ours, theirs)

    def ask(self, path):
        connection = http.client.HTTPConnection(*self.gateway.base.removeprefix("http://").split(":"), timeout=300)
        connection.request("GET", path, headers=self.headers)
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        assert answer.status == 200, (path, answer.status, body[:300])
        return body

    # The data

    def add_visits(self, data):
        chance, there = random.Random(1), int(self.ask(ROOT + "Visits/$count"))
        number, end = 10_000_000, 10_000_000 + self.options.visits - there
        while number < end:
            file = self.place / "visits.csv"
            with open(file, "w") as rows:
                rows.write("VisitID,StudentID,VisitedAt,Kind,Interest\n")
                for number in range(number, min(number + AT_ONCE, end)):
                    rows.write(
                        f"{number},{1 + chance.randrange(self.options.students)},2026-03-{1 + chance.randrange(28):02}"
                        f"T10:00:00Z,{chance.choice(KINDS)},{chance.randrange(11)}\n")
            number += 1
            subprocess.run(
                [BUILD / "porticoctl", "odata", "import", "admissions", "Visits", file, "--data", data], check=True,
                capture_output=True)

    def fill_peer(self):
        with sqlite3.connect(self.database) as database:
            database.executescript(TABLES)
            for table, columns in [
                ("Schools", "SchoolID,Name"), ("Students", "StudentID,FirstName,LastName,SchoolID,GPA,Status"),
                ("Visits", "VisitID,StudentID,Kind,Interest"),
            ]:
                names = columns.split(",")
                database.executemany(
                    f"INSERT INTO {table} ({columns}) VALUES ({','.join('?' * len(names))})",
                    ([row[name] for name in names] for row in self.rows(table, columns)))
            database.execute("UPDATE Students SET GPANumber = CAST(GPA AS REAL)")
            database.executescript(INDEXES + "ANALYZE;")

    def rows(self, table, columns):
        """Every row; decimals as they are written."""
        self.headers["Prefer"] = "maxpagesize=100"
        path = f"{ROOT}{table}?$select={columns}"
        while path:
            page = json.loads(self.ask(path), parse_float=str)
            yield from page["value"]
            link = page.get("@odata.nextLink")
            path = link and urllib.parse.urlsplit(link)._replace(scheme="", netloc="").geturl()
        del self.headers["Prefer"]

    # The measurements

    def measure(self, question):
        path, after = ROOT + question.path, []
        if question.peer == "page":
            # A page by number first, from which the link leads on by the key.
            page = json.loads(self.ask(path))
            after = [str(page["value"][-1]["VisitID"])]
            path = urllib.parse.urlsplit(page["@odata.nextLink"])._replace(scheme="", netloc="").geturl()
        answer = self.ask(path)
        microseconds, written = self.peer(question.peer, after)
        assert answer == written, f"{question.name}: not the same bytes:\n{answer[:600]}\n{written[:600]}"
        call = Call(question.name, "GET", path, of_nginx=None)
        seen = burst(self.gateway.base, call, self.headers, self.options.seconds, connections=1)
        again, _ = self.peer(question.peer, after)
        return question.name, 1e6 / seen.requests_per_second, min(microseconds, again), len(answer)

    def peer(self, question, after):
        binary = self.place / "peer"
        if not binary.exists():
            subprocess.run(["cc", "-O2", "-o", binary, HERE / "peer.c", "-lsqlite3"], check=True)
        command = [binary, self.database, question, str(self.options.seconds), *after]
        done = subprocess.run(command, check=True, capture_output=True, timeout=300)
        time, body = done.stdout.split(b"\n", 1)
        return float(time), body

    def load(self, base):
        question = questions(self.options.visits)[0]
        return burst(base, Call(question.name, "GET", ROOT + question.path, of_nginx=None), self.headers, self.options.seconds)

    def report(self, rows, ours, theirs):
        print("## OData\n")
        print(f"{self.options.students:,} students and {self.options.visits:,} visits. One client; beside it a C program on")
        print("sqlite3 that runs hand-written SQL, with the same keys and indexes, and writes the same bytes.\n")
        print("| query | bytes | gateway ms | SQL in C ms | ratio |")
        print("|---|---:|---:|---:|---:|")
        for name, gateway, peer, size in rows:
            print(f"| {name} | {size:,} | {gateway / 1000:.2f} | {peer / 1000:.2f} | {gateway / peer:.2f}× |")
        print(f"\n64 clients that filter, order and page: {ours.requests_per_second:,.0f} requests/s; a FastAPI service with")
        print(f"odata-query over the C program's database answers {theirs.requests_per_second:,.0f}", end=" ")
        print(f"({ours.requests_per_second / theirs.requests_per_second:.1f}×).")


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--students", type=int, default=100_000)
    arguments.add_argument("--visits", type=int, default=1_000_000)
    arguments.add_argument("--seconds", type=int, default=5)
    with tempfile.TemporaryDirectory(prefix="odata-bench-") as place:
        Bench(pathlib.Path(place), arguments.parse_args()).run()


if __name__ == "__main__":
    main()
