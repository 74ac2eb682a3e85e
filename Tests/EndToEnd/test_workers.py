"""The notes adapter as a program of its own: the same answers as the library, whatever becomes of the program."""

import json
import os
import pathlib
import shutil
import signal
import tempfile
import unittest

import test_notes
from harness import Gateway, GatewayTest, run_portico

QUICK = True
NODE = pathlib.Path("/usr/bin/node")
SHARE = "/api/v1/notes/operations/share"
CONFIGURATION = """
store: {path: portico.sqlite}
identity:
  basic: {enabled: true}
  demoAccounts:
    - {name: alice, password: portico-demo, roles: [member]}
    - {name: bob, password: portico-demo, roles: [member]}
    - {name: carol, password: portico-demo, roles: [member]}
plugins: [{path: notes-worker}]
"""


class WorkerGateway(GatewayTest):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="portico-workers-"))
        config = cls.folder / "portico.yaml"
        config.write_text(CONFIGURATION)
        (cls.folder / "data").mkdir()
        cls.gateway = Gateway(config=config, data=cls.folder / "data")

    @classmethod
    def tearDownClass(cls):
        super().tearDownClass()
        shutil.rmtree(cls.folder, ignore_errors=True)


class NotesAsAWorker(WorkerGateway, test_notes.NotesResource):
    """All tests of the notes, once more."""

    def share(self, note, names, user="alice", status=200):
        return self.expect(self.gateway.send("POST", SHARE, {"id": note, "with": names}, user=user), status).json()

    def test_an_operation_reads_and_writes_with_its_callers_rights(self):
        note = self.create(title="shared").json()["id"]
        self.assertEqual(self.share(note, ["bob", "bob", "carol"])["sharedWith"], ["bob", "carol"])
        self.expect(self.gateway.send("POST", SHARE, {"id": note, "with": ["carol"]}, user="bob"), 403, "access.denied")
        self.expect(self.gateway.send("POST", SHARE, {"id": "none", "with": ["bob"]}, user="alice"), 404, "record.notFound")

    def test_a_killed_worker_is_started_again(self):
        note = self.create(title="survivor").json()["id"]
        before = self.gateway.workers()["notes"]
        os.kill(before, signal.SIGKILL)
        # What the dying program was sent may have been done, so a write is answered 504 and not sent again; 503 where it was
        # not sent.
        codes = {503: "adapter.unavailable", 504: "upstream.outcomeUnknown"}
        while (answer := self.gateway.send("POST", SHARE, {"id": note, "with": ["bob"]}, user="alice")).status in codes:
            self.assertEqual(answer.json()["error"]["code"], codes[answer.status])
        self.assertEqual(self.expect(answer, 200).json()["sharedWith"], ["bob"])
        after = self.gateway.workers()["notes"]
        self.assertNotEqual(before, after)

    def test_the_worker_has_its_own_folder_and_no_secret_of_the_host(self):
        worker = self.gateway.workers()["notes"]
        folder = pathlib.Path(os.readlink(f"/proc/{worker}/cwd"))
        self.assertEqual(folder.parent, (self.folder / "data" / "workers" / "notes").resolve())
        environment = pathlib.Path(f"/proc/{worker}/environ").read_bytes()
        self.assertNotIn(b"PORTICO_HTTP", environment)


class Programs(unittest.TestCase):
    """`portico check` says what is wrong with a program."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="portico-programs-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def check(self, program, text="", executable=True):
        path = self.folder / program
        if text:
            path.write_text(text)
            path.chmod(0o755 if executable else 0o644)
        config = self.folder / "portico.yaml"
        config.write_text(f"plugins: [{{path: ./{program}}}]\n")
        return run_portico("check", "--config", config)

    def worker(self, body):
        return (
            "#!/usr/bin/python3\nimport socket, sys\nhost = socket.socket(fileno=3)\n"
            "def answer(payload):\n    host.sendall(len(payload).to_bytes(4, 'big') + payload)\n" + body + "\n")

    def test_a_program_that_cannot_be_a_worker_is_named_with_the_reason(self):
        # CBOR of {"response": 1, "result": {"version": 3, "name": "x"}}
        other = "a268726573706f6e73650166726573756c74a26776657273696f6e03646e616d656178"
        for program, text, reason in [
            ("missing", "", "it is not there: build it, or correct its path"),
            ("ends", self.worker("sys.exit(3)"), "it ended (exit status 3)"),
            ("garbage", self.worker("answer(b'\\xff')\nhost.recv(1000)\nhost.recv(1)"), "it does not keep to the protocol"),
            ("long", self.worker("host.sendall(b'\\x7f\\xff\\xff\\xff')\nhost.recv(1000)\nhost.recv(1)"), "a frame of 2147483647 bytes"),
            ("other", self.worker(f"host.recv(1000)\nanswer(bytes.fromhex('{other}'))\nhost.recv(1)"), "it speaks another version of the protocol"),
        ]:
            with self.subTest(program):
                ran = self.check(program, text)
                self.assertEqual(ran.returncode, 1, ran)
                self.assertIn(f"{program}: ", ran.stderr)
                self.assertIn(reason, ran.stderr)

    def test_a_program_that_does_not_say_its_name_is_told_with_what_can_be_set(self):
        ran = self.check("ends", self.worker("sys.exit(3)"))
        self.assertIn("its name is not known before it answers", ran.stderr)
        self.assertIn("installed as a package it is run with those of adapters.NAME.worker", ran.stderr)

    def test_a_program_is_asked_with_the_settings_of_the_adapter_that_it_was(self):
        parts = pathlib.Path(__file__).parent
        program = self.folder / "program"
        program.mkdir()
        shutil.copy(parts / "packages/tasks_worker.py", program / "tasks").chmod(0o755)
        shutil.copy(parts / "cbor.py", program)
        elsewhere = pathlib.Path(tempfile.mkdtemp(prefix="portico-elsewhere-"))
        self.addCleanup(shutil.rmtree, elsewhere)
        (elsewhere / "needed").write_text("")
        behaviour = {"version": "1.0.0", "fields": {"title": "text"}}
        (program / "behaviour.json").write_text(json.dumps(behaviour))
        config, data = self.folder / "portico.yaml", self.folder / "data"
        configuration = {
            "plugins": [{"path": "./program/tasks"}], "store": {"path": "portico.sqlite"},
            "adapters": {"tasks": {"extra": True, "worker": {"readable": [str(elsewhere / "needed")]}}}}
        config.write_text(json.dumps(configuration))
        data.mkdir()
        gateway = Gateway(config=config, data=data)
        self.addCleanup(gateway.remove)
        self.assertEqual(gateway.request("POST", "/api/v1/tasks/operations/version").status, 200)
        gateway.stop()
        self.assertTrue((data / "workers/tasks.declaration").exists())
        (program / "behaviour.json").write_text(json.dumps({**behaviour, "reads": str(elsewhere / "needed")}))
        known = run_portico("check", "--config", config, "--data", data)
        self.assertEqual(known.returncode, 0, known)
        self.assertNotIn("is not served", known.stderr)
        # From another data directory it is not known.
        unknown = run_portico("check", "--config", config, "--data", self.folder / "other")
        self.assertEqual(unknown.returncode, 1, unknown)
        self.assertIn("its name is not known before it answers", unknown.stderr)

    @unittest.skipUnless(NODE.exists(), f"there is no {NODE}")
    def test_a_program_for_node_answers_without_settings(self):
        shutil.copy(pathlib.Path(__file__).parent / "packages/greeting_worker.js", self.folder / "greeting").chmod(0o755)
        config = self.folder / "portico.yaml"
        config.write_text("plugins: [{path: ./greeting}]\nstore: {path: portico.sqlite}\n")
        (self.folder / "data").mkdir()
        gateway = Gateway(config=config, data=self.folder / "data")
        self.addCleanup(gateway.remove)
        answer = gateway.request("POST", "/api/v1/greeting/operations/greet")
        self.assertEqual((answer.status, answer.json()), (200, {"runtime": "node"}))

    def test_a_file_that_may_not_be_executed_is_refused(self):
        ran = self.check("plain", "#!/bin/sh\n", executable=False)
        self.assertEqual(ran.returncode, 1)
        self.assertIn("it is no program that may be executed", ran.stderr)

    def test_a_declaration_that_no_store_takes_is_refused(self):
        parts = pathlib.Path(__file__).parent
        program = self.folder / "program"
        program.mkdir()
        shutil.copy(parts / "packages/tasks_worker.py", program / "tasks").chmod(0o755)
        shutil.copy(parts / "cbor.py", program)
        for fields, code in [({"title": "text"}, 0), ({"title": "text", "Title": "text"}, 1)]:
            behaviour = {"version": "1.0.0", "fields": fields}
            (program / "behaviour.json").write_text(json.dumps(behaviour))
            ran = self.check("program/tasks")
            self.assertEqual(ran.returncode, code, ran)
        self.assertIn("The declaration of tasks is wrong: two fields have one name, case aside", ran.stderr)

    def test_a_worker_is_checked_with_its_options(self):
        config = self.folder / "portico.yaml"
        config.write_text("plugins: [{path: notes-worker}]\nadapters: {notes: {colour: red}}\n")
        ran = run_portico("check", "--config", config)
        self.assertEqual(ran.returncode, 1)
        self.assertIn("colour", ran.stderr)
        config.write_text("plugins: [{path: notes-worker}]\n")
        ran = run_portico("check", "--config", config)
        self.assertEqual((ran.returncode, "notes" in ran.stdout), (0, True), ran)


if __name__ == "__main__":
    unittest.main()
