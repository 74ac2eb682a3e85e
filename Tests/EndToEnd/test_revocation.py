"""Revocation takes effect when the command returns: for the next call and for open streams, with every credential."""

import json
import threading
import time
import unittest
import urllib.parse

from harness import GatewayTest, run_portico
from test_sync_live import Stream

PASSWORD = "a long password"


class Revocation(GatewayTest):
    settings = ("--set", "sync.live.heartbeat=1s")
    names = iter(f"revoked{number}" for number in range(100))

    def setUp(self):
        self.name = next(self.names)
        self.control("accounts", "add", self.name, "--role", "member", stdin=PASSWORD + "\n")
        login = self.gateway.send("POST", "/auth/login", {"username": self.name, "password": PASSWORD})
        self.session = self.json("sessions", "list", self.name)["sessions"][0]["id"]
        self.key = self.json("keys", "create", self.name, "--title", "k")
        cookie = login.headers["set-cookie"].split(";")[0]
        self.refresh_token = login.json()["refreshToken"]
        self.credentials = {
            "token": {"Authorization": f"Bearer {login.json()['accessToken']}"}, "cookie": {"Cookie": cookie},
            "key": {"Authorization": f"Bearer {self.key['key']}"}}
        self.token = login.json()["accessToken"]
        for name in self.credentials:
            self.assertEqual(self.status(name), 200)

    def control(self, *arguments, stdin=None):
        done = run_portico(
            *arguments, "--data", self.gateway.data, "--output", "json", program="porticoctl", stdin=stdin)
        self.assertEqual(done.returncode, 0, done)
        return done.stdout

    def json(self, *arguments):
        return json.loads(self.control(*arguments))

    def status(self, name):
        return self.gateway.get("/auth/me", headers=self.credentials[name]).status

    def ended(self, credentials, *command, stdin=None):
        """Opens a stream with the first of the credentials, runs the command, and finds all of them dead."""
        token = self.key["key"] if credentials[0] == "key" else self.token
        stream = Stream(self.gateway, token=token, query="?collections=notes")
        self.addCleanup(stream.close)
        self.assertIsNotNone(stream.event())
        self.control(*command, stdin=stdin)
        self.assertEqual({name: self.status(name) for name in credentials}, dict.fromkeys(credentials, 401))
        while stream.event() is not None:
            pass
        for name in self.credentials.keys() - credentials:
            self.assertEqual(self.status(name), 200, name)
        if "token" in credentials:
            refreshed = self.gateway.send("POST", "/auth/refresh", {"refreshToken": self.refresh_token})
            self.expect(refreshed, 401, "auth.invalid")

    def test_all_sessions_of_an_account(self):
        self.ended(["token", "cookie"], "sessions", "revoke", self.name)

    def test_one_session(self):
        self.ended(["token", "cookie"], "sessions", "revoke", self.name, self.session)

    def test_a_key(self):
        self.ended(["key"], "keys", "revoke", self.name, self.key["id"])

    def test_a_disabled_account_and_its_keys(self):
        self.ended(["token", "cookie", "key"], "accounts", "disable", self.name)

    def test_a_new_password(self):
        self.ended(["token", "cookie"], "accounts", "password", self.name, stdin="another password\n")

    def test_a_role_that_is_taken_away(self):
        self.control("roles", "revoke", self.name, "member")
        self.assertEqual(self.gateway.get("/auth/me", headers=self.credentials["key"]).json()["roles"], [])


class Expiry(GatewayTest):
    """A stream ends when its token does, also where nothing happens and its heartbeat is far away."""

    lifetime = 6
    settings = ("--set", f"identity.tokens.accessLifetime={lifetime}s", "--set", "sync.live.heartbeat=10m")

    def test_streams_and_long_polls_end_with_their_token(self):
        room = self.gateway.send("POST", "/chat/v1/rooms", {"name": "r"}, user="alice").json()["room"]["id"]
        login = self.gateway.login("alice").json()
        begun, token = time.monotonic(), login["accessToken"]
        streams = {
            path: Stream(self.gateway, token=token, path=path)
            for path in ("/chat/v1/live", "/sync/v1/live?collections=notes", "/sync/v1/live?collections=messages")}
        for stream in streams.values():
            self.addCleanup(stream.close)
            self.assertIsNotNone(stream.event())
        output, ended, poll = [], {}, {}

        def read(path, stream):
            while event := stream.event():
                output.append((path, time.monotonic() - begun, event))
            ended[path] = time.monotonic() - begun

        def wait():
            pull = self.gateway.send("POST", "/sync/v1/pull", {"collections": ["notes"]}, token=token).json()
            checkpoint = urllib.parse.quote(pull["complete"]["checkpoint"])
            answer = self.gateway.get(f"/sync/v1/live?wait=50&collections=notes&checkpoint={checkpoint}", token=token)
            poll.update(answer=answer, after=time.monotonic() - begun)

        threads = [threading.Thread(target=read, args=pair) for pair in streams.items()] + [threading.Thread(target=wait)]
        for thread in threads:
            thread.start()
        message = {"text": "x"}
        while time.monotonic() < begun + self.lifetime + 3:
            self.gateway.send("POST", f"/chat/v1/rooms/{room}/messages", message, user="alice")
            time.sleep(0.2)
        for thread in threads:
            thread.join(timeout=30)
        # Ends are looked for once a second; the token's own instants are whole seconds.
        self.assertEqual(ended.keys(), streams.keys())
        self.expect(poll["answer"], 401, "auth.invalid")
        late = [(path, after) for path, after, _ in output if after > self.lifetime + 0.5]
        self.assertEqual(late, [])
        self.assertTrue(any(path == "/chat/v1/live" for path, _, _ in output))


if __name__ == "__main__":
    unittest.main()
