"""`kill -9` while many write: what was acknowledged is there afterwards, once.

PORTICO_KILLS says how often (10 where it is not set; `make soak` takes 100).
"""

import http.client
import json
import os
import pathlib
import random
import shutil
import sqlite3
import tempfile
import threading
import time
import unittest
import urllib.parse
import uuid

from harness import Gateway

NOTES = "/api/v1/notes/notes"
KILLS = int(os.environ.get("PORTICO_KILLS", "10"))
WRITERS = 6
SEED = 20261121
LONGEST_ROUND = 0.8


class Writer(threading.Thread):
    """Posts notes until the gateway is gone; half with an id of its own, half with one from the gateway."""

    def __init__(self, gateway, token, title):
        super().__init__()
        self.port, self.token, self.title = gateway.port, token, title
        self.acknowledged, self.problems = [], []

    def run(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {self.token}"}
        try:
            while True:
                self.post(connection, headers)
        except (OSError, http.client.HTTPException):
            connection.close()

    def post(self, connection, headers):
        note = {"title": self.title, "text": str(len(self.acknowledged))}
        if len(self.acknowledged) % 2:
            note["id"] = str(uuid.uuid4())
        connection.request("POST", NOTES, json.dumps(note), headers)
        answer = connection.getresponse()
        body = json.loads(answer.read())
        if answer.status == 201:
            self.acknowledged.append(body["id"])
        else:
            self.problems.append((answer.status, body))


class KilledUnderLoad(unittest.TestCase):
    def setUp(self):
        self.data = pathlib.Path(tempfile.mkdtemp(prefix="portico-crash-"))
        self.gateway = Gateway(data=self.data)
        self.token = self.gateway.login("alice").json()["accessToken"]
        self.generator = random.Random(SEED)

    def tearDown(self):
        self.gateway.remove()
        shutil.rmtree(self.data, ignore_errors=True)

    def test_what_was_acknowledged_survives_once(self):
        ledger, slowest = {}, 0
        for number in range(KILLS):
            title = f"round {number}"
            ledger[title] = self.write_until_killed(title)
            self.check_database()
            began = time.monotonic()
            self.gateway = Gateway(data=self.data)
            slowest = max(slowest, time.monotonic() - began)
            self.assertEqual(self.gateway.get("/health/ready").status, 200)
            self.check_notes(title, ledger[title])
        for title, ids in ledger.items():
            self.check_notes(title, ids)
        written = sum(map(len, ledger.values()))
        self.assertGreater(written, KILLS * WRITERS)
        print(f"{KILLS} kills, {written} notes acknowledged, slowest restart {slowest:.1f} s")

    def write_until_killed(self, title):
        """The acknowledged ids. The token of the first login is used throughout: a session survives too."""
        writers = [Writer(self.gateway, self.token, title) for _ in range(WRITERS)]
        for writer in writers:
            writer.start()
        time.sleep(self.generator.uniform(0.1, LONGEST_ROUND))
        while not any(writer.acknowledged or writer.problems for writer in writers):
            time.sleep(0.05)
        self.gateway.kill()
        for writer in writers:
            writer.join()
            self.assertEqual(writer.problems, [])
        return [identifier for writer in writers for identifier in writer.acknowledged]

    def check_database(self):
        """On a copy, as it was left, so that the check neither recovers nor touches what the gateway will open."""
        with tempfile.TemporaryDirectory() as folder:
            for file in self.data.glob("portico.sqlite*"):
                if not file.name.endswith("-shm"):
                    shutil.copy(file, folder)
            database = sqlite3.connect(pathlib.Path(folder) / "portico.sqlite")
            try:
                self.assertEqual(database.execute("PRAGMA integrity_check").fetchall(), [("ok",)])
                self.assertEqual(database.execute("PRAGMA foreign_key_check").fetchall(), [])
            finally:
                database.close()

    def check_notes(self, title, acknowledged):
        found = self.notes(title)
        self.assertEqual(len(found), len(set(found)), "a note is listed twice")
        self.assertEqual(set(acknowledged) - set(found), set(), f"lost in {title}")
        # At most one request of each writer was under way when the gateway was killed.
        self.assertLessEqual(len(found), len(acknowledged) + WRITERS, "a note was written twice")

    def notes(self, title):
        found, cursor = [], None
        while True:
            query = {"filter": f"title eq '{title}'", "select": "id", "limit": 500, **({"cursor": cursor} if cursor else {})}
            answer = self.gateway.get(f"{NOTES}?{urllib.parse.urlencode(query)}", token=self.token)
            self.assertEqual(answer.status, 200, answer)
            page = answer.json()
            found += [note["id"] for note in page["items"]]
            cursor = page.get("next")
            if not cursor:
                return found


if __name__ == "__main__":
    unittest.main()
