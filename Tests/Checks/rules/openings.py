"""Doc comments open with a noun phrase or a verb: not with What, Of, Those, Who or How, which name nothing yet.

A module may have as many of those as `openings.json` says, which only falls: `--write-table` lowers it.
"""

import re
from collections import defaultdict

import ratchet
from violation import Violation

_REFUSED = re.compile(r"[\"'(]*(?:What|Of|Those|Who|How)\b")
_LIST = "Tests/Checks/openings.json"


def check(repository):
    for module, found, most in ratchet.excesses(repository, _LIST, _by_module(repository)):
        path, line, text = found[-1]
        yield Violation(
            path, line, "openings",
            f"`{text[:40]}` names nothing; open with a noun phrase or a verb ({len(found)} in {module}, {most} at most)")


def write(repository):
    ratchet.lower(repository, _LIST, _by_module(repository))


def share(repository):
    """In per cent of all doc comments below Sources and Plugins, tests apart."""
    openings = list(_openings(repository))
    refused = sum(bool(_REFUSED.match(text)) for _, _, text in openings)
    return round(100 * refused / max(1, len(openings)), 1)


def _by_module(repository):
    found = defaultdict(list)
    for path, line, text in _openings(repository):
        if _REFUSED.match(text):
            found[ratchet.module_of(path)].append((path, line, text))
    return found


def _openings(repository):
    """The first line of each doc comment: path, line and text."""
    for path in repository.swift_files():
        if not path.startswith(("Sources/", "Plugins/")) or "/Tests/" in path:
            continue
        within = False
        for number, line in enumerate((repository.text(path) or "").splitlines(), 1):
            text = line.strip()
            if text.startswith("///") and not within and (words := text[3:].strip()):
                yield path, number, words
            within = text.startswith("///")
