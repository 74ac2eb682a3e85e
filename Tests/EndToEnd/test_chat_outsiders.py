"""A non-member learns nothing of a room through any interface: the response for a room that is
there is what it is told of one that never was.

Rooms, members, messages, edits, read marks and attachments are made at random; `PORTICO_SEEDS` says how often.
"""

import hashlib
import json
import os
import random
import re
import unittest
import urllib.parse
import uuid

from sync_device import Device
from server_sent_events import Stream
from harness import BPLIST, JSON, PLIST, XML, GatewayTest

SEEDS = int(os.environ.get("PORTICO_SEEDS", "3"))
OUTSIDER = "carol"


class Secrets:
    """A room that alice and bob are in, as it happens to be for a seed, and the ids that an outsider might have heard of."""

    def __init__(self, gateway, seed):
        self.gateway, self.random = gateway, random.Random(seed)
        self.word = f"secret{uuid.uuid4().hex[:12]}"
        # Carol was in some of them once.
        members = ["bob", *(["carol"] if self.random.random() < 0.5 else [])]
        self.room = self.make("POST", "/chat/v1/rooms", {"name": self.word, "members": members})["room"]["id"]
        self.messages = [self.say(self.random.choice(["alice", "bob"])) for _ in range(self.random.randrange(1, 8))]
        self.digest = self.attach()
        if "carol" in members:
            self.make("DELETE", f"/chat/v1/rooms/{self.room}/members/carol")
            self.messages.append(self.say("bob"))
        for message in self.random.sample(self.messages, self.random.randrange(len(self.messages))):
            self.make("POST", f"/chat/v1/rooms/{self.room}/read", {"message": message["id"]}, "bob")
        self.message = self.random.choice(self.messages)["id"]

    def make(self, method, path, value=None, user="alice"):
        answer = self.gateway.send(method, path, value or {}, user=user)
        assert answer.status == 200, answer
        return answer.json()

    def say(self, user, **fields):
        text = f"{self.word} {self.random.randrange(10**9)}"
        return self.make("POST", f"/chat/v1/rooms/{self.room}/messages", {"text": text, **fields}, user)["message"]

    def attach(self):
        content = os.urandom(200)
        digest = hashlib.sha256(content).hexdigest()
        answer = self.gateway.request("PUT", f"/sync/v1/attachments/{digest}", content, user="alice")
        assert answer.status == 201, answer
        self.messages.append(self.say("alice", attachments=[digest]))
        return digest


class Nothing:
    """The same ids, of a room that never was."""

    def __init__(self):
        self.room, self.message = str(uuid.uuid4()), str(uuid.uuid4())
        self.digest, self.word = os.urandom(32).hex(), f"secret{uuid.uuid4().hex[:12]}"


def function_calls(ids):
    return [
        {"function": name, "room": ids.room, **members}
        for name, members in [
            ("getmessages", {}), ("getmessages", {"before": 10**15}), ("getmembers", {}), ("postmessage", {"text": "x"}),
            ("joinchatroom", {}), ("leavechatroom", {}), ("invite", {"member": "carol"}), ("invite", {"member": "nobody"}),
            ("removemember", {"member": "alice"}), ("removemember", {"member": OUTSIDER}),
            ("banmember", {"member": "alice"}), ("markread", {"message": ids.message}), ("typing", {}),
            ("getpresence", {}), ("searchmessages", {"words": ids.word}),
        ]
    ] + [
        {"function": "editmessage", "message": ids.message, "text": "x"},
        {"function": "deletemessage", "message": ids.message},
        {"function": "searchmessages", "words": ids.word},
    ]


def requests(ids):
    room, message = f"/chat/v1/rooms/{ids.room}", f"/chat/v1/messages/{ids.message}"
    api = "/api/v1/chat"
    def query(**parameters):
        return "?" + urllib.parse.urlencode(parameters)
    yield from [
        ("GET", room + "/messages", None), ("GET", room + "/members", None), ("GET", room + "/presence", None),
        ("POST", room + "/messages", {"text": "x"}), ("POST", room + "/join", {}), ("POST", room + "/leave", {}),
        ("POST", room + "/typing", {}), ("POST", room + "/read", {"message": ids.message}),
        ("PUT", room + "/members/carol", {}), ("DELETE", room + "/members/alice", None), ("PUT", room + "/bans/bob", {}),
        ("PATCH", message, {"text": "x"}), ("DELETE", message, None),
        ("GET", "/chat/v1/search" + query(words=ids.word), None),
        ("GET", "/chat/v1/search" + query(words=ids.word[:9], room=ids.room), None),
        ("GET", "/chat/v1/unread", None), ("GET", "/chat/v1/rooms", None), ("GET", "/chat/v1/public-rooms", None),
        ("GET", f"{api}/rooms/{ids.room}", None), ("PATCH", f"{api}/rooms/{ids.room}", {"name": "x"}),
        ("PATCH", f"{api}/rooms/{ids.room}", {"members": ["carol"]}), ("DELETE", f"{api}/rooms/{ids.room}", None),
        ("GET", f"{api}/messages/{ids.message}", None), ("PATCH", f"{api}/messages/{ids.message}", {"text": "x"}),
        ("DELETE", f"{api}/messages/{ids.message}", None), ("POST", f"{api}/messages", {"room": ids.room, "text": "x"}),
        ("GET", f"{api}/messages" + query(filter=f"room eq '{ids.room}'", count="true"), None),
        ("GET", f"{api}/messages" + query(search=ids.word, count="true"), None),
        ("GET", f"{api}/messages" + query(filter=f"startswith(text,'{ids.word}')", order="seq desc"), None),
        ("GET", f"{api}/rooms" + query(filter=f"name eq '{ids.word}'", count="true"), None),
        ("GET", f"/sync/v1/attachments/{ids.digest}", None), ("HEAD", f"{api}/messages/{ids.message}", None),
        ("HEAD", room + "/messages", None),
    ]


class Outsiders(GatewayTest):
    settings = ("--set", "sync.live.heartbeat=1s")

    def plain(self, answer, ids):
        """Everything of an answer that may not differ: not its time, its own number, nor the ids that were asked for."""
        headers = {k: v for k, v in answer.headers.items() if k not in ("date", "x-request-id", "content-length", "etag")}
        text = answer.body.decode("latin-1")
        for name in ("room", "message", "digest", "word"):
            text = text.replace(getattr(ids, name), f"<{name}>")
        text = re.sub(r"[0-9a-f]{8,16}-[0-9]+|requestId[^,}]*|<requestId>.*?</requestId>", "<request>", text)
        text = re.sub(r'[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} [\d:]{8} GMT|"(etag|x-request-id)":"[^"]*"', "<state>", text, flags=re.I)
        return answer.status, headers, text

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.seed = int(os.environ.get("PORTICO_SEED", random.randrange(2**32)))
        cls.secrets = [Secrets(cls.gateway, cls.seed + n) for n in range(SEEDS)]

    def compare(self, question):
        """`question`: from ids to labelled answers."""
        for number, secrets in enumerate(self.secrets):
            nothing = Nothing()
            for (label, received), (_, expected) in zip(question(secrets), question(nothing), strict=True):
                with self.subTest(seed=self.seed + number, asked=label):
                    self.assertEqual(self.plain(received, secrets), self.plain(expected, nothing))

    def test_by_function(self):
        def ask(ids):
            for call in function_calls(ids):
                for body in (json.dumps(call), "post=" + json.dumps(call)):
                    kind = JSON if body.startswith("{") else "application/x-www-form-urlencoded"
                    yield call["function"], self.gateway.request(
                        "POST", "/chat", body.encode(), {"Content-Type": kind}, user=OUTSIDER)
        self.compare(ask)

    def test_by_resource_in_every_format(self):
        def ask(ids):
            for method, path, body in requests(ids):
                for accept in (JSON, PLIST, BPLIST, XML):
                    headers = {"Accept": accept, "Content-Type": JSON}
                    content = None if body is None else json.dumps(body).encode()
                    yield f"{method} {path} {accept}", self.gateway.request(method, path, content, headers, user=OUTSIDER)
        self.compare(ask)

    def test_by_batch(self):
        def ask(ids):
            calls = [{"id": str(n), "method": method, "path": path, **({} if body is None else {"body": body})}
                     for n, (method, path, body) in enumerate(requests(ids)) if method != "HEAD"]
            yield "batch", self.gateway.send("POST", "/batch", {"calls": calls}, user=OUTSIDER)
        self.compare(ask)

    def test_by_sync(self):
        device = Device(self.gateway, OUTSIDER, collections=["rooms", "messages"], limit=1000)
        device.pull()
        held = repr(device.rows)
        for secrets in self.secrets:
            for text in (secrets.word, secrets.room, secrets.message, secrets.digest):
                self.assertNotIn(text, held)
        before = {name: dict(scope) for name, scope in device.scopes.items() if name in ("rooms", "messages")}
        for secrets in self.secrets:
            secrets.say("alice")
        device.pull()
        self.assertEqual({name: dict(device.scopes[name]) for name in before}, before)

    def test_by_pushed_changes(self):
        def ask(ids):
            device = Device(self.gateway, OUTSIDER)
            for operation, collection, identifier, fields in [
                ("update", "messages", ids.message, {"text": "x"}), ("delete", "messages", ids.message, None),
                ("update", "rooms", ids.room, {"members": [OUTSIDER]}), ("delete", "rooms", ids.room, None),
                ("create", "messages", uuid.uuid4().hex, {"room": ids.room, "text": "x"}),
            ]:
                outcome = device.change(operation, identifier, fields, collection=collection)
                outcome.pop("rev", None)
                yield f"{operation} {collection}", PushOutcomeResponse(outcome)
        self.compare(ask)

    def test_by_live_streams(self):
        for path in ("/chat/v1/live", "/sync/v1/live?collections=rooms,messages&limit=1000"):
            stream = Stream(self.gateway, OUTSIDER, path=path)
            heard = [stream.event()]
            for secrets in self.secrets:
                secrets.say("alice")
                secrets.make("PATCH", f"/chat/v1/messages/{secrets.messages[-1]['id']}", {"text": secrets.word},
                             secrets.messages[-1]["user"])
                secrets.make("POST", f"/chat/v1/rooms/{secrets.room}/typing", {}, "bob")
                secrets.make("POST", f"/chat/v1/rooms/{secrets.room}/read", {"message": secrets.message}, "bob")
            own = self.gateway.send("POST", "/chat/v1/rooms", {"name": "the end"}, user=OUTSIDER).json()["room"]["id"]
            while own not in json.dumps(heard[-1]):
                heard.append(stream.event())
                self.assertIsNotNone(heard[-1], "the stream ended")
            stream.close()
            for secrets in self.secrets:
                for text in (secrets.word, secrets.room):
                    self.assertNotIn(text, json.dumps(heard), path)

    def test_by_resuming_a_stream_of_a_time_as_a_member(self):
        room = self.gateway.send("POST", "/chat/v1/rooms", {"name": "r", "members": [OUTSIDER]}, user="alice").json()["room"]["id"]
        stream = Stream(self.gateway, OUTSIDER, path="/chat/v1/live")
        stream.next("ready")
        stream.close()
        self.gateway.request("DELETE", f"/chat/v1/rooms/{room}/members/{OUTSIDER}", user="alice")
        self.gateway.send("POST", f"/chat/v1/rooms/{room}/messages", {"text": "after she left"}, user="alice")
        again = Stream(self.gateway, OUTSIDER, path="/chat/v1/live", last=stream.last)
        self.assertEqual(again.next(), ("membership", {"id": room, "joined": [], "left": [OUTSIDER]}))
        self.assertEqual(again.next(), ("ready", {}))
        again.close()

    def test_an_attachment_is_readable_by_readers_of_its_message(self):
        for secrets in self.secrets:
            path = f"/sync/v1/attachments/{secrets.digest}"
            self.expect(self.gateway.get(path, user="bob"), 200)
            self.expect(self.gateway.get(path, user=OUTSIDER), 404, "record.notFound")


class PushOutcomeResponse:
    """An outcome of sync, as an answer."""

    def __init__(self, outcome):
        self.status, self.headers, self.body = 200, {}, json.dumps(outcome, sort_keys=True).encode()


if __name__ == "__main__":
    unittest.main()
