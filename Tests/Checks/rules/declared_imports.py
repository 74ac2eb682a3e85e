"""A file imports only what its target declares, plainly.

The compiler's own check (`--explicit-target-dependency-import-check error`) lets undeclared imports pass in Swift
6.3.1, so every file's imports are held against the manifest here.
"""

import os

from violation import Violation
from modules import Modules
from repository import TEMPLATES

# Modules of the toolchain and of platforms, which no manifest declares.
PLATFORM_MODULES = {"Testing", "FoundationNetworking", "CryptoKit", "Network", "Security"}
_REFUSED = {
    "@testable": "tests go through the public interface, but for a module's own unit tests",
    "@_exported": "a reader of the importing file must see where names come from",
    "@_implementationOnly": "use `internal import`",
    "@_spi": "a second, hidden interface",
}


def check(repository):
    modules = Modules(repository)
    # A package's tests are in its own manifest and in the host's; each has to declare what they import.
    owners = {}
    for package in repository.packages:
        for target in package.targets:
            for path in target.sources:
                owners.setdefault(path, []).append(target)
    for path in repository.swift_files():
        imports = repository.imports[path]
        if os.path.basename(path) == "Package.swift":
            yield from _undeclared(path, imports, {"PackageDescription"}, "a manifest")
        elif path in owners:
            found = [violation for target in owners[path] for violation in _in_target(path, imports, target, modules)]
            yield from dict.fromkeys(found)
        elif path.startswith(TEMPLATES):
            pass  # Tests/EndToEnd/test_adapter_new.py compiles what is made of it.
        elif ".docc/" in path:
            pass  # A tutorial's step is a whole program, which Tests/EndToEnd/test_tutorial.py compiles.
        else:
            yield Violation(path, 0, "imports", "belongs to no target, so nothing compiles or tests it")


def _in_target(path, imports, target, modules):
    row = modules.repository.modules["modules"].get(target.name, {})
    for found in imports:
        if found.is_partial:
            yield Violation(path, found.line, "imports", f"import the whole module: `import {found.module}`")
        for attribute in found.attributes:
            if attribute == "@_exported" and found.module in row.get("exports", []):
                continue
            if attribute == "@testable" and target.name == found.module + "Tests":
                continue
            if attribute in _REFUSED:
                yield Violation(path, found.line, "imports", f"{attribute} is refused: {_REFUSED[attribute]}")
    platform = set(row.get("external", [])) & PLATFORM_MODULES
    allowed = modules.declared_by(target) | modules.toolchain_of(target) | platform
    yield from _undeclared(path, imports, allowed, f"target {target.name}")


def _undeclared(path, imports, allowed, who):
    for found in imports:
        if found.module not in allowed:
            yield Violation(path, found.line, "imports", f"{who} does not declare {found.module}")
