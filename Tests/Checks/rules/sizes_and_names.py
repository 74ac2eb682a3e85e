"""A file holds one idea: it is not long, and its name and its types' names say which idea it is."""

import os
import re

from finding import Finding
from swift_source import code_of

LONGEST_FILE = 300  # lines; about 100 is usual here
_SAYS_NOTHING = re.compile(r"(?:Utils?|Utilities|Helpers?|Manager|Misc|Common|Stuff)(?=[A-Z+_]|$)")
_TYPE = re.compile(r"\b(?:struct|class|enum|actor|protocol|typealias)\s+(\w+)")


def check(repository):
    for path in repository.swift_files():
        source = repository.text(path) or ""
        lines = source.count("\n")
        if lines > LONGEST_FILE:
            yield Finding(path, 0, "size", f"{lines} lines; split it at {LONGEST_FILE} by what it is about")
        yield from _names(path, code_of(source))


def _names(path, code):
    name = os.path.basename(path).removesuffix(".swift")
    if _SAYS_NOTHING.search(name):
        yield Finding(path, 0, "size", f"the file's name {name} does not say what it is about")
    for found in _TYPE.finditer(code):
        if _SAYS_NOTHING.search(found.group(1)):
            line = code.count("\n", 0, found.start()) + 1
            yield Finding(path, line, "size", f"the type's name {found.group(1)} does not say what it is")
