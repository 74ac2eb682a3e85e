"""Refuses expressions that trap in Swift: input that reaches one ends the process for all callers.

Found by their spelling. Where a trap cannot be reached, a comment on its line or the one above gives the reason:
`// Cannot trap: …`. Arithmetic, ranges, subscripts and recursion are not found; `make fuzz-requests` tests those.
"""

import re

from violation import Violation
from swift_source import code_of

_EXCUSE = re.compile(r"//.*\bCannot trap: \S")
_KINDS = {
    r"\buniqueKeysWithValues\s*:": "traps where a key is there twice; use `uniquingKeysWith`",
    r"\btry!|\bas!": "traps where it fails; handle the failure",
    r"\b(?:fatalError|preconditionFailure|precondition|assertionFailure)\s*\(": "ends the process; throw an error",
    r"(?<=[\w)\]}])(?<!\btry)(?<!\bas)!(?![=\w])": "traps where there is nothing; bind it",
    r"(?<![.\w])abs\(": "traps at the smallest integer; use `magnitude`",
    # Not of a number or a constant of C's, nor the widening of a byte.
    r"(?<![.\w])(?:U?Int8|Int16|Int32)\((?!\s*(?:truncatingIfNeeded|exactly|clamping|bitPattern|ascii):|\s*\d|\s*[A-Z_]{4,}|UInt8\()":
        "traps for what it does not hold; use `exactly`, `clamping` or `truncatingIfNeeded`",
    r"\.remove(?:First|Last)\((?!\s*\))": "traps where there are fewer; use `dropFirst` or `dropLast`",
    r"\bHTTPField\.Name\((?!\s*\))": "names a header field by input; collect it with `HeaderFields`, which has limits",
}
# Anywhere: a lock's value is generic, and the function that is written back after a use is a wrapper of the one before.
_LOCKED_FUNCTION = {
    r"\bMutex<\(?(?:@Sendable |@escaping )*(?:\([^()\n]*\)\s*(?:async |throws )*->|[\w.]+(?:Sink|Handler|Action)\?>)":
        "wraps a function once more with each use, until the stack ends; put it into a struct",
}
# These files work on the bits of numbers. The fuzzers of the formats cover them.
_FUZZED = ("Sources/WireFormats/", "Sources/AdapterKit/ValueTree/Base64.swift", "Sources/AdapterKit/ValueTree/WireDate.swift")
_ALWAYS = ("uniqueKeys", "try!", "abs", "HTTPField")
# A call with nothing but a literal, which the blanked code shows as an empty one: it fails at once or never.
_LITERAL_CALL = re.compile(r"\(\s*\)$")
# Not in a gateway's process, or only with what the operator wrote.
_ELSEWHERE = re.compile(
    r"^Sources/(?:Client|ClientGeneration|HostConfiguration|porticoctl|portico|portico-client-demo"
    r"|AdapterTesting)/|/(?:Tests|Drivers|Conformance|SyncDevice|Samples)/")


def check(repository):
    for path in repository.swift_files():
        if path.startswith(("Sources/", "Plugins/")):
            kinds = {} if _ELSEWHERE.search(path) else _KINDS
            yield from _in_file(path, repository.text(path) or "", kinds | _LOCKED_FUNCTION)


def _in_file(path, source, kinds):
    code, lines = code_of(source), source.split("\n")
    for pattern, reason in kinds.items():
        if pattern in _KINDS and path.startswith(_FUZZED) and not any(kind in pattern for kind in _ALWAYS):
            continue
        for found in re.finditer(pattern, code):
            if found.group() == "!" and _LITERAL_CALL.search(code[:found.start()]):
                continue
            number = code.count("\n", 0, found.start())
            if not any(_EXCUSE.search(line) for line in lines[max(0, number - 1):number + 1]):
                yield Violation(path, number + 1, "traps", f"`{found.group().strip()}` {reason}")
