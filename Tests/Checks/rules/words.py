"""Documents are written without the metaphors and the vague words of Tests/Checks/vocabulary.py, comments of the sources
without the vague words. Code within documents is not read.
"""

import re

from vocabulary import REFUSED_WORDS, VAGUE_WORDS
from violation import Violation

_CODE = re.compile(r"^```.*?^```|`[^`\n]*`|\]\([^)\s]*\)|<!--.*?-->", re.MULTILINE | re.DOTALL)
_COMMENT = re.compile(r"^[ \t]*//.*$", re.MULTILINE)
_QUOTED = re.compile(r"`[^`\n]*`")
_ABOUT_CHAT = re.compile(r"chat|twaddle|member|retention", re.IGNORECASE)
_DOCUMENTS = (".md", "Makefile")


class _Words:
    def __init__(self, terms):
        self.terms = list(terms.values())
        alternatives = (rf"(?P<w{index}>\b(?:{words})\b)" for index, words in enumerate(terms))
        self.pattern = re.compile("|".join(alternatives), re.IGNORECASE)

    def violations(self, path, text, kind, is_allowed=lambda word, line: False):
        for number, line in enumerate(text.splitlines(), 1):
            for found in self.pattern.finditer(line):
                if not is_allowed(found.group(), line):
                    term = self.terms[int(found.lastgroup[1:])]
                    yield Violation(path, number, "words", f"`{found.group()}` is refused in {kind}; write: {term}")


_IN_DOCUMENTS = _Words({**REFUSED_WORDS, **VAGUE_WORDS})
_IN_COMMENTS = _Words(VAGUE_WORDS)


def check(repository):
    for path in repository.files:
        if path.endswith(_DOCUMENTS):
            yield from _in_document(path, repository.text(path) or "")
        elif path.endswith(".swift") and _is_shipped(path):
            yield from _in_comments(path, repository.text(path) or "")


def _is_shipped(path):
    return path.startswith(("Sources/", "Plugins/")) and "/Tests/" not in path


def _in_document(path, text):
    chat = bool(_ABOUT_CHAT.search(path))
    yield from _IN_DOCUMENTS.violations(
        path, _blanked(_CODE, text), "documents",
        lambda word, line: word.lower() in ("room", "rooms") and (chat or bool(_ABOUT_CHAT.search(line))))


def _in_comments(path, source):
    comments = ["" for _ in range(source.count("\n") + 1)]
    for found in _COMMENT.finditer(source):
        comments[source.count("\n", 0, found.start())] = _blanked(_QUOTED, found.group())
    yield from _IN_COMMENTS.violations(path, "\n".join(comments), "comments")


def _blanked(pattern, text):
    return pattern.sub(lambda found: re.sub(r"[^\n]", " ", found.group()), text)
