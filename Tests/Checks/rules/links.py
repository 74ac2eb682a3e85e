"""Relative links in Markdown files lead to files that exist."""

import os
import re

from violation import Violation

_LINK = re.compile(r"\]\((?!https?:|mailto:|#)([^)#\s]+)(?:#[^)]*)?\)")
_FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def check(repository):
    for path in repository.files:
        if path.endswith(".md"):
            yield from _in_document(repository, path)


def _in_document(repository, path):
    text = _FENCE.sub(lambda fence: "\n" * fence.group().count("\n"), repository.text(path) or "")
    for found in _LINK.finditer(text):
        target = os.path.normpath(os.path.join(os.path.dirname(path), found.group(1)))
        if not (repository.root / target).exists():
            line = text.count("\n", 0, found.start()) + 1
            yield Violation(path, line, "links", f"{found.group(1)} does not exist")
