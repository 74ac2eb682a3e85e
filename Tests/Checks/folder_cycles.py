"""The cycles between the folders of one target.

A folder is a direct subfolder of the target's own, or the target's folder itself for the files that stand there. It uses
another one where it names a type that only the other one declares at the top level.
"""

import collections
import os
import re

from swift_source import code_of

_TOP_LEVEL = re.compile(
    r"^(?:[\w@()]+ )*?(?:struct|class|enum|actor|protocol|typealias)\s+([A-Za-z_]\w*)", re.MULTILINE)
_IDENTIFIER = re.compile(r"\b[A-Z]\w*")


def of(repository):
    """Target → groups of folders that use each other, directly or through others."""
    cycles = {}
    for target in _targets(repository):
        groups = [group for group in _components(_uses(repository, target)) if len(group) > 1]
        if groups:
            cycles[target.name] = groups
    return cycles


def examples(repository, name, folders):
    """For each folder of a cycle one use of another one: (file, type, the folder that declares it)."""
    target = next(target for target in _targets(repository) if target.name == name)
    found = {}
    for path, folder, used, name in _uses_of_types(repository, target):
        if folder in folders and used in folders:
            found.setdefault((folder, used), (path, name, used))
    return [found[pair] for pair in sorted(found)]


def _targets(repository):
    return [
        target for package in repository.packages for target in package.targets
        if target.language == "SwiftTarget" and not target.is_test and target.sources]


def _root(target):
    return os.path.commonpath([os.path.dirname(path) for path in target.sources])


def _uses(repository, target):
    uses = {folder: set() for folder in _folders(target).values()}
    for _, folder, used, _ in _uses_of_types(repository, target):
        uses[folder].add(used)
    return uses


def _folders(target):
    root = _root(target)
    return {path: os.path.relpath(path, root).split(os.sep)[0] if os.path.dirname(path) != root else "." for path in target.sources}


def _uses_of_types(repository, target):
    """Each use of a type of another folder: (file, its folder, the other folder, the type)."""
    folders = _folders(target)
    if len(set(folders.values())) < 2:
        return
    code = {path: code_of(repository.text(path) or "") for path in folders}
    declaring = collections.defaultdict(set)
    for path, folder in folders.items():
        for name in _TOP_LEVEL.findall(code[path]):
            declaring[name].add(folder)
    for path, folder in sorted(folders.items()):
        for name in sorted(set(_IDENTIFIER.findall(code[path]))):
            if len(declaring.get(name, ())) == 1 and folder not in declaring[name]:
                yield path, folder, *declaring[name], name


def _components(uses):
    """The strongly connected components, by what each folder reaches; there are few folders."""
    reached = {folder: _reached(folder, uses) for folder in uses}
    groups, left = [], set(uses)
    while left:
        folder = min(left)
        group = {folder} | {other for other in reached[folder] & left if folder in reached[other]}
        groups.append(sorted(group))
        left -= group
    return groups


def _reached(start, uses):
    reached, pending = set(), [start]
    while pending:
        for folder in uses[pending.pop()] - reached:
            reached.add(folder)
            pending.append(folder)
    return reached
