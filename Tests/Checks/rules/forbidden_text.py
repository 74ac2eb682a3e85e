"""What must not be committed: names of package registries, paths of one machine, build products, and, in the
modules, Foundation's codecs (the readers and writers are WireFormats'; Foundation's are oracles in tests only). A module
that must use them says why in modules.json, under `foundationCodecs`."""

import os
import re

from repository import TEMPLATES
from violation import Violation

# Written with a class of one character, so that this file does not hold what it refuses.
_EVERYWHERE = {
    r"pypi[.]org|pythonhosted[.]org|npmjs[.](?:org|com)|crates[.]io|deb[.]debian[.]org|security[.]debian[.]org"
    r"|archive[.]ubuntu[.]com|docker[.]io|proxy[.]golang[.]org|repo1?[.]maven[.]org":
        "names the host of a package registry; the machine's own settings choose it",
    r"(?<![\w.])/(?:work|root|opt/swift)(?:/|\b)": "holds an absolute path of one machine",
}
_IN_MODULES = {
    r"\b(?:JSONSerialization|JSONDecoder|JSONEncoder|PropertyListSerialization|PropertyListDecoder"
    r"|PropertyListEncoder|XMLParser)\b":
        "Foundation's codecs are oracles in tests only; use WireFormats",
}
_NEVER_COMMITTED = {"Package.resolved", ".build", ".swiftpm", "__pycache__", ".DS_Store"}


def check(repository):
    excused = set(_excused(repository))
    for path in repository.files:
        for part in path.split(os.sep):
            if part in _NEVER_COMMITTED:
                yield Violation(path, 0, "text", f"{part} must not be committed")
        patterns = {**_EVERYWHERE, **(_IN_MODULES if _is_in_module(path) and path not in excused else {})}
        yield from _in_text(path, repository.text(path) or "", patterns)


def _excused(repository):
    for package in repository.packages:
        for target in package.targets:
            if repository.modules["modules"].get(target.name, {}).get("foundationCodecs"):
                yield from target.sources


def _is_in_module(path):
    # What is made of the templates is another team's, and cannot link WireFormats.
    return (path.startswith(("Sources/", "Plugins/")) and path.endswith(".swift") and "/Tests/" not in path
            and not path.startswith(TEMPLATES))


def _in_text(path, text, patterns):
    for pattern, reason in patterns.items():
        for found in re.finditer(pattern, text):
            line = text.count("\n", 0, found.start()) + 1
            yield Violation(path, line, "text", f"`{found.group()}` {reason}")
