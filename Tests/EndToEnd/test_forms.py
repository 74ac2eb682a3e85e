"""Forms and multipart bodies: accepted where they are declared, limited there, 415 elsewhere."""

import json
import unittest
import urllib.parse

import wire_values
from harness import JSON, GatewayTest, run_portico
from routes import routes

FORM = wire_values.FORM
PARTS = "multipart/form-data; boundary=b"
FIELDS, LONGEST = 8, 220


def form(**fields):
    return urllib.parse.urlencode(fields)


class FormLimits(GatewayTest):
    settings = ("--set", f"http.limits.formFields={FIELDS}", "--set", f"http.limits.formField={LONGEST}")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.routes = [route for route in routes(cls.gateway) if FORM in route.body_types]

    def setUp(self):
        # For each test, because a sign-out is among the routes.
        self.token = self.gateway.login("admin").json()["accessToken"]

    def send(self, path, body, accept=JSON, method="POST", user=None):
        headers = {"Content-Type": FORM, "Accept": accept}
        return self.gateway.request(method, path, body, headers, user=user, token=None if user else self.token)

    def refused_everywhere(self, body, reason):
        """In every format that the caller may read, with a reason that names the limit."""
        for route in self.routes:
            # Nobody changes these, says their model, whatever the body.
            if route.template.startswith(("/api/v1/odata/reference-ReadOnlyItems", "/api/v1/odata/reference-Company")):
                continue
            for accept in wire_values.FORMATS:
                answer = self.send(route.path, body, accept, route.method)
                with self.subTest(route=route, accept=accept):
                    self.assertEqual(answer.status, 400, answer)
                    self.assertEqual(answer.headers["content-type"].split(";")[0], accept)
                    self.assertEqual(wire_values.error_code(accept, answer.body), "request.limitExceeded")
                    if accept == JSON:
                        self.assertIn(reason, answer.text())
        self.assertGreater(len(self.routes), 20)

    def test_a_form_with_too_many_fields_is_refused_everywhere(self):
        self.refused_everywhere(form(**{f"f{number}": "x" for number in range(FIELDS + 1)}), f"at most {FIELDS} fields")

    def test_a_form_with_too_long_a_field_is_refused_everywhere(self):
        self.refused_everywhere(form(f="x" * LONGEST), f"at most {LONGEST} bytes")
        self.refused_everywhere(form(**{"n" * LONGEST: ""}), f"at most {LONGEST} bytes")

    def test_as_much_as_is_allowed_is_taken(self):
        asked = {"j_user": "alice", "j_password": "portico-demo"}
        asked |= {f"more{number}": "x" for number in range(FIELDS - len(asked))}
        self.expect(self.send("/irj/portal", form(**asked)), 200)
        asked["more0"] = "x" * (LONGEST - len("more0="))
        self.expect(self.send("/irj/portal", form(**asked)), 200)

    def test_the_chats_document_is_a_field_like_any_other(self):
        room = lambda length: json.dumps({"function": "createchatroom", "name": "x" * length}, separators=(",", ":"))
        for write in (str, urllib.parse.quote):
            longest = LONGEST - len("post=" + write(room(0)))
            self.expect(self.send("/chat", "post=" + write(room(longest)), user="alice"), 200)
            refused = self.send("/chat", "post=" + write(room(longest + 1)), user="alice")
            self.expect(refused, 400, "request.limitExceeded")
            self.assertIn(f"at most {LONGEST} bytes", refused.text())


class Nesting(GatewayTest):
    def test_what_is_nested_in_the_chats_document_is_bounded(self):
        for encode in (str, urllib.parse.quote):
            deep = "post=" + encode('{"a":' * 129 + "1" + "}" * 129)
            answer = self.gateway.request("POST", "/chat", deep, {"Content-Type": FORM}, user="alice")
            self.expect(answer, 400, "request.limitExceeded")


class SeveralParts(GatewayTest):
    """Files are sent as they are (attachments, streams of OData), so nothing but a batch comes in parts."""

    BODY = b'--b\r\nContent-Disposition: form-data; name="username"\r\n\r\nalice\r\n--b--\r\n'

    def test_they_are_415_wherever_a_body_is_taken_in_the_callers_format(self):
        token = self.gateway.login("admin").json()["accessToken"]
        taken = [route for route in routes(self.gateway) if route.body_types]
        self.assertGreater(len(taken), 20)
        for route in taken:
            self.assertFalse([kind for kind in route.body_types if kind.startswith("multipart/")], route)
            if route.template.startswith(("/api/v1/odata/reference-ReadOnlyItems", "/api/v1/odata/reference-Company")):
                continue
            for accept in wire_values.FORMATS:
                answer = self.gateway.request(
                    route.method, route.path, self.BODY, {"Content-Type": PARTS, "Accept": accept}, token=token)
                with self.subTest(route=route, accept=accept):
                    self.assertEqual(answer.status, 415, answer)
                    self.assertEqual(answer.headers["content-type"].split(";")[0], accept)
                    self.assertEqual(wire_values.error_code(accept, answer.body), "request.unsupportedMediaType")
                    self.assertIn(FORM if FORM in answer.headers["accept"] else JSON, answer.headers["accept"])
            if route.template == "/auth/logout":
                token = self.gateway.login("admin").json()["accessToken"]

    def test_the_chats_field_does_not_make_a_form_of_them(self):
        for kind in (PARTS, "multipart/mixed; boundary=b"):
            answer = self.gateway.request(
                "POST", "/chat", 'post={"function":"getusers"}', {"Content-Type": kind, "Accept": JSON}, user="alice")
            self.expect(answer, 415, "request.unsupportedMediaType")

    def test_they_are_415_at_odata_but_for_batches(self):
        product = self.gateway.get("/odata/v4/reference/Products?$top=1").json()["value"][0]["ID"]
        for path, method in [
            ("/odata/v4/reference/Products", "POST"), (f"/odata/v4/reference/Products({product})", "PATCH"),
            ("/odata/v4/reference/Products/$query", "POST"), ("/odata/v2/reference/Products", "POST"),
        ]:
            headers = {"Content-Type": PARTS, "Accept": JSON, "X-Requested-With": "X"}
            answer = self.gateway.request(method, path, self.BODY, headers, user="alice")
            with self.subTest(path):
                self.expect(answer, 415, "request.unsupportedMediaType")
        answer = self.gateway.request(
            "POST", "/odata/v4/reference/$batch", self.BODY, {"Content-Type": PARTS, "Accept": JSON}, user="alice")
        self.expect(answer, 415, "request.unsupportedMediaType")


class Reference(unittest.TestCase):
    def test_each_limit_has_its_bounds(self):
        for setting in ("http.limits.formFields=0", "http.limits.formFields=10001", "http.limits.formField=-1",
                        "adapters.odata.limits.batchBoundary=71", "adapters.odata.limits.batchPartFields=0"):
            done = run_portico("check", "--config", "Config/demo.yaml", "--set", setting)
            self.assertEqual(done.returncode, 1, setting)
            self.assertIn(setting.split("=")[0], done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
