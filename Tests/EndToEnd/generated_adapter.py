"""A package that `porticoctl adapter new` writes, built and tested as its author would, and a gateway that serves it."""

import pathlib
import shutil
import tempfile
import unittest

from adapter_build import SCRATCH, swift
from harness import Gateway, run_portico


class GeneratedAdapter(unittest.TestCase):
    def generate(self, name, kind, *arguments):
        """The package's folder. It shares a build folder with others, so that AdapterKit is compiled once."""
        parent = pathlib.Path(tempfile.mkdtemp(prefix="portico-adapter-"))
        self.addCleanup(shutil.rmtree, parent, True)
        done = run_portico("adapter", "new", name, "--kind", kind, "--into", parent, *arguments, program="porticoctl")
        self.assertEqual(done.returncode, 0, done.stderr)
        SCRATCH.mkdir(parents=True, exist_ok=True)
        (parent / name / ".build").symlink_to(SCRATCH)
        return parent / name

    def check_and_build(self, folder, tests):
        tested = swift("test", folder)
        self.assertEqual(tested.returncode, 0, tested.stdout[-4000:])
        self.assertIn(f"Test run with {tests} tests", tested.stdout)
        built = swift("build", folder)
        self.assertEqual(built.returncode, 0, built.stdout[-4000:])

    def serve(self, folder, *settings):
        checked = run_portico("check", "--config", folder / "gateway.yaml", *settings)
        self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)
        gateway = Gateway(*settings, config=str(folder / "gateway.yaml"))
        self.addCleanup(gateway.remove)
        return gateway
