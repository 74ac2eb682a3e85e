"""The log as operators use it: found by request, followed, narrowed, its levels changed, slow requests with their steps."""

import json
import pathlib
import shutil
import subprocess
import tempfile
import time
import unittest

from harness import BUILD, JSON, ROOT, START_SECONDS, Gateway, GatewayTest, run_portico
from ledger_upstream import LedgerUpstream

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
PARENT = f"00-{TRACE}-00f067aa0ba902b7-01"
USERS = "/api/v1/users/users"
#: A mirror is written through another system, within the request.
CONFIGURATION = """
http: {{ host: 127.0.0.1 }}
identity: {{ basic: {{ enabled: true }}, demoAccounts: [ {{ name: alice, password: portico-demo, roles: [member] }} ] }}
log: {{ slow: 300ms, levels: {{ users: debug }} }}
upstreams:
  hr: {{ url: '{url}', networks: [127.0.0.1/32], deadline: 10s }}
adapters:
  users: {{ access: {{ read: login, write: login }}, upstream: hr, write: through, freshFor: 1d }}
"""


class LogTest(unittest.TestCase):
    def control(self, *arguments, status=0):
        done = run_portico(*arguments, "--data", self.gateway.data, program="porticoctl")
        self.assertEqual(done.returncode, status, done)
        return done

    def lines(self, *arguments):
        return [json.loads(line) for line in self.control("logs", *arguments, "--output", "json").stdout.splitlines()]


class Found(LogTest):
    @classmethod
    def setUpClass(cls):
        cls.gateway = Gateway()
        cls.addClassCleanup(cls.gateway.remove)

    def test_from_the_text_that_a_phone_shows_to_the_cause_in_one_command(self):
        answer = self.gateway.get("/v2/user/4711", user="alice", accept=JSON)
        error = answer.json()["error"]
        shown = f"{error['message']} (Reference: {error['requestId']}.)"
        (line,) = self.lines("--request", shown)
        self.assertEqual((line["status"], line["code"], line["path"], line["caller"]), (404, "record.notFound", "/v2/user/4711", "alice"))
        self.assertEqual(line["reason"], "there is no such record, or not for the caller")
        text = self.control("logs", "--request", shown).stdout
        self.assertIn(f"requestId={error['requestId']}", text)
        self.assertIn("record.notFound: There is no record with this id that the caller may see.", text)
        self.assertIn("Operator: For a record that should be seen", text)

    def test_a_request_is_not_taken_for_another_whose_id_begins_alike(self):
        for _ in range(40):
            answer = self.gateway.get("/nothing")
        identifier = answer.headers["x-request-id"]
        self.assertEqual({line["requestId"] for line in self.lines("--request", identifier)}, {identifier})
        done = self.control("logs", "--request", identifier[:-1] + "zzz", status=1)
        self.assertIn("No line in memory", done.stderr)

    def test_the_calls_of_a_batch_are_found_by_the_batchs_id(self):
        call = {"id": "1", "method": "GET", "path": "/v1/list"}
        answer = self.gateway.send("POST", "/batch", {"calls": [call]}, user="alice")
        (line,) = self.lines("--request", answer.headers["x-request-id"])
        self.assertEqual(line["path"], "/batch")

    def test_lines_by_level_and_adapter(self):
        self.gateway.get("/v1/list", user="alice")
        self.gateway.get("/api/v1/notes/notes?limit=1", user="alice")
        endpoints = {line.get("endpoint", "").split(".")[0] for line in self.lines("--adapter", "notes")} - {""}
        self.assertEqual(endpoints, {"notes"})
        levels = {line["level"] for line in self.lines("--level", "warning", "--limit", "1000")}
        self.assertLessEqual(levels, {"warning", "error", "critical"})

    def test_lines_of_a_time_span(self):
        self.gateway.get("/v1/list", user="alice")
        everything = self.lines("--limit", "10000")
        # Lines go on coming.
        self.assertGreaterEqual(len(self.lines("--since", "2d")), len(everything))
        self.assertEqual(self.lines("--since", "2999-01-01T00:00:00Z"), [])
        middle = everything[len(everything) // 2]["time"]
        self.assertTrue(all(line["time"] >= middle for line in self.lines("--since", middle)))
        self.assertIn("15m", self.control("logs", "--since", "yesterday", status=2).stderr)

    def test_new_lines_are_followed(self):
        process = subprocess.Popen(
            [str(BUILD / "porticoctl"), "logs", "--follow", "--output", "json", "--data", str(self.gateway.data)],
            stdout=subprocess.PIPE, text=True)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        process.stdout.readline()
        answer = self.gateway.get("/nothing/that/is/followed")
        for line in process.stdout:
            if json.loads(line).get("requestId") == answer.headers["x-request-id"]:
                return
        self.fail("the line did not come")

    def test_only_the_path_of_a_request_is_remembered(self):
        answer = self.gateway.get("/nothing?secret=canary-in-a-query")
        self.assertTrue(self.lines("--request", answer.headers["x-request-id"]))
        self.assertNotIn("canary-in-a-query", self.control("logs", "--limit", "1000").stdout)

    def test_levels_change_while_it_runs(self):
        shown = {line["module"]: line for line in json.loads(self.control("logs", "levels", "--output", "json").stdout)["levels"]}
        self.assertLessEqual({"default", "portico", "requests", "users", "notes"}, set(shown))
        self.control("logs", "level", "requests", "warning")
        quiet = self.gateway.get("/v1/list", user="alice")
        refused = self.gateway.get("/nothing")
        self.control("logs", "level", "requests", "default")
        log = self.gateway.log_with(self.gateway.get("/v1/list", user="alice"))
        self.assertNotIn(quiet.headers["x-request-id"], log)
        self.assertNotIn(refused.headers["x-request-id"], log)
        # What fails is found by its id all the same.
        self.assertEqual(len(self.lines("--request", refused.headers["x-request-id"])), 1)
        self.assertIn("no module", self.control("logs", "level", "nothing", "debug", status=1).stderr)
        self.control("logs", "level", "users", "loud", status=1)

    def test_a_trace_that_a_caller_names_is_in_its_line(self):
        answer = self.gateway.get("/v1/list", user="alice", headers={"traceparent": PARENT})
        (line,) = self.lines("--request", answer.headers["x-request-id"])
        self.assertEqual(line["traceId"], TRACE)
        answer = self.gateway.get("/v1/list", user="alice", headers={"traceparent": "00-" + "0" * 32 + "-00f067aa0ba902b7-01"})
        (line,) = self.lines("--request", answer.headers["x-request-id"])
        self.assertNotIn("traceId", line)


class Debugging(LogTest):
    def test_debugging_lines_have_the_steps_of_every_request(self):
        self.gateway = Gateway()
        self.addCleanup(self.gateway.remove)
        before = self.gateway.get("/v2/list", user="alice")
        self.control("logs", "level", "requests", "debug")
        after = self.gateway.get("/v2/schema.xsd", user="alice")
        note = self.gateway.send("POST", "/api/v1/notes/notes", {"title": "t"}, user="alice")
        for answer, steps in [(before, False), (after, True), (note, True)]:
            lines = self.lines("--request", answer.headers["x-request-id"])
            self.assertEqual("request steps" in {line["message"] for line in lines}, steps, lines)
        (line,) = [line for line in lines if line["message"] == "request steps"]
        self.assertEqual(line["level"], "debug")
        self.assertGreater(line["write"], 0)

    def test_a_sign_in_has_its_hash_as_a_step(self):
        self.gateway = Gateway("--set", "log.slow=1ms", "--set", "identity.passwords.cost=14")
        self.addCleanup(self.gateway.remove)
        answer = self.gateway.send("POST", "/auth/login", {"username": "alice", "password": "portico-demo"})
        basic = self.gateway.get("/v2/list", user="bob")
        for answer in [answer, basic]:
            self.assertEqual(answer.status, 200)
            (slow,) = [line for line in self.lines("--request", answer.headers["x-request-id"]) if line["message"] == "slow request"]
            self.assertGreater(slow["identity"], 0)
            self.assertGreater(slow["identity"], slow["microseconds"] / 3)


class Bounded(LogTest):
    def test_no_more_is_remembered_than_the_configuration_says(self):
        self.gateway = Gateway("--set", "log.memory=16KiB")
        self.addCleanup(self.gateway.remove)
        first = self.gateway.get("/nothing")
        for _ in range(200):
            last = self.gateway.get("/nothing")
        self.control("logs", "--request", first.headers["x-request-id"], status=1)
        self.assertEqual(len(self.lines("--request", last.headers["x-request-id"])), 1)
        self.assertLess(len(self.control("logs", "--limit", "10000", "--output", "json").stdout), 17_000)


class Slow(LogTest):
    def setUp(self):
        self.upstream = LedgerUpstream(True, range(100, 105))
        self.addCleanup(self.upstream.stop)
        folder = pathlib.Path(tempfile.mkdtemp(prefix="portico-logs-"))
        self.addCleanup(shutil.rmtree, folder, True)
        config = folder / "portico.yaml"
        config.write_text(CONFIGURATION.format(url=self.upstream.address))
        self.gateway = Gateway(config=str(config), data=folder)
        self.addCleanup(self.gateway.remove)
        end = time.monotonic() + START_SECONDS
        while self.gateway.get(USERS, user="alice").status != 200:
            self.assertLess(time.monotonic(), end)
            time.sleep(0.1)

    def test_a_slow_request_is_traced_to_the_step_that_was_slow(self):
        self.upstream.delay = 1
        answer = self.gateway.send(
            "PATCH", f"{USERS}/100", {"UserName": "Ann"}, user="alice", headers={"traceparent": PARENT})
        self.assertEqual(answer.status, 200, answer)
        lines = self.lines("--request", answer.headers["x-request-id"])
        (slow,) = [line for line in lines if line["message"] == "slow request"]
        self.assertEqual((slow["level"], slow["traceId"]), ("warning", TRACE))
        self.assertGreater(slow["upstream"], 900_000)
        self.assertGreater(slow["microseconds"], slow["upstream"])
        self.assertGreaterEqual(slow["mirrors"], slow["upstream"])
        self.assertLess(slow["write"], slow["upstream"])

    def test_lines_within_a_request_have_its_id_and_its_trace(self):
        self.upstream.plan = ["drop"] * 10
        answer = self.gateway.send(
            "PATCH", f"{USERS}/101", {"UserName": "Bob"}, user="alice", headers={"traceparent": PARENT})
        self.assertGreaterEqual(answer.status, 400, answer)
        lines = self.lines("--request", answer.headers["x-request-id"])
        within = [line for line in lines if line.get("source") == "upstream"]
        self.assertTrue(within, lines)
        self.assertEqual({line["traceId"] for line in within}, {TRACE})

    def test_the_configuration_names_levels_of_modules(self):
        shown = json.loads(self.control("logs", "levels", "--output", "json").stdout)["levels"]
        self.assertIn({"module": "users", "level": "debug", "own": True}, shown)


class Configured(unittest.TestCase):
    def test_a_level_for_what_is_no_module_is_refused(self):
        done = run_portico("check", "--config", "Config/demo.yaml", "--set", "log.levels.usres=debug")
        self.assertEqual(done.returncode, 1, done)
        self.assertIn("There is no module usres", done.stderr)
        done = run_portico("check", "--config", "Config/demo.yaml", "--set", "log.levels.users=debug")
        self.assertEqual(done.returncode, 0, done)


class Explained(unittest.TestCase):
    def test_every_code_that_is_documented_is_explained(self):
        page = (ROOT / "docs/errors.md").read_text()
        done = run_portico("explain")
        codes = [line.split()[0] for line in done.stdout.splitlines()]
        self.assertGreater(len(codes), 40)
        for code in codes:
            self.assertIn(f"\n### `{code}`\n", page)
        done = run_portico("explain", "store.full")
        self.assertEqual(done.returncode, 0)
        self.assertIn("HTTP status 507", done.stdout)
        self.assertIn("Operator: Free space on the disk", done.stdout)

    def test_a_code_that_is_none_leads_to_those_that_are_like_it(self):
        done = run_portico("explain", "record.missing")
        self.assertEqual(done.returncode, 1)
        self.assertIn("record.notFound", done.stderr)
