"""A small package that passes every check, in a temporary folder, for a test to damage."""

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
    name: "Fixture",
    targets: [
        .target(name: "Core", swiftSettings: strict),
        .target(name: "Shell", dependencies: ["Core"], swiftSettings: strict),
        .testTarget(name: "ShellTests", dependencies: ["Shell"], swiftSettings: strict),
    ]
)
"""

MODULES = {
    "toolchain": ["Foundation"],
    "tests": ["Testing"],
    "modules": {
        "Core": {"purpose": "Counts", "dependencies": [], "external": []},
        "Shell": {"purpose": "Shows", "dependencies": ["Core"], "external": []},
    },
}

FILES = {
    "Package.swift": MANIFEST,
    ".ci/packages": ".\n",
    ".swift-format": (CHECKS.parents[1] / ".swift-format").read_text(),
    "Sources/Core/Counter.swift": "public struct Counter {}\n",
    "Sources/Shell/Screen.swift": "import Core\nimport Foundation\n\nlet counter = Counter()\n",
    "Tests/ShellTests/ScreenTests.swift": "import Shell\nimport Testing\n",
    "Tests/Checks/modules.json": json.dumps(MODULES),
    "docs/ARCHITECTURE.md": "1. [`Counter`](../Sources/Old.swift) counts.\n",
    "docs/module-dependencies.md": "<!-- modules: begin -->\n<!-- modules: end -->\n",
}


class PackageFixture:
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

    def violations(self, *rules):
        """The exit code and the lines that `make check` would show."""
        ran = self._checks(*rules)
        return ran.returncode, ran.stdout.splitlines()

    def _checks(self, *arguments):
        return subprocess.run(
            [sys.executable, "-B", str(CHECKS), *arguments, "--root", str(self.root)], capture_output=True, text=True)
