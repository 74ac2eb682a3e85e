"""Mirrors and call-through in front of a system that may be slow, broken or lying: what callers, devices and operators see."""

import json
import pathlib
import re
import shutil
import tempfile
import time
import unittest
import uuid

import browser
from harness import Gateway, run_portico
from hostile_upstream import MirroredSystem

CONFIGURATION = """
http: {{ host: 127.0.0.1 }}
store: {{ sampleData: true }}
identity:
  basic: {{ enabled: true }}
  demoAccounts:
    - {{ name: alice, password: portico-demo, roles: [member] }}
    - {{ name: bob, password: portico-demo, roles: [member] }}
upstreams:
  hr:
    url: '{url}'
    networks: [127.0.0.1/32]
    deadline: 2s
    limits: {{ connect: 500ms, firstByte: 1s, answer: 1MiB, tries: 1, failures: 1000 }}
{credentials}
adapters:
  employees: {{ upstream: hr, protocol: json, access: {access}, {employees} }}
  users: {{ upstream: hr, path: users/, access: public-read, {users} }}
"""
MIRROR = "freshFor: 1h, waitFor: 5s"
# Every read asks the other system, and waits as long as that takes at the most.
ASKING = "freshFor: 1ms, waitFor: 10s"
EMPLOYEES, USERS = "/api/v1/employees/employees", "/api/v1/users/users"
SEARCH = "/OrganizationInterfaceImplMobile/employeeSearch"
EXCHANGE = """    credentials:
      kind: exchange
      tokenURL: '{url}/token'
      clientID: portico
      clientSecret: {{ env: HR_SECRET }}
      audience: hr
"""


class MirrorTest(unittest.TestCase):
    def setUp(self):
        self.system = MirroredSystem()
        self.addCleanup(self.system.stop)

    def configuration(self, employees=MIRROR, users=MIRROR, credentials="", access="public-read"):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="portico-mirrors-"))
        self.addCleanup(shutil.rmtree, folder, True)
        config = folder / "portico.yaml"
        config.write_text(CONFIGURATION.format(
            url=self.system.address, employees=employees, users=users, access=access,
            credentials=credentials.format(url=self.system.address)))
        return str(config)

    def start(self, *arguments, **options):
        gateway = Gateway(config=self.configuration(*arguments, **options), environment={"HR_SECRET": "secret"})
        self.addCleanup(gateway.remove)
        # Mirrors are kept once the adapters have started.
        return gateway

    def control(self, gateway, *arguments):
        done = run_portico(*arguments, "--data", str(gateway.data), "--output", "json", program="porticoctl")
        return done, json.loads(done.stdout or "null")

    def state(self, gateway, name):
        return self.control(gateway, "mirrors", "show", name)[1]

    def until(self, holds, seconds=30):
        end = time.monotonic() + seconds
        while not holds():
            self.assertLess(time.monotonic(), end, "it does not become true")
            time.sleep(0.05)

    def read(self, gateway, path=EMPLOYEES, status=200):
        answer = gateway.get(f"{path}?limit=200")
        self.assertEqual(answer.status, status, answer)
        return answer

    def search(self, gateway, name="", **rest):
        return gateway.send("POST", SEARCH, {"fullName": name, "rowsPerPage": 100}, **rest)

    def pull(self, gateway, checkpoint=None):
        body = {"collections": ["employees"], **({"checkpoint": checkpoint} if checkpoint else {})}
        operations = []
        while True:
            answer = gateway.send("POST", "/sync/v1/pull", body, user="alice")
            self.assertEqual(answer.status, 200, answer)
            page = answer.json()
            operations += page["operations"]
            if "complete" in page:
                return operations, page["complete"]
            body["checkpoint"] = page["next"]


class Reading(MirrorTest):
    def test_rows_are_fetched_for_the_first_read_and_then_served_with_their_age(self):
        gateway = self.start()
        first = self.read(gateway)
        self.assertEqual(len(first.json()["items"]), 60)
        self.assertEqual(first.headers["cache-status"], "portico; fwd=miss; stored")
        asked = len(self.system.asked)
        second = self.read(gateway)
        self.assertEqual(second.headers["cache-status"], "portico; hit")
        self.assertGreaterEqual(int(second.headers["age"]), 0)
        self.assertEqual(len(self.system.asked), asked)
        # The contracts' own paths, and one record.
        self.assertEqual(self.search(gateway, "First1").json()["totalRows"], 11)
        self.assertIn("age", self.search(gateway).headers)
        self.assertIn("age", gateway.get(f"{EMPLOYEES}/e1@example.com").headers)
        self.assertIn("User 100", gateway.get("/v1/list").text())
        self.assertIn("age", gateway.get("/v1/list").headers)
        self.assertNotIn("age", gateway.get("/health/live").headers)

    def test_each_part_of_a_batch_tells_its_own_age(self):
        gateway = self.start(users=ASKING)
        self.read(gateway)
        paths = [EMPLOYEES, USERS, "/health/live"]
        calls = [{"id": str(number), "method": "GET", "path": path} for number, path in enumerate(paths)]
        answer = gateway.send("POST", "/batch", {"calls": calls})
        parts = [
            {name.lower(): value for name, value in part["headers"].items()}
            for part in sorted(answer.json()["answers"], key=lambda part: part["id"])
        ]
        self.assertEqual(parts[0]["cache-status"], "portico; hit")
        self.assertEqual(parts[1]["cache-status"], "portico; fwd=miss; stored")
        self.assertNotIn("age", parts[2])
        self.assertNotIn("age", answer.headers)

    def test_browsers_of_other_origins_may_read_the_age(self):
        config = self.configuration()
        gateway = Gateway("--set", "http.cors.origins=[https://app.example]", config=config)
        self.addCleanup(gateway.remove)
        exposed = gateway.get(EMPLOYEES, headers={"Origin": "https://app.example"}).headers["access-control-expose-headers"]
        self.assertIn("Age", exposed)
        self.assertIn("Cache-Status", exposed)

    def test_nothing_older_than_allowed_is_served_and_the_gateway_stays_ready(self):
        gateway = self.start(employees="freshFor: 500ms, staleFor: 2s, waitFor: 1s")
        self.read(gateway)
        self.system.is_down = True
        self.until(lambda: gateway.get(EMPLOYEES).status == 503)
        answer = self.read(gateway, status=503)
        self.assertEqual(answer.json()["error"]["code"], "adapter.unavailable")
        self.assertIn("hr", answer.json()["error"]["message"])
        self.assertNotIn(str(self.system.port), answer.text())
        self.assertEqual(gateway.get("/health/ready").status, 200)
        self.system.is_down = False
        self.until(lambda: gateway.get(EMPLOYEES).status == 200)

    def test_a_restart_has_the_rows_and_their_age_without_the_other_system(self):
        config = self.configuration()
        gateway = Gateway(config=config)
        self.addCleanup(gateway.remove)
        self.read(gateway)
        gateway.stop()
        self.system.is_down = True
        again = Gateway(config=config, data=gateway.data)
        self.addCleanup(again.remove)
        answer = self.read(again)
        self.assertEqual(len(answer.json()["items"]), 60)
        self.assertEqual(answer.headers["cache-status"], "portico; hit")


class Refreshing(MirrorTest):
    def test_a_refresh_that_changes_three_rows_sends_a_device_three(self):
        gateway = self.start()
        self.read(gateway)
        operations, complete = self.pull(gateway)
        self.assertEqual(len(operations), 60)
        scope = complete["scopes"][0]
        self.assertEqual((scope["scope"], scope["count"]), ("employees", 60))
        self.assertRegex(scope["asOf"], r"^20\d\d-.*Z$")
        for number in (3, 7):
            self.system.employees[number]["phoneNumber"] = "0123"
        del self.system.employees[59]
        before = complete["position"]
        done, summary = self.control(gateway, "mirrors", "refresh", "employees/employees")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual((summary["created"], summary["updated"], summary["deleted"]), (0, 2, 1))
        operations, complete = self.pull(gateway, complete["checkpoint"])
        self.assertEqual(
            sorted((one["id"], one["operation"]) for one in operations),
            [("e3@example.com", "put"), ("e59@example.com", "remove"), ("e7@example.com", "put")])
        # Three rows; the operator's verb is an audit entry and its head.
        self.assertEqual(complete["position"], before + 3 + 2)
        self.assertGreater(complete["scopes"][0]["asOf"], scope["asOf"])
        # One that changes nothing writes nothing but its audit entry, and the rows are younger all the same.
        self.control(gateway, "mirrors", "refresh", "employees/employees")
        operations, last = self.pull(gateway, complete["checkpoint"])
        self.assertEqual((operations, last["position"]), ([], complete["position"] + 2))
        self.assertGreater(last["scopes"][0]["asOf"], complete["scopes"][0]["asOf"])

    def test_the_other_system_tells_of_a_change_by_a_webhook_of_those_who_may_ask_for_a_refresh(self):
        gateway = self.start(access="{ read: public, refresh: { roles: [member] } }")
        self.read(gateway)
        self.system.employees[0]["lastName"] = "Changed"
        path = "/api/v1/employees/mirrors/employees/refresh"
        self.assertEqual(gateway.send("POST", path, {}).status, 401)
        self.assertEqual(self.start().send("POST", path, {}, user="alice").status, 403)
        self.assertEqual(self.read(gateway).json()["items"][0]["lastName"], "Last0")
        self.assertEqual(gateway.send("POST", path, {}, user="alice").status, 202)
        self.until(lambda: "Changed" in self.read(gateway).text())

    def test_it_is_refreshed_by_itself(self):
        gateway = self.start(employees=MIRROR + ", refresh: 500ms")
        self.read(gateway)
        self.system.employees[0]["lastName"] = "Changed"
        self.until(lambda: "Changed" in gateway.get(f"{EMPLOYEES}?limit=100").text())

    def test_operators_see_the_mirrors(self):
        gateway = self.start()
        self.read(gateway)
        _, listed = self.control(gateway, "mirrors", "list")
        self.assertEqual(
            [(one["name"], one["state"]) for one in listed["mirrors"]],
            [("employees/employees", "good"), ("users/users", "never")])
        shown = self.state(gateway, "employees/employees")
        self.assertEqual((shown["records"], shown["upstream"], shown["lastRefresh"]["created"]), (60, "hr", 60))
        done, _ = self.control(gateway, "mirrors", "show", "employees/nothing")
        self.assertEqual(done.returncode, 1)
        done, _ = self.control(gateway, "mirrors", "release", "employees/employees", "--yes")
        self.assertEqual(done.returncode, 1)


class Lies(MirrorTest):
    def held(self, gateway, name="employees/employees"):
        done, _ = self.control(gateway, "mirrors", "refresh", name)
        self.assertEqual(done.returncode, 1, done.stdout)
        shown = self.state(gateway, name)
        self.assertEqual(shown["state"], "held", shown)
        return shown

    def test_an_empty_list_and_half_of_the_rows_are_held_back_until_released(self):
        gateway = self.start()
        self.read(gateway)
        self.read(gateway, USERS)
        self.system.fault = "empty"
        for name, path, count in [("employees/employees", EMPLOYEES, 60), ("users/users", USERS, 40)]:
            shown = self.held(gateway, name)
            self.assertTrue(shown["held"]["releasable"])
            self.assertEqual(shown["records"], count)
            self.assertEqual(len(self.read(gateway, path).json()["items"]), count)
        self.assertIn("employees/employees", str(self.control(gateway, "status")[1]))
        self.assertEqual(gateway.log().count("refresh of a mirror held back"), 2)
        self.system.fault = None
        # The next good one ends it.
        done, _ = self.control(gateway, "mirrors", "refresh", "users/users")
        self.assertEqual((done.returncode, self.state(gateway, "users/users")["state"]), (0, "good"))
        # So many have really gone.
        gone = {row["id"] for row in self.read(gateway).json()["items"]}
        del self.system.employees[20:]
        self.held(gateway)
        done, sample = self.control(gateway, "mirrors", "preview", "employees/employees", "--limit", "30")
        self.assertEqual((done.returncode, sample["created"], sample["updated"]), (0, [], []))
        self.assertEqual(len({row["id"] for row in sample["deleted"]} & gone), 30)
        done, summary = self.control(gateway, "mirrors", "release", "employees/employees", "--yes")
        self.assertEqual((done.returncode, summary["deleted"]), (0, 40))
        self.assertEqual(len(self.read(gateway).json()["items"]), 20)
        self.assertEqual(self.state(gateway, "employees/employees")["state"], "good")
        done, _ = self.control(gateway, "mirrors", "preview", "employees/employees")
        self.assertEqual(done.returncode, 1, "nothing is held back")

    def test_pages_and_documents_that_are_none_are_held_back(self):
        gateway = self.start()
        self.read(gateway)
        self.read(gateway, USERS)
        for fault in ["login", "truncated", "other"]:
            with self.subTest(fault):
                self.system.fault = fault
                for name, path, count in [("employees/employees", EMPLOYEES, 60), ("users/users", USERS, 40)]:
                    done, _ = self.control(gateway, "mirrors", "refresh", name)
                    self.assertEqual(done.returncode, 1)
                    self.assertEqual(self.state(gateway, name)["state"], "held")
                    self.assertEqual(len(self.read(gateway, path).json()["items"]), count)
                    done, _ = self.control(gateway, "mirrors", "release", name, "--yes")
                    self.assertEqual(done.returncode, 1, "there is nothing that could be released")
        self.system.fault = None
        for name in ["employees/employees", "users/users"]:
            done, _ = self.control(gateway, "mirrors", "refresh", name)
            self.assertEqual((done.returncode, self.state(gateway, name)["state"]), (0, "good"))


class Faults(MirrorTest):
    FAULTS = ["hang", "hang-in-body", "drip", "reset", "reset-in-body", "garbage", "large", "large-chunked", "bomb",
              "header-flood", "login", "truncated", "other", "missing"]

    def test_callers_are_answered_from_the_last_good_data_and_it_recovers_by_itself(self):
        gateway = self.start(employees="freshFor: 1ms, waitFor: 1s", users=MIRROR)
        self.read(gateway)
        self.read(gateway, USERS)
        for fault in self.FAULTS:
            with self.subTest(fault):
                self.system.fault = fault
                answer = self.read(gateway)
                self.assertEqual(len(answer.json()["items"]), 60)
                self.assertRegex(answer.headers["cache-status"], r"^portico; fwd=stale; detail=[a-z-]+$")
                self.assertGreaterEqual(int(answer.headers["age"]), 0)
                # Others do not notice.
                self.assertEqual(self.read(gateway, USERS).headers["cache-status"], "portico; hit")
                self.assertEqual(gateway.get("/health/ready").status, 200)
                self.system.fault = None
                self.until(lambda: "stored" in self.read(gateway).headers["cache-status"], seconds=60)
        self.assertLess(gateway.resident("VmHWM"), 500 << 20)

    def test_a_caller_whose_deadline_is_short_gets_the_last_good_data_before_it(self):
        for employees in ["freshFor: 1ms, waitFor: 60s", "mode: call, freshFor: 1ms, waitFor: 60s"]:
            with self.subTest(employees):
                config = self.configuration(employees=employees)
                # Far below the upstream's own.
                gateway = Gateway("--set", "http.deadlines.request=1s", "--set", "upstreams.hr.limits.firstByte=60s",
                                  "--set", "upstreams.hr.deadline=60s", config=config)
                self.addCleanup(gateway.remove)
                self.until(lambda: self.search(gateway).status == 200)
                self.system.fault = "hang"
                answer = self.search(gateway)
                self.system.fault = None
                self.assertEqual(answer.status, 200, answer)
                self.assertEqual(answer.headers["cache-status"], "portico; fwd=stale; detail=upstream-timeout")

    def test_a_device_pulls_while_the_other_system_hangs(self):
        gateway = self.start(employees="freshFor: 1ms, waitFor: 10s")
        self.read(gateway)
        self.system.fault = "hang"
        operations, complete = self.pull(gateway)
        self.assertEqual(len(operations), 60)
        self.assertIn("asOf", complete["scopes"][0])


@unittest.skipUnless(browser.program(), "this machine has no Chromium")
class InABrowser(MirrorTest):
    def test_the_client_tells_the_age_of_answers_and_of_a_replica(self):
        gateway = self.start(employees="freshFor: 1ms, waitFor: 1s")
        self.read(gateway)
        chromium = browser.Browser()
        self.addCleanup(chromium.close)
        address = f"http://127.0.0.1:{gateway.port}"
        page = chromium.person().page(f"{address}/client/notes.css")
        page.run(f"""await (async () => {{
            globalThis.portico = (await import('{address}/client/portico.js')).connect();
            await portico.signIn('alice', 'portico-demo');
            globalThis.employees = portico.resource('employees', 'employees');
        }})()""")
        self.assertEqual(
            page.run("await employees.list().then(({ asOf, isStale }) => [Date.now() - asOf < 60_000, isStale])"), [True, False])
        self.system.is_down = True
        self.assertEqual(page.run("await employees.list().then(({ isStale }) => isStale)"), True)
        self.assertEqual(page.run("await employees.get('e1@example.com').then(({ isStale, value }) => [isStale, value.division])"),
                         [True, "Sales"])
        page.run("await (async () => { globalThis.replica = await portico.replica(['employees']); })()")
        page.until("replica.phase === 'live'")
        self.assertEqual(page.run("await replica.age('employees').then(({ asOf, isStale }) => [Date.now() - asOf < 60_000, isStale])"),
                         [True, False])
        self.assertEqual(page.run("await replica.age('employees', { freshFor: 1 }).then(({ isStale }) => isStale)"), True)
        self.assertIsNone(page.run("await replica.age('others')"))


class CallThrough(MirrorTest):
    def test_the_other_system_is_asked_for_what_is_searched_and_its_answer_used_again(self):
        gateway = self.start(employees="mode: call, freshFor: 1h")
        first = self.search(gateway, "First5")
        self.assertEqual((first.status, first.json()["totalRows"]), (200, 11), first)
        self.assertEqual(first.headers["cache-status"], "portico; fwd=miss; stored")
        self.assertEqual(self.system.searches[-1]["fullName"], "First5")
        second = self.search(gateway, "First5")
        self.assertEqual((second.json(), second.headers["cache-status"]), (first.json(), "portico; hit"))
        self.search(gateway, "First6")
        self.assertEqual([search["fullName"] for search in self.system.searches], ["First5", "First6"])
        plist = gateway.send(
            "POST", SEARCH, {"rowsPerPage": 100, "fullName": "First5"}, headers={"Accept": "application/x-plist"})
        self.assertEqual((plist.plist()["totalRows"], len(self.system.searches)), (11, 2))
        # Nothing of it is a record.
        self.assertEqual(gateway.get(EMPLOYEES).status, 404)
        calls = [{"id": "1", "method": "POST", "path": SEARCH, "headers": {"Content-Type": "application/json"},
                  "body": {"fullName": "First5", "rowsPerPage": 100}}]
        part = gateway.send("POST", "/batch", {"calls": calls}).json()["answers"][0]
        self.assertIn("hit", {name.lower(): value for name, value in part["headers"].items()}["cache-status"], part)

    def test_the_last_good_answer_is_served_whatever_the_other_system_does(self):
        gateway = self.start(employees="mode: call, freshFor: 1ms, waitFor: 1s")
        good = self.search(gateway).json()
        for fault in Faults.FAULTS:
            with self.subTest(fault):
                self.system.fault = fault
                answer = self.search(gateway)
                self.assertEqual((answer.status, answer.json()), (200, good), answer)
                self.assertRegex(answer.headers["cache-status"], r"^portico; fwd=stale; detail=upstream-[a-z]+$")
                self.system.fault = None
                self.until(lambda: "stored" in self.search(gateway).headers["cache-status"])
        self.system.fault = "login"
        answer = self.search(gateway, "never asked before")
        self.assertEqual(answer.status, 503, answer)
        self.assertEqual(answer.json()["errorCode"], "adapter.unavailable")
        self.assertIn("hr", answer.json()["errorMessage"])

    def test_one_call_serves_all_who_ask_at_once(self):
        import concurrent.futures
        gateway = self.start(employees="mode: call, freshFor: 1h")
        self.system.delay = 0.5
        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            answers = list(pool.map(lambda _: self.search(gateway, "First1"), range(16)))
        self.assertEqual({answer.status for answer in answers}, {200})
        self.assertEqual(len(self.system.searches), 1)

    def test_answers_in_a_callers_name_are_that_sign_ins_alone_and_go_with_it(self):
        gateway = self.start(employees="mode: call, freshFor: 1h", users="enabled: false", credentials=EXCHANGE)
        self.assertEqual(self.search(gateway).status, 401)
        tokens = {name: gateway.login(name).json()["accessToken"] for name in ["alice", "bob"]}
        names = {}
        for name, token in tokens.items():
            answer = self.search(gateway, token=token)
            self.assertEqual(answer.status, 200, answer)
            names[name] = answer.json()["employees"][0]["lastName"]
            self.assertEqual(self.search(gateway, token=token).headers["cache-status"], "portico; hit")
        self.assertNotEqual(names["alice"], names["bob"])
        self.assertEqual(len(self.system.searches), 2)
        # Another sign-in of the same account asks anew.
        other = gateway.login("alice").json()["accessToken"]
        self.assertIn("miss", self.search(gateway, token=other).headers["cache-status"])
        self.system.is_down = True
        self.assertEqual(self.search(gateway, token=tokens["alice"]).headers["cache-status"], "portico; hit")
        self.assertEqual(gateway.send("POST", "/auth/logout", {}, token=tokens["alice"]).status, 204)
        self.assertEqual(self.search(gateway, token=tokens["alice"]).status, 401)
        fresh = gateway.login("alice").json()["accessToken"]
        self.assertEqual(self.search(gateway, token=fresh).status, 503)

    def test_what_a_caller_may_not_see_any_more_is_not_kept_for_him(self):
        gateway = self.start(employees="mode: call, freshFor: 1ms", users="enabled: false", credentials=EXCHANGE)
        token = gateway.login("alice").json()["accessToken"]
        self.assertEqual(self.search(gateway, token=token).status, 200)
        self.system.fault = "reset"
        self.assertIn("fwd=stale; detail", self.search(gateway, token=token).headers["cache-status"])
        self.system.fault = "forbidden"
        answer = self.search(gateway, token=token)
        self.assertEqual((answer.status, answer.json()["errorCode"]), (403, "access.denied"))
        self.system.fault = "reset"
        self.assertEqual(self.search(gateway, token=token).status, 503)


class RowsOfCallers(MirrorTest):
    """A mirror of a system that is called in its callers' names: both callers get the same row, with other contents."""

    def setUp(self):
        super().setUp()
        self.path = self.configuration(credentials=EXCHANGE)
        self.gateway = Gateway(config=self.path, environment={"HR_SECRET": "secret"})
        self.addCleanup(self.gateway.remove)
        self.tokens = {name: self.gateway.login(name).json()["accessToken"] for name in ("alice", "bob")}

    def get(self, name, path=EMPLOYEES, status=200):
        answer = self.gateway.get(path, token=self.tokens[name])
        self.assertEqual(answer.status, status, answer)
        return answer

    def rows(self, name):
        return self.get(name).json()["items"]

    def records(self, name="employees/employees"):
        return self.state(self.gateway, name)["records"]

    def device(self, name, checkpoint=None):
        body = {"collections": ["employees"], **({"checkpoint": checkpoint} if checkpoint else {})}
        operations = []
        while True:
            answer = self.gateway.send("POST", "/sync/v1/pull", body, token=self.tokens[name])
            self.assertEqual(answer.status, 200, answer)
            page = answer.json()
            operations += page["operations"]
            if "complete" in page:
                return operations, page["complete"]
            body["checkpoint"] = page["next"]

    def test_each_caller_sees_the_own_rows_over_every_interface(self):
        rows = {name: self.rows(name) for name in self.tokens}
        self.assertEqual(self.records(), 2)
        for name, other in (("alice", "bob"), ("bob", "alice")):
            with self.subTest(caller=name):
                (row,), (foreign,) = rows[name], rows[other]
                self.assertEqual((row["porticoCaller"], row["id"]), (name, "e0@example.com"))
                self.assertNotEqual(row["lastName"], foreign["lastName"])
                self.assertNotEqual(row["porticoID"], foreign["porticoID"])
                self.assertEqual(self.get(name, f"{EMPLOYEES}/{row['porticoID']}").json()["lastName"], row["lastName"])
                self.get(name, f"{EMPLOYEES}/{foreign['porticoID']}", status=404)
                one = self.get(name, f"{EMPLOYEES}?filter=porticoCaller%20eq%20%27{other}%27")
                self.assertEqual(one.json()["items"], [])
                found = self.search(self.gateway, token=self.tokens[name])
                self.assertEqual([one["lastName"] for one in found.json()["employees"]], [row["lastName"]])
                self.assertIn("age", found.headers)
                calls = [{"id": "1", "method": "GET", "path": EMPLOYEES},
                         {"id": "2", "method": "GET", "path": f"{EMPLOYEES}/{foreign['porticoID']}"}]
                parts = self.gateway.send("POST", "/batch", {"calls": calls}, token=self.tokens[name]).json()["answers"]
                by_id = {part["id"]: part for part in parts}
                self.assertEqual((by_id["1"]["status"], by_id["2"]["status"]), (200, 404))
                self.assertNotIn(foreign["lastName"], json.dumps(parts))
                operations, complete = self.device(name)
                self.assertEqual([one["id"] for one in operations], [row["porticoID"]])
                self.assertIn("asOf", complete["scopes"][0])
        # Nobody's rows without a sign-in, whatever the access says.
        self.assertEqual(self.gateway.get(EMPLOYEES).status, 401)
        self.assertEqual(self.search(self.gateway).status, 401)
        # The contract finds a user by the number, which is not the record's id any more.
        self.assertIn("User 100", self.get("alice", "/v2/100").text())

    def test_a_fetch_serves_all_reads_of_a_sign_in_and_nobody_else(self):
        self.assertEqual(self.get("alice").headers["cache-status"], "portico; fwd=miss; stored")
        self.assertEqual(self.get("alice").headers["cache-status"], "portico; hit")
        asked = len(self.system.searches)
        self.assertEqual(self.get("bob").headers["cache-status"], "portico; fwd=miss; stored")
        self.assertEqual(len(self.system.searches), asked + 1)

    def test_a_pull_has_the_callers_rows_fetched_and_takes_no_changes(self):
        operations, _ = self.device("alice")
        self.assertEqual(operations, [])
        self.until(lambda: self.records() == 1)
        operations, complete = self.device("alice")
        self.assertEqual(len(operations), 1)
        row = operations[0]["id"]
        changes = [
            {"operation": "update", "id": row, "base": operations[0]["rev"], "fields": {"lastName": "Mine"}},
            {"operation": "create", "id": "mine", "fields": {"id": "m", "firstName": "M", "lastName": "Mine", "division": "D"}},
            {"operation": "delete", "id": row, "base": operations[0]["rev"]},
        ]
        push = {"clientId": str(uuid.uuid4()), "mutations": [
            {"sequence": number, "collection": "employees", **change} for number, change in enumerate(changes, 1)]}
        answer = self.gateway.send("POST", "/sync/v1/push", push, token=self.tokens["alice"])
        self.assertEqual(answer.status, 200, answer)
        self.assertEqual({one["outcome"] for one in answer.json()["outcomes"]}, {"rejected"})
        for method in ("PATCH", "PUT", "DELETE"):
            answer = self.gateway.send(method, f"{EMPLOYEES}/{row}", {"lastName": "Mine"}, token=self.tokens["alice"])
            self.assertEqual(answer.status, 403, answer)
        (kept,) = self.rows("alice")
        self.assertNotEqual(kept["lastName"], "Mine")

    def test_rows_go_with_the_session_and_with_the_right(self):
        self.rows("alice"), self.rows("bob")
        _, complete = self.device("alice")
        self.assertEqual(self.gateway.send("POST", "/auth/logout", {}, token=self.tokens["alice"]).status, 204)
        self.until(lambda: self.records() == 1)
        self.tokens["alice"] = self.gateway.login("alice").json()["accessToken"]
        operations, _ = self.device("alice", complete["checkpoint"])
        self.assertEqual([one["operation"] for one in operations], ["remove"])
        self.assertEqual(len(self.rows("bob")), 1)
        # Another sign-in of the same caller keeps what it has fetched itself.
        self.rows("alice")
        second = self.gateway.login("alice").json()["accessToken"]
        self.assertEqual(self.gateway.get(EMPLOYEES, token=second).status, 200)
        self.gateway.send("POST", "/auth/logout", {}, token=second)
        self.assertEqual(self.get("alice").headers["cache-status"], "portico; hit")
        self.assertEqual(len(self.rows("alice")), 1)

    def test_what_a_caller_may_not_see_any_more_goes(self):
        self.gateway = self.start(employees=ASKING, credentials=EXCHANGE)
        self.tokens = {"alice": self.gateway.login("alice").json()["accessToken"]}
        self.assertEqual(len(self.rows("alice")), 1)
        self.system.fault = "reset"
        self.assertIn("fwd=stale; detail", self.get("alice").headers["cache-status"])
        self.system.fault = "forbidden"
        self.get("alice", status=403)
        self.until(lambda: self.records() == 0)

    def test_what_a_process_left_does_not_outlive_it(self):
        self.rows("alice")
        self.assertEqual(self.gateway.stop(), 0)
        self.gateway = Gateway(config=self.path, data=self.gateway.data, environment={"HR_SECRET": "secret"})
        self.addCleanup(self.gateway.remove)
        self.until(lambda: self.records() == 0)
        self.tokens["alice"] = self.gateway.login("alice").json()["accessToken"]
        self.assertEqual(len(self.rows("alice")), 1)

    def key(self, name, roles):
        answer = self.gateway.send("POST", "/auth/keys", {"title": "k", "roles": roles}, token=self.tokens[name])
        self.assertEqual(answer.status, 201, answer)
        return answer.json()

    def test_a_narrow_key_acts_with_its_own_roles_and_reads_what_was_fetched_with_them(self):
        (whole,) = self.rows("alice")
        self.tokens["key"] = (key := self.key("alice", []))["key"]
        (narrow,) = self.rows("key")
        self.assertEqual([claims["roles"] for claims in self.system.subjects], [["member"], []])
        self.assertEqual(whole["lastName"], narrow["lastName"] + "-member")
        self.assertEqual((whole["porticoRoles"], narrow["porticoRoles"]), ("member", ""))
        for name, own, other in [("alice", whole, narrow), ("key", narrow, whole)]:
            self.assertEqual(self.rows(name), [own])
            self.get(name, f"{EMPLOYEES}/{other['porticoID']}", status=404)
            self.assertEqual([row["id"] for row in self.device(name)[0]], [own["porticoID"]])
            found = self.search(self.gateway, token=self.tokens[name]).json()["employees"]
            self.assertEqual([one["lastName"] for one in found], [own["lastName"]])
        answer = self.gateway.request("DELETE", f"/auth/keys/{key['id']}", token=self.tokens["alice"])
        self.assertEqual(answer.status, 204, answer)
        self.until(lambda: self.records() == 1)
        self.assertEqual(self.rows("alice"), [whole])

    def test_a_token_is_fetched_anew_when_a_sign_in_its_roles_or_the_password_has_ended(self):
        def again():
            self.rows("alice")
            return len(self.system.subjects)
        self.assertEqual(again(), 1)
        self.assertEqual(again(), 1)
        self.assertEqual(self.gateway.send("POST", "/auth/logout", {}, token=self.tokens["alice"]).status, 204)
        self.tokens["alice"] = self.gateway.login("alice").json()["accessToken"]
        self.assertEqual(again(), 2)
        done, _ = self.control(self.gateway, "roles", "grant", "alice", "auditor", "--new-role")
        self.assertEqual(done.returncode, 0, done)
        self.assertEqual(again(), 3)
        done, _ = self.control(self.gateway, "roles", "revoke", "alice", "member")
        self.assertEqual(done.returncode, 0, done)
        (row,) = self.rows("alice")
        self.assertEqual(self.system.subjects[-1]["roles"], ["auditor"])
        self.assertTrue(row["lastName"].endswith("-auditor"), row)
        body = {"old": "portico-demo", "new": "another password"}
        self.assertEqual(self.gateway.send("POST", "/auth/password", body, token=self.tokens["alice"]).status, 204)
        count = len(self.system.subjects)
        answer = self.gateway.send("POST", "/auth/login", {"username": "alice", "password": "another password"})
        self.tokens["alice"] = answer.json()["accessToken"]
        self.assertEqual(again(), count + 1)

    def test_operators_see_that_the_rows_are_those_of_callers(self):
        self.rows("alice")
        state = self.state(self.gateway, "employees/employees")
        self.assertEqual((state["state"], state["callers"], state["records"]), ("callers", 1, 1))
        self.assertEqual(self.control(self.gateway, "mirrors", "refresh", "employees/employees")[0].returncode, 1)
        self.assertEqual(self.control(self.gateway, "mirrors", "list")[0].returncode, 0)


class Configuration(MirrorTest):
    def check(self, **options):
        done = run_portico("check", "--config", self.configuration(**options), environment={"HR_SECRET": "secret"})
        return done.returncode, re.sub(r"\s+", " ", done.stdout + done.stderr)

    def test_what_cannot_be_is_refused_with_its_place(self):
        wrong = [
            ({"employees": "mode: call, refresh: 5m"}, "adapters.employees.refresh", "mode: call"),
            ({"employees": "mode: call, guard: { share: 0.2 }"}, "adapters.employees.guard", "mode: call"),
            ({"employees": "mode: never"}, "adapters.employees.mode", "call"),
            ({"users": "mode: call"}, "adapters.users.mode", "mirror"),
            ({"users": "write: through"}, "portico\\.yaml", "nobody may make any: say who may, adapters.users.access"),
            ({"users": "write: queued"}, "portico\\.yaml", "nobody may make any: say who may, adapters.users.access"),
            ({"access": "{ read: login, write: login }"}, "portico\\.yaml", "gets no changes, so nobody can be let write it"),
            ({"employees": "entities: { employees: { access: { write: login } } }"}, "portico\\.yaml", "gets no changes"),
            ({"employees": "entities: { people: { access: login } }"}, "portico\\.yaml", "no entity people: it has employees"),
            ({"employees": "freshFor: 2h, staleFor: 1h"}, "adapters.employees.staleFor", "freshFor"),
            ({"employees": "guard: { share: 2 }"}, "adapters.employees.guard.share", "0 to 1"),
            ({"employees": "refresh: 5m", "credentials": EXCHANGE}, "adapters.employees.refresh", "has no caller"),
            ({"users": "write: queued", "credentials": EXCHANGE}, "adapters.users.write", "callers' names"),
            ({"users": "write: through", "credentials": EXCHANGE}, "adapters.users.write", "callers' names"),
            ({"users": "callers: { rows: 5000 }", "credentials": EXCHANGE}, "adapters.users.callers.rows", "2500"),
        ]
        for options, place, reason in wrong:
            with self.subTest(options):
                status, text = self.check(**options)
                self.assertEqual(status, 1, text)
                self.assertIn(reason, text)
                self.assertRegex(text, r"portico\.yaml:\d+:\d+|" + re.escape(place))
        self.assertEqual(self.check()[0], 0)
        self.assertEqual(self.check(employees="mode: call", users="enabled: false", credentials=EXCHANGE)[0], 0)
        self.assertEqual(self.check(credentials=EXCHANGE)[0], 0)

    def test_what_only_a_system_has_is_refused_without_one(self):
        for setting in ("refresh: 5m", "protocol: json", "path: x", "freshFor: 1m", "guard: { from: 5 }", "callers: { count: 5 }"):
            with self.subTest(setting):
                path = pathlib.Path(self.configuration())
                path.write_text(path.read_text().replace(
                    f"employees: {{ upstream: hr, protocol: json, access: public-read, {MIRROR} }}", f"employees: {{ {setting} }}"))
                done = run_portico("check", "--config", str(path), environment={"HR_SECRET": "secret"})
                self.assertEqual(done.returncode, 1, done)
                self.assertIn("names no system", done.stdout + done.stderr)
                self.assertRegex(done.stdout + done.stderr, r"portico\.yaml:17:\d+|adapters\.employees\.(guard|callers)")


if __name__ == "__main__":
    unittest.main()
