"""docs/adapter-boundary.md says of each public protocol of AdapterKit how it crosses to an adapter in a process of its own."""

import re

from swift_source import code_of
from violation import Violation

_PAGE = "docs/adapter-boundary.md"
_SOURCES = "Sources/AdapterKit/AdapterKit/"
_PROTOCOL = re.compile(r"^\s*public protocol (\w+)", re.MULTILINE)
_ROW = re.compile(r"^\| `(\w+)` \|", re.MULTILINE)


def check(repository):
    declared = {}
    for path in repository.swift_files():
        if path.startswith(_SOURCES):
            code = code_of(repository.text(path) or "")
            for found in _PROTOCOL.finditer(code):
                declared[found[1]] = (path, code.count("\n", 0, found.start(1)) + 1)
    if not declared:
        return
    described = _ROW.findall(repository.text(_PAGE) if _PAGE in repository.files else "")
    for name in sorted(declared.keys() - set(described)):
        yield Violation(*declared[name], "boundary", f"{_PAGE} does not say how `{name}` crosses by messages")
    for name in sorted(set(described) - declared.keys()):
        yield Violation(_PAGE, 0, "boundary", f"there is no public protocol `{name}`")
