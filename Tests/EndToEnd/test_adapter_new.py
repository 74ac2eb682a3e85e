"""`porticoctl adapter new`: what it writes builds, passes its tests and serves; what it refuses."""

import json
import os
import pathlib
import re
import shutil
import tempfile
import unittest

from generated_adapter import GeneratedAdapter
from harness import ROOT, run_portico, run_tool

QUICK = True

TEMPLATES = ROOT / "Sources" / "AdapterTemplates"


class NewAdapter(GeneratedAdapter):
    def test_a_package_of_records_builds_passes_its_tests_and_serves(self):
        folder = self.generate("tasks-of-ours", "entity")
        self.check_and_build(folder, 2)
        gateway = self.serve(folder)
        items = "/api/v1/tasks-of-ours/items"
        created = gateway.send("POST", items, {"title": "Call Bob"}, user="alice")
        self.assertEqual(created.status, 201, created)
        self.assertEqual(gateway.get(items, user="alice").json()["items"], [created.json()])
        self.assertEqual(gateway.get(items, user="bob").json()["items"], [])


class NewAdapterFiles(unittest.TestCase):
    def setUp(self):
        self.parent = pathlib.Path(tempfile.mkdtemp(prefix="portico-adapter-"))
        self.addCleanup(shutil.rmtree, self.parent, True)

    def new(self, *arguments):
        return run_portico("adapter", "new", *arguments, "--into", self.parent, program="porticoctl")

    def test_every_kind_is_written_whole_under_the_adapters_names(self):
        for kind in ("entity", "operation", "mirror", "mount"):
            name = f"acme-{kind}"  # Holds a word that the templates hold.
            self.assertEqual(self.new(name, "--kind", kind).returncode, 0)
            written = {
                str(path.relative_to(self.parent / name)) for path in (self.parent / name).rglob("*") if path.is_file()}
            module = f"Acme{kind.capitalize()}"
            expected = {
                str(path.relative_to(TEMPLATES / part)).replace("Acme", module).replace("acme", name)
                .replace("gitignore", ".gitignore")
                for part in ("common", kind) for path in (TEMPLATES / part).rglob("*") if path.is_file()}
            self.assertEqual(written, expected)
            for path in written:
                text = (self.parent / name / path).read_text()
                self.assertIsNone(re.search(rf"Acme(?!{kind.capitalize()})|acme(?!-{kind})|SDK-PATH", text), path)
            self.assertIn(f'?? "{ROOT / "Sources"}"', (self.parent / name / "Package.swift").read_text())

    def test_the_installed_sdk_is_complete(self):
        run_tool(ROOT / "Deploy" / "install-sdk", self.parent)
        sdk = self.parent / "share" / "portico" / "sdk"
        self.assertEqual(list(sdk.rglob(".build")), [])
        self.assertEqual(self.new("tasks", "--sdk", sdk).returncode, 0)
        # Loads every package that the adapter's needs, with the folders of its targets.
        resolved = json.loads(
            run_tool("swift", "package", "--package-path", self.parent / "tasks", "show-dependencies", "--format", "json"))
        self.assertEqual({package["identity"] for package in resolved["dependencies"]}, {"adapterkit", "adaptertesting", "adapterworker"})

    def test_adapter_test_runs_the_tests_and_tries_the_configuration(self):
        self.assertEqual(self.new("tasks").returncode, 0)
        folder, tools = self.parent / "tasks", self.parent / "tools"
        tools.mkdir()
        (tools / "swift").write_text('#!/bin/sh\necho "$1" >>"$ASKED"\nexit "$STATUS"\n')
        (tools / "swift").chmod(0o755)

        def test(status):
            environment = {"PATH": f"{tools}:{os.environ['PATH']}", "ASKED": str(self.parent / "asked"), "STATUS": status}
            return run_portico("adapter", "test", folder, program="porticoctl", environment=environment)

        done = test("0")
        self.assertEqual((self.parent / "asked").read_text().split(), ["test", "build"])
        # Nothing was built, which `portico check` notices.
        self.assertEqual(done.returncode, 1)
        self.assertIn("check ended with 1", done.stderr)
        self.assertIn("it is not there: build it", done.stderr)
        (folder / "gateway.yaml").unlink()
        self.assertEqual(test("0").returncode, 0)
        done = test("1")
        self.assertEqual((done.returncode, "swift test ended with 1" in done.stderr), (1, True))

    def test_names_that_no_adapter_can_have_are_refused(self):
        for name in ("Tasks", "1st", "a/b", "..", "a" * 41, "tasks_of_ours", "ä"):
            done = self.new(name)
            self.assertEqual(done.returncode, 1, name)
            self.assertIn("cannot be an adapter's name", done.stderr)
        self.assertEqual(list(self.parent.iterdir()), [])

    def test_nothing_is_written_over(self):
        (self.parent / "tasks").mkdir()
        done = self.new("tasks")
        self.assertEqual(done.returncode, 1)
        self.assertIn("is there already", done.stderr)
        self.assertEqual(list((self.parent / "tasks").iterdir()), [])

    def test_a_folder_that_is_no_sdk_is_refused(self):
        done = self.new("tasks", "--sdk", self.parent)
        self.assertEqual(done.returncode, 1)
        self.assertIn("it is no SDK", done.stderr)
        self.assertEqual(self.new("tasks", "--kind", "table").returncode, 2)


if __name__ == "__main__":
    unittest.main()
