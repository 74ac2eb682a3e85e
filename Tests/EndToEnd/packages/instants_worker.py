#!/usr/bin/python3 -B
"""An adapter's program for tests: keeps instants as the host sent them, bit by bit, and serves them over SOAP. Beside it lie
worker.py and cbor.py of Plugins/python-tasks."""

import sys

import cbor
from worker import serve

NUMBER, TEXT = {"integer": [0, 2**31]}, {"string": [1, 64]}
MOMENT = {"object": {"name": "Moments", "members": [{"name": "at", "shape": {"list": "date"}, "isRequired": True}]}}


class Date:
    """CBOR's tags 0 and 1 with what they hold."""

    def __init__(self, tag, content):
        self.tag, self.content = tag, content


def keep_dates_as_they_came():
    reads, writes = cbor._Reader.tagged, cbor._write

    def write(value, out):
        if not isinstance(value, Date):
            return writes(value, out)
        cbor._head(6, value.tag, out)
        writes(value.content, out)

    cbor._Reader.tagged = lambda self, tag, value: Date(tag, value) if tag in (0, 1) else reads(self, tag, value)
    cbor._write = write


class Instants:
    name, version, options = "instants", "1.0.0", []

    def __init__(self):
        self.operations = {"keep": self.keep}

    def declaration(self, _):
        return {
            "name": self.name, "title": "Instants", "summary": "Instants that are kept.", "version": self.version,
            "access": {"read": "public", "write": "public"},
            "entities": [{
                "name": "moments", "summary": "An instant.", "key": {"field": "id"},
                "fields": [{"name": "id", "shape": TEXT, "isRequired": True}, {"name": "number", "shape": NUMBER},
                           {"name": "at", "shape": "date"}]}],
            "operations": [{
                "name": "keep", "summary": "Stores instants and answers what was stored.", "effect": "writes",
                "entities": ["moments"],
                "input": {"name": "Keep", "members": [
                    {"name": "first", "shape": NUMBER, "isRequired": True},
                    {"name": "at", "shape": {"list": "date"}, "isRequired": True}]},
                "output": MOMENT}],
            "soapServices": [{
                "name": "Instants", "namespace": "urn:instants", "paths": ["/soap/instants"], "operations": ["keep"]}],
        }

    def make(self, _):
        pass

    def front_page(self):
        return []

    def keep(self, call):
        first, instants = call.input["first"], call.input["at"]
        call.records.apply(*(
            {"entity": "moments", "action": {"create": {"fields": {"id": str(number), "number": number, "at": at}}}}
            for number, at in enumerate(instants, first)))
        kept = {"compare": ["number", "ge", first]}
        rows = call.records.query("moments", filter=kept, order=[{"field": "number"}], limit=len(instants))["records"]
        return {"at": [row["fields"]["at"] for row in rows]}


if __name__ == "__main__":
    keep_dates_as_they_came()
    sys.exit(serve(Instants()))
