"""Everything at once, for a while: every answer is the expected one, and memory stops growing.

PORTICO_SOAK says for how many seconds (6 where it is not set; `make soak` takes half an hour).
"""

import http.client
import json
import os
import random
import threading
import time
import unittest

from harness import JSON, GatewayTest

ALONE = True

SECONDS = float(os.environ.get("PORTICO_SOAK", "6"))
CALLERS = 8
SEED = 20261122
NOTES, SEARCH = "/api/v1/notes/notes", "/OrganizationInterfaceImplMobile/employeeSearch"
MOST_GROWTH = 48 << 20


class Caller(threading.Thread):
    """Makes one random call after the other on a connection that it now and then gives up in the middle of a request."""

    def __init__(self, gateway, token, number, end):
        super().__init__()
        self.gateway, self.end = gateway, end
        self.random = random.Random(SEED + number)
        self.headers = {"Authorization": f"Bearer {token}", "Content-Type": JSON, "Accept": JSON}
        self.calls, self.problems = 0, []

    def run(self):
        calls = [self.feed, self.search, self.note, self.broken, self.denied, self.abandoned]
        connection = self.connection()
        while time.monotonic() < self.end and not self.problems:
            call = self.random.choice(calls)
            try:
                call(connection)
            except (OSError, http.client.HTTPException) as error:
                self.problems.append((call.__name__, repr(error)))
            self.calls += 1
        connection.close()

    def connection(self):
        return http.client.HTTPConnection("127.0.0.1", self.gateway.port, timeout=60)

    def ask(self, connection, expected, method, path, body=None, headers=None):
        connection.request(method, path, body, self.headers if headers is None else headers)
        answer = connection.getresponse()
        read = answer.read()
        if answer.status != expected:
            self.problems.append((method, path, answer.status, read[:200]))
        return read

    def feed(self, connection):
        self.ask(connection, 200, "GET", "/plists/sonnets", headers={"Accept": "application/x-apple-binary-plist"})

    def search(self, connection):
        criteria = {"fullName": "", "division": "", "order": "ASC", "rowsPerPage": 10}
        criteria["pageIndex"] = self.random.randrange(900)
        self.ask(connection, 200, "POST", SEARCH, json.dumps(criteria))

    def note(self, connection):
        made = self.ask(connection, 201, "POST", NOTES, json.dumps({"title": "soak", "text": "x" * self.random.randrange(4_000)}))
        if not self.problems:
            self.ask(connection, 204, "DELETE", f"{NOTES}/{json.loads(made)['id']}")

    def broken(self, connection):
        self.ask(connection, 400, "POST", NOTES, '{"title": "cut')

    def denied(self, connection):
        self.ask(connection, 401, "GET", NOTES, headers={})

    def abandoned(self, _):
        with self.gateway.connect() as connection:
            connection.sendall(b"POST " + NOTES.encode() + b" HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{")


class Soak(GatewayTest):
    def test_every_answer_is_as_expected_and_memory_stops_growing(self):
        token = self.gateway.login("alice").json()["accessToken"]
        self.load(token, SECONDS / 3)
        warm = self.gateway.resident()
        calls = self.load(token, SECONDS * 2 / 3)
        self.assertLess(self.gateway.resident() - warm, MOST_GROWTH)
        print(f"{calls} calls in {SECONDS * 2 / 3:.0f} s, {warm >> 20} MB, then {self.gateway.resident() >> 20} MB")

    def load(self, token, seconds):
        end = time.monotonic() + seconds
        callers = [Caller(self.gateway, token, number, end) for number in range(CALLERS)]
        for caller in callers:
            caller.start()
        for caller in callers:
            caller.join()
        self.assertEqual([problem for caller in callers for problem in caller.problems], [])
        return sum(caller.calls for caller in callers)


if __name__ == "__main__":
    unittest.main()
