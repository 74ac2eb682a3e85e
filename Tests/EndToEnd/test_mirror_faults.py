"""A mirror whose system fails in every way of the stand-in: callers get the last good rows with their age, nothing is
wiped, and once the system is well again so is the mirror, by itself."""

import json
import time
import unittest

from harness import Gateway, run_portico
from stand_in import PROGRAM, StandIn

SEARCH = "/OrganizationInterfaceImplMobile/employeeSearch"
MIRROR = "employees/employees"
FAULTS = [
    ["hang"], ["drip"], ["reset"], ["reset", "--applied"], ["truncate"], ["garbage"], ["login-page"], ["empty"], ["huge"],
    ["slow", "30s"], ["error", "503"], ["error", "404"],
]


@unittest.skipUnless(PROGRAM.exists(), "the stand-in is not built")
class Faults(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.system = StandIn("--employees", 600)
        cls.addClassCleanup(cls.system.stop)
        cls.gateway = Gateway(
            *(part for setting in [
                f"upstreams.hr.url={cls.system.address}/", "upstreams.hr.deadline=2s", "upstreams.hr.limits.rest=1s",
                "upstreams.hr.limits.longDeadline=2s",
                "adapters.employees.freshFor=500ms", "adapters.employees.waitFor=4s",
            ] for part in ("--set", setting)), config="Config/mirror.yaml")
        cls.addClassCleanup(cls.gateway.remove)

    def search(self):
        answer = self.gateway.send("POST", SEARCH, {"fullName": ""}, user="alice")
        self.assertEqual(answer.status, 200, answer)
        self.assertEqual(answer.json()["totalRows"], 600)
        return answer

    def control(self, *arguments):
        return run_portico(*arguments, "--data", self.gateway.data, "--output", "json", program="porticoctl")

    def recover(self):
        self.system.order("fault", "none")
        end = time.monotonic() + 120
        while self.control("mirrors", "refresh", MIRROR).returncode:
            self.assertLess(time.monotonic(), end, "the mirror does not recover")
            time.sleep(0.2)
        self.assertEqual(json.loads(self.control("mirrors", "show", MIRROR).stdout)["state"], "good")

    def test_every_fault_leaves_the_last_good_rows(self):
        for fault in FAULTS:
            with self.subTest(fault=" ".join(fault)):
                self.recover()
                self.system.order("fault", *fault)
                # Older than they are fresh for.
                time.sleep(1.2)
                answer = self.search()
                self.assertRegex(answer.headers["cache-status"], "^portico; fwd=stale; detail=[a-z-]+$")
                self.assertGreaterEqual(int(answer.headers["age"]), 1)
                state = json.loads(self.control("mirrors", "show", MIRROR).stdout)
                self.assertIn(state["state"], ["failing", "held", "refreshing"])
                self.assertEqual(state["records"], 600)
        self.recover()
        self.assertNotIn("detail", self.search().headers["cache-status"])

    def test_a_change_of_a_mirror_that_sends_none_is_refused_with_the_reason(self):
        self.recover()
        self.search()
        employee = self.gateway.get("/api/v1/employees/employees?limit=1", user="alice").json()["items"][0]
        path = f"/api/v1/employees/employees/{employee['id']}"
        changed = self.gateway.send("PATCH", path, {"division": "Sales"}, user="alice")
        self.assertEqual((changed.status, changed.json()["error"]["code"]), (403, "access.denied"), changed)
        self.assertIn("is a mirror of the system hr", changed.text())
        push = {"clientId": "device", "mutations": [{
            "sequence": 1, "collection": "employees", "id": employee["id"], "operation": "delete"}]}
        self.assertIn("is a mirror of the system hr", self.gateway.send("POST", "/sync/v1/push", push, user="alice").text())

    def test_a_gateway_whose_system_is_down_is_ready(self):
        self.system.order("fault", "reset")
        self.addCleanup(self.recover)
        self.assertEqual(self.gateway.get("/health/ready").status, 200)


if __name__ == "__main__":
    unittest.main()
