"""Another instance of an adapter, by `porticoctl adapters restart`."""

import concurrent.futures
import json
import unittest

from harness import ROOT, Callers
from test_adapters_while_serving import DONE, FAILED, NAMES, ServingTest

QUICK = True


class Restart(ServingTest):
    def test_another_instance_takes_the_traffic_and_no_request_fails(self):
        self.write(NAMES)
        gateway = self.start()
        self.people()

        def call(done, statuses):
            while not done.is_set():
                statuses.append(gateway.get("/api/v1/staff/people").status)

        with Callers(4, call) as callers:
            for _ in range(4):
                self.assertIs(self.control("adapters", "restart", "staff", "--dry-run")["applied"], False)
                report = self.control("adapters", "restart", "staff")
                self.assertEqual((report["name"], report["applied"], report["data"]), ("staff", True, []))
                callers.wait_for(20)
        self.assertEqual(set(callers.outcomes), {200})
        entries = self.control("audit", "list")["entries"]
        found = next(entry for entry in entries if entry["kind"] == "adapter.deployed")
        self.assertEqual((found["actor"], found["subject"], found["detail"]), ("operator", "staff", "started anew"))
        print(f"{len(callers.outcomes)} requests, 4 restarts")

    def test_changes_that_are_asked_for_at_once_are_made_one_after_the_other(self):
        self.write(NAMES)
        self.start()
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            reports = pool.map(lambda _: self.control("adapters", "restart", "staff"), range(4))
            self.assertEqual([report["applied"] for report in reports], [True] * 4)

    def test_one_that_works_beside_its_calls_is_started_anew_too(self):
        self.write(NAMES, adapters={"chat": {}})
        gateway = self.start()
        self.assertEqual(self.control("adapters", "restart", "chat")["applied"], True)
        self.assertEqual(gateway.get("/api/v1/chat/messages", user="alice").status, 200)

    def test_what_another_adapter_is_made_of_goes_on_by_the_generation_that_answers(self):
        seed = str(ROOT / "Config/odata/reference.seed.json")
        self.write(NAMES, adapters={
            "odata": {"services": {"reference": {
                "model": str(ROOT / "Config/odata/reference.csdl.xml"), "seed": seed, "access": "public"}}},
            "odata-reference": {"seed": seed}})
        gateway = self.start()
        first = gateway.request("POST", "/odata/v4/reference/ResetAllPrices")
        self.assertLess(first.status, 300, first)
        self.control("adapters", "restart", "odata-reference")
        self.assertEqual(gateway.request("POST", "/odata/v4/reference/ResetAllPrices").status, first.status)

    def test_what_cannot_be_started_anew_says_why(self):
        self.write(NAMES)
        self.start()
        self.control("adapters", "restart", "nothing", status=FAILED)
        # Other changes of the sources are not made by the way.
        self.write(NAMES, adapters={"users": {"access": "login"}})
        self.control("adapters", "restart", "staff", status=FAILED)
        self.assertEqual(self.gateway.get("/v2/list").status, 200)
        self.apply()
        self.control("adapters", "restart", "staff")


if __name__ == "__main__":
    unittest.main()
