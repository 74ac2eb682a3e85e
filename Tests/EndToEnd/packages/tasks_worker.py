#!/usr/bin/python3 -IB
"""An adapter's program for tests: speaks docs/protocol/adapter.md. What it declares and does stands in behaviour.json beside it."""

import json
import os
import pathlib
import socket
import struct
import sys
import time

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER))
import cbor  # noqa: E402  It lies beside this file.

BEHAVIOUR = json.loads((FOLDER / "behaviour.json").read_text())
if "reads" in BEHAVIOUR:
    pathlib.Path(BEHAVIOUR["reads"]).read_text()
NAME = BEHAVIOUR.get("adapter", "tasks")
SHAPES = {"text": {"string": [0, 200]}, "number": {"integer": [-1000, 1000]}}


def declaration(options):
    fields = {**BEHAVIOUR["fields"], **({"extra": "text"} if options.get("extra") else {})}
    return {
        "name": NAME, "title": "Tasks", "summary": "Tasks.", "version": BEHAVIOUR["version"], "access": "public",
        "entities": [{
            "name": BEHAVIOUR.get("entity", "tasks"), "summary": "A task.", "key": {"field": "id"},
            "fields": [{"name": "id", "shape": {"string": [1, 64]}, "isRequired": True}] + [
                {"name": name, "shape": SHAPES[kind]} for name, kind in fields.items()]}],
        "operations": [{
            "name": "version", "summary": "Says which version answers.", "effect": "reads", "isIdempotent": True,
            "output": {"object": {"name": "Version", "members": [{"name": "version", "shape": SHAPES["text"]}]}}}] + [{
            "name": f"bound{number}", "summary": "Answers at a path of its own.", "effect": "reads", "isIdempotent": True,
            "output": {"object": {"name": "Bound", "members": [{"name": "version", "shape": SHAPES["text"]}]}},
            "bindings": [{"method": "GET", "path": path}]}
            for number, path in enumerate(BEHAVIOUR.get("binds", []))],
    }


def has_fault(name):
    """A file of this name beside the program, or beside `versions/` where it is installed: what is in there is checked."""
    return any((folder / name).exists() for folder in (FOLDER, *FOLDER.parents[2:3]))


class Worker:
    def __init__(self):
        self.socket = socket.socket(fileno=int(os.environ["PORTICO_WORKER_SOCKET"]))
        self.calls = 0
        self.options = {}

    def read(self, count):
        data = b""
        while len(data) < count:
            piece = self.socket.recv(count - len(data))
            if not piece:
                sys.exit(0)
            data += piece
        return data

    def send(self, message):
        data = cbor.dumps(message)
        self.socket.sendall(struct.pack(">I", len(data)) + data)

    def run(self):
        while True:
            (length,) = struct.unpack(">I", self.read(4))
            message = cbor.loads(self.read(length))
            if "request" not in message:
                continue
            params = message.get("params") or {}
            # A call that is never answered.
            if message["method"] == "call" and params.get("operation") == BEHAVIOUR.get("keeps"):
                continue
            result = self.answer(message["method"], params)
            self.send({"response": message["request"], **result})

    def note(self, text):
        """A line of the gateway's log."""
        self.send({"event": "log", "params": {"message": {
            "level": "notice", "text": f"{NAME} {text}", "values": [["pid", os.getpid()]]}}})

    def answer(self, method, params):
        if method == "hello" and has_fault("silent"):
            sys.exit(3)
        if method == "hello":
            return {"result": {
                "version": 1, "name": NAME, "program": BEHAVIOUR["version"],
                "options": [{"path": path, "kind": {"value": "bool"}, "summary": "A further field.", "defaultValue": [False]}
                            for path in BEHAVIOUR.get("options", ["extra"])]}}
        if method == "declare" and has_fault("refuse"):
            return {"error": {"error": {"code": "server.internal", "message": "It is out of order.", "logDetail": "no"}}}
        if method == "declare":
            return {"result": {"declaration": declaration(params["configuration"]["values"]),
                               "worksBesideCalls": BEHAVIOUR.get("works", False)}}
        if method in ("activate", "drain"):
            self.note({"activate": "begins its work", "drain": "ends its work"}[method])
            time.sleep(BEHAVIOUR.get("drainSeconds", 0) if method == "drain" else 0)
        if method == "make":
            return {"result": {"services": []}}
        if method == "start" and BEHAVIOUR.get("start") == "refuse":
            return {"error": {"error": {"code": "server.internal", "message": "It does not start.", "logDetail": "no"}}}
        if method == "start" and "startSeconds" in BEHAVIOUR:
            print("starts slowly", flush=True)
            time.sleep(BEHAVIOUR["startSeconds"])
        if method == "call":
            self.calls += 1
            if self.calls == BEHAVIOUR.get("crashAt"):
                os.kill(os.getpid(), 9)
            return {"result": {"content": {"value": {"version": BEHAVIOUR["version"]}}}}
        return {"result": None}


Worker().run()
