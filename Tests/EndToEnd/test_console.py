"""The operators' console at /console/ of the admin listener, in a real browser: each action with its effect over the API and in the
audit log, what each role is refused, and what no other page can do."""

import http.client
import http.server
import json
import pathlib
import re
import shutil
import subprocess
import tempfile
import threading
import time
import unittest
import urllib.parse

import browser
from harness import DEMO, ROOT, START_SECONDS, Gateway, run_portico
from hostile_upstream import MirroredSystem
from sync_device import Device
from test_mirrors import CONFIGURATION, MIRROR

FILES = ROOT / "Sources" / "Console" / "Files"
LARGEST = 200_000
TSC = shutil.which("tsc")
PASSWORD = "a password of operators"
ROLES = {"vera": "watch", "otto": "ops", "ada": "chief"}
MARKUP = "<img src=x onerror=globalThis.ran=1>`<script>globalThis.ran=1</script>"
UNNAMED = """[...document.querySelectorAll('input, select, textarea, button, a')]
    .filter((one) => one.checkVisibility() && !(one.labels?.length || one.textContent.trim() || one.getAttribute('aria-label')))
    .map((one) => one.outerHTML)"""
OWN = {"Sec-Fetch-Site": "same-origin"}


class ConsoleTest(unittest.TestCase):
    """One gateway with a console and an operator of each role."""

    @classmethod
    def setUpClass(cls):
        cls.gateway = Gateway(
            "--set", "admin.port=0", "--set", "admin.roles.viewer=[watch]", "--set", "admin.roles.operator=[ops]",
            "--set", "admin.roles.admin=[chief]", config=cls.configuration())
        cls.addClassCleanup(cls.gateway.remove)
        end = time.monotonic() + START_SECONDS
        while not (found := re.search(r'"address":"http://127\.0\.0\.1:(\d+)"', cls.gateway.log())):
            assert time.monotonic() < end
            time.sleep(0.05)
        cls.port = int(found.group(1))
        cls.url = f"http://127.0.0.1:{cls.port}"
        for name, role in ROLES.items():
            cls.control("accounts", "add", name, "--role", role, stdin=PASSWORD + "\n")

    @classmethod
    def configuration(cls):
        return DEMO

    @classmethod
    def control(cls, *arguments, stdin=None, status=0):
        done = run_portico(*arguments, "--data", cls.gateway.data, "--output", "json", program="porticoctl", stdin=stdin)
        assert done.returncode == status, (arguments, done)
        return json.loads(done.stdout) if done.stdout.strip() else done.stderr

    def audit(self, kind, subject=None):
        entries = self.control("audit", "list", "--limit", "200")["entries"]
        return [one for one in entries if one["kind"] == kind and subject in (None, one["subject"])]

    def ask(self, method, path, body=None, headers=None, port=None, host=None):
        connection = http.client.HTTPConnection("127.0.0.1", port or self.port, timeout=START_SECONDS)
        self.addCleanup(connection.close)
        sent = {"Accept": "application/json", **({"Content-Type": "application/json"} if body is not None else {}), **(headers or {})}
        if host:
            sent["Host"] = host
        connection.request(method, path, None if body is None else json.dumps(body), sent)
        answer = connection.getresponse()
        data = answer.read()
        fields = {name.lower(): value for name, value in answer.getheaders()}
        try:
            value = json.loads(data)
        except ValueError:
            value = data.decode(errors="replace")
        return answer.status, fields, value

    def sign_in(self, name, password=PASSWORD):
        """The cookie and the CSRF token."""
        status, fields, value = self.ask("POST", "/console/session", {"name": name, "password": password}, OWN)
        self.assertEqual(status, 200, value)
        cookie = fields["set-cookie"].split(";")[0]
        return cookie, self.ask("GET", "/console/session", headers={**OWN, "Cookie": cookie})[2]["csrfToken"]


class Listener(ConsoleTest):
    def test_a_rebound_name_gets_nothing(self):
        cookie, token = self.sign_in("ada")
        for host in ("evil.example", f"evil.example:{self.port}", f"127.0.0.1.evil.example:{self.port}", "127.0.0.1:1", "x"):
            for method, path in (("GET", "/console/"), ("GET", "/admin/v1/status"), ("POST", "/console/session"), ("GET", "/nothing")):
                headers = {"Origin": f"http://{host}", "Sec-Fetch-Site": "same-origin", "Cookie": cookie, "X-CSRF-Token": token}
                status, _, value = self.ask(method, path, {} if method == "POST" else None, headers, host=host)
                self.assertEqual(status, 421, (host, path, value))
                self.assertEqual(value["error"]["code"], "request.misdirected")
        for host in (f"localhost:{self.port}", f"[::1]:{self.port}"):
            self.assertEqual(self.ask("GET", "/console/", host=host)[0], 200, host)
        for host in ("evil.example", f"evil.example:{self.gateway.port}"):
            self.assertEqual(self.ask("GET", "/", port=self.gateway.port, host=host)[0], 421, host)
        for host in ("localhost", "gateway", "192.0.2.1:80", f"[::1]:{self.gateway.port}"):
            self.assertEqual(self.ask("GET", "/", port=self.gateway.port, host=host)[0], 200, host)

    def test_the_public_listener_has_no_console(self):
        cookie, _ = self.sign_in("ada")
        for path in ("/console/", "/console/session", "/console/console.js", "/admin/v1/status"):
            self.assertEqual(self.ask("GET", path, headers={**OWN, "Cookie": cookie}, port=self.gateway.port)[0], 404, path)

    def test_sign_ins_at_the_console_are_listed_and_ended_by_the_command_line(self):
        (first, _), (second, _) = self.sign_in("otto"), self.sign_in("otto")
        sessions = self.control("console", "sessions", "otto")["sessions"]
        self.assertEqual([one["role"] for one in sessions], ["operator"] * len(sessions))
        oldest = min(sessions, key=lambda one: one["created"])
        self.control("console", "revoke", "otto", oldest["id"])
        self.assertEqual(len(self.control("console", "sessions", "otto")["sessions"]), len(sessions) - 1)
        self.control("console", "revoke", "otto")
        self.assertEqual(self.control("console", "sessions", "otto")["sessions"], [])
        for cookie in (first, second):
            self.assertEqual(self.ask("GET", "/admin/v1/status", headers={**OWN, "Cookie": cookie})[0], 401)

    def test_changes_of_devices_take_yes_or_no_and_refuse_any_other_word(self):
        cookie, _ = self.sign_in("vera")
        self.gateway.send("POST", "/api/v1/notes/notes", {"title": "t", "text": "t"}, user="alice")
        found = {}
        for word in ("?synced=true", "?synced=false", ""):
            status, _, value = self.ask("GET", f"/admin/v1/sync/changes{word}", headers={**OWN, "Cookie": cookie})
            self.assertEqual(status, 200, value)
            found[word] = {one["collection"] for one in value["changes"]}
        self.assertIn("notes/notes", found["?synced=true"])
        self.assertEqual({name for name in found["?synced=true"] if name.startswith("identity/")}, set())
        self.assertTrue({name for name in found["?synced=false"] if name.startswith("identity/")}, found)
        self.assertEqual(found["?synced=false"], found[""])
        for word in ("yes", "TRUE", "1", ""):
            status, _, value = self.ask("GET", f"/admin/v1/sync/changes?synced={word}", headers={**OWN, "Cookie": cookie})
            self.assertEqual((status, value["error"]["code"], value["error"]["target"]), (400, "request.invalid", "synced"), word)

    def test_the_page_is_small_and_loads_nothing_from_elsewhere(self):
        names = [""] + [path.name for path in FILES.iterdir() if path.suffix != ".html"] + ["elements.js", "base.css", "icon.svg"]
        size = 0
        for name in names:
            status, fields, body = self.ask("GET", f"/console/{name}", headers={"Accept": "*/*"})
            self.assertEqual(status, 200, name)
            policy = fields["content-security-policy"]
            self.assertIn("default-src 'none'", policy)
            self.assertIn("frame-ancestors 'none'", policy)
            self.assertNotIn("unsafe", policy)
            self.assertEqual(
                [fields[one] for one in ("cache-control", "cross-origin-opener-policy", "cross-origin-resource-policy")],
                ["no-store", "same-origin", "same-origin"], name)
            size += len(body if isinstance(body, str) else json.dumps(body))
            self.assertEqual(re.findall(r"""(?:src|href|from|import)[ =(]+["']?https?://""", str(body)), [], name)
        self.assertLess(size, LARGEST)

    def test_an_address_without_a_sign_in_leads_to_the_page(self):
        status, fields, _ = self.ask("GET", "/", headers={"Accept": "text/html"})
        self.assertEqual((status, fields["location"]), (303, "/console/"))
        status, fields, _ = self.ask("GET", "/admin/v1/status", headers={"Accept": "text/html", "Sec-Fetch-Mode": "navigate"})
        self.assertEqual((status, fields["location"]), (303, "/console/"))

    @unittest.skipUnless(TSC, "this machine has no TypeScript compiler")
    def test_its_modules_pass_the_type_check(self):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="portico-console-"))
        self.addCleanup(shutil.rmtree, folder)
        modules = [path for path in FILES.iterdir() if path.suffix == ".js"] + [ROOT / "Sources" / "Gateway" / "Pages" / "Base" / "elements.js"]
        for path in modules:
            shutil.copy(path, folder / path.name)
        done = subprocess.run(
            [TSC, "--noEmit", "--allowJs", "--checkJs", "--target", "es2022", "--module", "es2022", "--moduleResolution", "node",
             "--lib", "es2022,dom,dom.iterable", "--skipLibCheck", *(path.name for path in modules)],
            cwd=folder, capture_output=True, text=True, timeout=300)
        self.assertEqual(done.stdout, "")

    def test_demo_accounts_and_accounts_without_a_role_do_not_sign_in(self):
        self.control("accounts", "add", "nora", stdin=PASSWORD + "\n")
        for name, password in (("admin", "portico-demo"), ("nora", PASSWORD)):
            status, fields, value = self.ask("POST", "/console/session", {"name": name, "password": password}, OWN)
            self.assertEqual((status, value["error"]["code"]), (403, "access.denied"), name)
            self.assertNotIn("set-cookie", fields)

    def test_no_other_cookie_has_the_consoles_name(self):
        for name in ("portico_console", "__Host-Portico_Console"):
            done = run_portico("check", "--config", DEMO, "--set", f"identity.session.cookie.name={name}")
            self.assertEqual(done.returncode, 1, name)
            self.assertIn("console", done.stderr)
        for setting, word in (("admin.names=[a/b]", "no host"), ("admin.roles.admin=['not one']", "no name for a role")):
            done = run_portico("check", "--config", DEMO, "--set", setting)
            self.assertEqual(done.returncode, 1, setting)
            self.assertIn(word, done.stderr)

    def test_records_and_previews_by_the_command_line(self):
        entities = {one["name"]: one for one in self.control("records", "entities")["entities"]}
        self.assertTrue(entities["notes/notes"]["needsReason"])
        name = next(name for name, one in entities.items() if not one["obstacle"] and not one["needsReason"] and self.rows(name))
        key = entities[name]["key"]
        field = next(one["name"] for one in entities[name]["fields"] if one["type"] == "string" and one["editable"] and one["name"] != key)
        row = self.rows(name)[0]
        changed = self.control("records", "set", name, row["id"], f"{field}=Changed")
        self.assertEqual(changed["fields"][field], "Changed")
        self.assertEqual(self.control("records", "show", name, row["id"])["fields"][field], "Changed")
        history = self.control("records", "history", name, row["id"])["changes"]
        self.assertIn(field, history[0]["changed"])
        self.control("records", "set", name, row["id"], f"{field}=x", "--revision", "1", status=1)
        found = self.control("records", "list", name, "--filter", f"{field} eq 'Changed'")["items"]
        self.assertEqual([one["id"] for one in found], [row["id"]])
        self.control("records", "delete", name, row["id"], "--yes")
        self.control("records", "show", name, row["id"], status=1)
        self.assertTrue(self.audit("administration.performed", "admin.records.delete"))
        self.control("mirrors", "preview", "nothing/here", status=1)
        for arguments, near in [
                (("records", "list", "users/usrs"), "users/users"), (("adapters", "show", "note"), "notes"),
                (("accounts", "roles", "alic"), "alice")]:
            self.assertIn(f"Did you mean {near}?", self.control(*arguments, status=1))

    def rows(self, name):
        return self.control("records", "list", name, "--limit", "3")["items"]

    def test_rows_of_callers_are_looked_at_for_a_reason_and_not_changed(self):
        note = self.gateway.send("POST", "/api/v1/notes/notes", {"title": "mine", "text": "secret"}, user="alice").json()
        self.assertIn("reason", self.control("records", "show", "notes/notes", note["id"], status=1))
        shown = self.control("records", "show", "notes/notes", note["id"], "--reason", "ticket 7")
        self.assertEqual(shown["fields"]["title"], "mine")
        look = self.audit("records.read", f"notes/notes/{note['id']}")[0]
        self.assertEqual(look["detail"], "ticket 7")
        self.control("records", "set", "notes/notes", note["id"], "title=yours", status=1)
        self.control("records", "delete", "notes/notes", note["id"], "--yes", status=1)
        self.assertEqual(self.gateway.get(f"/api/v1/notes/notes/{note['id']}", user="alice").json()["title"], "mine")
        cookie, _ = self.sign_in("otto")
        status, _, value = self.ask(
            "POST", "/admin/v1/records/notes/notes/show", {"id": note["id"], "reason": "curious"}, {**OWN, "Cookie": cookie})
        self.assertEqual((status, value["error"]["code"]), (403, "access.denied"))

    def test_figures_come_and_leave_operators_out(self):
        for _ in range(20):
            self.gateway.get("/health/live")
        end = time.monotonic() + START_SECONDS
        while not (points := self.figures()):
            self.assertLess(time.monotonic(), end)
            time.sleep(0.5)
        self.assertEqual(set(points[0]) - {"adapters"}, {"number", "time", "streams", "devices", "commits", "memory", "load"})
        self.assertGreater(points[-1]["memory"], 1 << 20)
        self.assertEqual(self.figures(points[-1]["number"] + 10), [])

    def test_a_number_that_is_none_is_refused_by_its_name(self):
        cookie, _ = self.sign_in("vera")
        status, _, value = self.ask("GET", "/admin/v1/figures?after=x", headers={**OWN, "Cookie": cookie})
        self.assertEqual((status, value["error"]["target"]), (400, "after"))

    def figures(self, after=0):
        cookie, _ = self.sign_in("vera")
        return self.ask("GET", f"/admin/v1/figures?after={after}", headers={**OWN, "Cookie": cookie})[2]["points"]


class PageTest(ConsoleTest):
    """An operator at the page."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.browser = browser.Browser()
        cls.addClassCleanup(cls.browser.close)

    def open(self, name="ada", place="#/"):
        person = self.browser.person()
        self.addCleanup(person.leave)
        self.page = person.page(f"{self.url}/console/")
        self.page.call("Emulation.setDeviceMetricsOverride", width=1280, height=900, deviceScaleFactor=1, mobile=False)
        self.page.until("!!document.querySelector('portico-sign-in form')")
        self.fill("#name", name)
        self.fill("#password", PASSWORD)
        self.page.run("document.querySelector('portico-sign-in form').requestSubmit()")
        self.page.until("document.querySelector('main h1')?.textContent === 'Overview'")
        self.page.run("globalThis.failed = []; addEventListener('error', (event) => failed.push(event.message));"
            "addEventListener('unhandledrejection', (event) => failed.push(String(event.reason)))")
        if place != "#/":
            self.go(place)

    def go(self, place, title=None):
        self.page.until(f"(location.hash = {json.dumps(place)}, location.hash === {json.dumps(place)})")
        self.page.until("!!document.querySelector('main h1')")
        if title:
            self.page.until(f"document.querySelector('main h1').textContent === {json.dumps(title)}")

    def fill(self, selector, value):
        self.page.run(
            f"void ((one) => {{ one.value = {json.dumps(value)}; one.dispatchEvent(new Event('input', {{bubbles: true}})); "
            f"one.dispatchEvent(new Event('change', {{bubbles: true}})); }})(document.querySelector({json.dumps(selector)}))")

    def press(self, text, within="main"):
        find = f"[...document.querySelectorAll({json.dumps(within + ' button')})].find((one) => one.textContent === {json.dumps(text)})"
        self.page.until(f"!!{find}")
        self.page.run(f"{find}.click()")

    def answer(self, values=None, action=None):
        """Fills the dialog and sends it."""
        self.page.until("!!document.querySelector('dialog[open]')")
        for name, value in (values or {}).items():
            self.fill(f"dialog [name={json.dumps(name)}]", value)
        self.page.run("document.querySelector('dialog[open] form').requestSubmit()")

    def confirm(self):
        self.page.until("[...document.querySelectorAll('dialog[open] h2')].at(-1)?.textContent === 'Confirm that it is you'")
        dialogs = "[...document.querySelectorAll('dialog[open]')].at(-1)"
        self.page.run(f"void ({dialogs}.querySelector('[name=password]').value = {json.dumps(PASSWORD)})")
        self.page.run(f"{dialogs}.querySelector('form').requestSubmit()")

    def said(self, text):
        self.page.until(f"document.getElementById('toast')?.textContent.includes({json.dumps(text)})")

    def shown(self, text):
        self.page.until(f"document.querySelector('main').innerText.includes({json.dumps(text)})")

    def text(self):
        return self.page.run("document.querySelector('main').innerText")


@unittest.skipUnless(browser.program(), "this machine has no Chromium")
class Pages(PageTest):
    def test_a_link_signs_in_once_and_leaves_the_address(self):
        link = self.control("console", "link")["url"]
        for is_first in (True, False):
            person = self.browser.person()
            self.addCleanup(person.leave)
            page = person.page(link)
            if is_first:
                page.until("document.querySelector('main h1')?.textContent === 'Overview'")
                self.assertEqual(page.run("location.hash"), "")
                self.assertIn("operator", page.run("document.querySelector('portico-operator').textContent"))
            else:
                page.until("document.querySelector('.problem')?.textContent.includes('not right')")
        self.assertTrue([one for one in self.audit("signIn.accepted") if one["actor"] == "console link"])

    def test_the_overview_shows_figures_and_what_needs_attention(self):
        self.open()
        self.gateway.get("/api/v1/notes/notes", user="alice")
        self.page.until("document.querySelectorAll('.chart svg').length >= 3")
        self.assertIn("running for", self.text())
        self.control("adapters", "disable", "users")
        self.addCleanup(self.control, "adapters", "enable", "users")
        self.assertEqual(self.page.run("failed"), [])

    def test_an_adapter_is_disabled_enabled_and_restarted(self):
        self.open("otto", "#/adapters/users")
        self.press("Disable")
        self.answer()
        self.said("refused")
        self.assertEqual(self.gateway.get("/v2/list", user="alice").status, 503)
        self.press("Enable")
        self.said("answers again")
        self.assertEqual(self.gateway.get("/v2/list", user="alice").status, 200)
        self.go("#/adapters/notes")
        self.press("Restart")
        self.said("has started")
        actor = next(one["id"] for one in self.control("accounts", "list")["accounts"] if one["name"] == "otto")
        done = {one["subject"] for one in self.audit("administration.performed") if one["actor"] == actor}
        self.assertTrue({"admin.adapters.disable", "admin.adapters.enable", "admin.adapters.restart"} <= done, done)

    def test_a_person_is_added_given_roles_and_stopped(self):
        self.open("ada", "#/people")
        self.press("Add an account")
        self.page.until("!!document.querySelector('dialog[open]')")
        self.fill("dialog [name=name]", "petra")
        self.fill("dialog [name=password]", PASSWORD)
        self.fill("dialog [name=roles]", "member")
        self.page.run("document.querySelector('dialog[open] form').requestSubmit()")
        self.confirm()
        self.said("petra is added")
        signed = self.gateway.send("POST", "/auth/login", {"username": "petra", "password": PASSWORD})
        self.assertEqual(signed.status, 200)
        token = signed.json()["accessToken"]
        self.go("#/people/petra", "petra")
        self.shown("127.0.0.1")
        self.press("End all of them")
        self.said("have ended")
        self.assertEqual(self.gateway.get("/auth/me", token=token).status, 401)
        self.press("Stop access now")
        self.answer()
        self.said("no access")
        self.assertEqual(self.gateway.send("POST", "/auth/login", {"username": "petra", "password": PASSWORD}).status, 401)
        account = next(one for one in self.control("accounts", "list")["accounts"] if one["name"] == "petra")
        self.assertEqual((account["state"], account["roles"]), ("disabled", ["member"]))
        done = {one["subject"] for one in self.audit("administration.performed")}
        self.assertTrue({"admin.accounts.add", "admin.accounts.sessions/revoke", "admin.accounts.disable"} <= done, done)

    def test_a_record_is_found_edited_and_deleted(self):
        entities = self.control("records", "entities")["entities"]
        entity = next(one for one in entities if one["name"] == "employees/employees")
        row = self.control("records", "list", entity["name"], "--limit", "1")["items"][0]
        field = next(one["name"] for one in entity["fields"] if one["type"] == "string" and one["editable"] and one["name"] != entity["key"])
        self.open("otto", "#/records/employees/employees")
        self.fill("#filter", f"{entity['key']} eq {json.dumps(row['id']).replace(chr(34), chr(39))}")
        self.page.run("document.querySelector('main form.tools').requestSubmit()")
        self.page.until("document.querySelectorAll('main tbody tr').length === 1")
        self.go(f"#/records/employees/employees/{urllib.parse.quote(row['id'], safe='')}", row["id"])
        self.press("Edit")
        self.answer({field: "Edited here"})
        self.said("Saved")
        self.assertEqual(self.control("records", "show", entity["name"], row["id"])["fields"][field], "Edited here")
        self.assertTrue(self.audit("administration.performed", "admin.records.set"))
        self.assertNotIn("Delete", self.page.run("[...document.querySelectorAll('main button')].map((one) => one.textContent)"))
        self.open("ada", f"#/records/employees/employees/{urllib.parse.quote(row['id'], safe='')}")
        self.press("Delete")
        self.answer()
        self.confirm()
        self.said("Deleted")
        self.control("records", "show", entity["name"], row["id"], status=1)

    def test_rows_of_callers_ask_for_a_reason(self):
        note = self.gateway.send("POST", "/api/v1/notes/notes", {"title": "for the console", "text": "x"}, user="alice").json()
        self.open("otto", "#/records/notes/notes")
        self.shown("belong to callers")
        self.assertNotIn("for the console", self.text())
        self.open("ada", "#/records/notes/notes")
        self.press("Give a reason")
        self.answer({"reason": "ticket 12"})
        self.shown("for the console")
        self.assertTrue([one for one in self.audit("records.read", "notes/notes") if one["detail"] == "ticket 12"])
        self.go(f"#/records/notes/notes/{note['id']}", note["id"])
        self.assertNotIn("Edit", self.page.run("[...document.querySelectorAll('main button')].map((one) => one.textContent)"))

    def test_the_log_the_audit_devices_and_the_configuration_are_shown(self):
        answer = self.gateway.get("/api/v1/notes/nothing", user="alice")
        self.open("vera", f"#/logs?request={answer.headers['x-request-id']}")
        self.shown("/api/v1/notes/nothing")
        self.go("#/audit", "Audit")
        self.shown("signIn.accepted")
        self.press("Verify")
        self.answer()
        self.page.until("document.querySelector('dialog[open] h2')?.textContent === 'It is intact'")
        self.answer()
        device = Device(self.gateway, "alice")
        device.change("create", "lag-1", {"title": "from a train", "text": "no signal"})
        stale = device.change("update", "nothing-there", {"title": "x"})
        self.go("#/devices", "Devices")
        self.shown("Live streams")
        self.shown("Changes that did not become the record")
        self.go(f"#/devices/{device.client}", device.client)
        self.shown("applied")
        self.shown(stale["outcome"])
        self.assertNotIn("no signal", self.page.run("document.querySelector('main').textContent"))
        self.go("#/configuration", "Configuration")
        self.fill("#find", "admin.roles")
        self.shown("[chief]")
        self.go("#/systems", "Other systems")
        self.shown("Mirrors")
        self.assertEqual(self.page.run("failed"), [])

    def test_each_role_sees_what_it_may_do_and_the_server_refuses_the_rest(self):
        buttons = "[...document.querySelectorAll('main button')].map((one) => one.textContent)"
        self.open("vera", "#/adapters/users")
        self.shown("Entities")
        self.assertEqual([one for one in self.page.run(buttons) if one in ("Restart", "Disable", "Enable")], [])
        self.go("#/people/alice", "alice")
        self.assertEqual([one for one in self.page.run(buttons) if one in ("Stop access now", "Roles", "Delete")], [])
        for name, paths in {
            "vera": ["/admin/v1/adapters/users/disable", "/admin/v1/configuration/apply", "/admin/v1/accounts/alice/disable"],
            "otto": ["/admin/v1/accounts/alice/disable", "/admin/v1/records/users/users/delete", "/admin/v1/tokens", "/admin/v1/console/links"],
        }.items():
            cookie, token = self.sign_in(name)
            for path in paths:
                status, _, value = self.ask("POST", path, {}, {**OWN, "Cookie": cookie, "X-CSRF-Token": token})
                self.assertEqual((status, value["error"]["code"]), (403, "access.denied"), (name, path))

    def test_what_anybody_wrote_runs_no_script(self):
        self.control("accounts", "add", "mark", "--display-name", MARKUP, stdin=PASSWORD + "\n")
        self.gateway.send("POST", "/api/v1/notes/notes", {"title": MARKUP, "text": MARKUP}, user="alice")
        self.gateway.get("/nothing/" + urllib.parse.quote(MARKUP))
        entity = next(one for one in self.control("records", "entities")["entities"] if one["name"] == "employees/employees")
        row = self.control("records", "list", entity["name"], "--limit", "1")["items"][0]
        fields = [one["name"] for one in entity["fields"] if one["type"] == "string" and one["editable"] and one["name"] != entity["key"]]
        self.control("records", "set", entity["name"], row["id"], f"{fields[0]}={MARKUP}")
        self.open("ada")
        for place in ("#/people", "#/people/mark", "#/records/employees/employees", f"#/records/employees/employees/{urllib.parse.quote(row['id'], safe='')}",
                      "#/logs?level=trace", "#/audit", f"#/records/{urllib.parse.quote(MARKUP)}", f"#/adapters/{urllib.parse.quote(MARKUP, safe='')}", "#/devices"):
            self.go(place)
            self.page.until("!document.querySelector('main')?.innerText.includes('Loading')")
            time.sleep(0.2)
        self.go("#/records/notes/notes")
        self.press("Give a reason")
        self.answer({"reason": MARKUP})
        self.shown("onerror")
        self.go("#/audit", "Audit")
        self.shown("onerror")
        self.assertIsNone(self.page.run("globalThis.ran ?? null"))
        self.assertEqual(self.page.run("document.querySelectorAll('main img, main script, dialog img').length"), 0)

    def test_a_page_on_another_port_can_do_nothing(self):
        """The browser sends the cookie: the same host, so the same site."""
        self.open("ada")
        token = self.page.run("(await (await fetch('/console/session')).json()).csrfToken")

        class Empty(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(200)
                self.send_header("Content-Type", "text/html")
                self.end_headers()
                self.wfile.write(b"<!DOCTYPE html><title>other</title>")

            def log_message(self, *_):
                pass

        server = http.server.HTTPServer(("127.0.0.1", 0), Empty)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.shutdown)
        self.page.go(f"http://127.0.0.1:{server.server_port}/")
        tried = self.page.run(f"""await Promise.all([
            ['GET', '/admin/v1/status'], ['GET', '/console/session'], ['GET', '/metrics'], ['POST', '/admin/v1/adapters/users/disable'],
            ['POST', '/console/session/end'], ['POST', '/admin/v1/accounts/alice/disable']].flatMap(([method, path]) => ['cors', 'no-cors'].map(async (mode) => {{
                const options = {{ method, mode, credentials: 'include' }};
                if (mode === 'cors') options.headers = {{ 'X-CSRF-Token': {json.dumps(token)} }};
                if (method === 'POST') options.body = '{{}}';
                try {{ const answer = await fetch({json.dumps(self.url)} + path, options); return await answer.text(); }} catch {{ return ''; }}
            }})))""")
        self.assertEqual(set(tried), {""})
        self.assertEqual(self.gateway.get("/v2/list", user="alice").status, 200)
        self.page.run(f"void (document.body.innerHTML = '<iframe src={self.url}/console/></iframe>')")
        time.sleep(0.5)
        self.assertEqual(self.page.run("(() => { try { return document.querySelector('iframe').contentDocument?.title ?? '' } catch { return '' } })()"), "")
        self.page.go(f"{self.url}/console/")
        self.page.until("document.querySelector('main h1')?.textContent === 'Overview'")

    def test_the_log_is_asked_for_by_the_address_and_its_levels_are_set(self):
        self.open("otto", "#/logs?level=warning&from=2026-01-01T00:00:00")
        self.page.until("document.querySelector('#level')?.value === 'warning'")
        self.assertIn("2026-01-01T00:00", self.page.run("document.querySelector('#from').value"))
        self.fill("#level", "trace")
        self.page.until("location.hash.includes('level=trace') && location.hash.includes('from=2026')")
        self.page.run("document.querySelector('details.levels').open = true")
        self.fill("#level-identity", "debug")
        self.said("identity")
        levels = {one["module"]: one for one in self.control("logs", "levels")["levels"]}
        self.assertEqual((levels["identity"]["level"], levels["identity"]["own"]), ("debug", True))
        self.fill("#level-identity", "")
        self.page.until("document.querySelector('#level-identity').value === ''")
        self.assertEqual(self.page.run("failed"), [])

    def test_lines_of_others_are_found_behind_any_number_of_the_consoles_own(self):
        cookie, _ = self.sign_in("vera")
        self.gateway.get("/api/v1/notes/nothing-of-this", user="alice")
        for _ in range(30):
            self.ask("GET", "/admin/v1/status?nonsense=1", headers={**OWN, "Cookie": cookie})
        body = {"limit": 20, "operators": False}
        lines = self.ask("POST", "/admin/v1/logs/search", body, {**OWN, "Cookie": cookie})[2]["lines"]
        self.assertTrue([one for one in lines if "nothing-of-this" in one.get("path", "")], lines)

    def test_the_audit_is_filtered_by_the_server(self):
        self.open("ada", "#/audit")
        self.page.until("!!document.querySelector('#kind')")
        self.assertIn("store.restored", self.page.run("[...document.querySelectorAll('#kind option')].map((one) => one.value)"))
        self.fill("#kind", "signIn.accepted")
        self.page.until("location.hash.includes('kind=signIn.accepted')")
        self.page.until("new Set([...document.querySelectorAll('main tbody tr td:nth-child(3)')].map((one) => one.textContent)).size === 1")
        self.fill("#person", "nobody-of-this-name")
        self.page.run("document.querySelector('main form.tools').requestSubmit()")
        self.shown("There are no such entries.")

    def test_the_focus_goes_to_the_heading_and_back_to_what_was_pressed(self):
        self.open("ada", "#/people")
        focus = "document.activeElement"
        self.page.until(f"{focus}.tagName === 'H1' && {focus}.textContent === 'People'")
        self.page.run("document.querySelector('.skip').click()")
        self.assertEqual(self.page.run("[location.hash, document.activeElement.id]"), ["#/people", "content"])
        self.go("#/people/alice", "alice")
        self.page.until(f"{focus}.textContent === 'alice'")
        stop = "[...document.querySelectorAll('main button')].find((one) => one.textContent === 'Stop access now')"
        self.page.run(f"({stop}.focus(), {stop}.click())")
        self.page.until(f"{focus}.textContent === 'Cancel'")
        self.page.run(f"{focus}.click()")
        self.page.until(f"{focus}.textContent === 'Stop access now'")
        self.page.run(f"{stop}.click()")
        self.page.until("!!document.querySelector('dialog[open]')")
        self.go("#/audit", "Audit")
        self.page.until("!document.querySelector('dialog')")

    def test_an_action_that_failed_is_confirmed_anew(self):
        self.open("ada", "#/people")
        for _ in range(2):
            self.page.run("delete globalThis.lost")
            self.page.run(
                "void import('/console/gateway.js').then(({ change }) => change('/admin/v1/accounts/of-nobody/roles', { roles: ['member'] }))"
                ".catch((error) => { globalThis.lost = error.code; })")
            self.confirm()
            self.page.until("globalThis.lost === 'record.notFound'")
            self.page.until("!document.querySelector('dialog')")

    def test_sessions_at_the_console_are_shown_and_end(self):
        self.control("accounts", "add", "cora", "--role", "watch", stdin=PASSWORD + "\n")
        cookie, _ = self.sign_in("cora")
        headers = {**OWN, "Cookie": cookie}
        self.assertEqual(self.ask("GET", "/admin/v1/status", headers=headers)[0], 200)
        self.control("keys", "create", "cora", "--title", "a key")
        self.open("ada", "#/people/cora")
        self.shown("Console")
        self.press("End")
        self.said("has ended")
        self.assertEqual(self.ask("GET", "/admin/v1/status", headers=headers)[0], 401)
        self.press("Stop access now")
        self.page.until("document.querySelector('dialog[open]')?.innerText.includes('1 API key')")
        self.page.run("void (document.querySelector('dialog [name=keys]').checked = true)")
        self.answer()
        self.said("revoked")
        self.assertEqual(self.control("keys", "list", "cora")["keys"], [])

    def test_a_view_that_does_not_repeat_itself_says_that_the_gateway_is_away(self):
        self.open("ada", "#/people")
        self.shown("alice")
        self.page.has_network(False)
        self.page.until("document.getElementById('notice')?.innerText.includes('does not answer')")
        self.page.has_network(True)
        self.page.until("document.getElementById('notice').hidden")

    def test_an_ended_session_leads_to_the_sign_in(self):
        self.control("accounts", "add", "eva", "--role", "watch", stdin=PASSWORD + "\n")
        self.open("eva")
        self.control("accounts", "disable", "eva")
        self.page.until("!!document.querySelector('portico-sign-in')")
        self.assertIn("Your session has ended", self.text())
        self.assertNotIn("null", self.text())

    def test_every_control_has_a_name_and_every_view_fits_a_phone(self):
        self.open("ada")
        for width in (1280, 390):
            self.page.call("Emulation.setDeviceMetricsOverride", width=width, height=800, deviceScaleFactor=1, mobile=width < 600)
            for place in ("#/", "#/records", "#/records/employees/employees", "#/systems", "#/people", "#/people/alice", "#/adapters", "#/adapters/notes",
                          "#/logs", "#/audit", "#/devices", "#/configuration"):
                self.go(place)
                self.page.until("!document.querySelector('main').innerText.includes('Loading')")
                self.assertEqual(self.page.run(UNNAMED), [], place)
                self.assertLessEqual(self.page.run("document.documentElement.scrollWidth - innerWidth"), 0, (place, width))

    def test_while_the_gateway_is_away_the_page_says_so_and_goes_on(self):
        self.open("ada")
        self.page.has_network(False)
        self.page.until("document.getElementById('notice')?.innerText.includes('does not answer')")
        self.page.has_network(True)
        self.page.until("document.getElementById('notice').hidden")


@unittest.skipUnless(browser.program(), "this machine has no Chromium")
class MirrorPages(PageTest):
    """A mirror whose refresh is held back, seen in the overview, previewed and released."""

    @classmethod
    def configuration(cls):
        cls.system = MirroredSystem()
        cls.addClassCleanup(cls.system.stop)
        folder = pathlib.Path(tempfile.mkdtemp(prefix="portico-console-"))
        cls.addClassCleanup(shutil.rmtree, folder, True)
        config = folder / "portico.yaml"
        cls.config = config
        config.write_text(CONFIGURATION.format(
            url=cls.system.address, employees=MIRROR, users=MIRROR, access="public-read", credentials=""))
        return str(config)

    def test_a_changed_file_is_seen_and_a_restart_is_said_by_its_keys(self):
        self.open("otto", "#/configuration")
        self.shown("The same as what is used.")
        text = self.config.read_text()
        self.addCleanup(self.config.write_text, text)
        self.config.write_text(text.replace("sampleData: true", "sampleData: true, probe: 3s"))
        self.shown("store.probe")
        self.press("Reload")
        self.page.until("!!document.getElementById('toast')")
        self.assertIn("store.probe", self.page.run("document.getElementById('toast').textContent"))
        self.assertNotIn("main", self.page.run("[...document.querySelectorAll('main button')].find((one) => one.textContent === 'Reload').className"))
        self.assertEqual(self.audit("administration.performed", "admin.configuration.apply")[0]["detail"], "nothing changed")

    def test_a_mirror_that_is_held_back_is_found_previewed_and_released(self):
        self.control("mirrors", "refresh", "employees/employees")
        del self.system.employees[20:]
        self.control("mirrors", "refresh", "employees/employees", status=1)
        self.open("ada")
        self.shown("employees/employees is not refreshed")
        self.go("#/systems/mirrors/employees/employees", "employees/employees")
        self.shown("A refresh is held back")
        self.press("Preview")
        self.page.until("document.querySelector('dialog[open]')?.innerText.includes('Gone (the first 20 of 40)')")
        self.assertEqual(self.page.run("document.querySelectorAll('dialog[open] form > .row button').length"), 1)
        self.assertGreaterEqual(self.page.run("document.querySelector('dialog[open] h2').getBoundingClientRect().top"), 0)
        self.answer()
        self.press("Release")
        self.answer()
        self.confirm()
        self.said("40 gone")
        self.assertEqual(self.control("mirrors", "show", "employees/employees")["records"], 20)
        self.assertTrue(self.audit("administration.performed", "admin.mirrors.release"))


if __name__ == "__main__":
    unittest.main()
