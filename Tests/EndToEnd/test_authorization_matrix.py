"""Every route that the gateway declares, called by two users of every role and anonymously: each caller may do exactly
what the declarations allow, with every credential, alone and in a batch."""

import json
import unittest
import urllib.parse

import access
from harness import GatewayTest, run_portico
from routes import Route, routes

# What needs no login, beyond what the configuration opens. One more is a decision, not an accident.
PUBLIC = {
    "GET /", "GET /health/live", "GET /health/ready", "GET /openapi.json", "GET /auth/login", "POST /auth/login",
    "POST /auth/refresh", "GET /auth/jwks.json", "POST /irj/portal", "POST /batch", "GET /plists/{name}",
}
# One adapter serves both services, of which the configuration makes the reference alone public.
REFERENCE = {f"/api/v1/odata/reference-{name}" for name in (
    "Categories", "Company", "DecimalSamples", "MediaItems", "ProductDescriptions", "Products",
    "Products-RelatedProducts", "ReadOnlyItems")}
ADMISSIONS = {f"/api/v1/odata/admissions-{name}" for name in (
    "Appointments", "Counselors", "Schools", "States", "Students", "Visits")}
SINGLETONS = {"/api/v1/odata/reference-Company"}
# Sets whose records cannot be created under any id.
UNCREATABLE = {f"PUT /api/v1/odata/reference-{name}/{{id}}" for name in ("Company", "ReadOnlyItems")}
ODATA = {f"GET {path}{record}" for path in REFERENCE for record in ("", "/{id}")} | {
    f"{method} {path}" for path in REFERENCE
    for method, path in [("POST", path), *((method, path + "/{id}") for method in ("PUT", "PATCH", "DELETE"))]}
# Calls of one batch.
BATCH = 100


class AuthorizationMatrix(GatewayTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.routes = routes(cls.gateway)
        roles = {"member", "admin"} | access.roles_named(cls.routes)
        cls.anonymous = access.Caller(cls.gateway)
        cls.callers = [cls.caller(f"matrix-{role or 'none'}-{number}", [role] if role else [])
                       for role in sorted(roles | {""}) for number in (1, 2)]

    @classmethod
    def caller(cls, name, roles):
        flags = [part for role in roles for part in ("--role", role)]
        cls.control("accounts", "add", name, *flags, stdin=access.PASSWORD + "\n")
        return access.Caller(cls.gateway, name, roles)

    @classmethod
    def control(cls, *arguments, stdin=None):
        done = run_portico(*arguments, "--data", cls.gateway.data, "--output", "json", program="porticoctl", stdin=stdin)
        assert done.returncode == 0, done
        return json.loads(done.stdout)

    def assert_outcome(self, route, expected, status, code):
        if expected != "allowed":
            self.assertEqual((status, code), expected)
        elif f"{route}" in access.ABSENT:
            self.assertEqual(status, 404, code)
        elif f"{route}" in UNCREATABLE:
            self.assertEqual((status, code), (403, "access.denied"))
        elif access.is_record(route):
            self.assertNotIn(status, (401, 403, 405))
            self.assertLess(status, 500)
        elif access.is_collection(route) and access.writes(route):
            self.assertIn(status, (201, 403), code)
        elif not 200 <= status < 400:
            raise access.UncoveredRoute(f"{route} answers {status} {code} to the sample in access.py")

    def code(self, body):
        text = body.decode(errors="replace") if isinstance(body, bytes) else body
        if isinstance(text, str) and "<errorCode>" in text:
            # A fault of SOAP; in a batch its document is a text.
            return text.split("<errorCode>")[1].split("</errorCode>")[0]
        if isinstance(body, bytes):
            try:
                body = json.loads(body)
            except ValueError:
                return None
        error = body.get("error") if isinstance(body, dict) else None
        return error["code"] if isinstance(error, dict) else (body or {}).get("errorCode") if isinstance(body, dict) else None


class EveryCaller(AuthorizationMatrix):
    def test_every_caller_may_call_exactly_the_declared_routes(self):
        for route in self.routes:
            for caller in [self.anonymous, *self.callers]:
                with self.subTest(route=route, caller=caller):
                    self.check_route(route, caller)

    def check_route(self, route, caller):
        expected = access.verdict(route, caller)
        is_bare = f"{route}" in access.DEAR and caller is not self.callers[0]
        path = access.path_of(route, self.anonymous if is_bare else caller)
        body = access.WRONG if is_bare and route.body_types else access.body_of(route, caller)
        answer = access.call(self.gateway, route.method, path, body, caller.headers)
        if is_bare and expected == "allowed":
            self.assertEqual(answer.status, access.DEAR[f"{route}"], answer)
        else:
            self.assert_outcome(route, expected, answer.status, self.code(answer.body))
        self.assertTrue(route.declares(answer.status), f"{answer.status} is not declared")
        if not is_bare:
            access.settle(route, caller, answer)
        if route.method == "GET":
            head = access.call(self.gateway, "HEAD", path, None, caller.headers)
            self.assertEqual(head.status, answer.status)

    def test_a_batch_grants_no_access_beyond_its_senders(self):
        for caller in [self.anonymous, *self.callers]:
            closed = [route for route in self.routes if access.verdict(route, caller) != "allowed"]
            calls = [
                {"id": f"{route}", "method": route.method, "path": access.path_of(route, self.anonymous), "body": {}}
                for route in closed]
            answers = []
            for start in range(0, len(calls), BATCH):
                some = {"calls": calls[start : start + BATCH]}
                answer = access.call(self.gateway, "POST", "/batch", some, caller.headers)
                answers += self.expect(answer, 200).json()["answers"]
            for route, one in zip(closed, answers, strict=True):
                with self.subTest(route=route, caller=caller):
                    self.assertEqual(one["id"], f"{route}")
                    self.assertEqual((one["status"], self.code(one["body"])), access.verdict(route, caller))

    def test_a_cookie_alone_reads_and_never_writes(self):
        for caller in self.callers:
            for route in self.routes:
                if not access.writes(route) or access.verdict(route, caller) != "allowed":
                    continue
                with self.subTest(route=route, caller=caller):
                    path, headers = access.path_of(route, self.anonymous), {"Cookie": caller.cookie}
                    alone = access.call(self.gateway, route.method, path, {}, headers)
                    self.assertEqual((alone.status, self.code(alone.body)), (403, "access.csrfRequired"))
                    calls = {"calls": [{"id": "1", "method": route.method, "path": path, "body": {}}]}
                    inside = access.call(self.gateway, "POST", "/batch", calls, headers).json()["answers"][0]
                    self.assertEqual((inside["status"], self.code(inside["body"])), (403, "access.csrfRequired"))
            me = access.call(self.gateway, "GET", "/auth/me", None, {"Cookie": caller.cookie})
            self.assertEqual(me.json()["name"], caller.name)

    def test_a_programs_key_reaches_what_it_names_and_no_further(self):
        owner = next(caller for caller in self.callers if "admin" in caller.roles)
        adapters = {access.adapter(route) for route in self.routes} - {None}
        for adapter in sorted(adapters):
            key = self.control("keys", "create", owner.name, "--title", adapter, "--adapter", adapter, "--read-only")
            headers = {"Authorization": f"Bearer {key['key']}"}
            for route in self.routes:
                # A path of an adapter that is open to everybody shows more to the key's owner.
                guarded = {} not in route.operation["security"] or access.adapter(route)
                beyond = access.writes(route) or access.adapter(route) not in (adapter, None)
                if not beyond or not guarded or access.verdict(route, owner) != "allowed":
                    continue
                with self.subTest(route=route, adapter=adapter):
                    answer = access.call(self.gateway, route.method, access.path_of(route, self.anonymous), {}, headers)
                    self.assertEqual((answer.status, self.code(answer.body)), (403, "access.denied"))
            self.control("keys", "revoke", owner.name, key["id"])

    def test_what_needs_no_login_is_on_the_list(self):
        opened = {f"{route}" for route in self.routes if {} in route.operation["security"]}
        self.assertEqual(opened, PUBLIC | ODATA)

    def test_an_anonymous_caller_sees_public_rows_only(self):
        """A list that needs no login may be one of records that do."""
        for name in self.adapters():
            for entity in self.entities(name):
                collection = f"/api/v1/{name}/{entity['name']}"
                is_open = {} in self.route("GET", collection).operation["security"]
                if not is_open or access.Rows(entity["rows"]["read"]).is_public:
                    continue
                with self.subTest(collection=collection):
                    all_of_it, none = (
                        access.call(self.gateway, "GET", collection + "?count=true", None, caller.headers)
                        for caller in (self.callers[0], self.anonymous))
                    self.assertGreater(self.expect(all_of_it, 200).json()["total"], 0, "nothing is there to be hidden")
                    self.assertEqual(self.expect(none, 200).json(), {"items": [], "total": 0})

    def test_a_services_access_applies_to_its_records_and_its_mount(self):
        """What the configuration says of one service holds for it alone, whatever the others of the adapter are open to."""
        for path in REFERENCE | ADMISSIONS:
            for method in ("GET", "POST"):
                is_open = {} in self.route(method, path).operation["security"]
                self.assertEqual(is_open, path in REFERENCE, (method, path))
        for route in routes(self.gateway, mounts=True):
            if route.method != "GET":
                continue
            with self.subTest(mount=route):
                root = route.template.split("/{")[0]
                expected = access.verdict(route, self.anonymous)
                self.assertEqual(expected == "allowed", "reference" in root or "ComplianceService" in root)
                for below in ("", "/", "/$metadata", "/Nothing"):
                    answer = access.call(self.gateway, "GET", root + below)
                    self.assertEqual(answer.status == 401, expected != "allowed", (below, answer))

    def test_an_uncovered_route_fails_the_test(self):
        document = {"paths": {}}
        operation = {
            "parameters": [{"name": "unheardOf", "in": "path"}], "security": [{}], "x-portico-effect": "reads",
            "responses": {"200": {}}}
        with self.assertRaises(access.UncoveredRoute):
            self.check_route(Route("get", "/new/{unheardOf}", operation, document), self.anonymous)
        with self.assertRaises(access.UncoveredRoute):
            self.check_route(Route("get", "/new", {**operation, "parameters": []}, document), self.anonymous)
        with self.assertRaises(access.UncoveredRoute):
            access.Rows({"moonPhase": "full"}).admits(self.anonymous, {})

    def test_every_caller_reads_and_writes_exactly_the_declared_rows(self):
        """Lists, single records and changes go by one rule."""
        for name in self.adapters():
            entities = self.entities(name)
            for entity in entities:
                self.create(f"/api/v1/{name}/{entity['name']}", entity["rows"]["write"])
            found = {entity["name"]: self.seen(f"/api/v1/{name}/{entity['name']}", entity) for entity in entities}
            others = {entity: records for entity, (_, records) in found.items()}
            for entity in entities:
                self.check_rows(f"/api/v1/{name}/{entity['name']}", entity, found[entity["name"]][0], others)

    def adapters(self):
        return [adapter["name"] for adapter in self.control("adapters", "list")["adapters"]]

    def entities(self, adapter):
        """Those that have a resource."""
        return [entity for entity in self.control("adapters", "show", adapter)["entities"] if entity["exposed"]]

    def seen(self, collection, entity):
        """What each caller is shown, and all of it by key."""
        route = self.route("GET", collection)
        seen = {caller: self.listed(route, collection, caller) for caller in [self.anonymous, *self.callers]}
        return seen, {str(record[entity["key"]]): record for listed in seen.values() for record in listed or []}

    def check_rows(self, collection, entity, seen, others):
        one = {route.method: route for route in self.routes if route.template == collection + "/{id}"}
        may_read, may_write = (access.Rows(entity["rows"][what], others) for what in ("read", "write"))
        chosen = list(others[entity["name"]].items())[-12:]
        for caller, listed in seen.items():
            for key, record in chosen:
                with self.subTest(collection=collection, caller=caller, record=key):
                    reads = listed is not None and may_read.admits(caller, record)
                    if listed is not None:
                        self.assertEqual(record in listed, reads)
                    path = f"{collection}/{urllib.parse.quote(key, safe='')}"
                    self.check(one, path, caller, reads, may_write.admits(caller, record))

    def route(self, method, template):
        """Nothing for what nobody may do, which is not described."""
        return next((route for route in self.routes if (route.method, route.template) == (method, template)), None)

    def create(self, collection, rule):
        for caller in self.callers:
            self.create_one(self.route("POST", collection), caller, collection, rule)

    def create_one(self, route, caller, collection, rule):
        body = access.record_body(route, caller) if route else {}
        if "sharedWith" in body and caller is self.callers[0]:
            body["sharedWith"] = [self.callers[1].name]
        answer = access.call(self.gateway, "POST", collection, body, caller.headers)
        with self.subTest(route=route, caller=caller):
            if access.verdict(route, caller) != "allowed":
                self.assertEqual((answer.status, self.code(answer.body)), access.verdict(route, caller))
            elif rule == "nobody" or collection in SINGLETONS:
                self.assertEqual((answer.status, self.code(answer.body)), (403, "access.denied"))
            else:
                self.assertEqual(answer.status, 201, answer)

    def listed(self, route, collection, caller):
        """Every record that the caller is shown; None where the caller is shown none of the collection."""
        records, cursor = [], ""
        for _ in range(50):
            answer = access.call(self.gateway, "GET", f"{collection}?limit=500{cursor}", None, caller.headers)
            if access.verdict(route, caller) != "allowed":
                self.assertEqual((answer.status, self.code(answer.body)), access.verdict(route, caller))
                return None
            page = self.expect(answer, 200).json()
            records += page["items"]
            if not page.get("next"):
                return records
            cursor = "&cursor=" + page["next"]
        raise AssertionError(f"{collection} does not end")

    def check(self, one, path, caller, reads, writes):
        answer = access.call(self.gateway, "GET", path, None, caller.headers)
        if access.verdict(one["GET"], caller) != "allowed":
            self.assertEqual((answer.status, self.code(answer.body)), access.verdict(one["GET"], caller))
            return
        self.assertEqual(answer.status, 200 if reads else 404)
        for method in ("PATCH", "DELETE") if not (reads and writes) else ("PATCH",):
            self.change(one.get(method), method, path, caller, reads, writes)

    def change(self, route, method, path, caller, reads, writes):
        answer = access.call(self.gateway, method, path, {} if method == "PATCH" else None, caller.headers)
        if access.verdict(route, caller) != "allowed":
            expected = access.verdict(route, caller)[0]
        else:
            expected = 404 if not reads else 200 if writes else 403
        self.assertEqual(answer.status, expected, (method, path, answer))


if __name__ == "__main__":
    unittest.main()
