"""The rules of axe over every page and every view of the console, signed in and not, with records and without, on a phone and on a
desk, in light and in dark.

    .build/axe-venv/bin/python -B -m unittest discover -s Tests/Accessibility

Needs .build/axe-venv (`make .build/axe-venv/done`) and the debug build.
"""

import json
import pathlib
import sys
import unittest

import axe_core_python

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "EndToEnd"))

import browser
import test_console
from harness import GatewayTest
from sync_device import Device

AXE = (pathlib.Path(axe_core_python.__file__).parent / "axe.min.js").read_text()
STUDENTS = "/api/v1/odata/admissions-Students"
# What is waited for before a page is judged, by what it shows.
SIGNED_OUT = {
    "/": "!!document.querySelector('.copy')",
    "/auth/login?next=/chat/": "!!document.querySelector('form')",
    "/account/": "!!document.querySelector('main button')",
    "/chat/": "!document.querySelector('#welcome').hidden",
    "/client/": "!document.querySelector('#welcome').hidden",
    "/docs/": "document.querySelector('main h1')?.textContent === 'What is served here'",
    "/nothing": "!!document.querySelector('[role=alert]')",
    "/errors": "!!document.querySelector('main li')",
    "/plists/sonnets": "!!document.querySelector('table')",
}
SIGNED_IN = {
    "/": "!!document.querySelector('.who')",
    "/auth/login": "!!document.querySelector('form')",
    "/account/": "!!document.querySelector('table')",
    "/api/v1/notes/notes": "!!document.querySelector('table')",
    "/api/v1/notes/notes?filter=title%20eq%20'no%20such'": "!!document.querySelector('.nothing')",
    f"{STUDENTS}?order=-LastName&search=a": "!!document.querySelector('table')",
    f"{STUDENTS}/1": "!!document.querySelector('table')",
    "/v2/101": "!!document.querySelector('table')",
    "/chat/": "document.querySelector('#messages li') ? true : document.querySelector('#rooms button:not([aria-current])')?.click()",
    "/client/": "document.querySelector('portico-note:not([hidden])') ? true : document.querySelector('portico-notes button')?.click()",
    "/docs/#/notes/entities/notes": "document.querySelector('main h1')?.textContent === 'notes'",
    "/docs/#/operations/notes_notes_create": "!!document.querySelector('portico-operation form')",
}


class Judge:
    """What axe says of what a page shows."""

    def judge_each(self, page, places, show):
        for width in (1280, 390):
            page.call("Emulation.setDeviceMetricsOverride", width=width, height=844, deviceScaleFactor=1, mobile=width < 400)
            for scheme in ("light", "dark"):
                page.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
                for place in places:
                    with self.subTest(place=place, width=width, scheme=scheme):
                        show(place)
                        self.assertEqual(self.violations(page), [])

    def violations(self, page):
        page.run(f"void eval({json.dumps(AXE)})")
        found = page.run("await axe.run(document, { resultTypes: ['violations'] })")["violations"]
        return [f"{rule['id']}: {rule['help']} — {[node['html'][:200] for node in rule['nodes'][:3]]}" for rule in found]


@unittest.skipUnless(browser.program(), "this machine has no Chromium")
class Pages(Judge, GatewayTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.address = f"http://127.0.0.1:{cls.gateway.port}"
        cls.browser = browser.Browser()
        cls.addClassCleanup(cls.browser.close)
        for number in range(3):
            cls.gateway.send("POST", "/api/v1/notes/notes", {"title": f"Note {number}", "text": "Milk\nBread"}, user="alice")
        room = cls.gateway.send("POST", "/chat/v1/rooms", {"name": "Lunch", "members": ["bob"]}, user="alice").json()["room"]
        for user, text in (("alice", "At twelve? https://example.com/menu"), ("bob", "Half past")):
            cls.gateway.send("POST", f"/chat/v1/rooms/{room['id']}/messages", {"text": text}, user=user)

    def page(self, user=None):
        person = self.browser.person()
        self.addCleanup(person.leave)
        page = person.page(f"{self.address}/pages/base.css")
        # The policy of a page lets no other script in; the tool is none of the page's.
        page.call("Page.setBypassCSP", enabled=True)
        if user:
            page.run(f"await (await import('{self.address}/client/portico.js')).connect().signIn('{user}', 'portico-demo')")
        return page

    def judge(self, page, pages):
        def show(path):
            page.go(self.address + path)
            page.until(pages[path])

        self.judge_each(page, pages, show)

    def test_no_rule_is_broken_for_a_visitor(self):
        self.judge(self.page(), SIGNED_OUT)

    def test_no_rule_is_broken_for_who_is_signed_in(self):
        self.judge(self.page("alice"), SIGNED_IN)

    def test_no_rule_is_broken_where_there_is_nothing(self):
        self.judge(self.page("carol"), {
            "/api/v1/notes/notes": "!!document.querySelector('.nothing')",
            "/client/": "!document.querySelector('#work').hidden && !!document.querySelector('portico-notes .nothing')",
            "/chat/": "!document.querySelector('#work').hidden",
            "/account/": "!!document.querySelector('.nothing')",
        })

    def test_no_rule_is_broken_while_a_dialog_is_open(self):
        page = self.page()
        for path in ("/docs/", "/account/", "/client/"):
            with self.subTest(path):
                page.go(self.address + path)
                page.until("!!document.querySelector('portico-account button')")
                page.run("document.querySelector('portico-account button').click()")
                page.until("document.querySelector('dialog').open")
                self.assertEqual(self.violations(page), [])

    def test_the_judge_finds_what_is_wrong(self):
        page = self.page()
        page.go(self.address + "/")
        page.run("void document.querySelector('main').append(document.createElement('input'))")
        self.assertTrue(any(line.startswith("label:") for line in self.violations(page)))


class ConsoleTest(Judge, test_console.PageTest):
    def open(self, *arguments):
        super().open(*arguments)
        # The policy of a page lets no other script in; the tool is none of the page's.
        self.page.call("Page.setBypassCSP", enabled=True)
        self.page.reload()
        self.page.until("!!document.querySelector('main h1')")

    def judge_views(self, places):
        def show(place):
            self.go(place)
            self.page.until("!document.querySelector('main').innerText.includes('Loading')")

        self.judge_each(self.page, places, show)

    def judge_as_it_is(self, page, name):
        self.judge_each(page, [name], lambda _: None)


@unittest.skipUnless(browser.program(), "this machine has no Chromium")
class Console(ConsoleTest):
    def test_no_rule_is_broken_in_any_view(self):
        device = Device(self.gateway, "alice")
        device.change("create", "axe-1", {"title": "from a train", "text": ""})
        device.change("update", "nothing-there", {"title": "x"})
        self.control("keys", "create", "alice", "--title", "a key")
        row = self.control("records", "list", "employees/employees", "--limit", "1")["items"][0]["id"]
        self.open("ada")
        self.judge_views([
            "#/", "#/records", "#/records/employees/employees", f"#/records/employees/employees/{row}", "#/records/notes/notes", "#/systems",
            "#/people", "#/people/alice", "#/adapters", "#/adapters/notes", "#/logs", "#/audit", "#/devices", f"#/devices/{device.client}",
            "#/configuration", "#/nothing"])

    def test_no_rule_is_broken_before_a_sign_in_and_in_a_dialog(self):
        person = self.browser.person()
        self.addCleanup(person.leave)
        page = person.page()
        page.call("Page.setBypassCSP", enabled=True)
        page.go(f"{self.url}/console/")
        page.until("!!document.querySelector('portico-sign-in form')")
        self.judge_as_it_is(page, "sign-in")
        self.open("ada", "#/people/alice")
        self.press("Stop access now")
        self.page.until("!!document.querySelector('dialog[open]')")
        self.judge_as_it_is(self.page, "dialog")

    def test_no_rule_is_broken_while_the_gateway_is_away(self):
        self.open("ada")
        self.page.until("!!document.querySelector('.heading .badge')")
        self.page.has_network(False)
        self.page.until("document.getElementById('notice')?.innerText.includes('does not answer')")
        self.assertEqual(self.page.run("document.querySelector('.heading .badge').textContent"), "It does not answer")
        self.judge_as_it_is(self.page, "away")


@unittest.skipUnless(browser.program(), "this machine has no Chromium")
class FailingSystem(ConsoleTest):
    # As its own: what it starts is kept by the class.
    configuration = test_console.MirrorPages.__dict__["configuration"]

    def test_no_rule_is_broken_where_another_system_fails(self):
        self.control("mirrors", "refresh", "employees/employees")
        del self.system.employees[20:]
        self.control("mirrors", "refresh", "employees/employees", status=1)
        self.open("ada")
        self.judge_views(["#/", "#/systems", "#/systems/upstreams/hr", "#/systems/mirrors/employees/employees"])


if __name__ == "__main__":
    unittest.main()
