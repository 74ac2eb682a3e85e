"""Programs of adapters that say what makes no sense, in every message of docs/protocol/adapter.md: the gateway goes on."""

import json
import os
import pathlib
import random
import shutil
import struct
import subprocess
import tempfile
import time
import unittest

import cbor
from harness import ROOT, Gateway, run_portico

SEED = int(os.environ.get("PORTICO_HOSTILE_SEED", "27"))
SECONDS = float(os.environ.get("TEST_SECONDS", "60"))
# Replaced by the number of the call at hand.
CALL = 0x7EADBEEFCAFEF00D
MEBIBYTES = 400


class Raw(bytes):
    """CBOR as it is to be sent."""


def encode(value):
    """As cbor.dumps, with what it refuses to write."""
    if isinstance(value, Raw):
        return bytes(value)
    if isinstance(value, dict):
        return _head(0xA0, len(value)) + b"".join(encode(k) + encode(v) for k, v in value.items())
    if isinstance(value, list):
        return _head(0x80, len(value)) + b"".join(map(encode, value))
    return cbor.dumps(value)


def _head(major, count):
    return bytes([major | 26]) + struct.pack(">I", count)


def frame(message):
    data = encode(message)
    return struct.pack(">I", len(data)) + data


NASTY = [
    -1, 0, 1, 2**31, 2**63 - 1, -2**63, 2**64 - 1, 1.5, -0.0, float("nan"), float("inf"), 1e308, "", "x" * 70_000, "a/../{b}", "\u202e",
    "x\r\nY: z", [], {}, None, True, b"", b"\xff" * 100, [[]] * 500, {"": {}}, {"any": {"any": {"any": []}}}, ["a", "a", "a"],
    Raw(b"\xc2\x58\x40" + b"\xff" * 64), Raw(b"\xc4\x82\x3b" + b"\xff" * 8 + b"\x01"), Raw(b"\xc4\x82\x1b" + b"\x7f" * 8 + b"\x01"),
    Raw(b"\xc1\xfb" + struct.pack(">d", 1e300)), Raw(b"\xc1\xfb" + struct.pack(">d", float("nan"))), Raw(b"\x81" * 300 + b"\x00"),
]


def paths(value, path=()):
    yield path
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from paths(inner, (*path, key))
    if isinstance(value, list):
        for index, inner in enumerate(value):
            yield from paths(inner, (*path, index))


def changed(value, path, change):
    if not path:
        return change(value)
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = changed(value[path[0]], path[1:], change)
    return copy


def mutated(value, draw):
    """One to three parts are something else, are missing, or stand there twice."""
    for _ in range(draw.randint(1, 3)):
        path = draw.choice([path for path in paths(value) if path] or [()])
        if not path:
            return draw.choice(NASTY)
        way = draw.random()
        if way < 0.75:
            value = changed(value, path, lambda _: draw.choice(NASTY))
        else:
            inside = path[:-1]

            def change(parent, last=path[-1], removes=way < 0.88):
                if isinstance(parent, dict):
                    return {k: v for k, v in parent.items() if k != last or not removes}
                return [v for i, v in enumerate(parent) if i != last] if removes else [*parent, parent[last]]
            value = changed(value, inside, change)
    return value


TEXT = {"string": [0, 100]}
QUERY = {
    "filter": {"all": [{"compare": ["title", "eq", "x"]}, {"oneOf": ["id", ["a"]]}, {"hasPrefix": ["title", "a"]}, {"search": ["a"]},
                       {"not": {"isNull": "title"}}, {"related": ["id", "things", {"any": []}]}]},
    "order": [{"field": "title", "descending": True}], "limit": 10, "start": "first", "countsAll": True}
RELATION = {
    "source": {"collection": "things"}, "joins": [], "condition": {"compare": ["eq", {"field": [0, "id"]}, {"value": 3}]},
    "columns": [{"field": [0, "title"]}], "isDistinct": False, "groups": [], "order": [], "limit": 10}
REQUESTS = [
    ("record", {"entity": "things", "id": "a"}), ("record", {"as": "caller", "entity": "things", "id": "a"}),
    ("query", {"entity": "things", "query": QUERY}), ("query", {"as": "caller", "entity": "things", "query": {"start": {"offset": 3}}}),
    ("query", {"entity": "things", "query": {"start": {"after": ["a"]}, "order": [{"field": "id"}]}}),
    ("count", {"entity": "things", "filter": {"listContains": ["title", "x"]}}),
    ("apply", {"as": "caller", "changes": [{"entity": "things", "action": {"create": {"id": "a", "fields": {"title": "b"}}}}]}),
    ("apply", {"changes": [{"entity": "things", "action": {"update": {"id": "a", "fields": {"title": "c"}}}, "condition": {"revision": 7}},
                           {"entity": "things", "action": {"replace": {"id": "a", "fields": {}, "orCreate": True}}, "condition": "exists"},
                           {"entity": "things", "action": {"delete": "a"}}]}),
    ("openSnapshot", {"as": "caller", "within": 5_000_000_000}), ("closeSnapshot", {"snapshot": 1}),
    ("readSnapshot", {"snapshot": 1, "read": "query", "entity": "things", "query": QUERY}),
    ("readSnapshot", {"snapshot": 1, "read": "rows", "relation": RELATION}), ("readSnapshot", {"snapshot": 1, "read": "moreRows"}),
    ("readSnapshot", {"snapshot": 1, "read": "changes", "entities": ["things"], "since": 0, "limit": 10}),
    ("readSnapshot", {"snapshot": 1, "read": "cursor", "entities": ["things"]}), ("readSnapshot", {"snapshot": 1, "read": "commit"}),
    ("account", {"name": "alice"}), ("accounts", {"after": "a", "limit": 10}), ("listeners", {"group": "g", "feed": "f", "limit": 10}),
    ("push", {"note": {"id": "1", "title": "t", "body": "b", "data": {}}, "device": {"platform": "apns", "token": "x"}}),
    ("changePosition", {}), ("created", {"entity": "things", "after": 0}), ("age", {"entities": ["things"]}),
    ("upstream", {"upstream": "hr", "method": "GET", "address": "http://x/", "fields": [], "body": b"", "whole": True, "deadline": 1_000_000}),
    ("serviceEntity", {"set": "s"}), ("serviceField", {"set": "s", "property": "p"}), ("reseed", {}), ("ping", {}), ("hello", {"versions": [1]}),
]
EVENTS = [
    {"event": "log", "for": CALL, "params": {"message": {"level": "error", "text": "text", "values": [["a", 1]]}}},
    {"event": "signal", "params": {"event": "typing", "data": {"a": 1}, "group": "g", "feed": "f", "from": "alice"}},
    {"event": "unknown", "params": {}},
    {"stream": 1, "data": b"x" * 1000}, {"stream": 1, "end": True}, {"stream": 2, "error": {"error": {"code": "server.internal", "message": "m"}}},
    {"credit": 1, "bytes": 10}, {"stop": 1}, {"cancel": CALL}, {"response": 7, "result": None},
]
RESULTS = [
    {"content": {"value": "text"}}, {"content": {"document": [b"x", "text/plain"]}, "validators": {"version": "1", "lastModified": 5}},
    {"content": "nothing"},
]
ERRORS = [
    {"error": {"code": "record.notFound", "message": "m", "target": "t", "retryAfter": 5, "logDetail": "d"}},
    {"upstream": {"upstream": "hr", "kind": "timedOut", "detail": "d"}}, {"mirror": {"kind": "malformed", "detail": "d"}},
    {"configuration": {"path": "a.b", "message": "m"}}, "cancelled", "snapshotRestarted",
]
DECLARATION = {
    "name": "hostile", "title": "Hostile", "summary": "Breaks.", "version": "1", "access": "public",
    "entities": [{
        "name": "things", "summary": "A thing.", "key": {"field": "id", "chooser": "either"},
        "fields": [
            {"name": "id", "shape": {"string": [1, 64]}, "isRequired": True, "source": "callerOnCreate"},
            {"name": "title", "shape": TEXT, "isNullable": True, "defaultValue": ["none"], "summary": "Its title."},
            {"name": "count", "shape": {"integer": [-5, 5]}}, {"name": "price", "shape": {"decimal": 2}},
            {"name": "kind", "shape": {"choice": ["a", "b"]}}, {"name": "tags", "shape": {"list": TEXT}, "maximumCount": 5},
            {"name": "part", "shape": {"object": {"name": "Part", "members": [{"name": "a", "shape": TEXT}], "isOpen": True}}},
            {"name": "owner", "shape": {"string": [1, 255]}, "source": "creator"}, {"name": "at", "shape": "date", "source": "modifiedAt"}],
        "indexes": [{"fields": ["title", "count"], "isUnique": False}], "searchFields": ["title"], "historyFields": ["owner"],
        "rows": {"read": {"any": ["everyone", {"owner": "owner"}, {"fieldIsOneOf": ["kind", ["a"]]}]}, "write": {"not": "nobody"}},
        "conflictPolicy": "merge", "exposure": "resource"},
        {"name": "parts", "summary": "A part.", "key": {"field": "id"},
         "fields": [{"name": "id", "shape": {"string": [1, 64]}, "isRequired": True}, {"name": "thing", "shape": {"string": [1, 64]}}],
         "parents": [{"field": "thing", "entity": "things"}]}],
    "operations": [
        {"name": "fault-file", "summary": "Breaks.", "effect": "writes", "output": TEXT},
        {"name": "fine", "summary": "Works.", "effect": "writes", "output": TEXT},
        {"name": "look", "summary": "Looks.", "effect": "reads", "isIdempotent": True, "deadline": 5_000_000_000, "caching": "untilRecordsChange",
         "input": {"name": "Look", "members": [{"name": "id", "shape": TEXT, "isRequired": True, "acceptsText": True}]}, "output": "any",
         "entities": ["things"], "access": {"roles": ["member"]},
         "bindings": [{"method": "GET", "path": "/hostile/{id}", "queryMembers": [], "presentation": {
             "defaultFormat": "json", "xml": {"root": "r", "namespace": "urn:x"}, "errors": {"flat": ["c", "m"]}, "omitsNull": True}}]}],
    "mounts": [{"name": "files", "summary": "Files.", "path": "/hostile-files", "methods": ["GET", "POST"], "readingPosts": [],
                "requiresToken": False, "mediaType": "text/plain", "bodyLimit": 1000, "tellsAge": False}],
}


class HostileTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="portico-hostile-"))
        self.addCleanup(shutil.rmtree, self.folder, True)
        self.program = pathlib.Path(tempfile.mkdtemp(prefix="portico-hostile-program-")) / "hostile"
        self.addCleanup(shutil.rmtree, self.program.parent, True)
        subprocess.run(["clang", "-O1", "-o", self.program, ROOT / "Benchmarks/Workers/hostile_adapter.c"], check=True)
        self.declare(DECLARATION)
        self.config = self.folder / "portico.yaml"
        self.config.write_text(json.dumps({
            "plugins": [{"path": str(self.program)}],
            "identity": {"basic": {"enabled": True}, "demoAccounts": [{"name": "alice", "password": "portico-demo", "roles": ["member"]}]},
            "adapters": {"hostile": {"worker": {"supervision": {"stableUptime": "1ms", "crashesToFail": 1000}}}}}))
        self.draw = random.Random(SEED)

    def file(self, suffix, data):
        path = self.program.with_name("hostile" + suffix)
        path.write_bytes(data) if data else path.unlink(missing_ok=True)

    def declare(self, declaration, **rest):
        self.file(".declaration", encode({"declaration": declaration, **rest}))


class Messages(HostileTest):
    """What a program that runs may say."""

    def call(self, operation):
        return self.gateway.request("POST", f"/api/v1/hostile/operations/{operation}", b"{}", {"Content-Type": "application/json"}).status

    def serves(self):
        end = time.monotonic() + 30
        while self.call("fine") != 200:
            self.assertIsNone(self.gateway.process.poll(), self.gateway.log()[-5000:])
            self.assertLess(time.monotonic(), end, self.gateway.log()[-5000:])

    def test_no_message_ends_the_gateway_or_takes_its_memory(self):
        (self.folder / "data").mkdir()
        self.gateway = Gateway(config=self.config, data=self.folder / "data")
        self.addCleanup(self.gateway.remove)
        self.serves()
        number, calls, statuses, end = 0, 0, {}, time.monotonic() + SECONDS
        while time.monotonic() < end:
            messages = []
            for _ in range(self.draw.choice([1, 1, 5, 50])):
                number += 1
                method, params = self.draw.choice(REQUESTS)
                message = {"request": number, "method": method, "for": CALL, "params": params}
                if self.draw.random() < 0.2:
                    message = self.draw.choice(EVENTS)
                if self.draw.random() < 0.7:
                    # What is asked makes sense as a message, or not even that.
                    message = {**message, "params": mutated(message.get("params", {}), self.draw)} if self.draw.random() < 0.85 else mutated(
                        message, self.draw)
                messages.append(message)
            self.file(".frames", b"".join(map(frame, messages)))
            self.file(".result", encode(mutated(self.draw.choice(RESULTS), self.draw)) if self.draw.random() < 0.3 else b"")
            self.file(".error", encode(mutated(self.draw.choice(ERRORS), self.draw)) if self.draw.random() < 0.3 else b"")
            status = self.call("fault-file")
            statuses[status] = statuses.get(status, 0) + 1
            self.assertIsNone(self.gateway.process.poll(), (messages, self.gateway.log()[-5000:]))
            calls += 1
            if calls % 20 == 0:
                self.serves()
        self.serves()
        print(f"{calls} calls with {number} messages, seed {SEED}: {statuses}")
        self.assertGreater(calls, 20)
        self.assertLess(self.gateway.resident("VmHWM") >> 20, MEBIBYTES)
        self.assertEqual(self.gateway.stop(), 0)


class Declarations(HostileTest):
    """What a program may declare."""

    def check(self):
        checked = run_portico("check", "--config", self.config, "--data", self.folder / "data", timeout=120)
        self.assertIn(checked.returncode, (0, 1), checked)
        return checked

    def test_what_is_declared_beyond_measure_is_refused_with_the_limit(self):
        entity = {"name": "e", "summary": "", "key": {"field": "id"}, "fields": [{"name": "id", "shape": {"string": [1, 9]}}]}
        field = {"name": "f", "shape": "any"}
        operation = {"name": "o", "summary": "", "effect": "reads", "output": "any"}
        mount = {"name": "m", "summary": "", "path": "/m", "methods": ["GET"]}
        for part, value, limit in [
            ("entities", [{**entity, "name": f"e{n}"} for n in range(100_000)], "at most 500 are taken"),
            ("entities", [{**entity, "fields": [{**field, "name": f"f{n}"} for n in range(100_000)]}], "at most 1000 are taken"),
            ("operations", [{**operation, "name": f"o{n}"} for n in range(100_000)], "at most 5000 are taken"),
            ("mounts", [{**mount, "name": f"m{n}", "path": f"/m{n}"} for n in range(100_000)], "at most 500 are taken"),
        ]:
            with self.subTest(part):
                self.declare({**DECLARATION, part: value})
                checked = self.check()
                self.assertEqual(checked.returncode, 1)
                self.assertIn(limit, checked.stderr)

    def test_a_program_that_does_not_say_what_it_declares_is_given_up(self):
        declaration = self.program.with_name("hostile.declaration")
        declaration.unlink()
        # The program waits for somebody to write to it.
        os.mkfifo(declaration)
        checked = self.check()
        self.assertEqual(checked.returncode, 1)
        self.assertIn("it did not answer within", checked.stderr)

    def test_no_declaration_ends_the_gateway_without_a_reason(self):
        self.assertEqual(self.check().returncode, 0)
        served, refused, end = 0, 0, time.monotonic() + SECONDS
        while time.monotonic() < end:
            declaration = mutated(DECLARATION, self.draw)
            self.declare(declaration)
            checked = self.check()
            if checked.returncode == 1:
                self.assertIn("Error: ", checked.stderr, declaration)
                refused += 1
                continue
            # It is valid: it serves, or says why not.
            data = self.folder / f"data{served}"
            data.mkdir()
            served += 1
            try:
                gateway = Gateway(config=self.config, data=data)
            except AssertionError as failure:
                self.assertIn("Error: ", str(failure), declaration)
                continue
            try:
                self.assertEqual(gateway.get("/openapi.json").status, 200, declaration)
                gateway.get("/api/v1/hostile/things", user="alice")
                self.assertEqual(gateway.stop(), 0, (declaration, gateway.log()[-5000:]))
            finally:
                gateway.remove()
        print(f"{served} declarations served, {refused} refused, seed {SEED}")
        self.assertGreater(served + refused, 3)


if __name__ == "__main__":
    unittest.main()
