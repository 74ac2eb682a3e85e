"""The walks of docs/ARCHITECTURE.md lead to the files that they name.

A link whose text is the name of a Swift type leads to the file that declares the type; `--write-table` renews the paths.
A walk, the links below one heading, has at most 60 files.
"""

import os
import posixpath
import re

from swift_source import code_of
from violation import Violation

_DOCUMENT = "docs/ARCHITECTURE.md"
_LINK = re.compile(r"\[`(?P<name>[A-Z]\w*)`\]\((?P<path>[^)#]+\.swift)\)")
_TYPE = re.compile(r"^(?P<indent>[ \t]*)[\w@() \t]*?\b(?:struct|class|enum|actor|protocol|typealias)\s+(?P<name>\w+)", re.MULTILINE)
_MOST_FILES = 60


def check(repository):
    text = repository.text(_DOCUMENT) if _DOCUMENT in repository.files else ""
    declared = None
    heading, files = "", set()
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("#"):
            heading, files = line.lstrip("# "), set()
        for found in _LINK.finditer(line):
            path = posixpath.normpath(posixpath.join(posixpath.dirname(_DOCUMENT), found["path"]))
            declared = declared or _declarations(repository)
            files.add(path)
            if path not in declared.get(found["name"], ()):
                yield Violation(_DOCUMENT, number, "walks", f"{path} does not declare {found['name']}")
            if len(files) == _MOST_FILES + 1:
                yield Violation(_DOCUMENT, number, "walks", f"`{heading}` leads through more than {_MOST_FILES} files")


def write(repository):
    """Renews the paths of the links; prints the names that no file declares."""
    document = repository.root / _DOCUMENT
    declared = _declarations(repository)

    def renewed(link):
        paths = declared.get(link["name"])
        if not paths:
            print(f"no file declares {link['name']}")
            return link.group()
        old = posixpath.normpath(posixpath.join("docs", link["path"]))
        path = old if old in paths else max(paths, key=lambda path: (_likeness(path, link["name"], old), path))
        return f"[`{link['name']}`](../{path})"

    document.write_text(_LINK.sub(renewed, document.read_text()))


def _likeness(path, name, old):
    """A file of the type's name, then one near the old path."""
    return os.path.basename(path) == name + ".swift", len(os.path.commonprefix([path, old]))


def _declarations(repository):
    """Type → the files below Sources that declare it, at the top level where one does."""
    top, nested = {}, {}
    for path in repository.swift_files():
        if path.startswith(("Sources/", "Plugins/")) and "/Tests/" not in path:
            for found in _TYPE.finditer(code_of(repository.text(path) or "")):
                (nested if found["indent"] else top).setdefault(found["name"], set()).add(path)
    return {**nested, **top}
