"""Pushes: Apple's service as a stand-in that speaks HTTP/2 and checks tokens, a webhook, and what goes wrong with them."""

import base64
import hashlib
import hmac
import http.server
import json
import os
import pathlib
import subprocess
import tempfile
import threading
import time
import unittest

import apns_stand_in

from harness import Gateway, GatewayTest, run_portico

TIMEOUT = 60
TOPIC, TEAM, KEY = "com.example.chat", "TEAM123456", "KEY1234567"


def openssl(*arguments):
    subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True)


def certificate(folder):
    """For 127.0.0.1, signed by itself: the certificate's and the key's paths."""
    key, pem = folder / "server.key", folder / "server.pem"
    openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", key,
            "-out", pem, "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1")
    return pem, key


class Webhook:
    """Answers with the statuses it is given, then 204; keeps what came."""

    def __init__(self):
        self.statuses, self.posts, self.lock = [], [], threading.Lock()
        # Answers wait for it.
        self.released = threading.Event()
        self.released.set()
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                with outer.lock:
                    outer.posts.append(({name.lower(): value for name, value in self.headers.items()}, body))
                    status = outer.statuses.pop(0) if outer.statuses else 204
                outer.released.wait(TIMEOUT)
                self.send_response(status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.handle_error = lambda *_: None  # A client that closes its connection is no news.
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class Pushes(GatewayTest):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="portico-push-"))
        pem, key = certificate(cls.folder)
        openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", cls.folder / "sec1.pem")
        openssl("pkcs8", "-topk8", "-nocrypt", "-in", cls.folder / "sec1.pem", "-out", cls.folder / "apns.p8")
        openssl("ec", "-in", cls.folder / "sec1.pem", "-pubout", "-out", cls.folder / "apns.pub")
        cls.apple, cls.webhook = apns_stand_in.StandIn(pem, key), Webhook()
        config = cls.folder / "push.yaml"
        demo = pathlib.Path(__file__).resolve().parents[2] / "Config/demo.yaml"
        (cls.folder / "odata").symlink_to(demo.parent / "odata")
        config.write_text(demo.read_text() + f"""
upstreams:
  apple: {{ url: "https://localhost:{cls.apple.port}", certificates: [{pem}], networks: [127.0.0.0/8, "::1/128"] }}
  hook: {{ url: http://127.0.0.1:{cls.webhook.port}, networks: [127.0.0.0/8] }}
push:
  log: true
  limits: {{ pause: 20ms }}
  apns:
    upstream: apple
    topic: {TOPIC}
    team: {TEAM}
    keyID: {KEY}
    key: {{ file: {cls.folder / "apns.p8"} }}
  webhook:
    upstream: hook
    path: pushes
    secret: {{ env: WEBHOOK_SECRET }}
""")
        cls.gateway = Gateway(config=str(config), environment={"WEBHOOK_SECRET": "a secret"})
        cls.addClassCleanup(cls.apple.close)
        cls.addClassCleanup(cls.webhook.close)

    def call(self, method, path, value, user="alice"):
        return self.expect(self.gateway.send(method, path, value, user=user), 200).json()

    def setUp(self):
        self.apple.forget()
        with self.webhook.lock:
            self.webhook.posts.clear()
        self.room = self.call("POST", "/chat/v1/rooms", {"name": "Lunch", "members": ["bob", "carol"]})["room"]["id"]
        self.token = os.urandom(32).hex()

    def control(self, *arguments, stdin=None):
        done = run_portico(*arguments, "--data", self.gateway.data, "--output", "json", program="porticoctl", stdin=stdin)
        self.assertEqual(done.returncode, 0, done)
        return json.loads(done.stdout or "null")

    def register(self, user="bob", platform="apns", token=None):
        self.call("POST", "/chat/v1/devices", {"token": token or self.token, "platform": platform}, user)

    def say(self, text, user="alice"):
        return self.call("POST", f"/chat/v1/rooms/{self.room}/messages", {"text": text}, user)["message"]

    def wait(self, condition):
        end = time.monotonic() + TIMEOUT
        while not (found := condition()):
            self.assertLess(time.monotonic(), end, "it did not come")
            time.sleep(0.02)
        return found

    def pushed(self, count=1):
        return self.wait(lambda: (to := self.apple.to(self.token)) and len(to) >= count and to)

    def test_a_message_is_pushed_to_the_others_devices(self):
        self.register()
        own = os.urandom(32).hex()
        self.register("alice", token=own)
        message = self.say("Salt & pepper?")
        push = self.pushed()[0]
        self.assertEqual(push.headers["apns-topic"], TOPIC)
        self.assertEqual(push.headers["apns-push-type"], "alert")
        payload = json.loads(push.body)
        self.assertEqual(payload["aps"]["alert"], {"title": "Lunch", "body": "alice: Salt & pepper?"})
        self.assertEqual((payload["aps"]["thread-id"], payload["room"], payload["message"]), (self.room, self.room, message["id"]))
        self.assertEqual(self.apple.to(own), [])

    def test_the_provider_token_is_signed_and_used_again(self):
        self.register()
        self.say("one")
        self.say("two")
        first, second = self.pushed(2)[:2]
        self.assertEqual(first.headers["authorization"], second.headers["authorization"])
        scheme, token = first.headers["authorization"].split(" ")
        self.assertEqual(scheme.lower(), "bearer")
        header, claims, signature = token.split(".")
        decode = lambda text: base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        self.assertEqual(json.loads(decode(header)), {"alg": "ES256", "kid": KEY})
        received = json.loads(decode(claims))
        self.assertEqual(received["iss"], TEAM)
        self.assertLess(abs(received["iat"] - time.time()), 3600)
        self.verify(f"{header}.{claims}".encode(), decode(signature))

    def verify(self, signed, signature):
        def integer(number):
            text = number.to_bytes(33, "big").lstrip(b"\0") or b"\0"
            return b"\x02" + bytes([len(text) + (text[0] >> 7)]) + b"\0" * (text[0] >> 7) + text
        self.assertEqual(len(signature), 64)
        parts = b"".join(integer(int.from_bytes(half, "big")) for half in (signature[:32], signature[32:]))
        place = self.folder / "signature"
        place.write_bytes(b"\x30" + bytes([len(parts)]) + parts)
        (self.folder / "signed").write_bytes(signed)
        openssl("dgst", "-sha256", "-verify", self.folder / "apns.pub", "-signature", place, self.folder / "signed")

    def test_a_temporary_failure_is_retried_with_the_same_id(self):
        self.register()
        self.apple.answers(self.token, (503, "ServiceUnavailable"), (429, "TooManyRequests"), (500, "InternalServerError"))
        self.say("again and again")
        ids = {push.headers["apns-id"] for push in self.pushed(4)}
        self.assertEqual(len(ids), 1)

    def test_a_token_that_expired_is_signed_anew(self):
        self.register()
        self.apple.answers(self.token, (403, "ExpiredProviderToken"))
        self.say("with a new token")
        self.assertEqual(len(self.pushed(2)), 2)

    def test_a_device_that_is_gone_is_forgotten(self):
        for status, reason in ((410, "Unregistered"), (400, "BadDeviceToken")):
            self.token = os.urandom(32).hex()
            self.register()
            self.apple.answers(self.token, (status, reason))
            self.say("to nobody")
            self.pushed()
            other = os.urandom(32).hex()
            self.register("carol", token=other)
            self.say("to carol alone")
            self.wait(lambda: self.apple.to(other))
            self.assertEqual(len(self.apple.to(self.token)), 1)

    def test_what_is_refused_for_good_is_not_tried_again(self):
        self.register()
        self.apple.answers(self.token, (403, "InvalidProviderToken"))
        self.say("refused")
        self.say("the next")
        self.assertEqual(len(self.pushed(2)), 2)

    def test_a_connection_that_breaks_is_opened_again(self):
        self.register()
        self.say("before")
        self.pushed()
        self.apple.hang_up()
        self.say("after")
        self.pushed(2)

    def test_long_messages_fit_into_what_the_service_takes(self):
        self.register()
        self.say("\u00e4\U0001f600" * 4000)
        push = self.pushed()[0]
        self.assertLessEqual(len(push.body), 4096)
        self.assertTrue(json.loads(push.body)["aps"]["alert"]["body"].startswith("alice: \u00e4"))

    def test_a_webhook_gets_signed_notes(self):
        self.register(platform="webhook", token="device-7")
        self.webhook.statuses[:] = [500, 429]
        self.say("by webhook")
        posts = self.wait(lambda: len(self.webhook.posts) >= 3 and list(self.webhook.posts))
        headers, body = posts[-1]
        note = json.loads(body)
        self.assertEqual((note["token"], note["title"], note["body"]), ("device-7", "Lunch", "alice: by webhook"))
        expected = hmac.new(b"a secret", body, hashlib.sha256).hexdigest()
        self.assertEqual(headers["portico-signature"], f"sha256={expected}")
        self.assertEqual(len({json.loads(body)["id"] for _, body in posts}), 1)

    def test_messages_that_come_by_sync_are_pushed_too(self):
        from sync_device import Device
        self.register()
        device = Device(self.gateway, "alice")
        outcome = device.change("create", os.urandom(8).hex(), {"room": self.room, "text": "from the train"}, collection="messages")
        self.assertEqual(outcome["outcome"], "applied")
        self.assertIn("from the train", self.pushed()[0].body.decode())

    def test_pushes_end_with_a_new_password_and_with_the_account(self):
        name, other = "p" + os.urandom(4).hex(), os.urandom(32).hex()
        self.control("accounts", "add", name, "--role", "member", stdin="portico-demo\n")
        self.room = self.call("POST", "/chat/v1/rooms", {"name": "Lunch", "members": [name, "carol"]})["room"]["id"]
        self.register(name)
        self.register("carol", token=other)

        def pushed_after(text):
            """How many pushes the account's device has once the message has come to the other's."""
            before = len(self.apple.to(other))
            self.say(text)
            self.wait(lambda: len(self.apple.to(other)) > before)
            return len(self.apple.to(self.token))

        self.say("one")
        self.pushed()
        self.control("accounts", "password", name, stdin="portico-demo\n")
        self.assertEqual(pushed_after("two"), 1)
        self.register(name)
        self.say("three")
        self.pushed(2)
        token = self.gateway.login(name).json()["accessToken"]
        self.expect(self.gateway.send("POST", "/auth/logout", {"everywhere": True}, token=token), 204)
        self.assertEqual(pushed_after("four"), 2)
        self.register(name)
        self.say("five")
        self.pushed(3)
        self.control("sessions", "revoke", name)
        self.assertEqual(pushed_after("six"), 3)
        self.register(name)
        self.say("seven")
        self.pushed(4)
        self.control("accounts", "disable", name)
        self.assertEqual(pushed_after("eight"), 4)

    def test_pushes_end_with_the_session_that_registered_their_device(self):
        name, other = "p" + os.urandom(4).hex(), os.urandom(32).hex()
        self.control("accounts", "add", name, "--role", "member", stdin="portico-demo\n")
        self.room = self.call("POST", "/chat/v1/rooms", {"name": "Lunch", "members": [name]})["room"]["id"]
        self.register(name, token=other)  # By HTTP Basic.
        session = lambda: self.gateway.login(name)

        def sign_out(login):
            token = login.json()["accessToken"]
            self.expect(self.gateway.send("POST", "/auth/logout", {"everywhere": False}, token=token), 204)

        def end_one_of_the_own(login):
            token, keeps = login.json()["accessToken"], session().json()["accessToken"]
            known = self.gateway.get("/auth/sessions", token=token).json()["sessions"]
            current = next(one["id"] for one in known if one["current"])
            self.expect(self.gateway.request("DELETE", f"/auth/sessions/{current}", token=keeps), 204)

        def end_by_operator(login):
            known = self.gateway.get("/auth/sessions", token=login.json()["accessToken"]).json()["sessions"]
            self.control("sessions", "revoke", name, next(one["id"] for one in known if one["current"]))

        def show_a_refresh_token_twice(login):
            refresh = {"refreshToken": login.json()["refreshToken"]}
            self.expect(self.gateway.send("POST", "/auth/refresh", refresh), 200)
            self.expect(self.gateway.send("POST", "/auth/refresh", refresh), 401)

        for end in (sign_out, end_one_of_the_own, end_by_operator, show_a_refresh_token_twice):
            ends, stays = os.urandom(32).hex(), os.urandom(32).hex()
            login = session()
            for device, token in ((ends, login.json()["accessToken"]), (stays, session().json()["accessToken"])):
                body = {"token": device, "platform": "apns"}
                self.expect(self.gateway.send("POST", "/chat/v1/devices", body, token=token), 200)
            self.say("before")
            self.wait(lambda: all(self.apple.to(device) for device in (ends, stays)))
            end(login)
            before = len(self.apple.to(other))
            self.say("after")
            self.wait(lambda: len(self.apple.to(stays)) > 1 and len(self.apple.to(other)) > before)
            with self.subTest(end.__name__):
                self.assertEqual(len(self.apple.to(ends)), 1)

    def test_pushes_go_to_those_who_may_read_messages_now(self):
        other = os.urandom(32).hex()
        self.room = self.call("POST", "/chat/v1/rooms", {"name": "Lunch", "members": ["bob", "admin"]})["room"]["id"]
        self.register("bob")
        self.register("admin", token=other)
        self.say("one")
        self.pushed()
        config = self.folder / "push.yaml"
        before = config.read_text()
        readers = "{ read: { roles: [admin] }, write: login }"
        for number, closed in enumerate((f"access: {readers}", f"entities: {{ messages: {{ access: {readers} }} }}")):
            config.write_text(before.replace("chat: { echo: true }", f"chat: {{ echo: true, {closed} }}"))
            self.control("config", "apply")
            count = len(self.apple.to(other))
            self.gateway.send("POST", "/api/v1/chat/messages", {"room": self.room, "text": "closed"}, user="alice")
            self.wait(lambda: len(self.apple.to(other)) > count)
            self.assertEqual(len(self.apple.to(self.token)), 1 + number)
            config.write_text(before)
            self.control("config", "apply")
            self.say("open")
            self.pushed(2 + number)

    def test_an_api_key_registers_no_device(self):
        key = self.control("keys", "create", "bob", "--title", "a script")["key"]
        answer = self.gateway.send("POST", "/chat/v1/devices", {"token": self.token, "platform": "apns"}, token=key)
        self.assertEqual(answer.status, 403, answer)

    def test_a_service_that_is_slow_delays_no_other_authors_messages(self):
        self.register("carol", "webhook", "slow-device")
        self.addCleanup(self.call, "POST", "/chat/v1/devices/unregister", {"token": "slow-device"}, "carol")
        self.register("bob")
        self.webhook.released.clear()
        self.addCleanup(self.webhook.released.set)
        self.say("to carol, slowly", user="bob")
        self.wait(lambda: self.webhook.posts)
        self.say("to bob", user="alice")
        self.assertIn("to bob", self.pushed()[0].body.decode())
        self.assertFalse(self.webhook.released.is_set())

    def test_no_token_is_in_the_log(self):
        self.register()
        self.say("quiet")
        self.pushed()
        self.assertNotIn(self.token, self.gateway.log())

    def test_a_push_that_a_crash_left_out_is_sent_after_it(self):
        self.register()
        self.apple.pause()
        self.say("before the crash")
        self.say("right before the crash")
        self.gateway.kill()
        self.apple.go_on()
        type(self).gateway = Gateway(
            config=str(self.folder / "push.yaml"), data=self.gateway.data, environment={"WEBHOOK_SECRET": "a secret"})
        texts = lambda: " ".join(push.body.decode() for push in self.apple.to(self.token))
        self.wait(lambda: "right before the crash" in texts())


if __name__ == "__main__":
    unittest.main()
