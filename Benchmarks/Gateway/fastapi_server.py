"""The FastAPI peer: the gateway's own data in SQLite, one process, its access log on. HTTP/1.1 by uvicorn with uvloop and
httptools, HTTP/2, which uvicorn does not speak, by hypercorn with uvloop."""

import hashlib
import secrets
import sqlite3
from dataclasses import dataclass
from datetime import datetime, timezone

from answers import Answer
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
CREATE VIRTUAL TABLE names USING fts5 (firstName, lastName, content = employees, prefix = 2);
"""
_PROGRAMS = REPOSITORY / ".build/bench-venv/bin"
_SERVICE = REPOSITORY / "Benchmarks/Gateway/fastapi_peer"


@dataclass(frozen=True)
class Content:
    """What the gateway serves, which the peer serves too."""

    feed: Answer
    users: list
    employees: list
    notes: list  # with their `owner`

    @staticmethod
    def of(gateway, token, feed, notes):
        return Content(
            feed, gateway.records("/api/v1/users/users", token), gateway.records("/api/v1/employees/employees", token), notes)


class FastAPIPeer(Server):
    name = "fastapi"

    def __init__(self, folder, content, certificate=None, is_http2=False):
        super().__init__(folder)
        self.port, self.certificate, self.is_http2 = free_port(), certificate, is_http2
        self.base = f"{'https' if certificate else 'http'}://127.0.0.1:{self.port}"
        self.trust = certificate and certificate.trust
        self.tokens = {note["owner"]: secrets.token_urlsafe(32) for note in content.notes}
        self.environment = {"PEER_DATABASE": str(self.folder / "peer.sqlite")}
        self._fill(content)

    def command(self):
        files = self.certificate
        if self.is_http2:
            # A connection of HTTP/2 would end after a thousand requests.
            (self.folder / "hypercorn.toml").write_text("keep_alive_max_requests = 1000000000\n")
            return [
                _PROGRAMS / "hypercorn", f"{_SERVICE}/service:app", "--config", self.folder / "hypercorn.toml", "--workers",
                "0", "--worker-class", "uvloop", "--access-logfile", "-", "--bind", f"127.0.0.1:{self.port}",
                "--certfile", files.certificate, "--keyfile", files.key]
        secure = ["--ssl-certfile", files.certificate, "--ssl-keyfile", files.key] if files else []
        return [
            _PROGRAMS / "uvicorn", "service:app", "--app-dir", _SERVICE, "--loop", "uvloop", "--http", "httptools", "--host",
            "127.0.0.1", "--port", str(self.port), *secure]

    def _fill(self, content):
        with sqlite3.connect(self.environment["PEER_DATABASE"]) as database:
            database.executescript("PRAGMA journal_mode = WAL;" + _SCHEMA)
            for number, (account, token) in enumerate(self.tokens.items()):
                database.execute("INSERT INTO accounts VALUES (?, ?, 'member')", (number, account))
                digest = hashlib.sha256(token.encode()).digest()
                database.execute("INSERT INTO sessions VALUES (?, ?, unixepoch() + 86400)", (digest, number))
            feed = content.feed
            etag = f'"{hashlib.sha256(feed.body).hexdigest()[:32]}"'
            database.execute("INSERT INTO feeds VALUES ('sonnets', ?, ?, ?)", (feed.type, etag, feed.body))
            database.executemany("INSERT INTO users VALUES (:UserId, :UserName, :ShoeSize)", content.users)
            database.executemany(
                "INSERT INTO employees VALUES (:id, :firstName, :lastName, :division, :email, :phoneNumber)", content.employees)
            database.execute("INSERT INTO names (names) VALUES ('rebuild')")
            now = datetime.now(timezone.utc).isoformat()
            database.executemany(
                "INSERT INTO notes VALUES (:id, :title, :text, :owner, '[]', :modified)",
                ({**note, "modified": now} for note in content.notes))
