"""Arrows point inwards: what a target declares, its room may import (Tests/Checks/rooms.json, the design's table).

Only declarations are held against the table here; that a file imports nothing undeclared is the rule `imports`. Tests
and benchmarks may declare what they need.
"""

from finding import Finding
from modules import Modules


def check(repository):
    modules, rooms = Modules(repository), repository.rooms["rooms"]
    yield from _outward(rooms)
    for package in repository.packages:
        for target in package.targets:
            if not target.is_test and not package.is_benchmark:
                yield from _of_target(package, target, rooms, modules)


def _outward(rooms):
    order = list(rooms)
    for name, room in rooms.items():
        for inner in room["rooms"]:
            if inner not in order[:order.index(name)]:
                yield Finding("Tests/Checks/rooms.json", 0, "arrows", f"{name} → {inner} points outwards or nowhere")


def _of_target(package, target, rooms, modules):
    manifest = package.manifest
    if target.name not in rooms:
        yield Finding(manifest, 0, "arrows", f"room {target.name} is not in Tests/Checks/rooms.json")
        return
    room = rooms[target.name]
    inner = {*room["rooms"], *(exported for name in room["rooms"] for exported in rooms[name].get("exports", []))}
    for module in sorted(modules.declared_by(target) - {*inner, *room["outside"]}):
        yield Finding(manifest, 0, "arrows", f"{target.name} may not depend on {module}")
