"""Every Swift file is as `swift format` would write it, by the repository's .swift-format."""

import re
import subprocess

from violation import Violation

_LINE = re.compile(r"^(?P<path>.+?):(?P<line>\d+):\d+: (?:error|warning): (?P<message>.*)$")


def check(repository):
    files = repository.swift_files()
    if not files:
        return
    ran = subprocess.run(
        ["swift", "format", "lint", "--strict", "--parallel", *files],
        cwd=repository.root, capture_output=True, text=True)
    found = [match for match in map(_LINE.match, ran.stderr.splitlines()) if match]
    for match in found:
        yield Violation(match["path"], int(match["line"]), "format", match["message"])
    if ran.returncode != 0 and not found:
        yield Violation(".swift-format", 0, "format", ran.stderr.strip())
