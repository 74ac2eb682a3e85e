"""docs/module-dependencies.md shows the table of Tests/Checks/modules.json."""

from violation import Violation

_DOCUMENT = "docs/module-dependencies.md"
_BEGIN, _END = "<!-- modules: begin -->\n", "<!-- modules: end -->\n"


def check(repository):
    text = repository.text(_DOCUMENT) if _DOCUMENT in repository.files else None
    if text is None:
        yield Violation(_DOCUMENT, 0, "table", "is missing")
    elif text != _renewed(text, repository.modules["modules"]):
        yield Violation(_DOCUMENT, 0, "table", "differs from modules.json; run `python3 Tests/Checks --write-table`")


def write(repository):
    document = repository.root / _DOCUMENT
    document.write_text(_renewed(document.read_text(), repository.modules["modules"]))


def _renewed(text, rows):
    if _BEGIN not in text or _END not in text:
        return None
    before, rest = text.split(_BEGIN, 1)
    after = rest.split(_END, 1)[1]
    return before + _BEGIN + _table(rows) + _END + after


def _table(rows):
    lines = [
        f"| `{name}` | {row['purpose']} | {_names(row['dependencies'])} | {_names(row['external'])} |\n"
        for name, row in rows.items()]
    return "| module | purpose | depends on | external modules |\n|---|---|---|---|\n" + "".join(lines)


def _names(names):
    return ", ".join(f"`{name}`" for name in names) or "–"
