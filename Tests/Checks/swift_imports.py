"""The import declarations of a Swift file, in whatever branch of `#if` they stand."""

import re
from dataclasses import dataclass

from swift_source import code_of

# An import begins a statement: at the start of a line or after `;`, behind attributes and an access level. The
# module's name may stand on the next line, and in backticks.
_IMPORT = re.compile(
    r"(?:^|;)[ \t]*"
    r"(?P<attributes>(?:@\w+(?:\([^)]*\))?\s+)*)"
    r"(?:(?:public|package|internal|fileprivate|private)\s+)?"
    r"import\s+"
    r"(?:(?P<kind>typealias|struct|class|enum|protocol|let|var|func|actor)\s+)?"
    r"`?(?P<module>[A-Za-z_]\w*)`?(?P<rest>(?:\.[`\w]+)*)"
    r"(?![`\w]|\s*:)",  # a parameter labelled `import` is none
    re.MULTILINE)


@dataclass(frozen=True)
class Import:
    module: str
    line: int
    attributes: tuple  # such as `@testable`
    is_partial: bool  # `import struct X.Y` or a submodule


def imports_of(source):
    code = code_of(source)
    return [_import(found, code) for found in _IMPORT.finditer(code)]


def _import(found, code):
    attributes = tuple(re.findall(r"@\w+", found.group("attributes")))
    line = code.count("\n", 0, found.start("module")) + 1
    return Import(found.group("module"), line, attributes, bool(found.group("kind") or found.group("rest")))
