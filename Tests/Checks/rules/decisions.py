"""Every decision has the one format, is listed in the index, and is linked from the decision that it changes.

A file that refers to `docs/decisions/NNNN` refers to one that is there. The format: `# NNNN Title`, `Status: …`, and four paragraphs in order. A status that says `Amends`, `Overrules` or
`Replaces` with a link has its counterpart (`Amended by`, `Overruled by`, `Replaced by`) in the linked decision. Pages for users
link decisions by their titles: a number says nothing to their readers.
"""

import posixpath
import re

from violation import Violation

_FOLDER = "docs/decisions/"
_INDEX = _FOLDER + "README.md"
_FILE = re.compile(r"(\d{4})-[a-z0-9-]+\.md")
_SECTIONS = ["Context", "Decision", "Alternatives rejected", "Consequences"]
_CHANGES = re.compile(r"(Amends|Overrules|Replaces)((?:,? \[\d{4}\]\([^)]*\))+)")
_COUNTERPARTS = {"Amends": "Amended by", "Overrules": "Overruled by", "Replaces": "Replaced by"}
_REFERENCE = re.compile(r"docs/decisions/(\d{4})(-[a-z0-9-]+\.md)?")
_LONGEST = 60  # lines
_NUMBERED = re.compile(r"\[\d{4}\]\(")
# For those who change Portico or examine it.
_FOR_DEVELOPERS = {f"docs/{name}.md" for name in ["ARCHITECTURE", "adapter-boundary", "testing", "threat-model"]}


def check(repository):
    paths = [path for path in repository.files if path.startswith(_FOLDER) and path != _INDEX]
    texts = {posixpath.basename(path): repository.text(path) or "" for path in paths}
    index = repository.text(_INDEX) if _INDEX in repository.files else ""
    for name, text in texts.items():
        for message in [*_format(name, text), *_links(name, text, texts)]:
            yield Violation(_FOLDER + name, 0, "decisions", message)
        if index.count(f"({name})") == 0:
            yield Violation(_INDEX, 0, "decisions", f"{name} is not listed")
    yield from _numbers(repository)
    yield from _references(repository, {path[len(_FOLDER):][:4] for path in paths}, set(texts))


def _numbers(repository):
    for path in repository.files:
        is_page = path == "README.md" or path.startswith(("docs/", "Deploy/", "Plugins/")) and path.endswith(".md")
        if is_page and not path.startswith(_FOLDER) and path not in _FOR_DEVELOPERS:
            for line, text in enumerate((repository.text(path) or "").splitlines(), 1):
                if _NUMBERED.search(text):
                    yield Violation(path, line, "decisions", "link the decision by its title, not by its number")


def _references(repository, numbers, names):
    """In comments and elsewhere outside of Markdown, whose links the rule `links` follows."""
    for path in repository.files:
        if path.endswith((".swift", ".py", ".sh", "Makefile")) and not path.startswith("Tests/Checks/"):
            for line, text in enumerate((repository.text(path) or "").splitlines(), 1):
                for found in _REFERENCE.finditer(text):
                    if found[1] not in numbers or (found[2] and found[1] + found[2] not in names):
                        yield Violation(path, line, "decisions", f"{found.group()} does not exist")


def _format(name, text):
    number = _FILE.fullmatch(name)
    if not number:
        yield "the name is not of the form 0001-title.md"
        return
    if not re.match(rf"# {number.group(1)} \S.*\n\nStatus: \w", text):
        yield "does not begin with `# NNNN Title` and `Status: …`"
    if re.findall(r"^\*\*([A-Z][a-z ]+)\.\*\*", text, re.MULTILINE) != _SECTIONS:
        yield f"its paragraphs are not {', '.join(_SECTIONS)}"
    if text.count("\n") > _LONGEST:
        yield f"has more than {_LONGEST} lines"


def _links(name, text, texts):
    status = next((line for line in text.splitlines() if line.startswith("Status:")), "")
    for verb, targets in _CHANGES.findall(status):
        for target in re.findall(r"\(([^)]*)\)", targets):
            if not re.search(rf"{_COUNTERPARTS[verb]}[^.]*\({re.escape(name)}\)", texts.get(target, "")):
                yield f"{target} does not say `{_COUNTERPARTS[verb]}` {name}"
