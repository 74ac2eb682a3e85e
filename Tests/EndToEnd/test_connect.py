"""Systems connected by files: four public APIs mirrored, synced and written, and the commands for their authors."""

import json
import pathlib
import plistlib
import shutil
import tempfile
import time
import unittest
import uuid

from connected_systems import ConnectedSystems
from harness import ROOT, Gateway, run_portico
from sync_device import Device

QUICK = True
CONNECTIONS = ROOT / "Config" / "connections"
SYSTEMS = {
    "github": ("github-issues", "issues", "number"), "stripe": ("stripe-customers", "customers", "id"),
    "jira": ("jira-issues", "tickets", "key"), "redmine": ("redmine-issues", "issues", "id")}
CONFIGURATION = """
http: {{ host: 127.0.0.1 }}
identity:
  basic: {{ enabled: true }}
  demoAccounts:
    - {{ name: alice, password: portico-demo, roles: [member] }}
    - {{ name: bob, password: portico-demo, roles: [member] }}
upstreams:
{upstreams}
adapters:
{adapters}
"""
UPSTREAM = """  {name}:
    url: '{url}/'
    networks: [127.0.0.1/32]
    deadline: 5s
    limits: {{ tries: 1, failures: 1000 }}
"""


class ConnectTest(unittest.TestCase):
    def setUp(self):
        self.system = ConnectedSystems()
        self.addCleanup(self.system.stop)
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="portico-connect-"))
        self.addCleanup(shutil.rmtree, self.folder, True)

    def configuration(self, files):
        """`files`: connection files by the names of adapters."""
        upstreams = "".join(UPSTREAM.format(name=name, url=self.system.address) for name in SYSTEMS)
        adapters = "".join(f"  {name}: {{ connect: '{path}' }}\n" for name, path in files.items())
        config = self.folder / "portico.yaml"
        config.write_text(CONFIGURATION.format(upstreams=upstreams, adapters=adapters))
        return str(config)

    def start(self, files=None):
        gateway = Gateway(config=self.configuration(
            files or {name: CONNECTIONS / f"{file}.yaml" for name, (file, _, _) in SYSTEMS.items()}))
        self.addCleanup(gateway.remove)
        return gateway

    def control(self, gateway, *arguments):
        done = run_portico(*arguments, "--data", str(gateway.data), "--output", "json", program="porticoctl")
        return json.loads(done.stdout or "null")

    def until(self, holds, seconds=30):
        end = time.monotonic() + seconds
        while not holds():
            self.assertLess(time.monotonic(), end, "it does not become true")
            time.sleep(0.05)

    def rows(self, gateway, name, user="alice"):
        _, entity, _ = SYSTEMS[name]
        path, rows = f"/api/v1/{name}/{entity}?limit=1000", []
        answer = gateway.get(path, user=user)
        self.assertEqual(answer.status, 200, answer)
        rows += answer.json()["items"]
        return rows

    def pull(self, gateway, name, checkpoint=None, user="alice"):
        entity = SYSTEMS[name][1]
        # Two adapters have an entity of this name.
        collection = f"{name}/{entity}" if entity == "issues" else entity
        body = {"collections": [collection], **({"checkpoint": checkpoint} if checkpoint else {})}
        operations = []
        while True:
            answer = gateway.send("POST", "/sync/v1/pull", body, user=user)
            self.assertEqual(answer.status, 200, answer)
            page = answer.json()
            operations += page["operations"]
            if "complete" in page:
                return operations, page["complete"]["checkpoint"]
            body["checkpoint"] = page["next"]

    def update(self, gateway, name, key, fields, status=200):
        answer = gateway.send(
            "PATCH", f"/api/v1/{name}/{SYSTEMS[name][1]}/{key}", fields, user="alice",
            headers={"Idempotency-Key": str(uuid.uuid4())})
        self.assertEqual(answer.status, status, answer)
        return answer


class FourSystems(ConnectTest):
    def test_each_is_mirrored_with_all_its_pages(self):
        for name, (file, _, _) in SYSTEMS.items():
            self.assertLessEqual(len((CONNECTIONS / f"{file}.yaml").read_text().splitlines()), 40)
        gateway = self.start()
        issues = self.rows(gateway, "github")
        self.assertEqual(len(issues), 230)
        self.assertEqual(issues[0], {
            "number": 1, "title": "Issue 1", "body": None, "state": "open", "author": "ann", "labels": ["bug", "l1"],
            "updated": "2026-11-02T08:00:00Z"})
        customers = self.rows(gateway, "stripe")
        self.assertEqual(len(customers), 230)
        self.assertEqual(customers[7]["created"], "2023-11-14T22:13:27Z")
        self.assertEqual(customers[7]["plan"], "pro")
        # Half of the tickets are another's.
        self.assertEqual(len(self.rows(gateway, "jira")), 115)
        self.assertEqual(self.rows(gateway, "jira", user="bob")[0]["updated"], "2026-11-02T07:00:00Z")
        self.assertEqual(self.rows(gateway, "redmine")[2], {
            "id": 3, "subject": "A & B 3", "project": "Redmine", "done": 3, "updated": "2026-11-01T08:00:00Z"})
        self.assertEqual(len(self.rows(gateway, "redmine")), 230)
        # As any other entity.
        described = gateway.get("/openapi.json").json()
        for name, (_, entity, _) in SYSTEMS.items():
            self.assertIn(f"/api/v1/{name}/{entity}", described["paths"])
            self.assertIn(entity, json.dumps(self.control(gateway, "adapters", "show", name)))
        found = gateway.get("/api/v1/github/issues?search=Issue&filter=state eq 'open'".replace(" ", "%20"), user="alice")
        self.assertEqual(found.status, 200, found)

    def test_a_device_gets_every_row_and_then_what_changed(self):
        gateway = self.start()
        for name in SYSTEMS:
            self.rows(gateway, name)
        operations, checkpoint = self.pull(gateway, "github")
        self.assertEqual(len(operations), 230)
        self.system.github[5].update(title="Another", updated_at="2026-11-22T08:00:00Z")
        self.control(gateway, "mirrors", "refresh", "github/issues")
        found = []

        def changed():
            operations, _ = self.pull(gateway, "github", checkpoint)
            found[:] = operations
            return bool(operations)

        self.until(changed)
        self.assertEqual([operation["fields"]["title"] for operation in found], ["Another"])
        # The increments were asked for by the newest date that was there.
        self.assertTrue(any("since=2026-11-20T08%3A00%3A00Z" in target for _, target, _ in self.system.asked))

    def test_changes_are_made_in_each_system(self):
        gateway = self.start()
        for name in SYSTEMS:
            self.rows(gateway, name)
        self.update(gateway, "github", 7, {"title": "New", "labels": ["x"]})
        self.until(lambda: self.system.github[7]["title"] == "New")
        self.assertEqual(json.loads(self.asked("PATCH")[0][2]), {"title": "New", "labels": ["x"]})
        self.update(gateway, "stripe", "cus_0003", {"email": "NEW@Example.com"})
        self.until(lambda: self.system.stripe["cus_0003"]["email"] == "new@example.com")
        self.assertEqual(self.asked("POST")[0][2], "email=new%40example.com")
        self.assertEqual(len(self.system.keys), 1)
        self.assertEqual(gateway.request("DELETE", "/api/v1/stripe/customers/cus_0004", user="alice").status, 204)
        self.until(lambda: "cus_0004" not in self.system.stripe)
        self.update(gateway, "jira", "ACME-1", {"summary": "Now"})
        self.assertEqual(self.system.jira["ACME-1"]["fields"]["summary"], "Now")
        # Refused by the system: the caller is told, and nothing changes here.
        self.update(gateway, "jira", "ACME-1", {"summary": ""}, status=400)
        self.assertEqual(self.rows(gateway, "jira")[0]["summary"], "Now")
        self.update(gateway, "redmine", 9, {"subject": "<b> & \"c\""})
        self.until(lambda: self.system.redmine[9]["subject"] == "<b> & \"c\"")
        # A creation that no file describes is refused for good.
        self.assertEqual(self.asked("PUT")[-1][2].count("<issue>"), 1)

    def test_a_change_that_no_request_makes_is_refused_before_it_is_stored(self):
        gateway = self.start()
        for name in ("github", "stripe"):
            self.rows(gateway, name)
        answer = self.update(gateway, "github", 7, {"author": "eve"}, status=400)
        self.assertIn("author cannot be changed", answer.text())
        # As it was read, with another title.
        issue = gateway.get("/api/v1/github/issues/7", user="alice").json()
        self.update(gateway, "github", 7, {**issue, "title": "New"})
        self.assertEqual(gateway.request("DELETE", "/api/v1/github/issues/8", user="alice").status, 405)
        self.assertEqual(gateway.send("PUT", "/api/v1/stripe/customers/cus_new", {"name": "N"}, user="alice").status, 400)
        device = Device(gateway, "alice", collections=["github/issues"])
        device.pull()
        rev, _ = device.rows["github/issues", "8"]
        for operation, fields in [("delete", None), ("update", {"author": "eve"})]:
            outcome = device.change(operation, "8", fields, base=rev, collection="github/issues")
            self.assertEqual(outcome["outcome"], "rejected", outcome)
        self.assertEqual(gateway.get("/api/v1/github/issues/8", user="alice").status, 200)
        self.until(lambda: self.system.github[7]["title"] == "New")
        self.assertEqual(gateway.get("/api/v1/portico/writes", user="alice").json()["items"], [])

    def test_a_change_of_a_device_reaches_the_system_and_comes_back(self):
        gateway = self.start()
        self.rows(gateway, "stripe")
        device = Device(gateway, "alice", collections=["customers"])
        device.pull()
        rev, fields = device.rows["customers", "cus_0010"]
        outcome = device.change("update", "cus_0010", {"name": "From a phone"}, base=rev, collection="customers")
        self.assertEqual(outcome["outcome"], "applied", outcome)
        self.until(lambda: self.system.stripe["cus_0010"]["name"] == "From a phone")
        self.assertEqual(device.pull(), [])
        self.assertEqual(device.rows["customers", "cus_0010"][1], {**fields, "name": "From a phone"})
        # Of the account, the record and the key together: nobody chooses what another sends.
        key, = self.system.keys
        self.assertRegex(key, "^[0-9a-f]{64}$")

    def test_a_property_list_is_read_by_its_keys(self):
        plist = plistlib.dumps({"feed": {"verses": [{"number": 1, "text": "a"}, {"number": 2, "text": "b"}]}})
        self.system.lie = lambda path, query: (200, {"Content-Type": "application/x-plist"}, plist)
        file = self.folder / "verses.yaml"
        file.write_text(
            "title: Verses\nupstream: github\nentities:\n  verses: {address: plists/verses, format: plist, list: /feed/verses,"
            " key: number, fields: {number: integer, text: string}}\n")
        gateway = self.start({"verses": file})
        self.assertEqual(gateway.get("/api/v1/verses/verses", user="alice").json()["items"], [
            {"number": 1, "text": "a"}, {"number": 2, "text": "b"}])

    def asked(self, method):
        return [request for request in self.system.asked if request[0] == method]


class Commands(ConnectTest):
    def run_try(self, name, *arguments):
        return run_portico(
            "connect", "try", CONNECTIONS / f"{SYSTEMS[name][0]}.yaml", "--config", self.configuration({}), *arguments,
            program="porticoctl")

    def test_try_shows_rows_as_they_would_be_stored_and_what_does_not_fit(self):
        self.system.github[2]["state"] = "locked"
        self.system.github[3]["title"] = None
        self.system.github[4]["number"] = "\u001b[31m"
        done = self.run_try("github", "--rows", "2")
        self.assertEqual(done.returncode, 0, done)
        self.assertIn("issues: 100 rows at http://127.0.0.1", done.stdout)
        self.assertIn("and a further page", done.stdout)
        self.assertIn('"labels":["bug","l1"]', done.stdout)
        self.assertIn("row 2 (2): state must be one of open, closed. It is a text.", done.stdout)
        self.assertIn("row 3 (3): title is missing.", done.stdout)
        self.assertIn("row 4 (?[31m): number must be an integer.", done.stdout)
        self.assertNotIn("\u001b", done.stdout)
        report = json.loads(self.run_try("redmine", "--output", "json").stdout)[0]
        self.assertEqual((report["fetched"], report["problems"], report["unused"]), (100, [], ["description"]))
        # Nothing was stored, and no gateway ran.
        self.assertEqual([path.name for path in self.folder.iterdir()], ["portico.yaml"])

    def test_try_says_why_nothing_can_be_shown(self):
        self.system.lie = lambda *_: (200, {"Content-Type": "text/html"}, "<html>")
        done = self.run_try("jira")
        self.assertEqual(done.returncode, 1)
        self.assertIn("answered text/html", done.stdout)
        self.system.lie = lambda *_: {"issues": {}}
        self.assertIn("what stands at /issues is no list", self.run_try("jira").stdout)
        broken = self.folder / "broken.yaml"
        broken.write_text("title: x\nupstream: nobody\nentities: {a: {address: a, key: id, fields: {id: integer}}}\n")
        done = run_portico("connect", "try", broken, "--config", self.configuration({}), program="porticoctl")
        self.assertEqual(done.returncode, 1)
        self.assertTrue(done.stderr.startswith(f"Error: {broken}:2:11: There is no upstream nobody. There are "), done)

    def test_check_says_where_a_file_is_wrong(self):
        broken = self.folder / "broken.yaml"
        broken.write_text("title: x\nupstream: github\nentities:\n  a: {adress: a, key: id, fields: {id: int}}\n")
        done = run_portico("check", "--config", self.configuration({"a": broken}))
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"{broken}:4:7: There is no key adress. Did you mean address?", done.stderr)
        for files, message in [
                ({"employees": broken}, "There is an adapter named employees already."),
                ({"portico": broken}, "There is an adapter named portico already."), ({"a": self.folder / "none.yaml"}, "cannot be read"),
                ({"Bad_Name": broken}, "small letters")]:
            done = run_portico("check", "--config", self.configuration(files))
            self.assertEqual(done.returncode, 1)
            self.assertIn(message, done.stderr)
        broken.write_text("title: x\nupstream: nobody\nentities: {a: {address: a, key: id, fields: {id: integer}}}\n")
        done = run_portico("check", "--config", self.configuration({"a": broken}))
        self.assertIn(f"{broken}:2:11: There is no upstream nobody.", done.stderr)

    CAFE = """title: Cups
upstream: github
entities:
  cups:
    address: {address}
    format: json
    list: /cups
    key: id
    fields: {{ id: integer, name: string }}
"""

    def test_an_address_is_asked_for_byte_by_byte_and_a_broken_escape_is_found_by_the_check(self):
        file = self.folder / "cafe.yaml"
        file.write_text(self.CAFE.format(address="caf%E9/%2e/cups"))
        self.system.lie = lambda path, query: {"cups": [{"id": 1, "name": path}]}
        gateway = self.start({"cafe": file})
        answer = gateway.get("/api/v1/cafe/cups", user="alice")
        self.assertEqual(answer.status, 200, answer)
        self.assertEqual({target for _, target, _ in self.system.asked}, {"/caf%E9/%2e/cups"})
        for address in ["caf%E/cups", "'caf%zz'", "cups%"]:
            file.write_text(self.CAFE.format(address=address))
            done = run_portico("check", "--config", self.configuration({"cafe": file}))
            self.assertEqual(done.returncode, 1, done)
            self.assertRegex(done.stderr, r"cafe\.yaml:5:\d+: An escape in an address is `%` and two hexadecimal digits")

    def test_a_system_that_is_called_in_its_callers_names_is_not_mirrored(self):
        config = pathlib.Path(self.configuration({"github": CONNECTIONS / "github-issues.yaml"}))
        credentials = "credentials: {kind: exchange, tokenURL: 'http://127.0.0.1/', clientID: a, clientSecret: {env: S}, audience: b}"
        config.write_text(config.read_text().replace("    deadline: 5s", f"    deadline: 5s\n    {credentials}", 1))
        done = run_portico("check", "--config", str(config), environment={"S": "secret"})
        self.assertIn("github-issues.yaml:3:11: The upstream github is called in its callers' names", done.stderr)

    def test_a_description_is_drafted_to_a_file_that_works(self):
        gateway = self.start()
        self.rows(gateway, "redmine")
        address = f"http://127.0.0.1:{gateway.port}"
        # The gateway is a REST service that describes itself.
        done = run_portico("connect", "openapi", f"{address}/openapi.json", "--upstream", "github", program="porticoctl")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("# guess", done.stdout)
        drafted = self.folder / "drafted.yaml"
        drafted.write_text(done.stdout)
        done = run_portico("check", "--config", self.configuration({"drafted": drafted}))
        self.assertEqual(done.returncode, 0, done.stderr)
        for wrong in [self.folder / "none.json", str(self.folder / "portico.yaml"), f"{address}/nothing"]:
            self.assertEqual(run_portico("connect", "openapi", wrong, program="porticoctl").returncode, 1)


if __name__ == "__main__":
    unittest.main()
