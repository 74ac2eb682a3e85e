"""The FastAPI peer: its data, and uvicorn with uvloop and httptools, one process, its access log on."""

import hashlib
import random
import secrets
import sqlite3
from datetime import datetime, timezone

from calls import NOTE
from nginx import free_port
from portico import REPOSITORY
from processes import Server

_SCHEMA = """
CREATE TABLE accounts (id INTEGER PRIMARY KEY, name TEXT UNIQUE, roles TEXT);
CREATE TABLE sessions (token BLOB PRIMARY KEY, account INTEGER, expires INTEGER) WITHOUT ROWID;
CREATE TABLE feeds (name TEXT PRIMARY KEY, type TEXT, etag TEXT, body BLOB);
CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT, shoeSize TEXT);
CREATE TABLE employees (
    id TEXT PRIMARY KEY, firstName TEXT, lastName TEXT, division TEXT, email TEXT, phoneNumber TEXT);
CREATE TABLE notes (id TEXT PRIMARY KEY, title TEXT, text TEXT, owner TEXT, sharedWith TEXT, modified TEXT);
CREATE INDEX by_division ON employees (division, id);
"""


class FastAPIPeer(Server):
    name = "fastapi"

    def __init__(self, folder, feed):
        """`feed` is the gateway's answer, which this service has as a file."""
        super().__init__(folder)
        self.port = free_port()
        self.base = f"http://127.0.0.1:{self.port}"
        self.token = secrets.token_urlsafe(32)
        self.environment = {"PEER_DATABASE": str(self.folder / "peer.sqlite")}
        self._fill(feed)

    def command(self):
        program = REPOSITORY / ".build/bench-venv/bin/uvicorn"
        return [
            program, "service:app", "--app-dir", REPOSITORY / "Benchmarks/Gateway/fastapi_peer", "--loop", "uvloop",
            "--http", "httptools", "--host", "127.0.0.1", "--port", str(self.port)]

    def _fill(self, feed):
        with sqlite3.connect(self.environment["PEER_DATABASE"]) as database:
            database.executescript("PRAGMA journal_mode = WAL;" + _SCHEMA)
            database.execute("INSERT INTO accounts VALUES (1, 'alice', 'member')")
            digest = hashlib.sha256(self.token.encode()).digest()
            database.execute("INSERT INTO sessions VALUES (?, 1, unixepoch() + 3600)", (digest,))
            etag = f'"{hashlib.sha256(feed.body).hexdigest()[:32]}"'
            database.execute("INSERT INTO feeds VALUES ('sonnets', ?, ?, ?)", (feed.type, etag, feed.body))
            database.executemany(
                "INSERT INTO users VALUES (?, ?, ?)", ((100 + n, f"Fake {n + 1}", f"{8 + n % 6}.5M") for n in range(500)))
            database.executemany("INSERT INTO employees VALUES (?, ?, ?, ?, ?, ?)", _employees())
            database.execute(
                "INSERT INTO notes VALUES (?, ?, ?, 'alice', '[]', ?)",
                (NOTE["id"], NOTE["title"], NOTE["text"], datetime.now(timezone.utc).isoformat()))


def _employees():
    """As many as the gateway's sample data, over as many divisions."""
    chance = random.Random(10_000)
    for number in range(10_000):
        first, last = (chance.choice(["Ann", "Bo", "Chandra", "Dilip", "Eve"]) + str(number % 97) for _ in range(2))
        division = f"Division {chance.randrange(12)}"
        email = f"{first}.{last}@example.com".lower()
        yield f"E{number}", first, last, division, email, f"+49 6227 {100_000 + number}"
