"""What adapters are written against is listed: the public declarations of the packages of the SDK, each on one line.

The lists are `public-surface.txt` of each of these packages. `--write-table` renews them, so a change of the surface is a line of
the change that a reviewer reads. The first line has the SDK's version, as `SDKVersion.swift` has it.

Listed are `public` declarations, the requirements of public protocols, the cases of public enumerations, and conformances.
Bodies, comments and attributes are not, nor what follows the first line of a constant's value.
"""

import re

from rules.documentation import _TOKEN, _TYPES
from swift_source import code_of
from violation import Violation

# By package, the folders of the modules that adapters import.
_LISTS = {
    "AdapterKit": ("Sources/AdapterKit/AdapterKit/", "Sources/AdapterKit/ValueTree/"),
    "AdapterTesting": ("Sources/AdapterTesting/AdapterTesting/", "Sources/AdapterTesting/UpstreamRecording/"),
    "AdapterWorker": ("Sources/AdapterWorker/AdapterWorker/",),
}
_VERSION_FILE = "Sources/AdapterKit/AdapterKit/Lifecycle/SDKVersion.swift"
_VERSION = re.compile(r'^public let adapterKitVersion = "([^"]+)"', re.MULTILINE)
_HIDDEN = {"package", "internal", "private", "fileprivate"}
_SHOWN = {"static", "class", "mutating", "indirect", "nonisolated", "convenience", "final", "consuming", "override"}
# A line that ends or begins so goes on with its neighbour.
_CONTINUES = re.compile(r"(?:[,:=]|->|\bwhere|&)\s*$")
_CONTINUED = re.compile(r"\s*(?:where\b|->|async\b|throws\b|rethrows\b|[:,&.])")


def check(repository):
    for path, written in _texts(repository).items():
        listed = (repository.text(path) or "").splitlines() if path in repository.files else []
        declared = written.splitlines()
        if listed[:1] != declared[:1]:
            yield Violation(path, 1, "surface", f"the first line is not `{declared[0]}`; run `python3 Tests/Checks --write-table`")
        for line in sorted(set(declared[1:]) - set(listed[1:])):
            yield Violation(path, 0, "surface", f"`{line}` is public and not listed; run `python3 Tests/Checks --write-table`")
        for number, line in enumerate(listed[1:], start=2):
            if line not in set(declared[1:]):
                yield Violation(
                    path, number, "surface",
                    f"`{line}` is not declared any more: docs/plugins.md says when that may be; then run `python3 Tests/Checks --write-table`")


def write(repository):
    for path, text in _texts(repository).items():
        (repository.root / path).write_text(text)


def _texts(repository):
    """The lists as they should be, by their paths; none where there is no AdapterKit."""
    found = _VERSION.search(repository.text(_VERSION_FILE) or "") if _VERSION_FILE in repository.files else None
    texts = {}
    for package, sources in _LISTS.items() if found else ():
        lines = set()
        for path in repository.swift_files():
            # The version is the first line.
            if path.startswith(sources) and path != _VERSION_FILE:
                lines.update(_declarations(repository.text(path) or ""))
        if lines:
            texts[f"Sources/{package}/public-surface.txt"] = "\n".join([f"{package} {found[1]}", *sorted(lines)]) + "\n"
    return texts


def _declarations(source):
    code = code_of(source)  # As long as the source, so that places are the same in both.
    scopes, pending = [], None  # of each open brace: (name, kind, is listed) or None; the declaration whose brace may follow
    for found in _TOKEN.finditer(code):
        if found["brace"] == "}":
            scopes, pending = scopes[:-1], None
            continue
        if found["brace"] == "{":
            scopes.append(pending)
            pending = None
            continue
        if scopes and scopes[-1] is None:
            continue  # Within a body.
        around = scopes[-1] if scopes else ("", "file", True)
        modifiers, kind = set(found["modifiers"].split()), found["kind"]
        name = found["name"] or ""
        inherits = around[1] in ("protocol", "public extension") or (around[1] == "enum" and kind == "case")
        is_listed = around[2] and not modifiers & _HIDDEN and ("public" in modifiers or "open" in modifiers or inherits)
        signature = _signature(source, code, found, around[1] == "protocol")
        if kind == "extension":
            is_public = "public" in modifiers
            if ":" in signature:
                yield _line("", modifiers, signature.split(" where ")[0])
            pending = (name, "public extension" if is_public else "extension", True)
            continue
        if is_listed:
            yield _line(around[0], modifiers, signature)
        pending = (f"{around[0]}.{name}".lstrip("."), kind, is_listed) if kind in _TYPES else None


def _line(scope, modifiers, signature):
    shown = " ".join(sorted(modifiers & _SHOWN))
    return " ".join(filter(None, [f"{scope}:" if scope else "", shown, signature]))


def _signature(source, code, found, is_requirement):
    """From the declaration's kind to its body, on one line."""
    start = at = found.start("kind")
    depth, is_value = 0, found["kind"] in ("let", "var")
    while at < len(code):
        character = code[at]
        if character in "([":
            depth += 1
        elif character in ")]":
            depth -= 1
        elif character == "\n" and is_value and "=" in code[start:at]:
            break
        elif depth == 0 and character == "{":
            if is_requirement and found["kind"] in ("var", "subscript"):
                at = code.find("}", at) + 1
            break
        elif depth == 0 and character == "\n":
            if not _CONTINUES.search(source[start:at]) and not _CONTINUED.match(code[at + 1:at + 200]):
                break
        elif depth < 0:
            break
        at += 1
    return _plain(source[start:at])


def _plain(text):
    text = re.sub(r"\s+", " ", re.sub(r"//.*", "", text)).strip()
    text = re.sub(r"([(\[]) | ([)\]])", r"\1\2", text)
    return re.sub(r"(?: =(?: [(\[{])?|,)$", "", text)
