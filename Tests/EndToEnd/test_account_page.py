"""The page of one's own account in a real browser: sign-ins, keys, the password, by mouse and by keyboard."""

import json
import re
import unittest

import browser
from harness import JSON, Gateway, GatewayTest

MARKUP = "<img src=x onerror=globalThis.ran=1>"


@unittest.skipUnless(browser.program(), "this machine has no Chromium")
class AccountPage(GatewayTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.browser = browser.Browser()
        cls.addClassCleanup(cls.browser.close)

    def open(self, user="alice", gateway=None):
        person = self.browser.person()
        self.addCleanup(person.leave)
        page = person.page(f"http://127.0.0.1:{(gateway or self.gateway).port}/account/")
        page.until("!!document.querySelector('main button')")
        page.run("document.querySelector('main button').click()")
        page.run(f"void (document.querySelector('#username').value = '{user}')")
        page.run("void (document.querySelector('#password').value = 'portico-demo')")
        page.run("document.querySelector('dialog form').requestSubmit()")
        page.until("!!document.querySelector('#sessions')")
        return page

    def fill(self, page, **fields):
        for name, value in fields.items():
            page.run(f"void (document.getElementById('{name.replace('_', '-')}').value = {json.dumps(value)})")

    def press(self, page, words):
        page.run(f"[...document.querySelectorAll('main button')].find((one) => one.textContent === {json.dumps(words)}).click()")

    def confirm(self, page, words):
        self.press(page, words)
        self.press(page, f"{words}: sure?")

    def test_it_names_who_is_signed_in_and_ends_a_sign_in_elsewhere(self):
        other = self.gateway.login("alice").json()["accessToken"]
        page = self.open()
        self.assertEqual(page.run("document.querySelector('h1').textContent"), "alice")
        page.until("document.querySelector('tbody tr').textContent.includes('This browser')")
        rows = page.run("document.querySelectorAll('tbody tr').length")
        while rows > 1:
            self.confirm(page, "End")
            page.until(f"document.querySelectorAll('tbody tr').length === {rows - 1}")
            rows -= 1
        self.expect(self.gateway.get("/auth/me", token=other), 401)
        self.assertEqual(page.run("(await fetch('/auth/me')).status"), 200)

    def test_a_key_is_made_shown_once_used_and_revoked(self):
        page = self.open("bob")
        page.run("document.querySelector('main details').open = true")
        self.fill(page, key_title=f"backup {MARKUP}", key_days="7")
        page.run("document.querySelector('#key-adapter-notes').click()")
        page.run("document.querySelector('#key-read').click()")
        self.press(page, "Make the key")
        page.until("!!document.querySelector('.made code')")
        key = page.run("document.querySelector('.made code').textContent")
        self.expect(self.gateway.get("/api/v1/notes/notes", JSON, token=key), 200)
        self.expect(self.gateway.send("POST", "/api/v1/notes/notes", {"title": "t"}, token=key), 403)
        self.expect(self.gateway.get("/v2/list", JSON, token=key), 403)
        self.assertIn(f"Authorization: Bearer {key}", page.run("document.querySelector('.made').textContent"))
        self.assertEqual(page.run("document.querySelectorAll('main img').length"), 0)
        self.assertIsNone(page.run("globalThis.ran ?? null"))
        page.reload()
        page.until("!!document.querySelector('#keys')")
        self.assertNotIn(key, page.run("document.body.textContent"))
        self.assertRegex(page.run("document.querySelector('section[aria-labelledby=keys]').textContent"), re.escape(f"backup {MARKUP}"))
        self.press(page, "Revoke")
        self.expect(self.gateway.get("/api/v1/notes/notes", JSON, token=key), 200)
        self.press(page, "Revoke: sure?")
        page.until("document.querySelector('section[aria-labelledby=keys]').textContent.includes('You have no key.')")
        self.expect(self.gateway.get("/api/v1/notes/notes", JSON, token=key), 401)

    def test_the_password_is_changed_and_other_sign_ins_end(self):
        gateway = Gateway()
        self.addCleanup(gateway.remove)
        other = gateway.login("carol").json()["accessToken"]
        page = self.open("carol", gateway)

        def change(old, new, again):
            self.fill(page, old=old, new=new, again=again)
            self.press(page, "Change it")

        problem = "document.querySelector('section[aria-labelledby=password-title] .problem').textContent"
        change("portico-demo", "another-one", "another-two")
        page.until(f"{problem} === 'The new password is not the same twice.'")
        change("wrong", "another-one", "another-one")
        page.until(f"{problem} && !{problem}.includes('twice')")
        change("portico-demo", "another-one", "another-one")
        page.until("document.querySelector('#changed').textContent.startsWith('The password is changed')")
        self.assertEqual(gateway.get("/auth/me", token=other).status, 401)
        self.assertEqual(gateway.send("POST", "/auth/login", {"username": "carol", "password": "another-one"}).status, 200)

    def test_signing_out_everywhere_ends_all_of_them(self):
        other = self.gateway.login("carol").json()["accessToken"]
        page = self.open("carol")
        self.confirm(page, "Sign out everywhere")
        page.until("document.querySelector('main').textContent.includes('Signed in, you see here')")
        self.expect(self.gateway.get("/auth/me", token=other), 401)

    def test_it_is_used_by_keyboard_and_fits_a_phone(self):
        page = self.open()
        names = []
        for _ in range(40):
            for kind in ("keyDown", "keyUp"):
                page.call("Input.dispatchKeyEvent", type=kind, key="Tab", code="Tab", windowsVirtualKeyCode=9)
            names.append(page.run("document.activeElement?.id || document.activeElement?.textContent.trim()"))
        for name in ("Skip to the content", "Sign out", "Sign out everywhere", "Make a key", "old", "new", "again", "Change it"):
            self.assertIn(name, names)
        page.call("Emulation.setDeviceMetricsOverride", width=390, height=844, deviceScaleFactor=1, mobile=True)
        self.assertLessEqual(page.run("document.documentElement.scrollWidth"), 390)


if __name__ == "__main__":
    unittest.main()
