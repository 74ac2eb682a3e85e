"""A type at the top of a file has a name that no other module has: two of one name are told apart by imports alone.

`repeated.json` has the names that several modules have, each with these modules; the list only falls: `--write-table` lowers it.
"""

import json
import re
from collections import defaultdict

import ratchet
from swift_source import code_of
from violation import Violation

_LIST = "Tests/Checks/repeated.json"

# Each does the same job on another database, by parts of the same names; none imports another.
_ALIKE = {"PostgreSQLStore", "SQLiteStore"}

# Not those of one file alone.
TOP_TYPE = re.compile(
    r"^(?!(?:file)?private\b)(?:@\w+(?:\([^)]*\))?\s+)*(?:(?:public|package|internal|final|indirect)\s+)*"
    r"(?:struct|class|enum|actor|protocol)\s+([A-Za-z_]\w*)", re.MULTILINE)


def check(repository):
    allowed = ratchet.allowed(repository, _LIST)
    for name, places in sorted(_repeated(repository).items()):
        for module in sorted(places.keys() - set(allowed.get(name, []))):
            path, line = places[module]
            others = ", ".join(sorted(places.keys() - {module}))
            yield Violation(path, line, "repeated", f"{others} has a type {name} too; give this one a name of its own")


def write(repository):
    found = _repeated(repository)
    allowed = {name: sorted(found[name].keys() & set(modules)) for name, modules in ratchet.allowed(repository, _LIST).items() if name in found}
    lines = [f"    {json.dumps(name)}: {json.dumps(modules)}" for name, modules in sorted(allowed.items()) if len(modules) > 1]
    (repository.root / _LIST).write_text("{\n" + ",\n".join(lines) + "\n}\n")


def _repeated(repository):
    """Name → module → path and line, for names of several modules."""
    found = defaultdict(dict)
    for package in repository.packages:
        for target in package.targets:
            if target.is_test or not target.sources:
                continue
            for path in target.sources:
                if not path.startswith("Sources/") or "/Tests/" in path or not path.endswith(".swift"):
                    continue
                code = code_of(repository.text(path) or "")
                for match in TOP_TYPE.finditer(code):
                    found[match[1]].setdefault(target.name, (path, code.count("\n", 0, match.start(1)) + 1))
    return {name: places for name, places in found.items() if len(places) > 1 and not places.keys() <= _ALIKE}
