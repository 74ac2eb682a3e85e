"""The chat's page in a real browser: two people who talk, by keyboard, on a wide screen and on a phone's."""

import base64
import json
import os
import pathlib
import subprocess
import time
import unittest
import uuid

import browser
from harness import ROOT, Gateway, GatewayTest

#: The folder for screenshots.
PICTURES = os.environ.get("PORTICO_SCREENSHOTS")

TEXTS = "[...document.querySelectorAll('#messages .text')].map((text) => text.textContent)"
ACCESSIBLE = """[...document.querySelectorAll('input, textarea, button')]
    .filter((control) => control.checkVisibility() && !(control.labels?.length || control.textContent.trim() ||
        control.getAttribute('aria-label'))).map((control) => control.outerHTML)"""


@unittest.skipUnless(browser.program(), "this machine has no Chromium")
class ChatPage(GatewayTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.address = f"http://127.0.0.1:{cls.gateway.port}/chat/"
        cls.browser = browser.Browser()
        cls.addClassCleanup(cls.browser.close)

    def sign_in(self, user, gateway=None):
        person = self.browser.person()
        self.addCleanup(person.leave)
        page = person.page(f"http://127.0.0.1:{gateway.port}/chat/" if gateway else self.address)
        page.until("!document.querySelector('#welcome').hidden")
        page.run("document.querySelector('#enter').click()")
        page.run(f"void (document.querySelector('#username').value = '{user}')")
        page.run("void (document.querySelector('#password').value = 'portico-demo')")
        page.run("document.querySelector('dialog form').requestSubmit()")
        page.until("!document.querySelector('#work').hidden")
        return page

    def room(self, *members, gateway=None, **fields):
        name = f"Room {uuid.uuid4()}"
        made = (gateway or self.gateway).send("POST", "/chat/v1/rooms", {"name": name, "members": members, **fields}, user="alice")
        return self.expect(made, 200).json()["room"]

    def say(self, room, text, user="alice", gateway=None):
        path = f"/chat/v1/rooms/{room['id']}/messages"
        return self.expect((gateway or self.gateway).send("POST", path, {"text": text}, user=user), 200).json()["message"]

    def enter(self, page, room):
        page.until(f"!!document.querySelector('[data-room=\"{room['id']}\"]')")
        page.run(f"document.querySelector('[data-room=\"{room['id']}\"]').click()")
        page.until(f"document.querySelector('#room-title').textContent === {json.dumps(room['name'])}")
        page.until("document.activeElement.id === 'text'")

    def type(self, page, text):
        page.call("Input.insertText", text=text)

    def press(self, page, key):
        codes = {"Enter": (13, "\r"), "Tab": (9, ""), "Escape": (27, "")}
        code, text = codes[key]
        named = {"key": key, "code": key, "windowsVirtualKeyCode": code}
        page.call("Input.dispatchKeyEvent", type="keyDown", text=text, **named)
        page.call("Input.dispatchKeyEvent", type="keyUp", **named)

    def shows(self, page, *texts):
        page.until(f"JSON.stringify({TEXTS}) === {json.dumps(json.dumps(texts, separators=(',', ':'), ensure_ascii=False))}")

    def picture(self, page, name, width, height):
        data = base64.b64decode(page.screenshot(width, height))
        self.assertTrue(data.startswith(b"\x89PNG"))
        if PICTURES:
            pathlib.Path(PICTURES, f"{name}.png").write_bytes(data)

    def test_two_people_talk_by_keyboard(self):
        room = self.room("bob")
        self.say(room, "Lunch at twelve? <b>not bold</b>")
        alice, bob = self.sign_in("alice"), self.sign_in("bob")
        self.enter(alice, room)
        self.enter(bob, room)
        self.shows(bob, "Lunch at twelve? <b>not bold</b>")
        self.type(bob, "Half past")
        alice.until("document.querySelector('#typing').textContent === 'bob is typing…'")
        self.press(bob, "Enter")
        for page in (alice, bob):
            self.shows(page, "Lunch at twelve? <b>not bold</b>", "Half past")
        bob.until("document.querySelector('#text').value === ''")
        alice.until("document.querySelector('#members').textContent.includes('bob (online)')")
        self.picture(alice, "wide", 1100, 700)
        self.assertEqual(alice.run(ACCESSIBLE), [])

    def test_addresses_in_a_message_are_links_and_nothing_else_is_markup(self):
        room = self.room("bob")
        text = "The menu (https://example.com/menu?day=4&x=1). <img src=x onerror=globalThis.ran=1> javascript:alert(1) https://"
        self.say(room, text)
        bob = self.sign_in("bob")
        self.enter(bob, room)
        self.shows(bob, text)
        links = bob.run("[...document.querySelectorAll('#messages a')].map((one) => [one.href, one.rel])")
        self.assertEqual(links, [["https://example.com/menu?day=4&x=1", "noopener noreferrer nofollow"]])
        self.assertEqual(bob.run("document.querySelectorAll('#messages img').length"), 0)
        self.assertIsNone(bob.run("globalThis.ran ?? null"))

    def test_what_is_unread_is_counted_until_it_is_read(self):
        room = self.room("bob")
        bob = self.sign_in("bob")
        button = f"document.querySelector('[data-room=\"{room['id']}\"]')"
        bob.until(f"!!{button}")
        for n in range(3):
            self.say(room, f"news {n}")
        bob.until(f"{button}.getAttribute('aria-label')?.endsWith(', 3 unread')")
        self.enter(bob, room)
        bob.until(f"!{button}.getAttribute('aria-label')")
        end = time.monotonic() + 30
        while True:
            unread = {r["room"]: r["unread"] for r in self.gateway.get("/chat/v1/unread", user="bob").json()["rooms"]}
            if unread[room["id"]] == 0:
                break
            self.assertLess(time.monotonic(), end)
            time.sleep(0.1)

    def test_history_goes_back_page_after_page(self):
        room = self.room()
        for n in range(60):
            self.say(room, f"line {n}")
        alice = self.sign_in("alice")
        self.enter(alice, room)
        self.shows(alice, *[f"line {n}" for n in range(10, 60)])
        alice.run("document.querySelector('#earlier').click()")
        self.shows(alice, *[f"line {n}" for n in range(60)])
        alice.until("document.querySelector('#earlier').hidden")

    def test_a_lost_connection_comes_back_with_what_was_missed(self):
        gateway = Gateway()
        self.addCleanup(gateway.remove)
        room = self.room("bob", gateway=gateway)
        bob = self.sign_in("bob", gateway)
        self.enter(bob, room)
        self.say(room, "before", gateway=gateway)
        self.shows(bob, "before")
        gateway.kill()
        bob.until("document.querySelector('#state').textContent.startsWith('The connection is lost')")
        again = Gateway("--set", f"http.port={gateway.port}", data=gateway.data)
        self.addCleanup(again.remove)
        self.say(room, "meanwhile", gateway=again)
        self.shows(bob, "before", "meanwhile")

    def test_who_is_sent_away_sees_the_room_no_more(self):
        room = self.room("bob")
        bob = self.sign_in("bob")
        self.enter(bob, room)
        self.gateway.request("DELETE", f"/chat/v1/rooms/{room['id']}/members/bob", user="alice")
        bob.until("document.querySelector('#conversation').hidden")
        bob.until(f"!document.querySelector('[data-room=\"{room['id']}\"]')")

    def test_on_a_phone_there_is_one_thing_at_a_time(self):
        room = self.room("bob")
        self.say(room, "A word that is too long for a phone: " + "x" * 200)
        bob = self.sign_in("bob")
        bob.screenshot(360, 640)
        visible = "document.querySelector('{}').checkVisibility()"
        bob.until(f"!!document.querySelector('[data-room=\"{room['id']}\"]')")
        self.assertTrue(bob.run(visible.format("nav")))
        self.picture(bob, "phone-rooms", 360, 640)
        self.enter(bob, room)
        self.assertFalse(bob.run(visible.format("nav")))
        bob.until("document.querySelectorAll('#messages li').length === 1")
        self.assertLessEqual(bob.run("document.documentElement.scrollWidth"), 360)
        self.picture(bob, "phone-room", 360, 640)
        self.press(bob, "Escape")
        self.assertTrue(bob.run(visible.format("nav")))

    def test_the_files_are_public_and_read_only(self):
        for name in ("", "chat.js", "chat.css", "service.js"):
            answer = self.expect(self.gateway.get(f"/chat/{name}"), 200)
            self.assertIn("default-src 'none'", answer.headers["content-security-policy"])


class DemoPeople(unittest.TestCase):
    """What `make run` gives the demo's accounts once it listens."""

    def test_they_talk_under_their_own_names_and_only_once(self):
        gateway = Gateway()
        self.addCleanup(gateway.remove)

        def rooms():
            found = {}
            for room in gateway.get("/chat/v1/rooms", user="carol").json()["rooms"]:
                messages = gateway.get(f"/chat/v1/rooms/{room['id']}/messages", user="carol").json()["messages"]
                found[room["name"]] = [message["user"] for message in messages]
            return found

        for _ in range(2):
            subprocess.run([ROOT / ".ci" / "demo-people", f"http://127.0.0.1:{gateway.port}"], check=True, timeout=120)
            self.assertEqual(set(rooms()), {"Summer party", "Admissions", "Lunch"})
            self.assertEqual(rooms()["Admissions"], ["carol", "alice", "carol"])
            self.assertEqual(len(gateway.get("/api/v1/notes/notes", user="alice").json()["items"]), 3)


if __name__ == "__main__":
    unittest.main()
