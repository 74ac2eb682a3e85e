"""The names of files and types say what they are about. There is no cap on size: what is read together stands together."""

import os
import re

from finding import Finding
from swift_source import code_of

_SAYS_NOTHING = re.compile(r"(?:Utils?|Utilities|Helpers?|Manager|Misc|Common|Stuff)(?=[A-Z+_]|$)")
_TYPE = re.compile(r"\b(?:struct|class|enum|actor|protocol|typealias)\s+(\w+)")


def check(repository):
    for path in repository.swift_files():
        source = repository.text(path) or ""
        yield from _names(path, code_of(source))


def _names(path, code):
    name = os.path.basename(path).removesuffix(".swift")
    if _SAYS_NOTHING.search(name):
        yield Finding(path, 0, "names", f"the file's name {name} does not say what it is about")
    for found in _TYPE.finditer(code):
        if _SAYS_NOTHING.search(found.group(1)):
            line = code.count("\n", 0, found.start()) + 1
            yield Finding(path, line, "names", f"the type's name {found.group(1)} does not say what it is")
