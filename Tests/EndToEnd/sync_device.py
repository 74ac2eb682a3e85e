"""A sync client written from docs/protocol/sync.md alone: pulls, checks, pushes."""

import json
import plistlib
import uuid
import xml.etree.ElementTree as ElementTree
import xml.sax.saxutils

import cbor
from harness import BPLIST, JSON, PLIST, XML

CBOR = "application/cbor"
MASK = 2**64 - 1

TYPE = "{urn:portico:value}type"


def write_xml(value):
    """The typed form of docs/formats.md, for what messages hold."""
    return _element("value", value, ' xmlns:v="urn:portico:value"').encode()


def _element(name, value, attributes=""):
    kind, content = "", None
    if isinstance(value, dict):
        kind, content = "dictionary", "".join(_element(key, member) for key, member in value.items())
    elif isinstance(value, list):
        kind, content = "array", "".join(_element("item", item) for item in value)
    elif isinstance(value, bool):
        kind, content = "bool", str(value).lower()
    elif isinstance(value, int):
        kind, content = "int", str(value)
    else:
        kind, content = "string", xml.sax.saxutils.escape(value)
    return f'<{name}{attributes} v:type="{kind}">{content}</{name}>'


def read_xml(text):
    return _value(ElementTree.fromstring(text))


def _value(element):
    kind = element.get(TYPE, "string")
    if kind == "dictionary":
        return {member.get("{urn:portico:value}key", member.tag): _value(member) for member in element}
    if kind == "array":
        return [_value(item) for item in element]
    text = element.text or ""
    return int(text) if kind == "int" else None if kind == "null" else text


CODECS = {
    JSON: (lambda value: json.dumps(value).encode(), json.loads),
    PLIST: (lambda value: plistlib.dumps(value, fmt=plistlib.FMT_XML), plistlib.loads),
    BPLIST: (lambda value: plistlib.dumps(value, fmt=plistlib.FMT_BINARY), plistlib.loads),
    XML: (write_xml, read_xml),
    CBOR: (cbor.dumps, cbor.loads),
}


def number(collection, identifier, rev):
    value = 0xCBF29CE484222325
    for part in (collection, identifier, str(rev)):
        for byte in part.encode() + b"\0":
            value = ((value ^ byte) * 0x100000001B3) & MASK
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & MASK
    return value ^ (value >> 31)


class Refused(Exception):
    def __init__(self, answer, error):
        super().__init__(f"{answer.status} {error}")
        self.status, self.code = answer.status, error["code"]


class Device:
    def __init__(self, gateway, user, media_type=JSON, collections=None, limit=None):
        self.gateway, self.user, self.media_type = gateway, user, media_type
        self.collections, self.limit = collections, limit
        self.client, self.sequence = str(uuid.uuid4()), 0
        self.forget()

    def forget(self):
        self.checkpoint, self.position, self.rows, self.scopes, self.pages = None, 0, {}, {}, 0

    def call(self, path, message):
        write, read = CODECS[self.media_type]
        answer = self.gateway.request(
            "POST", path, body=write(message), user=self.user,
            headers={"Content-Type": self.media_type, "Accept": self.media_type})
        value = read(answer.body)
        if answer.status != 200:
            raise Refused(answer, value["error"])
        return value

    def ask(self, checkpoint, **more):
        message = {"checkpoint": checkpoint, "collections": self.collections, "limit": self.limit, **more}
        return self.call("/sync/v1/pull", {name: value for name, value in message.items() if value is not None})

    def pull(self, **more):
        """To the end, applied as a whole; the scopes whose checksums disagree."""
        rows, token = dict(self.rows), self.checkpoint
        while True:
            page = self.ask(token, **more)
            more = {}
            self.pages += 1
            self.apply(page, rows)
            if "complete" in page:
                break
            token = page["next"]
        self.rows = rows
        return self.finish(page["complete"])

    def apply(self, page, rows):
        for scope in page.get("reset", []):
            for key in [key for key in rows if key[0] == scope]:
                del rows[key]
        for operation in page["operations"]:
            key = (operation["collection"], operation["id"])
            if operation["operation"] == "put":
                rows[key] = (operation["rev"], operation["fields"])
            else:
                rows.pop(key, None)

    def finish(self, complete):
        self.checkpoint, self.position = complete["checkpoint"], complete["position"]
        self.scopes = {scope["scope"]: scope for scope in complete["scopes"]}
        return [name for name, scope in self.scopes.items() if (scope["count"], scope["checksum"]) != self.summary(name)]

    def summary(self, collection):
        numbers = [number(c, i, rev) for (c, i), (rev, _) in self.rows.items() if c == collection]
        return len(numbers), f"{sum(numbers) & MASK:016x}"

    def mutation(self, operation, identifier, fields=None, base=None, collection="notes"):
        self.sequence += 1
        mutation = {"sequence": self.sequence, "operation": operation, "collection": collection, "id": identifier}
        if base is not None:
            mutation["baseRev"] = base
        if fields is not None:
            mutation["fields"] = fields
        return mutation

    def push(self, *mutations, **more):
        return self.call("/sync/v1/push", {"clientId": self.client, "mutations": list(mutations), **more})

    def change(self, *parts, **named):
        """One mutation's outcome."""
        return self.push(self.mutation(*parts, **named))["outcomes"][0]

    def ids(self, collection="notes"):
        return {identifier for (name, identifier) in self.rows if name == collection}

    def rev(self, identifier, collection="notes"):
        return self.rows[collection, identifier][0]
