"""The client library against a running gateway: an app's sessions that end by SIGKILL, and the demonstration.

The driver keeps a ledger of what it was told is done; the gateway's own log says what was done, and how often.
PORTICO_CLIENT_SESSIONS says how many sessions (50 where it is not set), PORTICO_CLIENT_SEED where they end.
"""

import collections
import json
import os
import pathlib
import random
import shutil
import subprocess
import tempfile
import unittest
import uuid

from sync_device import Device
from harness import BUILD, ROOT, GatewayTest, run_portico

SESSIONS = int(os.environ.get("PORTICO_CLIENT_SESSIONS", 50))
SEED = int(os.environ.get("PORTICO_CLIENT_SEED") or random.randrange(1 << 32))
KILLED = -9


class Sessions(GatewayTest):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="portico-client-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.elsewhere = Device(self.gateway, "bob", collections=["notes"])

    def run_driver(self, *arguments):
        return subprocess.run(
            [BUILD / "client-kill-driver", "--server", f"http://127.0.0.1:{self.gateway.port}", "--folder", self.folder,
                *[str(argument) for argument in arguments]],
            cwd=ROOT, capture_output=True, text=True, timeout=180)

    def changes(self):
        """How many changes of each note the log has."""
        counts, after = collections.Counter(), 0
        while True:
            ran = run_portico(
                "sync", "changes", "--data", self.gateway.data, "--after", after, "--limit", 1000, "--output", "json",
                program="porticoctl")
            self.assertEqual(ran.returncode, 0, ran.stderr)
            found = json.loads(ran.stdout)["changes"]
            if not found:
                return counts
            counts.update(change["id"] for change in found)
            after = max(change["position"] for change in found)

    def test_sessions_that_are_killed_lose_double_and_block_nothing(self):
        killed = 0
        for session in range(SESSIONS):
            self.elsewhere.change("create", str(uuid.uuid4()), {"title": f"from bob {session}", "sharedWith": ["alice"]})
            done = self.run_driver("--session", session, "--seed", SEED)
            self.assertIn(done.returncode, (0, KILLED), f"seed {SEED}, session {session}: {done.stderr}")
            killed += done.returncode == KILLED
        settled = self.run_driver("--settle", "yes")
        self.assertEqual(settled.returncode, 0, f"seed {SEED}: {settled.stderr}")
        self.assertGreater(killed, SESSIONS // 2, "too few sessions were killed to show anything")

        lines = [line.split(" ", 3) for line in settled.stdout.splitlines()]
        on_device = {words[1]: words[3] for words in lines if words[0] == "note"}
        ledger = {words[1]: (words[2], int(words[3])) for words in lines if words[0] == "ledger"}
        server = Device(self.gateway, "alice", collections=["notes"])
        self.assertEqual(server.pull(), [])
        self.assertEqual(set(on_device), server.ids(), "the device has what the server has")
        self.assertGreaterEqual(len(on_device), SESSIONS)
        changes = self.changes()
        for note, (text, edits) in ledger.items():
            with self.subTest(note):
                found = server.rows["notes", note][1]["text"] if note in server.ids() else "-"
                self.assertEqual((found, on_device.get(note, "-")), (text, text), "nothing is lost")
                self.assertEqual(changes[note], edits, "nothing is done twice")
        print(f"    seed {SEED}: {SESSIONS} sessions, {killed} killed, {sum(edits for _, edits in ledger.values())} edits", flush=True)


class Demonstration(GatewayTest):
    def test_the_demonstration_shows_a_conflict_and_its_resolution(self):
        ran = subprocess.run(
            [BUILD / "portico-client-demo", "--script", "--server", f"http://127.0.0.1:{self.gateway.port}"],
            cwd=ROOT, capture_output=True, text=True, timeout=180)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        for part in ('edits all the same: "milk and bread"', 'The server has:      "oat milk"',
                'Phone: "oat milk and bread", tablet: "oat milk and bread"'):
            self.assertIn(part, ran.stdout)

    def test_without_a_gateway_it_says_so(self):
        ran = subprocess.run(
            [BUILD / "portico-client-demo", "--script", "--server", "http://127.0.0.1:1"],
            cwd=ROOT, capture_output=True, text=True, timeout=60)
        self.assertEqual(ran.returncode, 1)
        self.assertIn("no gateway answers", ran.stderr)

    def test_it_links_neither_the_server_nor_libxml2(self):
        linked = subprocess.run(["ldd", BUILD / "portico-client-demo"], capture_output=True, text=True, timeout=60).stdout
        self.assertIn("libsqlite3", linked)
        self.assertNotIn("libxml2", linked)
        symbols = (BUILD / "portico-client-demo").read_bytes()
        for module in (b"10HTTPServer", b"7NIOCore", b"7Gateway"):
            self.assertNotIn(b"$s" + module, symbols)


if __name__ == "__main__":
    unittest.main()
