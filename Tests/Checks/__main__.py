"""`python3 Tests/Checks [RULE …] [--root DIR]` checks the repository against its rules; exit 1 where one is broken.

`--write-table` renews docs/module-dependencies.md, the lists public-surface.txt, openings.json, participles.json and repeated.json, and the paths in docs/ARCHITECTURE.md. Standard library only: it runs on a bare machine.
"""

import argparse
import sys
import time
from pathlib import Path

from repository import Repository
from rules import ALL, dependency_table, openings, participles, public_surface, repeated, walks


def main():
    arguments = _arguments()
    repository = Repository(arguments.root)
    if arguments.write_table:
        dependency_table.write(repository)
        public_surface.write(repository)
        openings.write(repository)
        participles.write(repository)
        repeated.write(repository)
        return walks.write(repository)
    broken = sum(_run(name, repository) for name in arguments.rules or ALL)
    sys.exit(1 if broken else 0)


def _arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rules", nargs="*", metavar="RULE", help=f"one of {', '.join(ALL)}; all by default")
    parser.add_argument("--root", default=Path(__file__).resolve().parents[2])
    parser.add_argument("--write-table", action="store_true")
    arguments = parser.parse_args()
    for name in arguments.rules:
        if name not in ALL:
            parser.error(f"no rule {name}; there are {', '.join(ALL)}")
    return arguments


def _run(name, repository):
    start = time.monotonic()
    violations = sorted(ALL[name].check(repository))
    for violation in violations:
        print(violation)
    summary = f"{len(violations)} found" if violations else "ok"
    print(f"check {name}: {summary} ({time.monotonic() - start:.1f} s)", file=sys.stderr)
    return len(violations)


if __name__ == "__main__":
    main()
