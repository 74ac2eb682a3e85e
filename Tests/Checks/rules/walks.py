"""Links of the documents that name a Swift type lead to the file that declares it; `--write-table` renews the paths.

A walk of docs/ARCHITECTURE.md, the links below one heading, has at most 60 files.
"""

import os
import posixpath
import re

from swift_source import code_of
from violation import Violation

_ARCHITECTURE = "docs/ARCHITECTURE.md"
_LINK = re.compile(r"\[`(?P<name>[A-Z]\w*)`\]\((?P<path>[^)#]+\.swift)\)")
_TYPE = re.compile(r"^(?P<indent>[ \t]*)[\w@() \t]*?\b(?:struct|class|enum|actor|protocol|typealias)\s+(?P<name>\w+)", re.MULTILINE)
_MOST_FILES = 60


def check(repository):
    declared = _declarations(repository)
    for document in _documents(repository):
        yield from _in_document(document, repository.text(document), declared)


def _in_document(document, text, declared):
    heading, files = "", set()
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("#"):
            heading, files = line.lstrip("# "), set()
        for found in _LINK.finditer(line):
            path = _target(document, found["path"])
            files.add(path)
            if path not in declared.get(found["name"], ()):
                yield Violation(document, number, "walks", f"{path} does not declare {found['name']}")
            if len(files) == _MOST_FILES + 1 and document == _ARCHITECTURE:
                yield Violation(document, number, "walks", f"`{heading}` leads through more than {_MOST_FILES} files")


def write(repository):
    """Renews the paths of the links; prints the names that no file declares."""
    declared = _declarations(repository)
    for document in _documents(repository):
        file = repository.root / document
        file.write_text(_LINK.sub(lambda link: _renewed(link, document, declared), file.read_text()))


def _renewed(link, document, declared):
    paths = declared.get(link["name"])
    if not paths:
        print(f"{document}: no file declares {link['name']}")
        return link.group()
    old = _target(document, link["path"])
    path = old if old in paths else max(paths, key=lambda path: (_likeness(path, link["name"], old), path))
    return f"[`{link['name']}`]({posixpath.relpath(path, posixpath.dirname(document))})"


def _documents(repository):
    return [path for path in repository.files if path.startswith("docs/") and path.endswith(".md")]


def _target(document, path):
    return posixpath.normpath(posixpath.join(posixpath.dirname(document), path))


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
