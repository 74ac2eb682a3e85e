"""Every test that the threat model or the architecture names is there: `module`, or `module.test`, of Python or of Swift."""

import re
from pathlib import PurePosixPath

from violation import Violation

_DOCUMENTS = ("docs/threat-model.md", "docs/ARCHITECTURE.md")
_NAME = re.compile(r"`(test_\w+|\w+Tests)(?:\.(\w+))?`")


def check(repository):
    modules = {
        PurePosixPath(path).stem: path for path in repository.files
        if re.fullmatch(r"test_\w+\.py|\w+Tests\.swift", PurePosixPath(path).name)}
    for document in _DOCUMENTS:
        if document in repository.files:
            yield from _in_document(document, repository, modules)


def _in_document(document, repository, modules):
    for number, line in enumerate(repository.text(document).splitlines(), 1):
        for found in _NAME.finditer(line):
            module, test = found.groups()
            text = repository.text(modules[module]) if module in modules else None
            if text is None or (test and not re.search(rf"(def|func) {test}\(", text)):
                yield Violation(document, number, "tests", f"{found.group().strip('`')} does not exist")
