"""Values in every wire format, by readers and writers that are not Portico's."""

import json
import plistlib
import urllib.parse
import xml.etree.ElementTree as ElementTree
import xml.sax.saxutils

import cbor
from harness import BPLIST, JSON, PLIST, XML

CBOR = "application/cbor"
FORM = "application/x-www-form-urlencoded"
FORMATS = [JSON, PLIST, BPLIST, XML, CBOR]


def encode(content_type, value):
    if content_type == JSON:
        return json.dumps(value).encode()
    if content_type in (PLIST, BPLIST):
        return plistlib.dumps(value, fmt=plistlib.FMT_BINARY if content_type == BPLIST else plistlib.FMT_XML)
    if content_type == CBOR:
        return cbor.dumps(value)
    if content_type == FORM:
        members = value if isinstance(value, dict) else {"value": value}
        return urllib.parse.urlencode({key: str(member) for key, member in members.items()}).encode()
    return f"<document>{_elements(value)}</document>".encode()


def error_code(accept, body):
    """The code of an error in the format `accept`: the gateway's own shape or employee search's. Raises for others."""
    if accept == XML:
        root = ElementTree.fromstring(body)
        code = next((e.text for e in root.iter() if e.tag.rsplit("}")[-1] in ("code", "errorCode")), None)
    else:
        value = {JSON: json.loads, PLIST: plistlib.loads, BPLIST: plistlib.loads, CBOR: cbor.loads}[accept](body)
        code = value["error"]["code"] if "error" in value else value["errorCode"]
    if not code:
        raise ValueError(f"no code in {body!r}")
    return code


def _elements(value):
    if isinstance(value, dict):
        return "".join(f"<{key}>{_elements(member)}</{key}>" for key, member in value.items())
    if isinstance(value, list):
        return "".join(f"<item>{_elements(item)}</item>" for item in value)
    return xml.sax.saxutils.escape(str(value))
