"""The explorer at /docs/, in a real browser: what it shows is what the description says, and what it sends is the caller's own."""

import json
import unittest
import uuid
from urllib.parse import quote

import browser
from harness import Gateway, GatewayTest
from routes import METHODS

MARKUP = "<img src=x onerror=globalThis.ran=1>`<script>globalThis.ran=1</script>"
UNNAMED = """[...document.querySelectorAll('input, select, textarea, button, a')]
    .filter((one) => one.checkVisibility() && !(one.labels?.length || one.textContent.trim() || one.getAttribute('aria-label')))
    .map((one) => one.outerHTML)"""


class Files(GatewayTest):
    def test_it_is_there_without_the_slash(self):
        self.assertEqual(self.expect(self.gateway.get("/docs"), 200).body, self.gateway.get("/docs/").body)

    def test_the_front_page_leads_to_it(self):
        self.assertIn('href="/docs/"', self.gateway.get("/", accept="text/html").text())

    def test_its_files_are_no_operations(self):
        paths = self.gateway.get("/openapi.json").json()["paths"]
        self.assertEqual([path for path in paths if path.startswith("/docs")], [])

    def test_every_code_of_a_failure_is_explained(self):
        text = self.gateway.get("/docs/error-codes.js").text()
        codes = json.loads(text.removeprefix("export default ").rstrip().removesuffix(";"))
        declared = self.gateway.get("/openapi.json").json()["components"]["schemas"]["ErrorDetail"]["properties"]["code"]["enum"]
        self.assertEqual(set(codes), set(declared))
        self.assertTrue(all(one["meaning"] and one["caller"] for one in codes.values()))


@unittest.skipUnless(browser.program(), "this machine has no Chromium")
class Explorer(GatewayTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.address = f"http://127.0.0.1:{cls.gateway.port}/docs/"
        cls.document = cls.gateway.get("/openapi.json").json()
        cls.browser = browser.Browser()
        cls.addClassCleanup(cls.browser.close)

    def setUp(self):
        self.person = self.browser.person()
        self.addCleanup(self.person.leave)
        self.page = self.person.page(self.address)
        self.page.call("Emulation.setDeviceMetricsOverride", width=1280, height=900, deviceScaleFactor=1, mobile=False)
        self.until_shown("What is served here")

    def until_shown(self, title):
        self.page.until(f"document.querySelector('main h1')?.textContent === {json.dumps(title)}")

    def go(self, place):
        # Chromium leaves some out where a page goes from place to place as fast as a test does.
        self.page.until(f"(location.hash = {json.dumps(place)}, location.hash === {json.dumps(place)})")
        self.page.until("!!document.querySelector('main h1')")

    def operation(self, identifier):
        place = json.dumps(f"#/operations/{identifier}")
        shown = f"document.querySelector('portico-operation')?.operation.id === {json.dumps(identifier)}"
        self.page.until(f"(location.hash = {place}, {shown})")

    def sign_in(self, user="alice"):
        self.page.run("document.querySelector('portico-account button').click()")
        self.page.run(f"void (document.querySelector('#username').value = '{user}')")
        self.page.run("void (document.querySelector('#password').value = 'portico-demo')")
        self.page.run("document.querySelector('dialog form').requestSubmit()")
        self.page.until(f"document.querySelector('portico-account .who')?.textContent.startsWith('{user}')")

    def fill(self, name, value):
        field = f"document.getElementById({json.dumps(name)})"
        self.page.run(f"void ({field}.value = {json.dumps(value)}, {field}.dispatchEvent(new Event('input', {{bubbles: true}})))")

    def send(self):
        self.page.run("document.querySelector('portico-operation .answer').replaceChildren()")
        self.page.run("document.querySelector('.trial form').requestSubmit()")
        self.page.until("!!document.querySelector('.answer .status')")
        return self.page.run("document.querySelector('.answer .status').textContent")

    def shown(self, selector):
        return self.page.run(f"document.querySelector({json.dumps(selector)})?.textContent ?? ''")

    def test_every_adapter_entity_and_operation_has_a_page_without_an_error(self):
        self.sign_in("admin")
        self.page.run("globalThis.failed = []; addEventListener('error', (event) => failed.push(event.message))")
        for name, adapter in self.document["x-portico-adapters"].items():
            self.go(f"#/{name}")
            self.until_shown(adapter["title"])
            for entity in adapter.get("entities", {}):
                self.go(f"#/{name}/entities/{entity}")
                self.until_shown(entity)
                self.assertIn("Who may read", self.shown("main .facts"))
        for path, methods in self.document["paths"].items():
            for method in METHODS & set(methods):
                self.operation(methods[method]["operationId"])
                self.assertIn(path, self.shown("main .address"))
                self.assertIn("curl", self.shown("main .code"))
        self.assertEqual(self.page.run("failed"), [])

    def test_who_may_read_and_write_is_said_in_words(self):
        self.go("#/notes/entities/notes")
        facts = self.shown("main .facts")
        self.assertIn("Everyone who is signed in, of the records whose owner they are", facts)
        self.assertIn("the collection notes", facts)

    def test_without_a_sign_in_a_call_is_refused_and_the_refusal_explained(self):
        self.operation("notes_notes_list")
        self.assertIn("401", self.send())
        self.assertIn("auth.required", self.shown(".explanation"))
        self.assertIn("Sign in and send the token or the cookie.", self.shown(".explanation"))

    def test_a_call_is_made_with_the_callers_own_sign_in_in_each_format(self):
        self.sign_in()
        title = f"tried {uuid.uuid4()}"
        for number, name in enumerate(("json", "xml", "plist", "bplist", "cbor")):
            with self.subTest(name):
                self.operation("notes_notes_create")
                self.fill("body", json.dumps({"title": f"{title} {number} é<&", "text": "1"}))
                self.page.run(f"void (document.getElementById('body-format').value = '{name}')")
                self.page.run(f"void (document.getElementById('answer-format').value = '{name}')")
                self.assertIn("201", self.send())
        found = self.gateway.get("/api/v1/notes/notes?limit=1000", user="alice").json()["items"]
        titles = sorted(note["title"] for note in found if note["title"].startswith(title))
        self.assertEqual(titles, [f"{title} {number} é<&" for number in range(5)])
        self.operation("notes_notes_list")
        for name, sign in (("json", '"items"'), ("xml", "urn:portico:value"), ("plist", "<plist"), ("bplist", "bplist00"), ("cbor", "000000")):
            self.page.run(f"void (document.getElementById('answer-format').value = '{name}')")
            self.assertIn("200", self.send())
            self.assertIn(sign, self.shown(".answer portico-code"))

    def test_the_request_is_shown_as_curl_and_as_swift(self):
        self.operation("notes_notes_read")
        self.fill("field-id", "it's one")
        self.page.run("document.querySelector('.trial form').dispatchEvent(new Event('input'))")
        code = self.shown("main .code")
        self.assertIn("/api/v1/notes/notes/it's%20one".replace("'", "'\\''"), code)
        self.assertIn('ServerCall(path: ["api", "v1", "notes", "notes", "it\'s one"])', code)

    def test_a_body_that_is_no_json_is_not_sent(self):
        self.sign_in()
        self.operation("notes_notes_create")
        self.fill("body", "{")
        self.page.run("document.querySelector('.trial form').requestSubmit()")
        self.page.until("document.getElementById('body-problem').textContent.startsWith('This is no JSON')")
        self.assertEqual(self.shown(".answer .status"), "")

    def test_a_body_that_is_no_json_is_shown_as_it_is_and_the_old_answer_goes(self):
        self.sign_in()
        self.operation("notes_notes_create")
        self.send()
        self.fill("body", '{"title": ')
        code = self.shown("main .code")
        self.assertIn("# The body is no JSON.", code)
        self.assertIn("""--data-binary '{"title":'""", code)
        self.assertIn("/* The body is no JSON. */", code)
        self.page.run("document.querySelector('.trial form').requestSubmit()")
        self.page.until("document.querySelector('.answer').textContent === 'Nothing was sent: the body is no JSON.'")

    def test_parameters_of_the_path_that_are_empty_stand_there_by_their_names(self):
        self.operation("notes_notes_read")
        code = self.shown("main .code")
        self.assertIn("/api/v1/notes/notes/{id}'", code)
        self.assertIn('path: ["api", "v1", "notes", "notes", "{id}"]', code)

    def test_sets_of_odata_are_queried_below_the_root(self):
        self.sign_in("admin")
        path = next(path for path in self.document["paths"] if path.startswith("/odata/v4/") and f"{path}/{{rest}}" in self.document["paths"])
        self.operation(self.document["paths"][path]["get"]["operationId"])
        self.assertNotIn("changes data", self.shown(".trial"))
        self.page.run("document.querySelector('#field-rest').focus()")
        self.page.until("document.querySelectorAll('#sets option').length > 0")
        name = self.page.run("document.querySelector('#sets option').value")
        self.fill("field-rest", name)
        self.fill("field-?", "$top=1")
        self.assertIn(f"{path}/{name}?%24top=1", self.shown("main .code"))
        self.assertIn("200", self.send())
        self.assertIn('"value"', self.shown(".answer portico-code"))

    def test_the_example_of_a_pull_works_as_it_stands(self):
        self.sign_in()
        self.operation("sync_pull")
        self.assertIn("200", self.send())

    def test_an_entity_has_filters_of_its_own_fields_that_work(self):
        for service, adapter in self.document["x-portico-adapters"].items():
            for entity, described in adapter.get("entities", {}).items():
                for text in described.get("filters", []):
                    answer = self.gateway.get(f"/api/v1/{service}/{entity}?limit=1&filter={quote(text)}", user="admin")
                    self.assertIn(answer.status, (200, 403), f"{text}: {answer.text()}")
        self.go("#/notes/entities/notes")
        self.assertIn("startsWith(", self.shown("main .plain"))

    def test_a_failure_leads_to_the_page_of_its_code(self):
        self.operation("notes_notes_list")
        self.send()
        self.assertEqual(self.page.run("document.querySelector('.explanation a').getAttribute('href')"), "/errors/auth.required")

    def test_the_clients_are_described(self):
        self.assertEqual(self.page.run("document.querySelectorAll('main a[href=\"#/clients\"]').length"), 2)
        self.go("#/clients")
        self.until_shown("Clients")

    def test_a_stream_is_followed_until_it_is_stopped(self):
        self.sign_in()
        self.operation("chat_live")
        self.send()
        room = self.gateway.send("POST", "/chat/v1/rooms", {"name": f"r{uuid.uuid4()}", "members": []}, user="alice").json()["room"]
        self.gateway.send("POST", f"/chat/v1/rooms/{room['id']}/messages", {"text": "heard by the explorer"}, user="alice")
        self.page.until("document.querySelector('.answer .events')?.textContent.includes('heard by the explorer')")
        self.page.run("[...document.querySelectorAll('.trial button')].find((one) => one.textContent === 'Stop').click()")
        self.page.until("!document.querySelector('.trial button.main').disabled")

    def test_roles_that_do_not_suffice_are_said_before_the_call(self):
        described = dict(self.operations())
        closed = next((one for one, operation in described.items() if self.roles(operation)), None)
        if closed is None:
            self.skipTest("the demo has no operation that needs a role")
        self.sign_in()
        self.operation(described[closed]["operationId"])
        self.assertIn(self.shown("main .facts .may-not"), ("Your roles do not suffice.", ""))

    def operations(self):
        for path, methods in self.document["paths"].items():
            yield from ((f"{method} {path}", one) for method, one in methods.items() if method in METHODS)

    @staticmethod
    def roles(operation):
        return [role for one in operation.get("security", []) for roles in one.values() for role in roles]

    def test_the_search_finds_names_paths_and_words(self):
        for words, found in (("share", "share"), ("/auth/keys", "GET"), ("last-event-id", "live"), ("copies devices", "Overview"), ("sharedwith", "notes"), ("sonnets nothing", "Nothing is called so.")):
            self.fill("search", words)
            self.assertIn(found, self.shown("portico-contents nav"))

    def test_odata_and_soap_and_streams_have_their_addresses(self):
        text = self.shown("main")
        for path in ("/odata/v4/admissions/", "/odata/v2/admissions/", "/sap/opu/odata/sap/ADMISSIONSCOUNSELOR/",
                     "/sca/OrganizationInterfaceExport", "/chat/v1/live", "/sync/v1/pull"):
            self.assertIn(f"127.0.0.1:{self.gateway.port}{path}", text)

    def test_what_a_server_says_runs_no_script(self):
        self.sign_in()
        made = self.gateway.send("POST", "/api/v1/notes/notes", {"title": MARKUP, "text": MARKUP}, user="alice").json()
        self.operation("notes_notes_read")
        self.fill("field-id", made["id"])
        self.assertIn("200", self.send())
        self.assertIn("onerror", self.shown(".answer portico-code"))
        self.assertIsNone(self.page.run("globalThis.ran ?? null"))
        self.assertEqual(self.page.run("document.querySelectorAll('main img, main script').length"), 0)

    def test_every_control_has_a_name_and_the_page_fits_a_phone(self):
        for width in (1280, 390):
            self.page.call("Emulation.setDeviceMetricsOverride", width=width, height=800, deviceScaleFactor=1, mobile=width < 600)
            for place in ("#/", "#/errors", "#/chat", "#/notes/entities/notes", "#/operations/notes_notes_create", "#/operations/notes_notes_list"):
                self.go(place)
                self.assertEqual(self.page.run(UNNAMED), [], place)
                self.assertLessEqual(self.page.run("document.documentElement.scrollWidth - innerWidth"), 0, (place, width))

    def test_it_signs_out(self):
        self.sign_in()
        self.page.run("document.querySelector('portico-account button').click()")
        self.page.until("document.querySelector('portico-account button').textContent === 'Sign in'")
        self.operation("auth_me" if "auth_me" in str(self.document) else "notes_notes_list")
        self.assertIn("401", self.send())

    def test_a_page_that_is_not_there_says_so(self):
        self.go("#/nothing")
        self.until_shown("There is no such page")


@unittest.skipUnless(browser.program(), "this machine has no Chromium")
class WithoutAGateway(unittest.TestCase):
    def test_a_call_says_that_the_gateway_cannot_be_reached(self):
        gateway = Gateway()
        self.addCleanup(gateway.remove)
        window = browser.Browser()
        self.addCleanup(window.close)
        page = window.person().page(f"http://127.0.0.1:{gateway.port}/docs/#/operations/notes_notes_list")
        page.until("!!document.querySelector('portico-operation')")
        page.has_network(False)
        page.run("document.querySelector('.trial form').requestSubmit()")
        page.until("document.querySelector('.answer .problem')?.textContent.startsWith('The gateway cannot be reached')")


if __name__ == "__main__":
    unittest.main()
