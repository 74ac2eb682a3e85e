"""One file a rule. Each has `check(repository)`, which yields violations; `ALL` is the catalogue."""

from rules import (
    boundary, decisions, declared_imports, dependency_table, documentation, figure, folders, forbidden_text,
    formatting, links, listed_packages, module_dependencies, named_tests, names, openings, participles, public_surface, repeated,
    strict_targets, traps, walks, words)

ALL = {
    "format": formatting,
    "packages": listed_packages,
    "strict": strict_targets,
    "imports": declared_imports,
    "dependencies": module_dependencies,
    "table": dependency_table,
    "figure": figure,
    "text": forbidden_text,
    "traps": traps,
    "folders": folders,
    "names": names,
    "words": words,
    "decisions": decisions,
    "documentation": documentation,
    "openings": openings,
    "participles": participles,
    "repeated": repeated,
    "boundary": boundary,
    "surface": public_surface,
    "links": links,
    "tests": named_tests,
    "walks": walks,
}
