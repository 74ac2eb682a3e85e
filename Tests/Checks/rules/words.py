"""Documents are written without the metaphors of Tests/Checks/vocabulary.py; code within them is not read."""

import re

from vocabulary import REFUSED_WORDS
from violation import Violation

_WORD = re.compile("|".join(rf"(?P<w{index}>\b(?:{words})\b)" for index, words in enumerate(REFUSED_WORDS)), re.IGNORECASE)
_TERMS = list(REFUSED_WORDS.values())
_CODE = re.compile(r"^```.*?^```|`[^`\n]*`|\]\([^)\s]*\)|<!--.*?-->", re.MULTILINE | re.DOTALL)
_ABOUT_CHAT = re.compile(r"chat|twaddle|member|retention", re.IGNORECASE)
_DOCUMENTS = (".md", "Makefile")


def check(repository):
    for path in repository.files:
        if path.endswith(_DOCUMENTS):
            yield from _in_document(path, repository.text(path) or "")


def _in_document(path, text):
    text = _CODE.sub(lambda code: re.sub(r"[^\n]", " ", code.group()), text)
    chat = bool(_ABOUT_CHAT.search(path))
    for number, line in enumerate(text.splitlines(), 1):
        for found in _WORD.finditer(line):
            if found.group().lower() in ("room", "rooms") and (chat or _ABOUT_CHAT.search(line)):
                continue
            term = _TERMS[int(found.lastgroup[1:])]
            yield Violation(path, number, "words", f"`{found.group()}` is refused in documents; write: {term}")
