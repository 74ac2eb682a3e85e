"""Tests/Checks/modules.json, the manifests and the sources agree on which module depends on which.

- A module depends only on modules above it in modules.json, so dependencies are acyclic.
- What a manifest declares is in the module's row, and the row names nothing else.
- What a manifest declares is imported by a source of the target. (The rule `imports` holds the reverse.)

Tests and benchmarks need no row; a dependency that a test target does not import is refused all the same.
"""

from modules import Modules
from rules.declared_imports import PLATFORM_MODULES
from violation import Violation

_TABLE = "Tests/Checks/modules.json"


def check(repository):
    modules, rows = Modules(repository), repository.modules["modules"]
    yield from _upward(rows)
    targets = [(package, target) for package in repository.packages for target in package.targets]
    for package, target in targets:
        if package.is_benchmark:
            continue
        if not target.is_test:
            yield from _declared_but_not_listed(package, target, rows, modules)
        yield from _declared_but_not_imported(package, target, targets, modules)
    yield from _listed_but_not_declared(rows, [target for _, target in targets], modules)


def _upward(rows):
    order = list(rows)
    for name, row in rows.items():
        for dependency in row["dependencies"]:
            if dependency not in order[:order.index(name)]:
                yield Violation(_TABLE, 0, "dependencies", f"{name} names {dependency}, which does not stand above it")


def _declared_but_not_listed(package, target, rows, modules):
    if target.name not in rows:
        yield Violation(package.manifest, 0, "dependencies", f"module {target.name} is not in {_TABLE}")
        return
    row = rows[target.name]
    for module in sorted(modules.declared_by(target) - {*_with_exports(row["dependencies"], rows), *row["external"]}):
        yield Violation(package.manifest, 0, "dependencies", f"{target.name} may not depend on {module}")


def _declared_but_not_imported(package, target, targets, modules):
    libraries = {other.name for _, other in targets if other.kind in ("library", "system-target", "system")}
    imported = _imported_by(target, modules.repository)
    rows = modules.repository.modules["modules"]
    declared = [
        (name, [name, *rows.get(name, {}).get("exports", [])]) for name in target.targets if name in libraries]
    declared += [(product, modules.of_product(product)) for product in target.products]
    for name, provided in declared:
        if target.language == "SwiftTarget" and not imported.intersection(provided):
            yield Violation(package.manifest, 0, "dependencies", f"{target.name} declares {name} and does not import it")


def _listed_but_not_declared(rows, targets, modules):
    for name, row in rows.items():
        own = [target for target in targets if target.name == name]
        if not own:
            yield Violation(_TABLE, 0, "dependencies", f"{name} is a target of no package")
            continue
        declared = set().union(*(modules.declared_by(target) for target in own))
        imported = set().union(*(_imported_by(target, modules.repository) for target in own))
        used = declared | (imported & PLATFORM_MODULES)
        for module in [*row["dependencies"], *row["external"]]:
            if module not in used:
                yield Violation(_TABLE, 0, "dependencies", f"{name} does not depend on {module}; remove it from the row")


def _with_exports(names, rows):
    return {*names, *(exported for name in names for exported in rows[name].get("exports", []))}


def _imported_by(target, repository):
    return {found.module for path in target.sources for found in repository.imports.get(path, [])}
