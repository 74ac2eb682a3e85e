"""An adapter that does not start or stop does not affect the others."""

import json
import pathlib
import shutil
import tempfile
import time
import unittest

from compiled_plugin import compiled
from harness import START_SECONDS, Gateway, run_portico

CONFIGURATION = """
http: {{ host: 127.0.0.1 }}
store: {{ sampleData: true }}
plugins:
  - {{ path: {plugin} }}
adapters:
  faulty: {{ folder: {folder}, worker: {{ readable: [{folder}] }} }}
  users: {{ access: public-read }}
"""
# The faults of a start that its adapter may have, and what is said of it once its time is over.
FAULTS = {"throw": "told to fail", "wait": "not started within", "ignore": "not started within", "block": "not started within"}


class FaultyAdapter(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="portico-faults-"))
        self.addCleanup(shutil.rmtree, self.folder, True)
        self.config = self.folder / "portico.yaml"
        # Not in the configuration's folder, of which no worker reads anything.
        self.faults = pathlib.Path(tempfile.mkdtemp(prefix="portico-faults-"))
        self.addCleanup(shutil.rmtree, self.faults, True)
        self.config.write_text(CONFIGURATION.format(plugin=compiled("Faulty"), folder=self.faults))

    def set_fault(self, step, fault):
        (self.faults / step).write_text(fault)

    def start(self, *settings):
        gateway = Gateway(
            "--set", "limits.adapterStart=2s", "limits.adapterStartWait=1s", "limits.adapterRetry=1s",
            "limits.adapterStop=1s", *settings, config=str(self.config))
        self.addCleanup(gateway.remove)
        return gateway

    def control(self, gateway, *arguments):
        done = run_portico(*arguments, "--data", str(gateway.data), "--output", "json", program="porticoctl")
        self.assertEqual(done.returncode, 0, done)
        return json.loads(done.stdout)

    def eventually(self, holds):
        end = time.monotonic() + START_SECONDS
        while not holds():
            self.assertLess(time.monotonic(), end)
            time.sleep(0.05)

    def test_the_others_serve_and_the_failed_one_is_named_everywhere(self):
        for fault, reason in FAULTS.items():
            with self.subTest(fault):
                self.set_fault("start", fault)
                gateway = self.start()
                self.assertEqual(gateway.get("/api/v1/users/users?limit=1").status, 200)
                self.eventually(lambda: self.control(gateway, "adapters", "show", "faulty")["state"] == "failed")
                shown = self.control(gateway, "adapters", "show", "faulty")
                self.assertIn(reason, shown["start"]["reason"])
                states = {each["name"]: each["state"] for each in self.control(gateway, "adapters", "list")["adapters"]}
                self.assertEqual((states["faulty"], states["users"]), ("failed", "running"))
                self.assertEqual(self.control(gateway, "status")["failedAdapters"], ["faulty"])
                ready = gateway.get("/health/ready")
                self.assertEqual((ready.status, ready.json()), (200, {"status": "ready", "failedAdapters": ["faulty"]}))
                self.assertIn("Not available at the moment", gateway.get("/", "text/html").text())
                lines = [json.loads(line) for line in gateway.log().splitlines() if "adapter" in line and line[0] == "{"]
                self.assertTrue(any(line.get("label", line.get("logger")) == "faulty" or "faulty" in str(line) for line in lines))
                self.assert_unavailable(gateway)
                self.assertEqual(gateway.stop(), 0)
                gateway.remove()

    def assert_unavailable(self, gateway):
        """503 with Retry-After in the shape of each contract."""
        shapes = {
            "/faulty/flat": lambda answer: answer.json()["errorCode"],
            "/faulty/mount/x": lambda answer: answer.json()["error"]["code"],
            "/api/v1/faulty/things": lambda answer: answer.json()["error"]["code"],
        }
        for path, code in shapes.items():
            answer = gateway.get(path)
            self.assertEqual((answer.status, code(answer)), (503, "adapter.unavailable"), answer)
            self.assertGreater(int(answer.headers["retry-after"]), 0)
        for path in ("/api/v1/faulty/operations/plain",):
            answer = gateway.send("POST", path, {})
            self.assertEqual((answer.status, answer.json()["error"]["code"]), (503, "adapter.unavailable"), answer)
        answer = gateway.send("POST", "/api/v1/faulty/things", {"text": "x"})
        self.assertEqual(answer.status, 503, answer)
        calls = [{"id": "1", "method": "GET", "path": "/api/v1/faulty/things"},
                 {"id": "2", "method": "GET", "path": "/api/v1/users/users?limit=1"}]
        answers = gateway.send("POST", "/batch", {"calls": calls}).json()["answers"]
        self.assertEqual([each["status"] for each in answers], [503, 200])

    def test_it_serves_as_soon_as_a_start_succeeds(self):
        for fault in ("throw", "wait"):
            with self.subTest(fault):
                self.set_fault("start", fault)
                gateway = self.start()
                self.assertEqual(gateway.get("/faulty/flat").status, 503)
                self.set_fault("start", "run")
                self.eventually(lambda: gateway.get("/faulty/flat").status == 200)
                self.assertEqual(gateway.get("/faulty/mount/x").text(), "here")
                self.assertEqual(gateway.get("/health/ready").json(), {"status": "ready"})
                self.assertEqual(gateway.stop(), 0)
                gateway.remove()

    def test_a_stop_that_never_ends_is_left_behind(self):
        for fault in ("wait", "ignore", "block"):
            with self.subTest(fault):
                self.set_fault("stop", fault)
                gateway = self.start()
                self.assertEqual(gateway.get("/faulty/flat").status, 200)
                self.assertEqual(gateway.stop(), 0)
                self.assertIn("adapter has not stopped in time", gateway.log())
                gateway.remove()

    def test_an_adapter_that_cannot_be_declared_or_made_is_named(self):
        for step, commands in (("declare", ("check", "serve")), ("make", ("serve",))):
            self.set_fault(step, "throw")
            for command in commands:
                done = run_portico(command, "--config", str(self.config), "--data", str(self.folder / "data"),
                                   *(["--set", "http.port=0"] if command == "serve" else []))
                self.assertEqual(done.returncode, 1, done)
                self.assertIn("faulty", done.stderr)
                self.assertIn("told to fail", done.stderr)
            self.set_fault(step, "run")

    def test_a_plugin_that_is_not_there_is_named(self):
        self.config.write_text(CONFIGURATION.format(plugin="/nowhere/none-worker", folder=self.faults))
        done = run_portico("check", "--config", str(self.config))
        self.assertEqual(done.returncode, 1, done)
        self.assertIn("/nowhere/none-worker", done.stderr)


if __name__ == "__main__":
    unittest.main()
