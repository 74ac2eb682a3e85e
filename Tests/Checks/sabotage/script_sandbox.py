"""A copy of the scripts in a folder of their own, with programs of the machine replaced by stand-ins."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[3]


class ScriptSandbox:
    def __init__(self, *folders):
        self._folders = folders

    def __enter__(self):
        self._temporary = tempfile.TemporaryDirectory()
        self.root = Path(self._temporary.name)
        for folder in self._folders:
            shutil.copytree(REPOSITORY / folder, self.root / folder)
        (self.root / "programs").mkdir()
        return self

    def __exit__(self, *_):
        self._temporary.cleanup()

    def edit(self, path, old, new):
        text = (self.root / path).read_text()
        assert old in text, f"the sabotage of {path} no longer fits"
        (self.root / path).write_text(text.replace(old, new, 1))

    def stand_in(self, program, script):
        path = self.root / "programs" / program
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    def run(self, *command, **environment):
        """The exit code, and all that was printed."""
        path = f"{self.root}/programs:{os.environ['PATH']}"
        ran = subprocess.run(
            command, cwd=self.root, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            env={**os.environ, "PLUGINS": "", **environment, "PATH": path})
        return ran.returncode, ran.stdout
