"""Settings that a gateway takes up while it serves: each has its effect, and no request fails meanwhile."""

import functools
import hashlib
import http.client
import json
import os
import time
import unittest

from harness import START_SECONDS, Callers, Gateway
from server_sent_events import Stream
from test_chat_push import Webhook
from test_reload import ReloadTest, configuration
from test_traces import Collector


def merged(one, other):
    """Mappings within each other; `None` leaves a key out."""
    result = dict(one)
    for key, value in other.items():
        known = result.get(key) if isinstance(result.get(key), dict) else {}
        result[key] = merged(known, value) if isinstance(value, dict) else value
    return {key: value for key, value in result.items() if value is not None}


class Settings(ReloadTest):
    """Two callers ask for as long as a test lasts."""

    def begin(self, **sections):
        self.sections = merged(json.loads(configuration()), {
            "identity": {"passwords": {"cost": 10}, "basic": {"enabled": True}, "demoAccounts": [
                {"name": name, "password": "portico-demo", "roles": ["member"]} for name in ("alice", "bob")]},
            "adapters": {"chat": {}, "feeds": {}}, **sections})
        gateway = self.start(
            json.dumps(self.sections), functools.partial(Gateway, environment={"WEBHOOK_SECRET": "a secret"}))
        callers = Callers(2, self.ask)
        callers.__enter__()
        self.addCleanup(self.check, callers)
        return gateway

    def ask(self, done, outcomes):
        connection = http.client.HTTPConnection("127.0.0.1", self.gateway.port, timeout=60)
        while not done.is_set():
            try:
                connection.request("GET", "/v2/list")
                answer = connection.getresponse()
                answer.read()
                outcomes.append(answer.status)
            except Exception as error:  # noqa: BLE001  Every failure of a caller is one of the test.
                outcomes.append(repr(error))
                connection.close()
            time.sleep(0.01)
        connection.close()

    def check(self, callers):
        callers.wait_for(4)
        callers.__exit__()
        self.assertEqual(set(callers.outcomes), {200})

    def change(self, **sections):
        self.sections = merged(self.sections, sections)
        return set(self.apply(json.dumps(self.sections)))

    def until(self, condition):
        end = time.monotonic() + START_SECONDS
        while not (found := condition()):
            self.assertLess(time.monotonic(), end, self.gateway.log())
            time.sleep(0.02)
        return found

    def call(self, method, path, value, user="alice"):
        answer = self.gateway.send(method, path, value, user=user)
        self.assertEqual(answer.status, 200, answer)
        return answer.json()

    def room(self):
        return self.call("POST", "/chat/v1/rooms", {"name": "Lunch", "members": ["bob"]})["room"]["id"]

    def say(self, room, text):
        return self.call("POST", f"/chat/v1/rooms/{room}/messages", {"text": text})["message"]


class SignIn(Settings):
    def test_lifetimes_the_cookies_name_and_basic_hold_for_what_begins(self):
        gateway = self.begin()
        before = gateway.login("alice")
        self.assertEqual(before.json()["expiresIn"], 900)
        changed = self.change(identity={
            "tokens": {"accessLifetime": "1m", "refreshLifetime": "1h"}, "basic": {"enabled": False},
            "session": {"lifetime": "1h", "idle": "30m", "cookie": {"name": "other"}}})
        self.assertEqual(changed, {
            f"identity.{key}" for key in ("tokens.accessLifetime", "tokens.refreshLifetime", "basic.enabled",
                "session.lifetime", "session.idle", "session.cookie.name")})
        after = gateway.login("alice")
        self.assertEqual(after.json()["expiresIn"], 60)
        self.assertTrue(after.headers["set-cookie"].startswith("other="))
        for answer in (before, after):
            self.assertEqual(gateway.get("/auth/me", token=answer.json()["accessToken"]).status, 200)
        renewed = gateway.send("POST", "/auth/refresh", {"refreshToken": before.json()["refreshToken"]})
        self.assertEqual(renewed.json()["expiresIn"], 60)
        self.assertEqual(gateway.get("/auth/me", user="alice").status, 401)
        self.change(identity={"basic": {"enabled": True}})
        self.assertEqual(gateway.get("/auth/me", user="alice").status, 200)

    def test_failed_sign_ins_wait_as_is_said_now(self):
        gateway = self.begin()
        self.change(identity={"login": {"backoff": "50s"}, "audit": {"refusalsPerHour": 5, "retention": "30d"}})
        wrong = {"username": "bob", "password": "wrong password"}
        for _ in range(6):
            self.assertEqual(gateway.send("POST", "/auth/login", wrong).status, 401)
        answer = gateway.send("POST", "/auth/login", wrong)
        self.assertEqual(answer.status, 429)
        self.assertGreater(int(answer.headers["retry-after"]), 30)


class Logs(Settings):
    def test_lines_have_another_form(self):
        gateway = self.begin()

        def line():
            answer = gateway.get("/v2/list")
            log = gateway.log_with(answer).splitlines()
            return next(one for one in log if answer.headers["x-request-id"] in one and "/v2/list" in one)

        self.assertEqual(json.loads(line())["path"], "/v2/list")
        self.assertEqual(self.change(log={"format": "text", "memory": "64KiB"}), {"log.format", "log.memory"})
        self.assertIn(" path=/v2/list ", line())
        self.change(log={"format": "json"})
        self.assertEqual(json.loads(line())["path"], "/v2/list")


class Traces(Settings):
    def test_traces_begin_go_elsewhere_and_end(self):
        gateway = self.begin()
        one, other = Collector(), Collector()
        for collector in (one, other):
            self.addCleanup(collector.stop)

        def to(collector):
            return {"collector": {"url": f"http://127.0.0.1:{collector.port}/otlp/", "networks": ["127.0.0.1/32"]}}

        def paths(collector):
            return {attribute["value"]["stringValue"] for span in collector.spans for attribute in span["attributes"]
                if attribute["key"] == "url.path"}

        self.change(upstreams=to(one), traces={"upstream": "collector", "ratio": 1, "interval": "100ms"})
        gateway.get("/v1/list")
        self.until(lambda: "/v1/list" in paths(one))
        self.assertEqual(self.change(upstreams=to(other)), {"upstreams.collector.url"})
        gateway.get("/health/live")
        self.until(lambda: "/health/live" in paths(other))
        self.change(traces={"ratio": 0, "followCallers": False, "queue": 10, "interval": "1h"})
        # Of the callers, answered by the gateway before.
        time.sleep(0.5)
        before = len(other.spans)
        gateway.get("/v2/list", headers={"traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"})
        self.change(traces={"interval": "100ms"})
        time.sleep(0.5)
        self.assertEqual(len(other.spans), before)
        self.change(traces=None, upstreams={"collector": None})
        self.assertEqual(gateway.get("/v2/list").status, 200)


class Push(Settings):
    def test_push_services_come_change_and_go(self):
        self.begin()
        one, other = Webhook(), Webhook()
        for hook in (one, other):
            self.addCleanup(hook.close)
        token = os.urandom(32).hex()
        self.call("POST", "/chat/v1/devices", {"token": token, "platform": "webhook"}, "bob")
        room = self.room()
        self.say(room, "nobody is told")

        def bodies(hook):
            with hook.lock:
                return [json.loads(body)["body"] for _, body in hook.posts]

        def to(hook):
            return {"hook": {"url": f"http://127.0.0.1:{hook.port}", "networks": ["127.0.0.0/8"]}}

        changed = self.change(
            upstreams=to(one), push={"webhook": {"upstream": "hook", "path": "pushes", "secret": {"env": "WEBHOOK_SECRET"}}})
        self.assertIn("push.webhook.upstream", changed)
        # Messages are pushed once the chat has noticed the service: it looks for one every second.
        self.until(lambda: self.say(room, "first") and time.sleep(0.2) or bodies(one))
        self.change(upstreams=to(other), push={"limits": {"tries": 2, "pause": "20ms"}})
        self.say(room, "second")
        self.until(lambda: bodies(other))
        self.change(push={"webhook": None, "log": True}, upstreams={"hook": None})
        self.call("POST", "/chat/v1/devices", {"token": token[::-1], "platform": "log"}, "bob")
        self.say(room, "third")
        self.until(lambda: "alice: third" in self.gateway.log())
        texts = [text.split(": ")[-1] for text in bodies(one) + bodies(other)]
        self.assertEqual(list(dict.fromkeys(texts)), ["first", "second"], texts)

    def test_a_service_that_cannot_be_made_changes_nothing(self):
        self.begin()
        key = self.folder / "apns.p8"
        key.write_text("no key")
        sections = merged(self.sections, {
            "upstreams": {"apple": {"url": "https://localhost:1/"}},
            "push": {"apns": {"upstream": "apple", "topic": "a", "key": {"file": str(key)}}}, "log": {"format": "text"}})
        self.refused(json.dumps(sections), "push.apns.key")
        self.assertTrue(self.gateway.log().splitlines()[-1].startswith("{"))


class Sync(Settings):
    def test_attachments_have_the_limits_of_now(self):
        gateway = self.begin()

        def put(count):
            data = os.urandom(count)
            return gateway.request(
                "PUT", f"/sync/v1/attachments/{hashlib.sha256(data).hexdigest()}", body=data, user="alice").status

        self.assertEqual(put(2000), 201)
        self.change(sync={"limits": {"attachment": "1KiB", "uploads": 5, "uploadsPerPrincipal": 2}})
        self.assertEqual((put(2000), put(1000)), (413, 201))
        self.change(sync={"limits": {"attachment": "1MiB", "unnamedPerPrincipal": "4000"}})
        self.assertEqual(put(5000), 507)
        self.assertEqual(put(500), 201)

    def test_the_log_is_kept_for_as_long_as_is_said_now(self):
        self.begin()
        self.room()
        ask = lambda: self.control("sync", "compact", "--dry-run")[0]["entries"]
        self.assertEqual(ask(), 0)
        self.change(sync={"offlineWindow": "1ms", "keptCopies": "1d", "attachments": {"window": "1d"}})
        self.assertGreater(ask(), 0)
        self.change(sync={"offlineWindow": None})
        self.assertEqual(ask(), 0)

    def test_feeds_replay_and_announce_as_is_said_now(self):
        gateway = self.begin(live={"presenceGrace": "1h"})
        room = self.room()
        stream = lambda user, **more: Stream(gateway, user, path="/chat/v1/live", **more)
        alice = stream("alice")
        self.addCleanup(alice.close)
        self.assertEqual(alice.next("ready"), ("ready", {}))
        self.say(room, "one")
        alice.next("message")
        bob = stream("bob")
        bob.next("ready")
        self.assertEqual(alice.next("presence")[1], {"user": "bob", "online": True})
        self.change(live={"presenceGrace": "100ms", "limits": {"presence": 100, "page": 10, "piece": "1KiB"}})
        bob.close()
        # It goes on, with the settings of now.
        self.assertEqual(alice.next("presence")[1], {"user": "bob", "online": False})
        last = alice.last
        for number in range(101):
            self.say(room, f"{number}")
        again = stream("alice", last=last)
        self.assertEqual(again.next()[0], "message")
        again.close()
        self.change(live={"limits": {"replay": 100}})
        again = stream("alice", last=last)
        self.assertEqual(again.next(), ("reset", {}))
        again.close()


class Adapters(Settings):
    def test_how_long_adapters_may_take_is_taken_up(self):
        self.begin()
        self.assertEqual(
            self.change(limits={"adapterStart": "50s", "adapterRetry": "9s", "adapterStop": "4s"}),
            {"limits.adapterStart", "limits.adapterRetry", "limits.adapterStop"})
        self.assertEqual(self.setting("limits.adapterStop")["value"], "4s")


if __name__ == "__main__":
    unittest.main()
