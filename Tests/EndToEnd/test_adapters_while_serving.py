"""Adapters come, are declared otherwise and go while the gateway serves."""

import concurrent.futures
import http.client
import json
import os
import pathlib
import shutil
import signal
import socket
import tempfile
import time
import unittest

from connected_systems import ConnectedSystems
from harness import Callers, ROOT, START_SECONDS, Gateway, run_portico

QUICK = True
DONE, FAILED = 0, 1
NAMES = {"id": "integer", "name": "{ type: string, required: true }"}


def connection(fields, title="People", more=""):
    """A connection file whose rows are in a file beside it."""
    listed = "".join(f"      {name}: {kind}\n" for name, kind in fields.items())
    return (
        f"title: {title}\naccess: public\nentities:\n  people:\n    file: people.json\n    key: id\n    fields:\n{listed}"
        f"    freshFor: 1ms\n{more}")


class ServingTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="portico-serving-"))
        self.addCleanup(shutil.rmtree, self.folder, True)
        (self.folder / "data").mkdir()
        self.config = self.folder / "portico.yaml"
        self.rows([{"id": 1, "name": "Ann", "phone": "1", "rank": 7}, {"id": 2, "name": "Bob"}])

    def rows(self, rows):
        file = self.folder / "people.json"
        part = self.folder / "people.json.part"
        part.write_text(json.dumps(rows))
        # One that was changed within the last second is not read yet.
        os.utime(part, (time.time() - 60, time.time() - 60))
        part.rename(file)

    def write(self, fields=None, adapters=None, **sections):
        """The configuration, and the connection file where the adapter `staff` has these fields."""
        adapters = dict(adapters or {"users": {"access": "public"}})
        if fields:
            (self.folder / "staff.yaml").write_text(connection(fields))
            adapters["staff"] = {"connect": "staff.yaml"}
        sections.setdefault("identity", {
            "basic": {"enabled": True}, "demoAccounts": [{"name": "alice", "password": "portico-demo", "roles": ["member"]}]})
        # JSON is YAML.
        self.config.write_text(json.dumps({"store": {"sampleData": True}, "adapters": adapters, **sections}))

    def start(self):
        self.gateway = Gateway(config=self.config, data=self.folder / "data")
        self.addCleanup(self.gateway.remove)
        return self.gateway

    def control(self, *arguments, status=DONE):
        done = run_portico(*arguments, "--data", self.gateway.data, "--output", "json", program="porticoctl")
        self.assertEqual(done.returncode, status, (arguments, done))
        return json.loads(done.stdout or "null")

    def apply(self):
        report = self.control("config", "apply")
        self.assertIs(report["applied"], True, report)
        return report

    def people(self, status=200):
        answer = self.gateway.get("/api/v1/staff/people")
        self.assertEqual(answer.status, status, answer)
        return answer.json()["items"] if status == 200 else None

    def until(self, holds, seconds=START_SECONDS):
        end = time.monotonic() + seconds
        while not holds():
            self.assertLess(time.monotonic(), end, self.gateway.log())
            time.sleep(0.05)


class Membership(ServingTest):
    def test_one_is_added_by_a_file_and_goes_with_it_and_its_tables_stay(self):
        self.write()
        gateway = self.start()
        self.people(404)
        self.write(NAMES)
        report = self.control("config", "diff")
        self.assertEqual(report["data"], ["staff/people: is added"])
        self.assertEqual({change["effect"] for change in report["changes"]}, {"reloads"})
        self.people(404)
        self.apply()
        self.assertEqual(self.people(), [{"id": 1, "name": "Ann"}, {"id": 2, "name": "Bob"}])
        self.assertIn("/api/v1/staff/people", gateway.get("/openapi.json").json()["paths"])
        self.assertIn("staff", [one["name"] for one in self.control("adapters", "list")["adapters"]])
        self.assertIn("staff/people", json.dumps(self.control("mirrors", "list")))
        self.assertEqual(gateway.get("/health/ready").json(), {"status": "ready"})
        pulled = gateway.send("POST", "/sync/v1/pull", {"collections": ["people"]}, user="alice").json()
        self.assertEqual(len(pulled["operations"]), 2, pulled)
        self.write()
        self.assertEqual(
            self.apply()["data"], ["staff/people: is not declared any more; its tables stay, with 2 records"])
        self.people(404)
        self.assertNotIn("/api/v1/staff/people", gateway.get("/openapi.json").json()["paths"])
        self.assertEqual(self.control("mirrors", "list")["mirrors"], [])
        self.assertEqual(self.control("store", "stats")["rows"]["staff/people"], 2)
        self.write(NAMES)
        self.assertEqual(self.apply()["data"], [])
        self.assertEqual(len(self.people()), 2)
        gateway.stop()
        self.start()
        self.assertEqual(len(self.people()), 2)

    def test_its_fields_change_with_the_file_and_rows_follow(self):
        self.write({**NAMES, "phone": "string"})
        gateway = self.start()
        self.assertEqual(self.people()[0], {"id": 1, "name": "Ann", "phone": "1"})
        self.write({**NAMES, "rank": "integer"})
        self.assertEqual(self.control("config", "diff")["data"], [
            "staff/people, field `rank`: is added",
            "staff/people, field `phone`: is hidden; 1 record keeps its value"])
        os.kill(gateway.process.pid, signal.SIGHUP)
        self.until(lambda: "configuration applied" in gateway.log())
        self.until(lambda: self.people()[0] == {"id": 1, "name": "Ann", "rank": 7})
        described = json.dumps(gateway.get("/openapi.json").json())
        self.assertIn("rank", described)
        self.assertEqual(gateway.get("/api/v1/staff/people?filter=phone%20eq%20'1'").status, 400)
        self.assertEqual(len(gateway.get("/api/v1/staff/people?filter=rank%20eq%207").json()["items"]), 1)
        self.write({**NAMES, "rank": "integer", "phone": "string"})
        self.apply()
        self.until(lambda: self.people()[0] == {"id": 1, "name": "Ann", "rank": 7, "phone": "1"})

    def test_what_the_tables_cannot_follow_is_refused_as_a_whole_with_its_reason(self):
        self.write({**NAMES, "rank": "integer"})
        gateway = self.start()
        self.assertEqual(self.people()[0]["rank"], 7)
        self.write({**NAMES, "rank": "string", "more": "string"}, adapters={"users": {"access": "login"}})
        report = self.control("config", "apply", status=FAILED)
        self.assertIs(report["applied"], False)
        self.assertIn(
            "The store cannot be migrated: staff/people, field `rank`: refused: 1 record holds values of the kind integer, "
            "the declaration says text.", report["errors"])
        self.assertEqual(gateway.get("/v2/list").status, 200)
        self.assertEqual(self.people()[0], {"id": 1, "name": "Ann", "rank": 7})
        self.assertNotIn('"more"', json.dumps(gateway.get("/openapi.json").json()))

    def test_one_that_comes_with_the_gateway_is_switched_off_and_on(self):
        self.write()
        gateway = self.start()
        rows = gateway.get("/v2/list").text()
        self.write(adapters={"users": {"enabled": False}})
        self.apply()
        self.assertEqual(gateway.get("/v2/list").status, 404)
        self.write()
        self.apply()
        self.assertEqual(gateway.get("/v2/list").text(), rows)
        # So it is where nothing names it, and its name alone is enough.
        for adapters, status in [({"feeds": {}}, 404), ({"users": {}}, 401)]:
            self.write(adapters=adapters)
            self.apply()
            self.assertEqual(gateway.get("/v2/list").status, status)
        self.write()
        self.apply()
        # What another adapter is made of comes and goes with a restart.
        self.write(adapters={"users": {"access": "public"}, "odata-reference": {}})
        report = self.control("config", "apply", status=FAILED)
        self.assertIn("this needs a restart", json.dumps(report["changes"]))

    def test_what_operators_refused_stays_refused(self):
        self.write(NAMES)
        self.start()
        self.control("adapters", "disable", "staff")
        self.write({**NAMES, "rank": "integer"})
        self.apply()
        self.people(503)
        self.control("adapters", "enable", "staff")
        self.assertEqual(len(self.people()), 2)


class Mirrors(ServingTest):
    """A system that is written to while its adapter is declared otherwise."""

    STRIPE = (ROOT / "Config/connections/stripe-customers.yaml").read_text()

    def configure(self, text):
        """`text`: of the connection file; nothing: there is none."""
        (self.folder / "stripe.yaml").write_text(text)
        self.write(adapters={"stripe": {"connect": "stripe.yaml"}} if text else None, upstreams={"stripe": {
            "url": f"{self.system.address}/", "networks": ["127.0.0.1/32"], "deadline": "5s",
            "limits": {"tries": 1, "failures": 1000}}})

    def test_mirrors_answer_at_once_while_their_adapter_comes_and_changes_and_another_request_takes_long(self):
        self.system = ConnectedSystems(count=30)
        self.addCleanup(self.system.stop)
        self.configure("")
        gateway = self.start()
        stale = self.STRIPE.replace("    fields:\n", "    freshFor: 1ms\n    fields:\n")
        found = []
        for fields in ["", "      currency: string\n", ""]:
            # Its body does not come: the exchange waits for it, as for every request that was begun before.
            slow = gateway.connect()
            slow.sendall(
                b"POST /auth/login HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n"
                b"Expect: 100-continue\r\n\r\n")
            self.assertIn(b" 100 ", slow.recv(100))
            self.configure(stale.replace("    fields:\n", "    fields:\n" + fields))
            with concurrent.futures.ThreadPoolExecutor(1) as pool:
                applied = pool.submit(self.apply)
                described = lambda: json.dumps(gateway.get("/openapi.json").json())
                self.until(lambda: "/stripe/customers" in (text := described()) and ("currency" in text) == bool(fields))
                for _ in range(5):
                    answer = gateway.get("/api/v1/stripe/customers", user="alice")
                    self.assertEqual(answer.status, 200, answer)
                    self.assertEqual(len(answer.json()["items"]), 30)
                    found.append(answer.headers["cache-status"])
                slow.close()
                applied.result()
        self.assertLessEqual(
            set(found), {"portico; fwd=miss; stored", "portico; fwd=stale; stored", "portico; hit"}, found)
        self.assertNotIn("mirror cannot be refreshed", gateway.log())

    def test_what_is_still_to_be_sent_is_sent_by_the_one_that_takes_its_place(self):
        self.system = ConnectedSystems(count=30)
        self.addCleanup(self.system.stop)
        self.configure(self.STRIPE)
        gateway = self.start()
        path = "/api/v1/stripe/customers"
        self.assertEqual(len(gateway.get(path, user="alice").json()["items"]), 30)
        respond, self.system.respond = self.system.respond, lambda *_: (503, {}, {"error": {}})
        for number in range(10):
            answer = gateway.send("PATCH", f"{path}/cus_{number:04d}", {"name": f"New {number}"}, user="alice")
            self.assertEqual(answer.status, 200, answer)
        self.configure(self.STRIPE.replace("    fields:\n", "    fields:\n      currency: string\n"))
        self.apply()
        self.system.respond = respond
        self.until(lambda: all(self.system.stripe[f"cus_{number:04d}"]["name"] == f"New {number}" for number in range(10)), 90)
        self.assertEqual({len(keys) for keys in self.system.keys.values()}, {1})
        self.until(lambda: self.control("status")["pendingWrites"] == 0)


class UnderLoad(ServingTest):
    """Callers go on while an adapter comes, changes and goes."""

    CALLERS, ROUNDS = 6, 6

    def caller(self, done, statuses, paths):
        kept, number = None, 0
        while not done.is_set():
            try:
                if kept is None:
                    kept = http.client.HTTPConnection("127.0.0.1", self.gateway.port, timeout=60)
                    kept.connect()
                    kept.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                number += 1
                path = paths[number % len(paths)]
                kept.request("GET", path)
                answer = kept.getresponse()
                body = answer.read()
                statuses.append(200 if answer.status == 200 else (answer.status, path, body))
            except Exception as error:  # noqa: BLE001  Every failure of a caller is one of the test.
                statuses.append(repr(error))
                kept = None

    def test_no_request_fails_while_an_adapter_comes_changes_and_goes(self):
        self.write(NAMES)
        self.start()
        self.people()
        paths = ["/v2/list", "/api/v1/staff/people", "/health/ready", "/openapi.json", "/api/v1/staff/people?filter=id%20eq%201"]
        with Callers(self.CALLERS, lambda done, statuses: self.caller(done, statuses, paths)) as callers:
            for number in range(1, self.ROUNDS + 1):
                # `users` comes and goes; its path is asked for by nobody then.
                self.write({**NAMES, **({"rank": "integer"} if number % 2 else {"phone": "string"})}, adapters={
                    "users": {"access": "public"}, "employees": {"enabled": number % 2 == 0}})
                self.apply()
                callers.wait_for(10 * self.CALLERS)
        self.assertEqual(set(callers.outcomes), {200})
        print(f"{len(callers.outcomes)} requests, {self.ROUNDS} declarations")


if __name__ == "__main__":
    unittest.main()
