"""A small, sound house in a folder of its own, for a test to damage."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

CHECKS = Path(__file__).resolve().parents[1]

MANIFEST = """\
// swift-tools-version: 6.2
import PackageDescription

let strict: [SwiftSetting] = [
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

let package = Package(
    name: "House",
    targets: [
        .target(name: "Cellar", swiftSettings: strict),
        .target(name: "Parlour", dependencies: ["Cellar"], swiftSettings: strict),
        .testTarget(name: "ParlourTests", dependencies: ["Parlour"], swiftSettings: strict),
    ]
)
"""

ROOMS = {
    "ground": ["Foundation"],
    "tests": ["Testing"],
    "rooms": {
        "Cellar": {"job": "Keeps", "rooms": [], "outside": []},
        "Parlour": {"job": "Receives", "rooms": ["Cellar"], "outside": []},
    },
}

FILES = {
    "Package.swift": MANIFEST,
    ".ci/packages": ".\n",
    ".swift-format": (CHECKS.parents[1] / ".swift-format").read_text(),
    "Sources/Cellar/Jar.swift": "public struct Jar {}\n",
    "Sources/Parlour/Guest.swift": "import Cellar\nimport Foundation\n\nlet jar = Jar()\n",
    "Tests/ParlourTests/GuestTests.swift": "import Parlour\nimport Testing\n",
    "Tests/Checks/rooms.json": json.dumps(ROOMS),
    "docs/ARCHITECTURE.md": "<!-- rooms: begin -->\n<!-- rooms: end -->\n",
}


class House:
    def __enter__(self):
        self._folder = tempfile.TemporaryDirectory()
        self.root = Path(self._folder.name)
        for path, text in FILES.items():
            self.write(path, text)
        self._checks("--write-table")
        return self

    def __exit__(self, *_):
        self._folder.cleanup()

    def write(self, path, text):
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text)

    def edit(self, path, old, new):
        text = (self.root / path).read_text()
        assert old in text, f"the sabotage of {path} no longer fits"
        self.write(path, text.replace(old, new, 1))

    def findings(self, *rules):
        """The exit code and the lines that `make check` would show."""
        ran = self._checks(*rules)
        return ran.returncode, ran.stdout.splitlines()

    def _checks(self, *arguments):
        return subprocess.run(
            [sys.executable, "-B", str(CHECKS), *arguments, "--root", str(self.root)], capture_output=True, text=True)
