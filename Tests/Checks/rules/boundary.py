"""What crosses between an adapter and a host in another process: docs/adapter-boundary.md says of each public protocol of
AdapterKit how it crosses, and each public stored property of a structure of AdapterKit is in its message."""

import re
from collections import namedtuple

from swift_source import code_of
from violation import Violation

_PAGE = "docs/adapter-boundary.md"
_SOURCES = "Sources/AdapterKit/AdapterKit/"
_MESSAGES = "Sources/AdapterWorker/AdapterProtocol/"
_PROTOCOL = re.compile(r"^\s*public protocol (\w+)", re.MULTILINE)
_ROW = re.compile(r"^\| `(\w+)` \|", re.MULTILINE)

_TYPE = re.compile(r"^ *(?:\w+ )*?(?P<kind>struct|class|enum|actor|extension) (?P<name>[\w.]+)(?P<rest>.*)\{$")
_PROPERTY = re.compile(
    r"^ *public (?:(?:private|fileprivate|internal|package)\(set\) )?(?:let|var) `?(?P<name>\w+)`?(?P<rest>.*)$")
_CONFORMANCE = re.compile(r"^extension (?P<name>[\w.]+): (?:MessageValue|NamedCases) \{(?:\}|.*?^\})", re.MULTILINE | re.DOTALL)

_SESSION = "Sources/WorkerHost/Session/WorkerConnection+Adapter.swift"
_REQUESTS = "Sources/WorkerHost/Session/WorkerRequests.swift"
_RULES = "Sources/WorkerHost/Rules/WorkerRecordRules.swift"
_RUNTIME = "Sources/AdapterWorker/AdapterWorker/WorkerRuntime.swift"
_RECORDS = "Sources/AdapterWorker/AdapterWorker/HostServices.swift"
_ERRORS = _MESSAGES + "Values/ErrorValues.swift"
_CALLS = _MESSAGES + "Values/CallValues.swift"
_DECLARATIONS = _MESSAGES + "Values/DeclarationValues.swift"

# Structures that cross as parts of other messages, and the files that write and read them.
_PARTS = {
    "AdapterContext": (_RUNTIME,),
    "Call": (_SESSION, _RUNTIME),
    "CallContext": (_MESSAGES + "Messages/Calls.swift",),
    "ConfigurationProblem": (_ERRORS,),
    "IntegerRange": (_DECLARATIONS,),
    "LogMessage.Item": (_CALLS,),
    "MetricChange": (_CALLS,),
    "MirrorRefusal": (_ERRORS,),
    "MirrorSettings.Callers": (_DECLARATIONS,),
    "MirrorSettings.Guard": (_DECLARATIONS,),
    "MountHeaders.Field": (_CALLS,),
    "MountRequest": (_SESSION, _RUNTIME),
    "MountResponse": (_SESSION, _RUNTIME),
    "PorticoError": (_ERRORS,),
    "RecordRuleContext": (_RULES, _RUNTIME),
    "ServiceCall": (_SESSION, _RUNTIME),
    "TextLimits": (_DECLARATIONS,),
    "UpstreamFailure": (_ERRORS,),
    "UpstreamRequest": (_MESSAGES + "Messages/UpstreamParameters.swift", _REQUESTS, _RECORDS),
    "UpstreamResponse": (_REQUESTS, _RECORDS),
    "UpstreamStream": (_REQUESTS, _RECORDS),
}

# Structures that do not cross.
_STAYING = {
    "Authorship": "a store's transaction has it",
    "CollectionID": "the host's own name of an entity",
    "DeclarationProblem": "the host's, of a declaration that crosses",
    "EntityRules": "checks that both sides make of an entity",
    "RecordDraft": "a record while a store checks it",
    "RecordImport": "builds a declaration from a file",
    "RelationLimits": "the host's",
    "StoredContent": "checks that both sides make of a document",
    "UpstreamOrigin": "within an address, which crosses as its text",
}

# Properties that are in no message.
_LEFT_OUT = {
    "AdapterContext.serviceOperations": "code of other adapters, which a worker does not reach",
    "CallContext.signIn": "the host's own name of a sign-in, which an adapter has no use for",
    "AdapterDeclaration.rules": "code, which crosses as questions; `declare` says whether there is some",
    "Call.log": "the worker's own, whose messages are events",
    "MirrorSource.callerKey": "the host sets it when it reads the declaration",
    "MountRequest.log": "the worker's own, whose messages are events",
    "PathTemplate.parts": "crosses as its text",
    "RecordRuleContext.earlier": "for rules that ask what the caller knows, which a worker's are not asked",
    "UpstreamAddress.origin": "crosses as its text",
    "UpstreamAddress.target": "crosses as its text",
}

_Property = namedtuple("_Property", "path line name")
_Message = namedtuple("_Message", "path line writing keys reading")


def check(repository):
    yield from _protocols(repository)
    yield from _structures(repository)


def _protocols(repository):
    declared = {}
    for path, code in _code(repository, _SOURCES):
        for found in _PROTOCOL.finditer(code):
            declared[found[1]] = (path, code.count("\n", 0, found.start(1)) + 1)
    if not declared:
        return
    described = _ROW.findall(repository.text(_PAGE) if _PAGE in repository.files else "")
    for name in sorted(declared.keys() - set(described)):
        yield Violation(*declared[name], "boundary", f"{_PAGE} does not say how `{name}` crosses by messages")
    for name in sorted(set(described) - declared.keys()):
        yield Violation(_PAGE, 0, "boundary", f"there is no public protocol `{name}`")


def _structures(repository):
    messages = {}
    for path, code in _code(repository, _MESSAGES):
        for found in _CONFORMANCE.finditer(code):
            messages[found["name"]] = _message(path, repository.text(path), code, found)
    if not messages:
        return
    structures = _properties(repository)
    for structure, properties in sorted(structures.items()):
        if structure in _STAYING:
            continue
        message = messages.get(structure)
        if not message and structure not in _PARTS:
            # A name is one text, and crosses as that.
            if [each.name for each in properties] != ["text"]:
                first = properties[0]
                yield Violation(
                    first.path, first.line, "boundary",
                    f"`{structure}` does not cross to a worker: say how in {_MESSAGES}, or why not in Tests/Checks/rules/boundary.py")
            continue
        writing = message.writing if message else "\n".join(code_of(repository.text(path) or "") for path in _PARTS[structure])
        for each in properties:
            if f"{structure}.{each.name}" in _LEFT_OUT or structure not in _PARTS and each.name == "text":
                continue
            if not re.search(rf"\b{each.name}\b", writing):
                yield Violation(
                    each.path, each.line, "boundary", f"`{structure}.{each.name}` is lost on the way to a worker: it is in no message")
    for structure in sorted(structures.keys() & messages.keys()):
        message = messages[structure]
        for key in message.keys:
            if key not in message.reading:
                yield Violation(message.path, message.line, "boundary", f"the member `{key}` of `{structure}` is written and not read")


def _message(path, source, code, found):
    body = found.group()
    start = body.find("init(message")
    # One without an initializer has that of a protocol.
    middle = found.start() + start if start >= 0 else found.end()
    keys = re.findall(r'\("(\w+)",', source[found.start():middle]) if start >= 0 else []
    reading = set(re.findall(r'"(\w+)"', source[middle:found.end()]))
    if "map.defaultValue()" in code[middle:found.end()]:
        reading.add("defaultValue")
    return _Message(path, code.count("\n", 0, found.start()) + 1, code[found.start():middle], keys, reading)


def _properties(repository):
    """The public stored properties of structures, by the structures' full names."""
    properties = {}
    for path, code in _code(repository, _SOURCES):
        lines = code.split("\n")
        types = []
        for index, line in enumerate(lines):
            indentation = len(line) - len(line.lstrip())
            if line.strip():
                while types and indentation <= types[-1][0]:
                    types.pop()
            declared = _TYPE.match(line)
            if declared:
                types.append((indentation, declared["kind"], declared["name"]))
                continue
            found = _PROPERTY.match(line)
            if found and types and types[-1][1] == "struct" and indentation == types[-1][0] + 4 and _is_stored(found["rest"]):
                name = ".".join(each[2] for each in types)
                properties.setdefault(name, []).append(_Property(path, index + 1, found["name"]))
    return properties


def _is_stored(rest):
    brace, value = rest.find("{"), rest.find("=")
    return brace < 0 or 0 <= value < brace


def _code(repository, folder):
    return [(path, code_of(repository.text(path) or "")) for path in repository.swift_files() if path.startswith(folder)]
