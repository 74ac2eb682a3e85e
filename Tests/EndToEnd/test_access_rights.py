"""Who may write: by the default configuration, the one for production and the demo, over every interface and with every verb;
what authors, programs of an older protocol and operators say of it; and what becomes of devices whose right went."""

import base64
import json
import pathlib
import re
import shutil
import tempfile
import unittest
import urllib.parse
import uuid

import access
from adapter_build import PLUGINS
from harness import DEMO, ROOT, Gateway, run_portico
from sync_device import Device, Refused
from test_reload import ReloadTest

QUICK = True

ACCOUNTS = [
    {"name": "alice", "password": "portico-demo", "roles": ["member"]},
    {"name": "admin", "password": "portico-demo", "roles": ["member", "admin"]},
]
IDENTITY = {"basic": {"enabled": True}, "demoAccounts": ACCOUNTS}
# JSON is YAML.
DEFAULT = json.dumps({
    "store": {"sampleData": True}, "identity": IDENTITY,
    "adapters": {
        "users": {}, "employees": {}, "feeds": {}, "chat": {},
        "odata": {"services": {"admissions": {"model": str(ROOT / "Config/odata/admissions.csdl.xml"), "samples": 300}}}},
})
NOBODY, MEMBERS, ADMINS, EVERYBODY = set(), {"alice", "admin"}, {"admin"}, {None, "alice", "admin"}
# By configuration and the beginning of an entity's name: the callers that may write. Every entity that is served has one.
TABLE = {
    "default": {
        "users/": NOBODY, "employees/": NOBODY, "feeds/": NOBODY, "odata/admissions-": NOBODY, "chat/": MEMBERS},
    "deploy": {"users/": NOBODY, "employees/": NOBODY, "feeds/": NOBODY, "chat/": MEMBERS},
    "demo": {
        "users/": ADMINS, "employees/": ADMINS, "feeds/": NOBODY, "odata/admissions-": MEMBERS, "odata/reference-": EVERYBODY,
        "odata/reference-ReadOnlyItems": NOBODY, "chat/": MEMBERS, "notes/": MEMBERS},
}
# What a model makes one entity stays one.
SINGLETON = "odata/reference-Company"
# Sets whose keys have one part, and whose entities are no media: they are written as JSON at their addresses.
SETS = {"odata/admissions-" + name for name in ("Appointments", "Counselors", "Schools", "States", "Students", "Visits")} | {
    "odata/reference-" + name for name in ("Categories", "DecimalSamples", "Products", "ReadOnlyItems")}
CALLERS = [None, "alice", "admin"]
_count = iter(range(1, 10**6))


def letters():
    """A key of two letters that no state has."""
    number = next(_count)
    return chr(97 + number // 26 % 26) + chr(97 + number % 26)


# By entity: a record of a caller, with its key.
RECORDS = {
    "users/users": lambda _: {"UserId": 800_000 + next(_count), "UserName": "Walker", "ShoeSize": "9"},
    "employees/employees": lambda _: {
        "id": f"A{next(_count)}", "firstName": "A", "lastName": "B", "division": "Sales", "email": "a@example.com",
        "phoneNumber": "+1 916 555 0100"},
    "feeds/feeds": lambda _: {
        "name": f"f{next(_count)}", "title": "t", "version": 1, "latestVersion": 1, "published": "2026-01-01T00:00:00Z",
        "content": {"a": 1}},
    "chat/rooms": lambda caller: {"id": str(uuid.uuid4()), "name": "walked", "members": [caller.name] if caller.name else []},
    "notes/notes": lambda _: {"id": str(uuid.uuid4()), "title": "walked"},
    "odata/admissions-Counselors": lambda _: {"CounselorID": 800_000 + next(_count), "FirstName": "A", "LastName": "B"},
}
DONE, REFUSED = (200, 201, 204), (401, 403)


class Walker:
    """A caller as access.py knows them."""

    def __init__(self, gateway, name):
        self.gateway, self.name = gateway, name
        self.headers = {"Authorization": "Basic " + base64.b64encode(f"{name}:portico-demo".encode()).decode()} if name else {}


def record(gateway, entity, user):
    if entity == "odata/admissions-States":
        return {"StateCode": letters(), "Name": "walked"}
    if entity == "chat/messages":
        room = record(gateway, "chat/rooms", user)
        gateway.send("POST", "/api/v1/chat/rooms", room, user=user)
        return {"id": str(uuid.uuid4()), "room": room["id"], "text": "walked"}
    return (RECORDS.get(entity) or access.RECORDS[entity])(Walker(gateway, user))


class Interface:
    """A way to create, change and delete a record, each answering a status."""

    def __init__(self, gateway, entity, user):
        self.gateway, self.entity, self.user = gateway, entity, user
        self.adapter, self.name = entity.split("/")

    def send(self, method, path, body=None, headers=None):
        headers = {"Content-Type": "application/json", "Accept": "application/json", **(headers or {})}
        data = None if body is None else json.dumps(body)
        return self.gateway.request(method, path, body=data, headers=headers, user=self.user)


class Resource(Interface):
    verbs = ("POST", "PATCH", "PUT", "DELETE")

    def call(self, verb, id, record):
        path = f"/api/v1/{self.entity}" + ("" if verb == "POST" else "/" + urllib.parse.quote(str(id), safe=""))
        return self.answered(verb, path, None if verb == "DELETE" else {} if verb == "PATCH" else record)

    def answered(self, verb, path, body):
        return self.send(verb, path, body).status


class Batch(Resource):
    def answered(self, verb, path, body):
        call = {"id": "1", "method": verb, "path": path, **({} if body is None else {"body": body})}
        answer = self.send("POST", "/batch", {"calls": [call]})
        return answer.json()["answers"][0]["status"]


class Push(Interface):
    verbs = ("create", "update", "delete")

    def call(self, verb, id, record):
        device = Device(self.gateway, self.user)
        fields = None if verb == "delete" else record if verb == "create" else {}
        try:
            outcome = device.change(verb, str(id), fields, collection=self.name)
        except Refused as refused:
            return refused.status
        if outcome["outcome"] == "rejected" and outcome["reason"] == "access.denied":
            return 403
        return 200 if outcome["outcome"] == "applied" else outcome


class OData(Interface):
    verbs = ("POST", "PATCH", "DELETE")
    root = "/odata/v4"

    def place(self):
        service, collection = self.name.split("-")
        return f"{self.root}/{service}/{collection}"

    def call(self, verb, id, record):
        literal = str(id) if len(str(id)) == 36 or isinstance(id, int) else f"'{id}'"
        path = self.place() + ("" if verb == "POST" else f"({literal})")
        return self.answered(verb, path, None if verb == "DELETE" else {} if verb == "PATCH" else record)

    def answered(self, verb, path, body):
        return self.send(verb, path, body).status


class ODataBatch(OData):
    def answered(self, verb, path, body):
        request = {"id": "1", "method": verb, "url": path, **({} if body is None else {"body": body})}
        answer = self.send("POST", "/".join(path.split("/")[:4]) + "/$batch", {"requests": [request]})
        return answer.json()["responses"][0]["status"] if answer.status == 200 else answer.status


class OData2(OData):
    root = "/odata/v2"
    verbs = ("POST", "DELETE")

    def call(self, verb, id, record):
        literal = f"guid'{id}'" if len(str(id)) == 36 else id if isinstance(id, int) else f"'{id}'"
        # Days are midnights there.
        days = {name: f"{value}T00:00:00" for name, value in record.items() if re.fullmatch(r"\d{4}-\d\d-\d\d", str(value))}
        record = {**record, **days}
        path = self.place() + ("" if verb == "POST" else f"({literal})")
        fetched = self.send("GET", self.place() + "?$top=1", headers={"X-CSRF-Token": "Fetch"})
        token = {"X-CSRF-Token": fetched.headers.get("x-csrf-token", "")} if self.user else {}
        return self.send(verb, path, None if verb == "DELETE" else record, token).status


def interfaces(entity):
    return [Resource, Batch, Push] + ([OData, ODataBatch, OData2] if entity in SETS else [])


class ConfiguredGateways(unittest.TestCase):
    """The demo, the configuration for production, and adapters of which nothing is said."""

    def gateway(self, kind):
        if kind == "demo":
            gateway = Gateway(config=DEMO)
        else:
            folder = pathlib.Path(tempfile.mkdtemp(prefix="portico-rights-"))
            self.addCleanup(shutil.rmtree, folder, True)
            # The one for production, with accounts to try it by.
            deploy = (ROOT / "Deploy/portico.yaml").read_text().replace(
                "identity:\n", f"identity:\n  demoAccounts: {json.dumps(ACCOUNTS)}\n", 1)
            (folder / "portico.yaml").write_text(deploy if kind == "deploy" else DEFAULT)
            gateway = Gateway(
                "--set", "store.sampleData=true", "--set", "identity.basic.enabled=true", "--set", "identity.passwords.cost=10",
                config=str(folder / "portico.yaml"))
        self.addCleanup(gateway.remove)
        return gateway


class Tables(ConfiguredGateways):
    def test_each_caller_writes_exactly_what_the_table_says_over_every_interface_with_every_verb(self):
        for kind, table in TABLE.items():
            gateway = self.gateway(kind)
            for entity, key in self.entities(gateway):
                known = [name for name in table if entity.startswith(name)]
                self.assertTrue(known, f"{kind}: no row for {entity}")
                writers = table[max(known, key=len)]
                for user in CALLERS:
                    for interface in interfaces(entity):
                        with self.subTest(kind=kind, entity=entity, caller=user, interface=interface.__name__):
                            self.walk(interface(gateway, entity, user), key, user in writers)

    def entities(self, gateway):
        """All that are served, with the names of their keys."""
        def control(*arguments):
            done = run_portico(*arguments, "--data", gateway.data, "--output", "json", program="porticoctl")
            self.assertEqual(done.returncode, 0, done)
            return json.loads(done.stdout)

        for adapter in control("adapters", "list")["adapters"]:
            for entity in control("adapters", "show", adapter["name"])["entities"]:
                if entity["exposed"]:
                    yield f"{adapter['name']}/{entity['name']}", entity["key"]

    def walk(self, interface, key, may):
        for verb in interface.verbs:
            new = record(interface.gateway, interface.entity, interface.user)
            id = new[key]
            if verb not in ("POST", "create"):
                there = self.existing(interface, key, may)
                if there is None:
                    continue
                new = {**new, **there}
                id = there[key]
            status = interface.call(verb, id, new)
            if may and interface.entity == SINGLETON and verb in ("POST", "create", "DELETE", "delete"):
                self.assertIn(status, REFUSED, verb)
            elif interface.entity == "odata/reference-ReadOnlyItems" and not isinstance(interface, Push):
                # Open to everybody, and the model lets no request write it.
                self.assertIn(status, (403, 405), verb)
            elif not may:
                # A device needs an account.
                expected = 401 if interface.user is None else 403
                self.assertEqual(status, expected, verb)
            elif interface.user is None and isinstance(interface, Push):
                self.assertEqual(status, 401, verb)
            else:
                self.assertIn(status, DONE, verb)

    def existing(self, interface, key, may):
        """A record that is there: one of the caller's own where it may make one. At least its key."""
        path = f"/api/v1/{interface.entity}"
        if may and interface.entity != SINGLETON:
            new = record(interface.gateway, interface.entity, interface.user)
            made = interface.gateway.send("POST", path, new, user=interface.user)
            self.assertEqual(made.status, 201, made)
            return {**new, key: made.json()[key]}
        listed = interface.gateway.get(f"{path}?limit=1", user="admin").json()["items"]
        return listed[0] if listed else None

    def test_descriptions_say_who_may_write(self):
        demo, default = self.gateway("demo"), self.gateway("default")
        paths = demo.get("/openapi.json").json()["paths"]
        self.assertEqual(
            paths["/api/v1/users/users"]["post"]["security"],
            [{scheme: ["admin"]} for scheme in ("bearer", "session", "basic")])
        self.assertIn({}, paths["/api/v1/odata/reference-Categories"]["post"]["security"])
        self.assertNotIn("post", paths["/api/v1/feeds/feeds"])
        others = default.get("/openapi.json").json()["paths"]
        self.assertEqual(set(others["/api/v1/users/users"]), {"get"})
        self.assertEqual(set(others["/api/v1/users/users/{id}"]), {"get"})
        self.assertIn("post", others["/api/v1/chat/rooms"])
        for gateway, may in ((demo, True), (default, False)):
            metadata = gateway.get("/odata/v4/admissions/$metadata", "application/xml", user="alice").text()
            self.assertEqual("Capabilities.V1.InsertRestrictions" in metadata, not may)
            metadata = gateway.get("/odata/v2/admissions/$metadata", "application/xml", user="alice").text()
            for word in ("creatable", "updatable", "deletable"):
                self.assertEqual(f'sap:{word}="false"' in metadata, not may, word)
        owned = "Written by everyone who is signed in, of the records whose owner they are and whose members names them."
        for gateway, words in (
                (demo, ["Written by accounts with the role admin.", owned]), (default, ["Written by nobody."])):
            page = gateway.get("/", "text/html").text()
            for sentence in words:
                self.assertIn(sentence, page)

    def test_operators_see_who_may_write(self):
        gateway = self.gateway("demo")

        def control(*arguments):
            done = run_portico(*arguments, "--data", gateway.data, "--output", "json", program="porticoctl")
            self.assertEqual(done.returncode, 0, done)
            return json.loads(done.stdout)

        users = control("adapters", "show", "users")
        self.assertEqual(users["access"], {"read": "login", "write": {"roles": ["admin"]}})
        self.assertEqual(users["entities"][0]["access"], {"read": "login", "write": {"roles": ["admin"]}})
        notes = control("adapters", "show", "notes")
        self.assertEqual((notes["access"], notes["entities"][0]["access"]), ("login", {"read": "login", "write": "login"}))
        self.assertEqual(notes["operations"][0]["access"], "login")
        self.assertNotIn("warnings", notes)
        self.assertIn("admissions-States", control("adapters", "show", "odata")["warnings"][0])
        id = gateway.get("/api/v1/users/users?limit=1", user="admin").json()["items"][0]["UserId"]
        for account, may in (("alice", False), ("admin", True)):
            explained = control("sync", "explain", account, f"users/{id}")
            self.assertEqual((explained["mayWrite"], explained["writers"]), (may, "{roles: [admin]}"))

    def test_changes_of_directories_stand_in_the_audit_and_those_of_ones_own_rows_do_not(self):
        gateway = self.gateway("demo")
        record = RECORDS["users/users"](None)
        self.assertEqual(gateway.send("POST", "/api/v1/users/users", record, user="admin").status, 201)
        path = f"/api/v1/users/users/{record['UserId']}"
        self.assertEqual(gateway.send("PATCH", path, {"ShoeSize": "8"}, user="admin").status, 200)
        self.assertEqual(gateway.request("DELETE", path, user="alice").status, 403)
        pushed = Device(gateway, "admin").change("delete", str(record["UserId"]), collection="users")
        self.assertEqual(pushed["outcome"], "applied", pushed)
        self.assertEqual(gateway.send("POST", "/api/v1/notes/notes", {"title": "t"}, user="alice").status, 201)
        done = run_portico("audit", "list", "--data", gateway.data, "--output", "json", program="porticoctl")
        entries = [entry for entry in json.loads(done.stdout)["entries"] if entry["kind"] == "record.changed"]
        changes = [(entry["subject"], entry["detail"]) for entry in entries]
        place = f"users/users/{record['UserId']}"
        self.assertEqual(sorted(changes), sorted([(place, "create"), (place, "update"), (place, "delete")]))


class Reloads(ReloadTest):
    def test_a_device_whose_right_to_write_went_is_told_so_and_keeps_all_that_it_may_read(self):
        def text(access):
            return json.dumps({
                "store": {"sampleData": True}, "identity": {**IDENTITY, "passwords": {"cost": 10}},
                "adapters": {"users": {"access": access}}})

        gateway = self.start(text({"read": "login", "write": "login"}))
        device = Device(gateway, "alice", collections=["users"])
        self.assertEqual(device.pull(), [])
        rows, changed = dict(device.rows), next(iter(device.ids("users")))
        self.assertEqual(device.change("update", changed, {"ShoeSize": "7"}, device.rev(changed, "users"), "users")["outcome"], "applied")
        device.pull()
        self.assertEqual(
            self.apply(text("login")), {"adapters.users.access": ("{read: login, write: login}", "login")})
        for verb in ("update", "create", "delete"):
            fields = None if verb == "delete" else RECORDS["users/users"](None) if verb == "create" else {"ShoeSize": "6"}
            id = str(fields["UserId"]) if verb == "create" else changed
            outcome = device.change(verb, id, fields, collection="users")
            self.assertEqual((outcome["outcome"], outcome["reason"]), ("rejected", "access.denied"), outcome)
        # The same mutation, sent again, has the same outcome.
        mutation = device.mutation("update", changed, {"ShoeSize": "5"}, collection="users")
        self.assertEqual(device.push(mutation)["outcomes"], device.push(mutation)["outcomes"])
        position = device.position
        self.assertEqual(device.pull(), [])
        self.assertEqual((set(device.rows), device.position >= position), (set(rows), True))
        self.apply(text({"read": "login", "write": "login"}))
        self.assertEqual(device.change("update", changed, {"ShoeSize": "6"}, collection="users")["outcome"], "applied")

    def test_an_entity_and_a_set_have_rights_of_their_own(self):
        model = str(ROOT / "Config/odata/reference.csdl.xml")

        def text(entity, collection):
            return json.dumps({
                "store": {"sampleData": True}, "identity": {**IDENTITY, "passwords": {"cost": 10}},
                "adapters": {
                    "users": {"access": "login", "entities": {"users": {"access": entity}}},
                    "odata": {"services": {"reference": {
                        "model": model, "access": "public-read", "sets": {"Categories": {"access": collection}},
                        "seed": str(ROOT / "Config/odata/reference.seed.json")}}}}})

        gateway = self.start(text({"write": {"roles": ["admin"]}}, {"write": "login"}))

        def outcomes():
            posts = [("/api/v1/users/users", "users/users"), ("/odata/v4/reference/Categories", "odata/reference-Categories"),
                     ("/api/v1/odata/reference-Categories", "odata/reference-Categories")]
            products = gateway.send("POST", "/odata/v4/reference/Products", {"Name": "n", "Price": 1}, user="admin").status
            action = gateway.send("POST", "/odata/v4/reference/ResetProducts", {}, user="admin").status
            return [[gateway.send("POST", path, record(gateway, entity, user), user=user).status for user in CALLERS]
                    for path, entity in posts] + [products, action]

        self.assertEqual(outcomes(), [[401, 403, 201], [401, 201, 201], [401, 201, 201], 403, 403])
        self.assertEqual(
            set(self.apply(text({"write": "none"}, {"read": {"roles": ["admin"]}, "write": "none"}))),
            {"adapters.users.entities.users.access", "adapters.odata.services.reference.sets.Categories.access"})
        self.assertEqual(outcomes(), [[401, 403, 403], [401, 403, 403], [401, 403, 403], 403, 403])
        reads = [[gateway.get(path, "application/json", user=user).status for user in CALLERS]
                 for path in ("/odata/v4/reference/Categories", "/api/v1/odata/reference-Categories",
                              "/odata/v4/reference/Products", "/odata/v4/reference/Products?$expand=Category")]
        self.assertEqual(reads, [[401, 403, 200], [401, 403, 200], [200, 200, 200], [401, 403, 200]])
        for wrong, words in ((("nobody", {"write": "none"}), "login, public-read"), (({"write": "login"}, {"reads": "login"}), "no right reads")):
            self.refused(text(*wrong), words)


# An adapter's program in Python, of either version of the protocol.
PROGRAM = '''#!/usr/bin/python3 -B
import sys
import worker
worker.VERSION = {version}
KEY, OWNER = ({{"name": name, "shape": {{"string": [1, 99]}}, "source": source}} for name, source in (
    ("id", "callerOnCreate"), ("owner", "creator")))
NOTHING = {{"object": {{"name": "Nothing", "members": []}}}}

def entity(name, rule, **more):
    return {{"name": name, "summary": name, "key": {{"field": "id"}}, "fields": [KEY, OWNER],
            "rows": {{"read": "everyone", "write": rule}}, **more}}

def operation(name, **more):
    return {{"name": name, "summary": name, "effect": "writes", "output": NOTHING, **more}}

class Things:
    name, version, options = "things", "1.0.0", []

    def declaration(self, values):
        return {{"name": "things", "title": "Things", "summary": "Things.", "version": "1", {access}
                "entities": [entity("open", "everyone"), entity("owned", {{"owner": "owner"}}),
                             entity("kept", "everyone", writers={{"roles": ["admin"]}})],
                "operations": [operation("any"), operation("mine", entities=["owned"]),
                               operation("told", access="login"), operation("asks", authorization="byOperation")]}}

    def make(self, values):
        self.operations = {{name: self.write for name in ("any", "mine", "told", "asks")}}

    def front_page(self):
        return []

    def write(self, call):
        call.records.apply({{"entity": "open", "action": {{"create": {{"fields": {{}}}}}}}})
        return {{}}

sys.exit(worker.serve(Things()))
'''


class Programs(unittest.TestCase):
    def start(self, version, declared="", **adapter):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="portico-rights-"))
        self.addCleanup(shutil.rmtree, self.folder, True)
        program = self.folder / "things" / "things"
        program.parent.mkdir()
        for name in ("worker.py", "cbor.py"):
            shutil.copy(PLUGINS / "python-tasks" / "program" / name, program.parent)
        program.write_text(PROGRAM.format(version=version, access=declared))
        program.chmod(0o755)
        config = self.folder / "portico.yaml"
        config.write_text(json.dumps({
            "identity": {**IDENTITY, "passwords": {"cost": 10}}, "plugins": [{"path": str(program)}],
            "adapters": {"things": adapter}}))
        self.config = str(config)
        gateway = Gateway(config=self.config)
        self.addCleanup(gateway.remove)
        return gateway

    def outcomes(self, gateway):
        """By what is written: the statuses of nobody, alice and admin."""
        calls = [f"/api/v1/things/{name}" for name in ("open", "owned", "kept")] + [
            f"/api/v1/things/operations/{name}" for name in ("any", "mine", "told", "asks")]
        return {path.split("/")[-1]: [gateway.send("POST", path, {}, user=user).status for user in CALLERS] for path in calls}

    def warnings(self, gateway):
        shown = run_portico("adapters", "show", "things", "--data", gateway.data, "--output", "json", program="porticoctl")
        checked = run_portico("check", "--config", self.config)
        self.assertEqual(checked.returncode, 0, checked)
        return json.loads(shown.stdout).get("warnings", []), checked.stderr, gateway.log()

    def test_what_an_author_gave_nobody_is_written_by_nobody(self):
        gateway = self.start(2)
        self.assertEqual(self.outcomes(gateway), {
            "open": [401, 403, 403], "owned": [401, 201, 201], "kept": [401, 403, 201],
            # It writes what it does not name, and nothing has let its caller.
            "any": [401, 403, 403], "mine": [401, 403, 403], "asks": [401, 403, 403],
            "told": [401, 200, 200]})
        shown, checked, log = self.warnings(gateway)
        self.assertEqual(len(shown), 1)
        self.assertIn("every caller with a login may write told", shown[0].lower())
        self.assertIn("may write told", checked)
        self.assertNotIn("version 1", checked + log)

    def test_an_author_and_a_configuration_say_who_writes_right_by_right(self):
        gateway = self.start(2, '"access": {"read": "public", "write": "login"},')
        self.assertEqual(self.outcomes(gateway), {
            "open": [401, 201, 201], "owned": [401, 201, 201], "kept": [401, 403, 201], "any": [401, 200, 200],
            "mine": [401, 200, 200], "asks": [401, 200, 200], "told": [401, 200, 200]})
        self.assertIn("open", self.warnings(gateway)[1])
        gateway = self.start(
            2, '"access": {"read": "public", "write": "login"},', access={"write": {"roles": ["admin"]}},
            entities={"owned": {"access": {"write": "none"}}})
        self.assertEqual(self.outcomes(gateway), {
            "open": [401, 403, 201], "owned": [401, 403, 403], "kept": [401, 403, 201], "any": [401, 403, 200],
            "mine": [401, 403, 200], "asks": [401, 403, 200], "told": [401, 200, 200]})

    def test_a_program_of_version_1_is_read_as_before_and_what_it_lets_everybody_write_is_a_warning(self):
        gateway = self.start(1, '"access": "login",')
        as_before = {
            "open": [401, 201, 201], "owned": [401, 201, 201], "kept": [401, 403, 201], "any": [401, 200, 200],
            "mine": [401, 200, 200], "asks": [401, 200, 200], "told": [401, 200, 200]}
        self.assertEqual(self.outcomes(gateway), as_before)
        for text in self.warnings(gateway):
            text = text if isinstance(text, str) else " ".join(text)
            self.assertIn("version 1 of the adapter protocol", text)
            self.assertIn("every caller with a login may write open, any, mine, told", text)
        gateway = self.start(1, '"access": "public-read",')
        self.assertEqual(self.outcomes(gateway), as_before)
        self.assertEqual(gateway.get("/api/v1/things/open").status, 200)
        gateway = self.start(1, '"access": "public",')
        self.assertEqual(self.outcomes(gateway)["open"], [201, 201, 201])
        # The configuration narrows it.
        gateway = self.start(1, '"access": "login",', access={"write": "none"})
        self.assertEqual(self.outcomes(gateway)["open"], [401, 403, 403])
        self.assertEqual(self.outcomes(gateway)["any"], [401, 403, 403])


if __name__ == "__main__":
    unittest.main()
