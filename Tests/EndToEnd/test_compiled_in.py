"""One adapter's source, compiled into a host and run as a program: it answers alike both ways."""

import json
import pathlib
import tempfile
import unittest

from harness import BUILD, Gateway, run_portico

CONFIGURATION = """
identity:
  basic: { enabled: true }
  demoAccounts:
    - { name: alice, password: portico-demo, roles: [member] }
    - { name: bob, password: portico-demo, roles: [member] }
adapters:
  feeds: {}
"""
NOTES = "/api/v1/notes/notes"
NOTE = "0f0e0d0c-0b0a-4908-8706-050403020100"


def without_time(value):
    """What is another one in each gateway, wherever it stands."""
    if isinstance(value, dict):
        return {name: without_time(item) for name, item in value.items() if name not in ("modified", "requestId")}
    return [without_time(item) for item in value] if isinstance(value, list) else value


class BothWays(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="both-ways-")
        folder = pathlib.Path(cls.folder.name)
        (folder / "compiled.yaml").write_text(CONFIGURATION + "  notes: {}\n")
        (folder / "program.yaml").write_text(CONFIGURATION + f"plugins: [{{ path: {BUILD / 'NotesWorker'} }}]\n")
        cls.compiled = Gateway(config=folder / "compiled.yaml", program="notes-host")
        cls.addClassCleanup(cls.compiled.remove)
        cls.program = Gateway(config=folder / "program.yaml")
        cls.addClassCleanup(cls.program.remove)
        cls.addClassCleanup(cls.folder.cleanup)

    def answers(self, gateway):
        """Status and body of the same requests to one gateway."""
        def step(method, path, value=None, user="alice"):
            answer = gateway.send(method, path, value, user=user) if value is not None else gateway.request(method, path, user=user)
            return answer.status, without_time(json.loads(answer.body)) if answer.body else None

        return [
            step("POST", NOTES, {"id": NOTE, "title": "Shopping", "text": "milk"}),
            step("POST", NOTES, {"id": NOTE, "title": "again"}),
            step("POST", NOTES, {"titel": "misspelt"}),
            step("GET", f"{NOTES}/{NOTE}"),
            step("GET", f"{NOTES}/{NOTE}", user="bob"),
            step("PATCH", f"{NOTES}/{NOTE}", {"sharedWith": ["bob"]}),
            step("GET", f"{NOTES}/{NOTE}", user="bob"),
            step("PATCH", f"{NOTES}/{NOTE}", {"title": "stolen"}, user="bob"),
            step("DELETE", f"{NOTES}/{NOTE}", user="bob"),
            step("DELETE", f"{NOTES}/{NOTE}"),
            step("GET", NOTES),
        ]

    def test_the_same_source_answers_alike_compiled_in_and_as_a_program(self):
        compiled = self.answers(self.compiled)
        self.assertEqual([status for status, _ in compiled], [201, 409, 400, 200, 404, 200, 200, 403, 403, 204, 200])
        self.assertEqual(compiled, self.answers(self.program))

    def test_the_description_of_both_is_the_same(self):
        def notes(gateway):
            paths = gateway.get("/openapi.json").json()["paths"]
            return {path: operations for path, operations in paths.items() if path.startswith("/api/v1/notes")}

        self.assertIn(NOTES, notes(self.compiled))
        self.assertEqual(notes(self.compiled), notes(self.program))

    def test_a_program_and_its_status_name_what_is_compiled_in(self):
        own = run_portico("--version", program="notes-host").stdout.splitlines()
        plain = run_portico("--version").stdout.splitlines()
        self.assertEqual(own[0], plain[0])
        self.assertEqual(set(own) - set(plain), {"notes 1.0.0"})
        self.assertLess({f"{name} {plain[0]}" for name in ["chat", "employees", "feeds", "odata", "users"]}, set(plain))

        def modules(gateway):
            done = run_portico("status", "--data", gateway.data, "--output", "json", program="porticoctl")
            return json.loads(done.stdout)["modules"]

        self.assertEqual(modules(self.compiled), {**modules(self.program), "notes": "1.0.0"})
        self.assertNotIn("notes", modules(self.program))

    def test_a_name_that_is_compiled_in_is_no_programs(self):
        done = run_portico("check", "--config", pathlib.Path(self.folder.name) / "program.yaml", program="notes-host")
        self.assertEqual(done.returncode, 1, done)
        self.assertIn("notes", done.stderr)
