"""Folders of one target use each other in one direction: what cannot be separated is one folder."""

import folder_cycles
from violation import Violation


def check(repository):
    for name, groups in folder_cycles.of(repository).items():
        for group in groups:
            for path, used, folder in folder_cycles.examples(repository, name, group):
                yield Violation(path, 0, "folders", f"uses {used} of {folder}, within the cycle {', '.join(group)} of {name}")
