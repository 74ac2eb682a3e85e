"""One file a rule. Each has `check(repository)`, which yields findings; `ALL` is the catalogue."""

from rules import (
    declared_imports, forbidden_text, formatting, listed_packages, links, named_tests, telling_names, room_arrows,
    room_table, strict_targets, traps)

ALL = {
    "format": formatting,
    "packages": listed_packages,
    "strict": strict_targets,
    "imports": declared_imports,
    "arrows": room_arrows,
    "table": room_table,
    "text": forbidden_text,
    "traps": traps,
    "names": telling_names,
    "links": links,
    "tests": named_tests,
}
