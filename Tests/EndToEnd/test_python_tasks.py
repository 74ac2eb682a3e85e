"""Plugins/python-tasks: an adapter in Python, by itself and in a gateway."""

import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

from adapter_build import OLDER, PLUGINS
from harness import Gateway, GatewayTest, run_portico
from sync_device import Device

QUICK = True

FOLDER = PLUGINS / "python-tasks"
# Earlier revisions had no folder for it.
PROGRAM = FOLDER / "program" if (FOLDER / "program").exists() else FOLDER
TASKS = "/api/v1/python-tasks/tasks"
CONFIGURATION = """
http: {{ host: 127.0.0.1 }}
identity:
  basic: {{ enabled: true }}
  demoAccounts:
    - {{ name: alice, password: portico-demo, roles: [member] }}
    - {{ name: bob, password: portico-demo, roles: [member] }}
plugins:
  - {{ path: {program} }}
adapters:
  python-tasks: {{ dueSoon: 2h, access: login }}
"""


class UnitTests(unittest.TestCase):
    def test_the_adapters_own_tests_pass(self):
        ran = subprocess.run(
            [sys.executable, "-B", "-m", "unittest", "discover"], cwd=FOLDER, capture_output=True, text=True, timeout=120)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertRegex(ran.stderr, r"Ran 1\d tests")


class PythonTasks(GatewayTest):
    @classmethod
    def setUpClass(cls):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="portico-python-"))
        cls.addClassCleanup(shutil.rmtree, folder, True)
        cls.config = folder / "portico.yaml"
        cls.config.write_text(CONFIGURATION.format(program=PROGRAM / "python-tasks"))
        cls.gateway = Gateway(config=str(cls.config))

    def call(self, operation, user="alice", **input):
        return self.gateway.send("POST", f"/api/v1/python-tasks/operations/{operation}", input, user=user)

    def create(self, user="alice", **fields):
        return self.expect(self.gateway.send("POST", TASKS, {"title": "t", **fields}, user=user), 201).json()

    def test_the_configuration_is_checked_against_what_the_program_declares(self):
        done = run_portico("check", "--config", self.config)
        self.assertEqual(done.returncode, 0, done.stderr)
        done = run_portico("check", "--config", self.config, "--set", "adapters.python-tasks.dueSoon=soon")
        self.assertEqual(done.returncode, 1)
        self.assertIn("dueSoon", done.stderr)

    def test_tasks_are_ones_own_and_are_finished_by_the_operation(self):
        task = self.create(title="Call Carol")
        self.assertEqual((task["owner"], task["done"]), ("alice", False))
        self.expect(self.gateway.get(f"{TASKS}/{task['id']}", user="bob"), 404)
        self.expect(self.call("finish", "bob", id=task["id"]), 404, "record.notFound")
        for _ in range(2):
            self.assertEqual(self.expect(self.call("finish", id=task["id"]), 200).json(), {"id": task["id"], "done": True})
        self.assertTrue(self.gateway.get(f"{TASKS}/{task['id']}", user="alice").json()["done"])

    @unittest.skipIf(OLDER, "earlier programs fail at such a date")
    def test_a_date_of_a_year_that_python_has_not_ends_no_program(self):
        task = self.create(due="0000-12-30T00:00:00Z")
        self.assertEqual(self.expect(self.call("finish", id=task["id"]), 200).json(), {"id": task["id"], "done": True})
        self.assertEqual(self.gateway.get(f"{TASKS}/{task['id']}", user="alice").json()["due"], "0000-12-30T00:00:00Z")

    def test_the_overview_counts_by_the_configured_time(self):
        for due in ("2001-01-01T00:00:00Z", "2999-01-01T00:00:00Z", None):
            self.create("bob", due=due)
        overview = self.expect(self.call("overview", "bob"), 200).json()
        self.assertEqual(overview, {"open": 3, "overdue": 1, "dueSoon": 0})

    def test_what_is_not_of_the_declared_shape_does_not_reach_the_program(self):
        self.expect(self.call("finish"), 400, "request.invalid")
        self.expect(self.call("finish", id=7), 400, "request.invalid")

    def test_a_device_has_the_tasks(self):
        task = self.create(title="On a device")
        device = Device(self.gateway, "alice", collections=["tasks"])
        self.assertEqual(device.pull(), [])
        self.assertIn(task["id"], device.ids("tasks"))


if __name__ == "__main__":
    unittest.main()
