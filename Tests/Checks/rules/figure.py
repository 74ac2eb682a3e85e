"""The figure of docs/ARCHITECTURE.md shows the modules of Tests/Checks/modules.json.

- Each node is a module, or a list of modules in its label.
- A library stands in the figure unless its row says `"figure": false` (test support, C headers).
- Each arrow is a dependency of the table; of a list, one module's at least. Dotted arrows are none.
- Each dependency of the table between modules of the figure is an arrow, or follows from several.
"""

import re

from violation import Violation

_DOCUMENT = "docs/ARCHITECTURE.md"
_FIGURE = re.compile(r"^```mermaid\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_NODE = re.compile(r'([A-Za-z][\w-]*)(?:\["([^"]*)"\])?')


def check(repository):
    if _DOCUMENT not in repository.files:
        return
    text = repository.text(_DOCUMENT)
    found = _FIGURE.search(text)
    if found is None:
        return
    line, rows = text.count("\n", 0, found.start()) + 1, repository.modules["modules"]
    nodes, arrows = _read(found.group(1), rows)
    for problem in _problems(nodes, arrows, rows, _programs(repository)):
        yield Violation(_DOCUMENT, line, "figure", problem)


def _read(figure, rows):
    """Node → its modules; the arrows between nodes."""
    nodes, arrows = {}, set()
    for line in figure.splitlines()[1:]:
        if line.split() == ["end"] or line.split()[:1] == ["subgraph"] or ".->" in line:
            continue
        for statement in line.split(";"):
            steps = [[_node(name, nodes, rows) for name in step.split(" & ")] for step in statement.split("-->")]
            arrows |= {(one, other) for left, right in zip(steps, steps[1:]) for one in left for other in right}
    return nodes, arrows


def _node(text, nodes, rows):
    name, label = _NODE.fullmatch(text.strip()).groups()
    if name not in nodes or label:
        nodes[name] = [name] if name in rows or label is None else label.split(", ")
    return name


def _problems(nodes, arrows, rows, programs):
    shown = {module: node for node, modules in nodes.items() for module in modules}
    for module in sorted(shown.keys() - rows.keys()):
        yield f"shows {module}, which is no module"
    for module in sorted(rows.keys() - shown.keys() - programs):
        if rows[module].get("figure", True):
            yield f"does not show {module}"
    for left, right in sorted(arrows):
        if not any(set(nodes[right]) & set(rows.get(module, {}).get("dependencies", ())) for module in nodes[left]):
            yield f"has an arrow from {left} to {right}, which is no dependency"
    for module, node in sorted(shown.items()):
        reached = {other for found in _reached(node, arrows) for other in nodes[found]}
        for needed in rows.get(module, {}).get("dependencies", ()):
            if needed in shown and needed not in reached:
                yield f"does not show that {module} depends on {needed}"


def _reached(node, arrows):
    reached, pending = {node}, [node]
    while pending:
        start = pending.pop()
        for left, right in arrows:
            if left == start and right not in reached:
                reached.add(right)
                pending.append(right)
    return reached


def _programs(repository):
    return {target.name for package in repository.packages for target in package.targets if target.kind == "executable"}
