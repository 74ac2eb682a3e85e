"""Names of types, files and folders state what they are, in the terms of the field.

Refused: names that state nothing (`Helper`), metaphors (`Door`), and a general word alone as the name of a type at a
module's top level (`State`), which one of them cannot be told from another. There is no cap on the size of a file.
"""

import os
import re

from swift_source import code_of
from vocabulary import METAPHORS, is_allowed
from violation import Violation

_UNSPECIFIC = re.compile(r"(?:Utils?|Utilities|Helpers?|Manager|Misc|Common|Stuff)(?=[A-Z+_]|$)")
_METAPHOR = re.compile(rf"(?:{'|'.join(METAPHORS)})(?=[A-Z+_0-9]|$)")
_TYPE = re.compile(r"^(?P<indent>[ \t]*)[\w@() \t]*?\b(?:struct|class|enum|actor|protocol|typealias)\s+(?P<name>\w+)", re.MULTILINE)
_ALONE = {"State", "Kind", "Entry", "Place", "Answer", "Form", "Verdict", "Finding"}


def check(repository):
    sources = [path for path in repository.files if path.endswith((".swift", ".py"))]
    for folder in sorted({os.path.dirname(path) for path in sources}):
        name = os.path.basename(folder)
        if (found := _METAPHOR.search(name)) and not is_allowed(folder, name):
            yield Violation(folder, 0, "names", f"the folder's name {name} holds the metaphor {found.group()}; use the field's term")
    for path in repository.files:
        if path.endswith((".swift", ".py")):
            yield from _of_file(path)
        if path.endswith(".swift"):
            yield from _of_types(path, repository.text(path) or "")


def _of_file(path):
    name = os.path.splitext(os.path.basename(path))[0]
    in_capitals = name if path.endswith(".swift") else "".join(part.capitalize() for part in name.split("_"))
    if _UNSPECIFIC.search(in_capitals):
        yield Violation(path, 0, "names", f"the file's name {name} does not state what the file holds")
    elif (found := _METAPHOR.search(in_capitals)) and not is_allowed(path, in_capitals):
        yield Violation(path, 0, "names", f"the file's name {name} holds the metaphor {found.group()}; use the field's term")


def _of_types(path, source):
    code = code_of(source)
    for found in _TYPE.finditer(code):
        name, line = found["name"], code.count("\n", 0, found.start("name")) + 1
        if _UNSPECIFIC.search(name):
            yield Violation(path, line, "names", f"the type's name {name} does not state what it is")
        elif (metaphor := _METAPHOR.search(name)) and not is_allowed(path, name):
            yield Violation(path, line, "names", f"the type's name {name} holds the metaphor {metaphor.group()}; use the field's term")
        elif name in _ALONE and not found["indent"] and "/Tests/" not in path and not path.startswith("Tests/"):
            yield Violation(path, line, "names", f"{name} alone is no name for a type at a module's top level; qualify it")
