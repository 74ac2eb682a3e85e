"""docs/ARCHITECTURE.md shows the table of rooms as Tests/Checks/rooms.json declares it."""

from finding import Finding

_DOCUMENT = "docs/ARCHITECTURE.md"
_BEGIN, _END = "<!-- rooms: begin -->\n", "<!-- rooms: end -->\n"


def check(repository):
    text = repository.text(_DOCUMENT) if _DOCUMENT in repository.files else None
    if text is None:
        yield Finding(_DOCUMENT, 0, "table", "is missing")
    elif text != _renewed(text, repository.rooms["rooms"]):
        yield Finding(_DOCUMENT, 0, "table", "differs from rooms.json; run `python3 Tests/Checks --write-table`")


def write(repository):
    document = repository.root / _DOCUMENT
    document.write_text(_renewed(document.read_text(), repository.rooms["rooms"]))


def _renewed(text, rooms):
    if _BEGIN not in text or _END not in text:
        return None
    before, rest = text.split(_BEGIN, 1)
    after = rest.split(_END, 1)[1]
    return before + _BEGIN + _table(rooms) + _END + after


def _table(rooms):
    rows = [
        f"| `{name}` | {room['job']} | {_names(room['rooms'])} | {_names(room['outside'])} |\n"
        for name, room in rooms.items()]
    return "| room | its one job | may import | from outside |\n|---|---|---|---|\n" + "".join(rows)


def _names(names):
    return ", ".join(f"`{name}`" for name in names) or "–"
