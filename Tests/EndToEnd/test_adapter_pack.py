"""`porticoctl adapter pack`: what is in the file that it makes, and what it refuses."""

import base64
import hashlib
import json
import pathlib
import shutil
import tarfile
import tempfile
import unittest

from harness import ROOT, Gateway, run_portico, run_tool

QUICK = True

PYTHON_TASKS = ROOT / "Plugins" / "python-tasks" / "program"


class PackedAdapter(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="portico-pack-"))
        self.addCleanup(shutil.rmtree, self.folder, True)

    def pack(self, source, *arguments, status=0):
        done = run_portico("adapter", "pack", source, "--into", self.folder, *arguments, program="porticoctl")
        self.assertEqual(done.returncode, status, done.stderr)
        return pathlib.Path(done.stdout.strip()) if status == 0 else done.stderr

    def extract(self, package):
        """The manifest, once every file was compared with it, and the folder of the files."""
        extracted = self.folder / "extracted"
        with tarfile.open(package) as archive:
            names = archive.getnames()
            archive.extractall(extracted, filter="data")
        self.assertEqual(names[0], "adapter.json")
        manifest = json.loads((extracted / "adapter.json").read_text())
        self.assertEqual(sorted(set(names) - {"adapter.json", "adapter.sig"}), sorted(manifest["files"]))
        for path, listed in manifest["files"].items():
            data = (extracted / path).read_bytes()
            self.assertEqual((hashlib.sha256(data).hexdigest(), len(data)), (listed["sha256"], listed["size"]), path)
        return manifest, extracted

    def test_a_folder_is_packed_as_it_is(self):
        package = self.pack(PYTHON_TASKS, "--name", "python-tasks", "--entry", "python-tasks", "--version", "1.2.0-beta.1")
        self.assertEqual(package.name, "python-tasks-1.2.0-beta.1.adapter")
        manifest, extracted = self.extract(package)
        self.assertEqual(
            {name: manifest.get(name) for name in ("name", "version", "protocol", "entry", "platform")},
            {"name": "python-tasks", "version": "1.2.0-beta.1", "protocol": 2, "entry": "python-tasks", "platform": None})
        files = [path.relative_to(PYTHON_TASKS) for path in PYTHON_TASKS.rglob("*") if path.is_file()]
        self.assertEqual(
            sorted(manifest["files"]), sorted(str(path) for path in files if "__pycache__" not in path.parts))
        self.assertTrue(manifest["files"]["python-tasks"]["executable"])
        self.assertEqual((extracted / "tasks.py").read_bytes(), (PYTHON_TASKS / "tasks.py").read_bytes())

    def test_the_same_files_make_the_same_bytes_and_hidden_ones_are_left_out(self):
        source = self.folder / "source"
        shutil.copytree(PYTHON_TASKS, source, ignore=shutil.ignore_patterns("__pycache__"))
        arguments = ("--name", "tasks", "--entry", "python-tasks", "--version", "1.0.0")
        first = self.pack(source, *arguments).read_bytes()
        (source / "__pycache__").mkdir()
        (source / "__pycache__" / "tasks.pyc").write_bytes(b"compiled")
        (source / ".hidden").write_text("secret")
        self.assertEqual(self.pack(source, *arguments).read_bytes(), first)

    def test_a_signature_is_one_that_openssl_verifies(self):
        key, public = self.folder / "key.pem", self.folder / "public.pem"
        run_tool("openssl", "genpkey", "-algorithm", "ed25519", "-out", key)
        run_tool("openssl", "pkey", "-in", key, "-pubout", "-out", public)
        package = self.pack(
            PYTHON_TASKS, "--name", "tasks", "--entry", "python-tasks", "--version", "1.0.0", "--sign", key)
        _, extracted = self.extract(package)
        signature = self.folder / "signature"
        signature.write_bytes(base64.b64decode(json.loads((extracted / "adapter.sig").read_text())["signature"]))
        run_tool(
            "openssl", "pkeyutl", "-verify", "-rawin", "-pubin", "-inkey", public, "-sigfile", signature,
            "-in", extracted / "adapter.json")

    def test_a_packed_adapter_is_installed_into_a_serving_gateway(self):
        package = self.pack(PYTHON_TASKS, "--name", "python-tasks", "--entry", "python-tasks", "--version", "1.0.0")
        gateway = Gateway()
        self.addCleanup(gateway.remove)
        overview = "/api/v1/python-tasks/operations/overview"
        self.assertEqual(gateway.send("POST", overview, {}, user="alice").status, 404)
        done = run_portico("adapters", "install", package, "--data", gateway.data, program="porticoctl")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(gateway.send("POST", overview, {}, user="alice").json(), {"open": 0, "overdue": 0, "dueSoon": 0})

    def test_what_cannot_be_packed_is_refused_with_its_reason(self):
        complete = ("--name", "tasks", "--entry", "python-tasks", "--version", "1.0.0")
        for source, arguments, reason in (
            (PYTHON_TASKS, ("--version", "1.0.0"), "no Swift package: name the adapter"),
            (PYTHON_TASKS, ("--name", "tasks", "--entry", "python-tasks", "--version", "1.0"), "no semantic version"),
            (PYTHON_TASKS, ("--name", "Tasks", "--entry", "python-tasks", "--version", "1.0.0"), "adapter's name"),
            (PYTHON_TASKS, ("--name", "tasks", "--entry", "../x", "--version", "1.0.0"), "no file ../x"),
            (PYTHON_TASKS, ("--name", "tasks", "--entry", "tasks.py", "--version", "1.0.0"), "not an executable file"),
            (PYTHON_TASKS, (*complete, "--sign", ROOT / "README.md"), "no Ed25519 key"),
            (PYTHON_TASKS, (*complete, "--protocol", "0"), "no version of the adapter protocol"),
            (self.folder / "nothing", complete, "cannot be read"),
        ):
            self.assertIn(reason, self.pack(source, *arguments, status=1))
        self.assertEqual(list(self.folder.glob("*.adapter*")), [])


if __name__ == "__main__":
    unittest.main()
