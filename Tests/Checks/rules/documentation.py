"""Every public symbol of what other teams link against has a documentation comment.

Counted are `public` and `open` declarations, the requirements of public protocols and the cases of public enumerations.
Not counted is what fulfils a protocol that documents it: one of these packages, where the type or the extension names
that protocol, and the standard library's (`_FULFILLED`).
"""

import re
from dataclasses import dataclass

from swift_source import code_of
from violation import Violation

_PACKAGES = ("Sources/AdapterKit/", "Sources/SyncEngine/", "Sources/Client/", "Sources/WireFormats/")
# Tests, programs for tests, and what no other team links.
_ELSEWHERE = re.compile(r"/(?:Tests|Drivers|Conformance|\.build)/")
_MODIFIER = r"(?:(?:public|open|package|internal|private|fileprivate|static|class|final|override|mutating|nonmutating|indirect|nonisolated|convenience|required|lazy|weak|consuming|borrowing|prefix|sending|isolated|unowned|(?:private|fileprivate|package|internal)\(set\)|nonisolated\(unsafe\))\s+)*"
_ATTRIBUTES = r"(?:@\w+(?:\([^)]*\))?\s+)*"
_TOKEN = re.compile(
    rf"(?P<brace>[{{}}])|^[ \t]*{_ATTRIBUTES}(?P<modifiers>{_MODIFIER})"
    r"(?P<kind>struct|enum|class|actor|protocol|extension|func|init|var|let|case|typealias|subscript|associatedtype|macro)\b"
    r"\s*(?P<name>[\w.]+|`\w+`|[^\s\w(]+(?=\s*[(<]))?", re.MULTILINE)
_TYPES = ("struct", "enum", "class", "actor", "protocol", "extension")
_PROTOCOL = re.compile(r"^public protocol (?P<name>\w+)[^{]*\{(?P<body>.*?)^\}", re.MULTILINE | re.DOTALL)
# What a protocol of the standard library asks for, or the one protocol of names; documented there.
_FULFILLED = {
    "description", "debugDescription", "customMirror", "hash", "encode", "==", "<", "~=", "makeIterator", "makeAsyncIterator",
    "callAsFunction", "startIndex", "endIndex", "errorDescription", "rawValue", "allCases", "stringValue", "intValue",
    "codingPath", "userInfo", "text", "isValid"}
_FULFILLED_INIT = re.compile(
    r"\binit\s*[?(<].*(?:\bfrom decoder|\bstringLiteral|\bdictionaryLiteral|\barrayLiteral|\bintegerLiteral|\bbooleanLiteral"
    r"|\bfloatLiteral|\bnilLiteral|\bunchecked text|\bstringInterpolation|\brawValue:)")


def check(repository):
    yield from undocumented_in(repository)


def undocumented_in(repository):
    sources = {
        path: repository.text(path) or "" for path in repository.swift_files()
        if path.startswith(_PACKAGES) and not _ELSEWHERE.search(path)}
    requirements = {}
    for source in sources.values():
        for found in _PROTOCOL.finditer(code_of(source)):
            names = re.findall(r"\b(?:func|var|let|typealias)\s+(\w+)|\b(init|subscript)\b", found["body"])
            requirements[found["name"]] = {name for pair in names for name in pair if name}
    for path, source in sources.items():
        yield from _in_file(path, source, requirements)


def _in_file(path, source, requirements):
    code, lines = code_of(source), source.split("\n")
    scopes, pending = [], None  # of each open brace; the declaration whose brace may follow
    for found in _TOKEN.finditer(code):
        if found["brace"] == "}":
            scopes, pending = scopes[:-1], None
        elif found["brace"] == "{":
            scopes.append(pending.scope if pending else None)
            pending = None
        elif not scopes or scopes[-1]:
            around = scopes[-1] if scopes else _Scope("file", True)
            head = code[found.start():code.find("{" if found["kind"] in _TYPES else "\n", found.end())]
            pending = _Declaration(found, head.strip("\n"), around, requirements)
            number = code.count("\n", 0, found.start("modifiers"))
            if pending.is_counted and not _is_documented(lines, number):
                yield Violation(
                    path, number + 1, "documentation", f"`{pending.name}` is public and has no documentation comment")


class _Declaration:
    def __init__(self, found, line, around, requirements):
        modifiers, kind = found["modifiers"].split(), found["kind"]
        self.name = found["name"] if kind not in ("init", "subscript") else kind
        inside, counts_members = around.kind, around.is_counted
        is_public = "public" in modifiers or "open" in modifiers
        hides = bool({"private", "fileprivate", "package", "internal"} & set(modifiers))
        implied = inside == "protocol" or (inside in ("enum", "public extension") and kind == "case") or inside == "public extension"
        visible = counts_members and not hides and (is_public or (implied and (kind == "case" or inside != "enum")))
        self.is_counted = (
            visible and kind != "extension" and (self.name or kind) not in _FULFILLED | around.fulfilled
            and not (kind == "init" and _FULFILLED_INIT.search(line)))
        self.scope = None
        if kind in _TYPES:
            inherited = set(re.findall(r"\w+", line[found.end("name") - found.start():]))
            fulfilled = frozenset().union(*(requirements.get(name, ()) for name in inherited | {found["name"]}))
            outer = kind if kind != "extension" else "public extension" if is_public else "extension"
            fulfilled = frozenset() if kind == "protocol" else fulfilled
            self.scope = _Scope(outer, visible or kind == "extension", fulfilled)


@dataclass(frozen=True)
class _Scope:
    """What a brace encloses, and whether its members are counted."""

    kind: str
    is_counted: bool
    fulfilled: frozenset = frozenset()


def _is_documented(lines, number):
    above = number - 1
    while above >= 0 and re.match(r"\s*@\w", lines[above]):
        above -= 1
    return above >= 0 and lines[above].lstrip().startswith(("///", "*/"))
