"""`python3 Tests/Checks/measure.py [REVISION …]` prints the size and the shape of the source tree; `.` is the working tree.

Counted are the Swift files (manifests apart), the types that they declare, the decisions, the public symbols without a
documentation comment, and the cycles between the folders of one target (folder_cycles.py).
Each revision is checked out below a temporary folder by `git worktree`.
"""

import argparse
import os
import re
import statistics
import subprocess
import tempfile
from collections import defaultdict
from pathlib import Path

import folder_cycles
from repository import Repository
from rules import documentation, openings, repeated
from swift_source import code_of

ROOT = Path(__file__).resolve().parents[2]
_TYPE = re.compile(r"\b(?:struct|class|enum|actor|protocol)\s+(?!func\b|var\b|let\b|subscript\b|init\b)([A-Za-z_]\w*)")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("revisions", nargs="*", default=["."], metavar="REVISION")
    parser.add_argument("--undocumented", action="store_true", help="list the undocumented symbols of the working tree")
    arguments = parser.parse_args()
    if arguments.undocumented:
        return print(*sorted(documentation.undocumented_in(Repository(ROOT))), sep="\n")
    columns = {revision: _measured_revision(revision) for revision in arguments.revisions}
    names = list(dict.fromkeys(name for column in columns.values() for name in column))
    width = max(map(len, names))
    print(" " * width, *(f"{revision:>14}" for revision in columns))
    for name in names:
        print(f"{name:<{width}}", *(f"{column.get(name, 0):>14}" for column in columns.values()))


def _measured_revision(revision):
    if revision == ".":
        return measure(Repository(ROOT))
    with tempfile.TemporaryDirectory() as folder:
        tree = os.path.join(folder, "tree")
        subprocess.run(["git", "worktree", "add", "--quiet", "--detach", tree, revision], cwd=ROOT, check=True)
        try:
            return measure(Repository(tree))
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", tree], cwd=ROOT, check=True)


def measure(repository):
    """Figure → value, in the order to print."""
    code = {path: code_of(repository.text(path) or "") for path in repository.swift_files() if _is_counted(path)}
    sizes = {path: (repository.text(path) or "").count("\n") for path in code}
    largest = max(sizes, key=sizes.get)
    figures = {
        "Swift files": len(sizes),
        "lines": sum(sizes.values()),
        "lines of the median file": int(statistics.median(sizes.values())),
        "lines of the largest file": sizes[largest],
        "files of 40 lines or fewer": sum(size <= 40 for size in sizes.values()),
        "files below Sources and Plugins, no tests": sum(map(_is_shipped, sizes)),
        "files below Sources and Plugins, no tests, of 40 lines or fewer":
            sum(size <= 40 for path, size in sizes.items() if _is_shipped(path)),
        "types": sum(len(_TYPE.findall(text)) for text in code.values()),
        "decisions": sum(bool(re.match(r"docs/decisions/\d", path)) for path in repository.files),
        "undocumented public symbols": len(list(documentation.undocumented_in(repository))),
        "per cent of doc comments that open with What, Of, Those, Who or How": openings.share(repository),
        "type names of several modules": _repeated(code),
    }
    cycles = folder_cycles.of(repository)
    figures["targets with cycles of folders"] = len(cycles)
    figures.update({f"  folders in cycles of {name}": sum(map(len, groups)) for name, groups in cycles.items()})
    return figures


def _repeated(code):
    """Names of types at the top of a file, below Sources, that several modules declare."""
    modules = defaultdict(set)
    for path, text in code.items():
        if path.startswith("Sources/") and _is_shipped(path):
            for name in repeated.TOP_TYPE.findall(text):
                modules[name].add(path.split("/")[1])
    return sum(len(places) > 1 for places in modules.values())


def _is_counted(path):
    return os.path.basename(path) != "Package.swift"


def _is_shipped(path):
    return path.startswith(("Sources/", "Plugins/")) and "/Tests/" not in path


if __name__ == "__main__":
    main()
