"""Record rules that read other records, error responses in a shape of an adapter's own, conflicts, bodies both ways and work beside
calls: the same in the process and as a sandboxed worker."""

import concurrent.futures
import os
import pathlib
import shutil
import signal
import tempfile
import time
import unittest

from compiled_plugin import compiled
from harness import Gateway, GatewayTest
from sync_device import Device

QUICK = True
CONFIGURATION = """
store: {{path: portico.sqlite}}
identity:
  basic: {{enabled: true}}
  demoAccounts:
    - {{name: alice, password: portico-demo, roles: [member]}}
    - {{name: bob, password: portico-demo, roles: [member]}}
plugins: [{{path: {path}}}]
adapters: {{quota: {{access: {{read: login, write: login}}}}}}
"""
LISTS, TASKS, NOTES = "/api/v1/quota/lists", "/api/v1/quota/tasks", "/api/v1/quota/notes"


class WorkerRules(GatewayTest):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="portico-quota-data-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, True)
        config = cls.folder / "portico.yaml"
        config.write_text(CONFIGURATION.format(path=compiled("Quota")))
        (cls.folder / "data").mkdir()
        cls.gateway = Gateway(config=config, data=cls.folder / "data")

    def setUp(self):
        for user in ("alice", "bob"):
            for item in self.gateway.get(LISTS, user=user).json()["items"]:
                self.expect(self.gateway.request("DELETE", f"{LISTS}/{item['id']}", user=user), 204)
            self.expect(self.gateway.send("POST", LISTS, {"id": f"of-{user}"}, user=user), 201)

    def create(self, title, user="alice", **fields):
        return self.gateway.send("POST", TASKS, {"id": title.replace(" ", "-"), "list": f"of-{user}", "title": title, **fields}, user=user)

    def tasks(self, user="alice"):
        return {item["id"]: item for item in self.gateway.get(TASKS, user=user).json()["items"]}

    def test_a_change_is_completed_and_refused_by_what_other_records_say(self):
        self.assertEqual(self.expect(self.create("one two three"), 201).json()["words"], 3)
        lost = self.expect(self.create("lost", list="of-bob"), 400, "request.invalid").json()["error"]
        self.assertEqual((lost["target"], lost["message"]), ("list", "There is no such list of yours."))
        for title in ("b", "c"):
            self.expect(self.create(title), 201)
        self.expect(self.create("d"), 409, "record.conflict")
        self.expect(self.gateway.send("PATCH", f"{TASKS}/b", {"isOpen": False}, user="alice"), 200)
        self.expect(self.create("d"), 201)
        self.expect(self.create("of bob", user="bob"), 201)
        self.expect(self.gateway.request("DELETE", f"{LISTS}/of-alice", user="alice"), 204)
        self.assertEqual((self.tasks(), set(self.tasks("bob"))), ({}, {"of-bob"}))

    def test_writers_at_the_same_time_never_break_a_rule(self):
        def write(number):
            while (answer := self.create(f"w{number}", user=("alice", "bob")[number % 2])).status == 503:
                pass
            return answer.status

        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            statuses = list(pool.map(write, range(40)))
        self.assertEqual((statuses.count(201), statuses.count(409)), (6, 34), statuses)
        for user in ("alice", "bob"):
            self.assertEqual(sum(task["isOpen"] for task in self.tasks(user).values()), 3)

    def test_a_batch_is_judged_call_by_call(self):
        calls = [{"id": str(number), "method": "POST", "path": TASKS,
                  "body": {"id": f"b{number}", "list": "of-alice", "title": "a b"}} for number in range(5)]
        answers = self.expect(self.gateway.send("POST", "/batch", {"calls": calls}, user="alice"), 200).json()["answers"]
        statuses = sorted(answer["status"] for answer in answers)
        self.assertEqual(statuses, [201, 201, 201, 409, 409])

    def test_a_device_learns_which_of_its_changes_stand(self):
        device = Device(self.gateway, "alice")
        outcomes = device.push(*[
            device.mutation("create", f"d{number}", {"list": "of-alice", "title": "one two"}, collection="tasks")
            for number in range(5)])["outcomes"]
        self.assertEqual([outcome["outcome"] for outcome in outcomes], ["applied"] * 3 + ["rejected"] * 2)
        self.assertEqual({task["words"] for task in self.tasks().values()}, {2})

    def test_failures_below_a_mount_have_the_shape_of_its_contract(self):
        for method, caller, status, code in [
            ("GET", {"user": "alice"}, 410, "record.notFound: There is no /quota/thing. (path)"),
            ("GET", {"headers": {"Authorization": "Bearer wrong"}}, 401, "auth."),
            ("POST", {"user": "alice"}, 405, "route.methodNotAllowed: This path does not take POST. It takes GET, HEAD, OPTIONS. ()"),
        ]:
            with self.subTest(method=method, status=status):
                answer = self.gateway.request(method, "/quota/thing", **caller)
                text = answer.body.decode()
                self.assertEqual((answer.status, answer.headers["content-type"]), (status, "text/plain"), answer)
                self.assertTrue(text.startswith(code) and text.endswith(f" {method} /quota/thing\n"), text)
                self.assertTrue(answer.headers["x-request-id"] and answer.headers["x-adapter-quota"])
                self.assertEqual(("www-authenticate" in answer.headers, "allow" in answer.headers), (status == 401, status == 405))


    def test_bodies_of_any_length_cross_both_ways(self):
        for size in (0, 1, 100_000, 3_000_000):
            with self.subTest(size):
                body = bytes(number % 251 for number in range(size))
                answer = self.gateway.request(
                    "POST", "/quota-bodies", body=body, user="alice", headers={"Content-Type": "application/octet-stream"})
                self.assertEqual((answer.status, answer.headers["x-adapter-size"]), (201, str(size)), answer)
                self.assertEqual(answer.body, body[::-1])

    def test_a_conflict_is_settled_by_the_adapter(self):
        self.expect(self.gateway.send("POST", NOTES, {"id": "shared", "text": "first"}, user="alice"), 201)
        device = Device(self.gateway, "alice")
        device.pull()
        self.expect(self.gateway.send("PATCH", f"{NOTES}/shared", {"text": "theirs"}, user="bob"), 200)
        device.change("update", "shared", {"text": "mine"}, device.rev("shared"))
        self.assertEqual(self.gateway.get(f"{NOTES}/shared", user="bob").json()["text"], "theirs and mine")

    def test_work_beside_calls_reaches_the_records(self):
        self.expect(self.gateway.send("POST", "/api/v1/quota/operations/later", {}, user="alice"), 200)
        ends = time.monotonic() + 30
        while len(texts := self.texts("begun")) < 2:
            self.assertLess(time.monotonic(), ends, texts)
            time.sleep(0.05)
        self.assertEqual(sorted(text.rsplit(" ", 1)[0] for text in texts), ["begun by a call", "begun with the adapter"])

    def texts(self, beginning):
        notes = self.expect(self.gateway.get(NOTES, user="alice"), 200).json()["items"]
        return [note["text"] for note in notes if note["text"].startswith(beginning)]

    def test_without_the_worker_writes_are_refused_and_reads_go_on(self):
        self.expect(self.create("before"), 201)
        worker = self.gateway.workers()["quota"]
        os.kill(worker, signal.SIGSTOP)
        try:
            with concurrent.futures.ThreadPoolExecutor(1) as pool:
                held = pool.submit(self.create, "held")
                # Nobody waits for the rules of another.
                self.expect(self.gateway.get(TASKS, user="alice"), 200)
                self.expect(self.gateway.send("POST", "/auth/login", {"username": "bob", "password": "portico-demo"}), 200)
                os.kill(worker, signal.SIGKILL)
                self.assertIn(held.result().status, (201, 503))
        finally:
            if self.gateway.workers().get("quota") == worker:
                os.kill(worker, signal.SIGCONT)
        while (answer := self.create("after")).status == 503:
            self.assertEqual(answer.json()["error"]["code"], "adapter.unavailable")
        self.expect(answer, 201)


if __name__ == "__main__":
    unittest.main()
