"""A function whose name is a participle returns a changed copy or a value (`sorted`): one that does something is a verb.

Refused is a participle alone (`made`, `finished`) as the name of a function that returns nothing, changes its own value, or
waits. A module may have as many of those as `participles.json` says, which only falls: `--write-table` lowers it.
"""

import re
from collections import defaultdict

import ratchet
from swift_source import code_of
from violation import Violation

_LIST = "Tests/Checks/participles.json"
_IRREGULAR = {
    "begun", "bound", "built", "caught", "chosen", "done", "drawn", "found", "given", "gone", "held", "kept", "known", "left",
    "lost", "made", "met", "sent", "shown", "spent", "taken", "told", "won", "written",
}
_VERBS = {"embed", "exceed", "feed", "need", "proceed", "reseed", "seed", "speed", "succeed"}
_FUNCTION = re.compile(r"^(?P<modifiers>[^\n{}]*?)\bfunc\s+(?P<name>[a-z]+)\b", re.MULTILINE)


def check(repository):
    for module, found, most in ratchet.excesses(repository, _LIST, _by_module(repository)):
        path, line, name = found[-1]
        yield Violation(
            path, line, "participles",
            f"{name} does something and is no verb; name it by what it does ({len(found)} in {module}, {most} at most)")


def write(repository):
    ratchet.lower(repository, _LIST, _by_module(repository))


def _by_module(repository):
    found = defaultdict(list)
    for path in repository.swift_files():
        if not path.startswith(("Sources/", "Plugins/")) or "/Tests/" in path:
            continue
        code = code_of(repository.text(path) or "")
        for match in _FUNCTION.finditer(code):
            if _is_participle(match["name"]) and _acts(match["modifiers"], code[match.end():]):
                line = code.count("\n", 0, match.start("name")) + 1
                found[ratchet.module_of(path)].append((path, line, match["name"]))
    return found


def _is_participle(name):
    return name in _IRREGULAR or name.endswith("ed") and name not in _VERBS


def _acts(modifiers, rest):
    """Whether the function returns nothing, changes its own value, or waits."""
    effects = _effects(rest)
    return "->" not in effects or bool(re.search(r"\bmutating\b", modifiers)) or bool(re.search(r"\basync\b", effects))


def _effects(rest):
    """The signature's part from the parameters on: `async throws -> Value`."""
    depth, at = 0, rest.find("(")
    for at in range(at, len(rest)):
        depth += (rest[at] == "(") - (rest[at] == ")")
        if not depth:
            break
    tail = re.match(r"\s*(?:async\b\s*)?(?:(?:re)?throws\b(?:\([^)]*\))?\s*)?(?:->)?", rest[at + 1:])
    return tail[0]
