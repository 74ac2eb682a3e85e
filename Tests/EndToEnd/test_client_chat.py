"""The client library's chat against a running gateway: between people, and on a phone that is killed."""

import os
import pathlib
import random
import shutil
import subprocess
import tempfile
import unittest

from harness import BUILD, ROOT, GatewayTest
from swift_tests import SWIFT_TESTS, run_swift_tests

SESSIONS = 6
SEED = int(os.environ.get("PORTICO_CLIENT_SEED") or random.randrange(1 << 32))
KILLED = -9


class Chat(GatewayTest):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="portico-chat-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def live(self, room, *arguments):
        return subprocess.run(
            [BUILD / "client-kill-driver", "--server", f"http://127.0.0.1:{self.gateway.port}", "--folder", self.folder,
             "--chat", room, "--seed", str(SEED), *[str(argument) for argument in arguments]],
            cwd=ROOT, capture_output=True, text=True, timeout=180)

    def test_messages_written_offline_on_a_phone_that_is_killed_arrive_once_and_in_their_order(self):
        made = self.gateway.send("POST", "/chat/v1/rooms", {"name": "killed", "members": ["bob"]}, user="alice")
        room = made.json()["room"]["id"]
        for session in range(SESSIONS):
            done = self.live(room, "--session", session)
            self.assertIn(done.returncode, (0, KILLED), f"seed {SEED}, session {session}: {done.stderr}")
            if session == 0:
                self.assertEqual(done.returncode, KILLED)
                self.assertEqual(self.texts(room), [], "there was no network")
        settled = self.live(room, "--settle", "yes")
        self.assertEqual(settled.returncode, 0, f"seed {SEED}: {settled.stderr}")
        texts = self.texts(room)
        self.assertEqual(len(texts), len(set(texts)), f"seed {SEED}: nothing is there twice")
        self.assertEqual(texts[:20], [f"0.{number}" for number in range(20)], f"seed {SEED}")
        for session in range(1, SESSIONS):
            own = [text for text in texts if text.startswith(f"{session}.")]
            self.assertEqual(own, [f"{session}.{number}" for number in range(5)], f"seed {SEED}")

    def texts(self, room):
        answer = self.gateway.get(f"/chat/v1/rooms/{room}/messages?limit=200", user="bob")
        return [message["text"] for message in answer.json()["messages"]]

    @unittest.skipUnless(SWIFT_TESTS.exists(), "the client's tests are not built")
    def test_two_people_chat_through_the_library(self):
        self.assertIn("with 4 tests", run_swift_tests(self, "ChatGatewayTests"))


if __name__ == "__main__":
    unittest.main()
