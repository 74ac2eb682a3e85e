"""The tree under check: its files, its packages, and the table of modules."""

import json
import os
import subprocess
from functools import cached_property
from pathlib import Path

from manifest import Package
from swift_imports import imports_of

# Built or fetched, never ours; used only where the tree is not a git repository (the sabotage tests copy files out).
GENERATED = {".build", ".git", ".swiftpm", "__pycache__", ".venv"}

# Packages that are made of these files are not this repository's: Tests/EndToEnd/test_adapter_new.py builds them.
TEMPLATES = "Sources/AdapterTemplates/"


class Repository:
    def __init__(self, root):
        self.root = Path(root).resolve()

    @cached_property
    def files(self):
        """Every file that is or would be committed, as sorted paths relative to the root."""
        if (self.root / ".git").exists():
            return [path for path in self._git_files() if (self.root / path).is_file()]
        return sorted(self._walk())

    def text(self, path):
        """The file's text, or None where it is not UTF-8 (a binary file)."""
        try:
            return (self.root / path).read_bytes().decode("utf-8")
        except UnicodeDecodeError:
            return None

    def swift_files(self):
        return [path for path in self.files if path.endswith(".swift")]

    @cached_property
    def listed_packages(self):
        """The folders named in `.ci/packages`; one that does not exist yet may stand there already."""
        lines = (self.root / ".ci/packages").read_text().splitlines()
        return [line.strip() for line in lines if line.strip() and not line.startswith("#")]

    @cached_property
    def packages(self):
        folders = [os.path.dirname(path) or "." for path in self.files if os.path.basename(path) == "Package.swift"
                   and not path.startswith(TEMPLATES)]
        return [Package.load(self.root, folder) for folder in folders]

    @cached_property
    def modules(self):
        return json.loads((self.root / "Tests/Checks/modules.json").read_text())

    @cached_property
    def imports(self):
        """Swift file → its import declarations."""
        return {path: imports_of(self.text(path) or "") for path in self.swift_files()}

    def _git_files(self):
        listing = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=self.root, check=True, capture_output=True)
        return sorted(filter(None, listing.stdout.decode().split("\0")))

    def _walk(self):
        for folder, folders, names in os.walk(self.root):
            folders[:] = [name for name in folders if name not in GENERATED]
            for name in names:
                yield str(Path(folder, name).relative_to(self.root))
