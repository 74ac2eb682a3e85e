"""A package that `porticoctl adapter new` writes, built and tested as its author would, and a gateway that serves it."""

import os
import pathlib
import shutil
import tempfile
import unittest

from adapter_build import SCRATCH, build_folder, copy_products, swift
from harness import Gateway, run_portico


class GeneratedAdapter(unittest.TestCase):
    def generate(self, name, kind, *arguments):
        """The package's folder."""
        parent = pathlib.Path(tempfile.mkdtemp(prefix="portico-adapter-"))
        self.addCleanup(shutil.rmtree, parent, True)
        done = run_portico("adapter", "new", name, "--kind", kind, "--into", parent, *arguments, program="porticoctl")
        self.assertEqual(done.returncode, 0, done.stderr)
        return parent / name

    def check_and_build(self, folder, tests):
        """Runs its tests, and leaves what it builds where its gateway.yaml looks for it."""
        with build_folder():
            tested = swift("test", folder)
            self.assertEqual(tested.returncode, 0, tested.stdout[-4000:])
            self.assertIn(f"Test run with {tests} tests", tested.stdout)
            built = swift("build", folder)
            self.assertEqual(built.returncode, 0, built.stdout[-4000:])
            copy_products(folder / ".build" / "debug", f"{folder.name}-worker")

    def adapter_test(self, folder, tests, *arguments):
        """`porticoctl adapter test` of the package, whose program is left where its gateway.yaml looks for it."""
        tools = folder.parent / "tools"
        tools.mkdir()
        (tools / "swift").write_text(
            f'#!/bin/sh\nexec {shutil.which("swift")} "$@" --scratch-path {SCRATCH} --disable-build-manifest-caching -j 2\n')
        (tools / "swift").chmod(0o755)
        with build_folder():
            # So that gateway.yaml finds what is built there.
            (folder / ".build").symlink_to(SCRATCH)
            done = run_portico(
                "adapter", "test", folder, *arguments, program="porticoctl", timeout=1100,
                environment={"PATH": f"{tools}:{os.environ['PATH']}"})
            (folder / ".build").unlink()
            copy_products(folder / ".build" / "debug", f"{folder.name}-worker")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr[-4000:])
        self.assertIn(f"Test run with {tests} tests", done.stderr)
        return done.stdout

    def serve(self, folder, *settings, configuration="gateway.yaml"):
        checked = run_portico("check", "--config", folder / configuration, *settings)
        self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)
        gateway = Gateway(*settings, config=str(folder / configuration))
        self.addCleanup(gateway.remove)
        return gateway
