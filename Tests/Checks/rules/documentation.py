"""Every public symbol of the packages for apps and adapters has a documentation comment.

Read from the text: a declaration with `public` or `open`, a case of a public enum, a requirement of a public protocol.
Exempt are witnesses of the standard library's protocols, whose documentation is inherited. Where a package still has
undocumented symbols, `_STILL_ALLOWED` says how many; the number only falls. `measure.py --undocumented` lists them.
"""

import re

from swift_source import code_of
from violation import Violation

PACKAGES = ("Sources/AdapterKit/", "Sources/SyncEngine/", "Sources/Client/", "Sources/WireFormats/")
_STILL_ALLOWED = {}
_NOT_PUBLISHED = re.compile(r"/(?:Tests|Drivers|Fuzzing|Plugins)/|\.docc/|Package\.swift$")
_DECLARATION = re.compile(
    r"^\s*(?:@\w+(?:\([^)]*\))?\s+)*(?:(?:static|final|nonisolated|override|mutating|convenience|indirect|required|class"
    r"|consuming|borrowing|weak|lazy|unowned)\s+)*(?P<access>public|open)\b(?!\()[^=({]*?\b"
    r"(?P<kind>struct|class|enum|actor|protocol|typealias|func|var|let|init|subscript|associatedtype|macro)\b\s*"
    r"(?P<name>[\w.`]+|[-+*/<>=!~&|^%]+)?")
_MEMBER = {
    "enum": re.compile(r"^\s*(?:indirect\s+)?case\s+(?P<name>\w+)"),
    "protocol": re.compile(
        r"^\s*(?:(?:static|mutating|nonisolated)\s+)*(?:func|var|init|subscript|associatedtype)\b\s*(?P<name>\w*)"),
}
_CONTAINER = re.compile(r"\b(?:public|open)\b[^={]*\b(?P<kind>enum|protocol)\s+\w+")
_INHERITED = {
    "hash", "description", "debugDescription", "encode", "==", "<", "!=", "<=", ">", ">=", "rawValue", "id", "allCases",
    "errorDescription", "next", "makeIterator", "makeAsyncIterator", "startIndex", "endIndex", "index", "customMirror",
    "RawValue", "Element", "Iterator", "AsyncIterator", "Index", "Failure"}
_INHERITED_INITIALIZER = re.compile(r"\binit\??\((?:from|\w+Literal|rawValue)\b")


def check(repository):
    found = list(undocumented_in(repository))
    for package in PACKAGES:
        own = [violation for violation in found if violation.path.startswith(package)]
        if len(own) > _STILL_ALLOWED.get(package, 0):
            yield from own


def undocumented_in(repository):
    for path in repository.swift_files():
        if path.startswith(PACKAGES) and not _NOT_PUBLISHED.search("/" + path):
            for line, name in undocumented(repository.text(path) or ""):
                yield Violation(path, line, "documentation", f"the public symbol {name} has no documentation comment")


def undocumented(source):
    """(line, name) of each public symbol of a Swift file without a documentation comment."""
    lines, code = source.splitlines(), code_of(source).splitlines()
    container, depth = None, 0  # the depth of braces within the public enum or protocol that is being read
    for index, text in enumerate(code):
        found = _DECLARATION.match(text)
        if found is None and container is not None and depth == 1:
            found = _MEMBER[container].match(text)
        if found and not _is_inherited(found["name"] or "", text) and not _is_documented(lines, index):
            yield index + 1, found["name"] or text.strip().split("(")[0]
        if container is None:
            opened = _CONTAINER.search(text)
            if opened and text.count("{") > text.count("}"):
                container, depth = opened["kind"], text.count("{") - text.count("}")
        else:
            depth += text.count("{") - text.count("}")
            if depth <= 0:
                container = None


def _is_inherited(name, text):
    return name in _INHERITED or bool(_INHERITED_INITIALIZER.search(text))


def _is_documented(lines, index):
    before = index - 1
    while before >= 0 and lines[before].strip().startswith(("@", "//", "#if")):
        if lines[before].strip().startswith("///"):
            return True
        before -= 1
    return before >= 0 and lines[before].strip().endswith("*/")
