"""Folders of one target use each other in one direction: what cannot be separated is one folder."""

import folder_cycles
from violation import Violation

# Folders that may still use each other, and why. One that no longer does is refused, so that the list only shrinks.
_ALLOWED = {
    ("Gateway", ("AdapterLifecycle", "Dispatch")):
        "the supervisor runs its tasks by the dispatcher's scheduler; both move with the gateway's request path",
}


def check(repository):
    cycles = {(name, tuple(group)) for name, groups in folder_cycles.of(repository).items() for group in groups}
    for name, group in sorted(cycles - _ALLOWED.keys()):
        for path, used, folder in folder_cycles.examples(repository, name, group):
            yield Violation(path, 0, "folders", f"uses {used} of {folder}, within the cycle {', '.join(group)} of {name}")
    existing = {target.name for package in repository.packages for target in package.targets}
    for name, group in sorted(_ALLOWED.keys() - cycles):
        if name in existing:
            yield Violation("Tests/Checks/rules/folders.py", 0, "folders", f"{', '.join(group)} of {name} are no cycle; remove the exception")
