"""`porticoctl adapter test` of programs in Python: what passes, and what each fault of an adapter is reported as."""

import json
import pathlib
import shutil
import subprocess
import tempfile
import unittest

from harness import ROOT, run_portico

FOLDER = ROOT / "Plugins" / "python-tasks"
FAULTS = ("killed", "stopped", "killed, and its next start delayed by half a second")


def processes(folder):
    """Those that have been started with something of this folder."""
    return subprocess.run(["pgrep", "-f", str(folder)], capture_output=True, text=True).stdout.split()


class AdapterTest(unittest.TestCase):
    def setUp(self):
        parent = pathlib.Path(tempfile.mkdtemp(prefix="portico-tested-"))
        self.addCleanup(shutil.rmtree, parent, True)
        self.folder = parent / "python-tasks"
        shutil.copytree(FOLDER, self.folder, ignore=shutil.ignore_patterns("__pycache__"))
        # Where the gateways of the command have their data.
        self.temporary = pathlib.Path(tempfile.mkdtemp(prefix="pt-", dir="/tmp"))
        self.addCleanup(shutil.rmtree, self.temporary, True)

    def edit(self, file, old, new):
        text = (self.folder / file).read_text()
        self.assertIn(old, text)
        (self.folder / file).write_text(text.replace(old, new, 1))

    def adapter_test(self, *arguments, status=0):
        done = run_portico(
            "adapter", "test", self.folder, *arguments, program="porticoctl", timeout=600,
            environment={"TMPDIR": str(self.temporary)})
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        self.assertEqual((processes(self.folder), list(self.temporary.iterdir())), ([], []), "something is left")
        return done

    def test_python_tasks_passes(self):
        done = self.adapter_test("--output", "json")
        checks = {check["name"]: check for check in json.loads(done.stdout)["checks"]}
        self.assertTrue(all(check["passed"] for check in checks.values()), checks)
        for name in (
            "tests: python3 -B -m unittest discover", "portico check",
            "POST /api/v1/python-tasks/operations/finish of the fixtures", "POST /api/v1/python-tasks/operations/overview",
            "POST /api/v1/python-tasks/operations/overview as bplist", "entity tasks",
            *(f"python-tasks: {fault} {when}" for fault in FAULTS for when in ("under calls", "between calls")),
        ):
            self.assertIn(name, checks)
        self.assertIn("faults of python-tasks", done.stderr)

    def test_an_answer_of_another_shape_is_named_with_its_place(self):
        self.edit("program/tasks.py", '"open": count("tasks", is_open)', '"open": "many"')
        done = self.adapter_test("--tests", "true", status=1)
        self.assertIn(
            "FAILED  POST /api/v1/python-tasks/operations/overview: the answer.open is string and not integer\n", done.stdout)
        self.assertRegex(done.stderr, r"1 of \d+ checks failed: POST /api/v1/python-tasks/operations/overview\n")

    def test_an_answer_that_is_not_the_fixtures_is_shown(self):
        self.edit("fixtures/calls.json", '"done": true', '"done": false')
        self.assertIn(
            'of the fixtures: the answer lacks what the fixture has: {"id":"carol","done":true}', self.adapter_test(status=1).stdout)

    def test_a_program_that_fails_is_shown_with_its_line_of_the_log(self):
        self.edit("program/tasks.py", '"open": count("tasks", is_open)', '"open": 1 // 0')
        done = self.adapter_test("--tests", "true", status=1)
        self.assertRegex(done.stdout, r"FAILED  POST .*/overview: 500 server.internal; the log says ")

    def test_a_program_that_does_not_come_back_fails(self):
        self.edit("program/python-tasks", 'if __name__ == "__main__":\n', '''if __name__ == "__main__":
    import pathlib
    if pathlib.Path("started").exists():
        sys.exit("no second time")
    pathlib.Path("started").touch()
''')
        done = self.adapter_test("--tests", "true", "--within", "2", status=1)
        self.assertRegex(
            done.stdout,
            r"FAILED  python-tasks: killed between calls: it does not serve again within 2.0 seconds: it is \w+.*no second time")

    def test_own_tests_that_fail_end_it(self):
        done = self.adapter_test("--tests", "exit 3", status=1)
        self.assertEqual(done.stdout, "")
        self.assertIn("sh -c ended with 3", done.stderr)

    def test_fixtures_that_are_no_calls_are_refused(self):
        (self.folder / "fixtures" / "calls.json").write_text('[{"operation": "finish", "inputs": {}}]')
        self.assertIn("is to be a list of", self.adapter_test("--tests", "true", status=1).stderr)


if __name__ == "__main__":
    unittest.main()
