"""The documents of an installed tree: those that a team needs which has no checkout, without a link that leads nowhere."""

import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

from harness import ROOT

QUICK = True
LINK = re.compile(r"\]\((?!https?:|mailto:|#)([^)#\s]+)(?:#[^)]*)?\)")
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


class InstalledDocuments(unittest.TestCase):
    def setUp(self):
        self.prefix = pathlib.Path(tempfile.mkdtemp(prefix="portico-documents-"))
        self.addCleanup(shutil.rmtree, self.prefix)
        self.folder = self.prefix / "share/doc/portico"
        self.install()

    def install(self):
        subprocess.run([ROOT / "Deploy/install-documents", self.prefix], check=True)

    def test_every_document_and_the_worked_adapters_are_there(self):
        for name in ["README.md", "CHANGELOG.md"]:
            self.assertTrue((self.folder / name).is_file(), name)
        documents = {path.relative_to(ROOT) for path in (ROOT / "docs").rglob("*") if path.is_file()}
        self.assertEqual([str(path) for path in sorted(documents) if not (self.folder / path).is_file()], [])
        for name in ["Inventory/Package.swift", "Inventory/README.md", "Weather/README.md", "python-tasks/program/worker.py"]:
            self.assertTrue((self.folder / "Plugins" / name).is_file(), name)
        self.assertTrue((self.folder / "Plugins/python-tasks/program/python-tasks").stat().st_mode & 0o111)
        self.assertEqual([path for path in self.folder.rglob("*") if path.name in (".build", "__pycache__")], [])

    def test_no_link_of_a_document_leads_nowhere(self):
        dead = []
        for document in self.folder.rglob("*.md"):
            for link in LINK.findall(FENCE.sub("", document.read_text())):
                target = (document.parent / link).resolve()
                if not (target.is_relative_to(self.folder.resolve()) and target.exists()):
                    dead.append((str(document.relative_to(self.folder)), link))
        self.assertEqual(dead, [])
        # What is installed is still linked.
        self.assertIn("](protocol/adapter.md", (self.folder / "docs/plugins.md").read_text())

    def test_what_a_later_version_has_no_more_is_gone(self):
        (self.folder / "docs/earlier.md").write_text("Gone.")
        self.install()
        self.assertFalse((self.folder / "docs/earlier.md").exists())

    def test_what_new_packages_say_of_the_documents_is_where_they_are(self):
        for readme in (ROOT / "Sources/AdapterTemplates").glob("*/README.md"):
            with self.subTest(readme):
                self.assertIn("share/doc/portico/docs/plugins.md", readme.read_text())

    def test_an_installed_tree_gets_them(self):
        self.assertIn('Deploy/install-documents "$prefix"', (ROOT / "Deploy/install-tree").read_text())


if __name__ == "__main__":
    unittest.main()
