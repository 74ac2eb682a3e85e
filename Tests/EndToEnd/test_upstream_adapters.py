"""Employees, users, feeds and chat in front of other systems: the stand-in, and further gateways. Ages add up, and neither a
liar nor an outage replaces what is known. The contracts themselves: test_contracts_upstream."""

import json
import pathlib
import shutil
import socket
import tempfile
import time
import unittest
import urllib.parse

import test_soap
from harness import PLIST, Gateway, run_portico
from stand_in import PROGRAM, StandIn

FEED = "/plists/sonnets"
# Every read asks the other system, and waits as long as that takes at the most.
ASKING = "freshFor: 1ms, waitFor: 10s"
CONFIGURATION = """
http: {{ host: 127.0.0.1 }}
store: {{ sampleData: {samples} }}
identity:
  basic: {{ enabled: true }}
  demoAccounts:
    - {{ name: alice, password: portico-demo, roles: [member] }}
    - {{ name: bob, password: portico-demo, roles: [member] }}
    - {{ name: carol, password: portico-demo, roles: [member] }}
    - {{ name: admin, password: portico-demo, roles: [admin, member] }}
upstreams:
  back:
    url: '{url}'
    networks: [127.0.0.1/32]
    deadline: 4s
    limits: {{ connect: 500ms, firstByte: 2s, tries: 1, failures: 1000 }}
    credentials: {{ kind: basic, username: carol, password: {{ env: BACK_PASSWORD }} }}
adapters:
  users: {{ {users} }}
  employees: {{ {employees} }}
  feeds: {{ sonnets: {{ access: public-read, {feed} }}, {feeds} }}
  chat: {{ echo: true, {chat} }}
"""
BACK = "upstream: back"
# All five members: what is asked and kept is the same, whether a caller or a gateway asks.
CRITERIA = [
    dict(division="", order="ASC", rowsPerPage=10, pageIndex=0, fullName="John Doe"),
    dict(division="", order="DESC", rowsPerPage=7, pageIndex=2, fullName=""),
]
MIRRORED_FEED = f"{BACK}, path: plists/sonnets"


class Parts:
    """Starts gateways and stand-ins, which end with the test or the class."""

    @classmethod
    def configure(
            cls, url="http://127.0.0.1:1/", users="enabled: true", employees="enabled: true", feed="", feeds="", chat="",
            samples="false"):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="portico-upstream-adapters-"))
        cls.addClassCleanup(shutil.rmtree, folder, True)
        if "hr.wsdl" in employees:
            fetched = run_portico("soap", "fetch", f"{url[:-1]}{test_soap.PATH}?wsdl", folder / "hr.wsdl", program="porticoctl")
            assert fetched.returncode == 0, fetched
        config = folder / "portico.yaml"
        config.write_text(CONFIGURATION.format(
            url=url, users=users, employees=employees, feed=feed, feeds=feeds, chat=chat, samples=samples))
        return str(config)

    @classmethod
    def start(cls, url="http://127.0.0.1:1/", *settings, data=None, **parts):
        gateway = Gateway(
            *settings, config=cls.configure(url, **parts), data=data, environment={"BACK_PASSWORD": "portico-demo"})
        cls.addClassCleanup(gateway.remove)
        return gateway

    @classmethod
    def stand_in(cls, *arguments):
        system = StandIn(*arguments)
        cls.addClassCleanup(system.stop)
        return system

    def until(self, holds, seconds=60):
        end = time.monotonic() + seconds
        while not holds():
            self.assertLess(time.monotonic(), end, "it does not become true")
            time.sleep(0.05)


def control(gateway, *arguments):
    done = run_portico(*arguments, "--data", str(gateway.data), "--output", "json", program="porticoctl")
    return done, json.loads(done.stdout or "null")


def address(gateway):
    return f"http://127.0.0.1:{gateway.port}/"


# Ages.

@unittest.skipUnless(PROGRAM.exists(), "the stand-in is not built")
class Chain(Parts, unittest.TestCase):
    """A gateway in front of a gateway in front of a gateway in front of the stand-in."""

    @classmethod
    def setUpClass(cls):
        cls.system = cls.stand_in("--users", 30)
        cls.gateways = []
        url = cls.system.address + "/"
        for fresh in ["freshFor: 1h, waitFor: 5s", ASKING, f"{ASKING}, staleFor: 30d"]:
            gateway = cls.start(url, users=f"{BACK}, access: public-read, {fresh}", feed=f"{MIRRORED_FEED}, {fresh}")
            url = address(gateway)
            cls.gateways.append(gateway)
            # What follows is at least so old when the next one fetches it.
            for path in ["/v1/list", FEED]:
                assert gateway.get(path).status == 200, gateway.get(path)
            time.sleep(1.2)

    def test_every_gateway_answers_the_same_and_ages_add_up(self):
        for path in ["/v1/list", "/v2/list", "/v2/101", FEED, "/api/v1/users/users?limit=50"]:
            answers = [gateway.get(path) for gateway in self.gateways]
            for answer in answers:
                self.assertEqual(answer.status, 200, answer)
                self.assertEqual(answer.body, answers[0].body, path)
            first, *others = [int(answer.headers["age"]) for answer in answers]
            self.assertGreaterEqual(first, 2, path)
            for age in others:
                self.assertGreaterEqual(age, first, path)
            self.assertEqual(answers[0].headers["cache-status"], "portico; hit")
            for answer in answers[1:]:
                self.assertEqual(answer.headers["cache-status"], "portico; fwd=stale; stored")

    def test_the_records_of_feeds_are_as_old_as_the_feeds(self):
        for path in ["/api/v1/feeds/feeds", "/api/v1/feeds/feeds/sonnets", "/api/v1/feeds/feeds?select=title"]:
            ages = []
            for gateway in self.gateways:
                for _ in range(2):
                    answer = gateway.get(path, user="alice")
                    self.assertEqual(answer.status, 200, answer)
                    ages.append(int(answer.headers["age"]))
            self.assertGreaterEqual(ages[0], 2, path)
            self.assertGreaterEqual(min(ages[2:]), ages[0], path)

    def test_rows_that_were_too_old_when_they_came_are_not_served(self):
        back = address(self.gateways[0])
        gateway = self.start(back, feed=f"{MIRRORED_FEED}, freshFor: 500ms, staleFor: 1s, waitFor: 5s")
        answer = gateway.get(FEED)
        self.assertEqual(answer.status, 503, answer)
        self.assertIn("back", answer.text())


class ChainOfSearches(Parts):
    """The same of searches, of each protocol and mode."""

    employees = ""

    @classmethod
    def setUpClass(cls):
        cls.system = cls.stand_in("--employees", 60)
        cls.gateways = []
        url = cls.system.address + "/"
        for fresh in ["freshFor: 1h, waitFor: 5s", ASKING, ASKING]:
            gateway = cls.start(url, employees=f"{BACK}, access: public-read, {cls.employees}, {fresh}")
            url = address(gateway)
            cls.gateways.append(gateway)
            for answer in cls.answers(gateway):
                assert answer.status == 200, answer
            time.sleep(1.2)

    @staticmethod
    def answers(gateway):
        for criteria in CRITERIA:
            yield gateway.send("POST", test_soap.SEARCH, criteria)
            yield gateway.request(
                "POST", test_soap.PATH, test_soap.envelope(**criteria).encode(), {"Content-Type": "text/xml"})

    def test_every_gateway_answers_the_same_and_ages_add_up(self):
        for first, *others in zip(*map(self.answers, self.gateways)):
            self.assertEqual(first.status, 200, first)
            self.assertGreaterEqual(int(first.headers["age"]), 2)
            for answer in others:
                self.assertEqual(answer.body, first.body)
                self.assertGreaterEqual(int(answer.headers["age"]), int(first.headers["age"]))
                self.assertRegex(answer.headers["cache-status"], "^portico; fwd=stale")

    def test_searches_that_were_too_old_when_they_came_are_not_answered(self):
        back = address(self.gateways[0])
        gateway = self.start(
            back, employees=f"{BACK}, access: public-read, {self.employees}, freshFor: 500ms, staleFor: 1s, waitFor: 5s")
        answer = gateway.send("POST", test_soap.SEARCH, CRITERIA[0])
        self.assertEqual(answer.status, 503, answer)
        self.assertIn("back", answer.text())


@unittest.skipUnless(PROGRAM.exists(), "the stand-in is not built")
class MirrorsOfJSON(ChainOfSearches, unittest.TestCase):
    employees = "protocol: json"


@unittest.skipUnless(PROGRAM.exists(), "the stand-in is not built")
class CallsOfJSON(ChainOfSearches, unittest.TestCase):
    employees = "protocol: json, mode: call"


@unittest.skipUnless(PROGRAM.exists(), "the stand-in is not built")
class MirrorsOfSOAP(ChainOfSearches, unittest.TestCase):
    employees = "protocol: soap, wsdl: hr.wsdl"


@unittest.skipUnless(PROGRAM.exists(), "the stand-in is not built")
class CallsOfSOAP(ChainOfSearches, unittest.TestCase):
    employees = "protocol: soap, wsdl: hr.wsdl, mode: call"


# Feeds.

@unittest.skipUnless(PROGRAM.exists(), "the stand-in is not built")
class Feeds(Parts, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.system = cls.stand_in()
        cls.gateway = cls.start(
            cls.system.address + "/", feed=f"{MIRRORED_FEED}, {ASKING}", samples="true",
            feeds="access: { refresh: { roles: [member] } }, "
            f"internal: {{ {BACK}, path: plists/none, access: login, {ASKING} }}, local: {{ access: public-read }}")

    def setUp(self):
        self.system.order("fault", "none")
        self.assertEqual(control(self.gateway, "mirrors", "refresh", "feeds/sonnets")[0].returncode, 0)

    def versions(self):
        return control(self.gateway, "feeds", "versions", "sonnets")[1]["versions"]

    def feed(self, status=200):
        answer = self.gateway.get(FEED)
        self.assertEqual(answer.status, status, answer)
        return answer

    def test_what_changes_there_is_a_version_here_and_what_does_not_moves_nothing(self):
        before = self.versions()
        tag = self.feed().headers["etag"]
        unchanged = self.gateway.get(FEED, headers={"If-None-Match": tag})
        self.assertEqual((unchanged.status, unchanged.body), (304, b""))
        self.assertIn("age", unchanged.headers)
        self.assertEqual(self.versions(), before)
        self.system.order("change", 2, "--table", "sonnets")
        changed = self.feed()
        self.assertEqual(changed.body.count(b"(revision"), self.system.get(FEED).body.count(b"(revision"))
        self.assertNotEqual(changed.headers["etag"], tag)
        newest = self.versions()[0]
        self.assertEqual((newest["publishedBy"], newest["current"]), ("upstream back", True))
        self.assertEqual(len(self.versions()), len(before) + 1)

    def test_a_roll_back_holds_until_the_source_changes(self):
        old = self.feed().plist()
        self.system.order("change", 1, "--table", "sonnets")
        new = self.feed().plist()
        self.assertNotEqual(new, old)
        self.assertEqual(
            control(self.gateway, "feeds", "rollback", "sonnets", str(self.versions()[1]["version"]))[0].returncode, 0)
        for _ in range(3):
            self.assertEqual(self.feed().plist(), old)
        self.system.order("change", 1, "--table", "sonnets")
        self.assertNotIn(self.feed().plist(), [old, new])

    def test_no_fault_replaces_good_data(self):
        for fault in [
            ["login-page"], ["truncate"], ["garbage"], ["reset"], ["error", "503"], ["error", "404"], ["hang"], ["drip"], ["huge"],
        ]:
            with self.subTest(fault=fault):
                good, versions = self.feed(), self.versions()
                # There is something new, which an answer of 304 would not show.
                self.system.order("change", 1, "--table", "sonnets")
                self.system.order("fault", *fault, "--path", "/plists")
                answer = self.feed()
                self.assertEqual(answer.body, good.body)
                self.assertRegex(answer.headers["cache-status"], "^portico; fwd=stale; detail=[a-z-]+$")
                self.assertIn(control(self.gateway, "mirrors", "show", "feeds/sonnets")[1]["state"],
                              ["failing", "held", "refreshing"])
                self.assertEqual(self.versions(), versions)
                self.system.order("fault", "none")
                self.until(lambda: control(self.gateway, "mirrors", "refresh", "feeds/sonnets")[0].returncode == 0)

    def test_an_age_is_that_of_the_feed_itself(self):
        # `internal` was never fetched, and there is no such document.
        self.assertIn("age", self.feed().headers)
        self.assertEqual(self.gateway.get("/plists/internal", user="alice").status, 503)
        document = tempfile.NamedTemporaryFile(suffix=".json", mode="w")
        self.addCleanup(document.close)
        document.write('{"n": 1}')
        document.flush()
        self.assertEqual(control(self.gateway, "feeds", "publish", "local", document.name)[0].returncode, 0)
        local = self.gateway.get("/plists/local")
        self.assertEqual(local.status, 200, local)
        self.assertNotIn("age", local.headers)
        self.assertNotEqual(control(self.gateway, "feeds", "publish", "sonnets", document.name)[0].returncode, 0)

    def test_a_caller_who_may_not_read_a_feed_learns_nothing_of_its_upstream(self):
        answer = self.gateway.get("/plists/internal")
        self.assertEqual(answer.status, 401, answer)
        self.assertNotIn("back", answer.text())
        self.assertNotIn("age", answer.headers)

    def test_the_site_says_that_it_has_changed(self):
        old = self.feed().body
        self.system.order("change", 1, "--table", "sonnets")
        path = "/api/v1/feeds/mirrors/sonnets/refresh"
        self.assertEqual(self.gateway.request("POST", path).status, 401)
        hooked = self.gateway.request("POST", path, user="alice")
        self.assertEqual(hooked.status, 202, hooked)
        self.until(lambda: self.feed().body != old)


class FeedConfiguration(Parts, unittest.TestCase):
    def test_what_cannot_be_fetched_is_found_by_the_check(self):
        for feeds, words in [
            ("x: { path: a }", "no `upstream` where"), ("x: { upstream: nowhere, path: a }", "no upstream nowhere"),
            (f"x: {{ {BACK} }}", "path"), (f"x: {{ {BACK}, path: 'https://example.com/' }}", "path"),
            (f"feeds: {{ {BACK}, path: a }}", "another name"),
        ]:
            done = run_portico(
                "check", "--config", self.configure(feeds=feeds), environment={"BACK_PASSWORD": "x"})
            self.assertEqual(done.returncode, 1, done)
            self.assertIn(words, done.stdout + done.stderr)


# Credentials.

OF_CALLERS = """
http: {{ host: 127.0.0.1 }}
identity:
  basic: {{ enabled: true }}
  demoAccounts:
    - {{ name: alice, password: portico-demo, roles: [member] }}
  providers: {{ irj: {{ kind: portal, upstream: irj, page: 'http://127.0.0.1:1/irj/portal', form: irj/login, userAgent: a }} }}
upstreams:
  irj: {{ url: 'http://127.0.0.1:1/', networks: [127.0.0.1/32] }}
  back:
    url: '{url}'
    networks: [127.0.0.1/32]
    credentials: {{ {credentials} }}
adapters:
  {adapter}
"""


@unittest.skipUnless(PROGRAM.exists(), "the stand-in is not built")
class InCallersNames(Parts, unittest.TestCase):
    """What has no caller cannot be asked in a caller's name: that is found before the start. What passes the check starts."""

    CREDENTIALS = {
        "portal": "kind: portal, provider: irj",
        "exchange": "kind: exchange, tokenURL: 'http://127.0.0.1:1/token', clientID: a, clientSecret: {env: SECRET}, audience: hr",
    }
    SOAP = "upstream: back, protocol: soap, wsdl: hr.wsdl"
    POSSIBLE = [
        "users: { upstream: back }", "employees: { upstream: back }", "employees: { upstream: back, mode: call }",
        "employees: { %s }" % SOAP, "employees: { %s, mode: call }" % SOAP,
    ]
    IMPOSSIBLE = [
        ("users: { upstream: back, write: through }", "belong to single callers"),
        ("users: { upstream: back, write: queued }", "belong to single callers"),
        ("users: { upstream: back, refresh: 1h }", "a refresh by schedule has no caller"),
        ("employees: { upstream: back, refresh: 1h }", "a refresh by schedule has no caller"),
        ("employees: { %s, refresh: 1h }" % SOAP, "a refresh by schedule has no caller"),
        ("employees: { upstream: back, mode: call, refresh: 1h }", "no records are kept"),
        ("employees: { upstream: back, mode: call, write: through }", "no records are kept"),
        ("feeds: { news: { upstream: back, path: a } }", "a feed is fetched without a caller"),
        ("chat: { upstream: back, rooms: [r1] }", "messages are exchanged without a caller"),
    ]

    @classmethod
    def setUpClass(cls):
        cls.system = cls.stand_in()

    def written(self, adapter, credentials):
        config = pathlib.Path(self.configure(self.system.address + "/", employees="wsdl: hr.wsdl"))
        config.write_text(OF_CALLERS.format(url=self.system.address + "/", adapter=adapter, credentials=credentials))
        return str(config)

    def test_what_needs_no_caller_cannot_have_one_and_the_check_says_so(self):
        for kind, credentials in self.CREDENTIALS.items():
            for adapter, words in self.IMPOSSIBLE:
                with self.subTest(adapter, kind=kind):
                    done = run_portico("check", "--config", self.written(adapter, credentials), environment={"SECRET": "x"})
                    self.assertEqual(done.returncode, 1, done)
                    self.assertIn(words, done.stdout + done.stderr)
                    self.assertRegex(done.stdout + done.stderr, r"portico\.yaml:\d+:\d+")

    def test_what_passes_the_check_starts_and_asks_callers_to_sign_in(self):
        for kind, credentials in self.CREDENTIALS.items():
            for adapter in self.POSSIBLE:
                with self.subTest(adapter, kind=kind):
                    config = self.written(adapter, credentials)
                    done = run_portico("check", "--config", config, environment={"SECRET": "x"})
                    self.assertEqual(done.returncode, 0, done)
                    gateway = Gateway(config=config, environment={"SECRET": "x"})
                    self.addCleanup(gateway.remove)
                    name = adapter.split(":")[0]
                    _, listed = control(gateway, "adapters", "list")
                    states = {each["name"]: each["state"] for each in listed["adapters"]}
                    self.assertEqual(states[name], "running", listed)
                    if name == "users":
                        answers = [gateway.get("/v2/list", user="alice")]
                    else:
                        answers = [
                            gateway.send("POST", test_soap.SEARCH, CRITERIA[0], user="alice"),
                            gateway.request("POST", test_soap.PATH, test_soap.envelope().encode(),
                                            {"Content-Type": "text/xml"}, user="alice"),
                        ]
                    for answer in answers:
                        # Alice has no session there, and no token endpoint answers.
                        self.assertIn(answer.status, [401, 502, 503], answer)
                    gateway.remove()


# Chat.

@unittest.skipUnless(PROGRAM.exists(), "the stand-in is not built")
class Bridge(Parts, unittest.TestCase):
    arguments = ()

    def setUp(self):
        self.system = StandIn(*self.arguments)
        self.addCleanup(self.system.stop)
        self.data = tempfile.mkdtemp(prefix="portico-bridge-")
        self.addCleanup(shutil.rmtree, self.data, True)
        self.gateway = self.bridged()
        self.assertEqual(self.twaddle("joinchatroom", room="r1").status, 200)

    def bridged(self):
        gateway = self.start(
            self.system.address + "/", data=self.data, chat=f"{BACK}, rooms: [r1], refresh: 100ms")
        self.until(lambda: gateway.request(
            "GET", "/chat/v1/public-rooms", user="alice").json()["rooms"] != [])
        return gateway

    def twaddle(self, function, **members):
        body = "post=" + urllib.parse.quote_plus(json.dumps({"function": function, **members}))
        return self.gateway.request(
            "POST", "/chat", body, {"Content-Type": "application/x-www-form-urlencoded"}, user="alice")

    def post(self, text):
        answer = self.twaddle("postmessage", room="r1", text=text)
        self.assertEqual(answer.status, 200, answer)

    def here(self):
        return [message["text"] for message in self.twaddle("getmessages", room="r1", limit=200).json()["messages"]]

    def there(self):
        answer = self.system.send("POST", "/chat", 'post={"function":"getmessages","room":"r1","limit":200}')
        return [message["text"] for message in answer.json()["messages"]]

    def post_there(self, text):
        request = json.dumps({"function": "postmessage", "room": "r1", "user": "ann", "text": text})
        self.assertEqual(self.system.send("POST", "/chat", "post=" + request).status, 200)

    def test_messages_go_both_ways_once(self):
        self.post("a&b+c%20d")
        self.post_there("Salt & pepper?")
        self.until(lambda: len(self.here()) == 2 and len(self.there()) == 2)
        for number in range(5):
            self.post(f"here {number}")
            self.post_there(f"there {number}")
        self.until(lambda: len(self.here()) == 12 and len(self.there()) == 12)
        time.sleep(1)
        self.assertEqual(len(self.here()), 12)
        self.assertEqual(
            sorted(self.there()), sorted(
                ["alice: a&b+c%20d", "Salt & pepper?"] + [f"alice: here {n}" for n in range(5)]
                + [f"there {n}" for n in range(5)]))
        self.assertIn("ann: Salt & pepper?", self.here())
        # Who is here is not the other server's business.
        self.assertEqual(self.twaddle("getpresence", room="r1").json()["online"], [])

    def test_the_chat_goes_on_during_an_outage_and_all_follows_in_order(self):
        for number, fault in enumerate([
            ["reset"], ["reset", "--applied"], ["error", "503"], ["login-page"], ["garbage"], ["drip"], ["huge"], ["truncate"],
        ]):
            with self.subTest(fault=fault):
                self.system.order("fault", *fault, "--path", "/chat")
                texts = [f"{number} {n}" for n in range(5)]
                for text in texts:
                    self.post(text)
                self.assertEqual(self.here()[-5:], texts)
                time.sleep(0.5)
                self.system.order("fault", "none")
                self.until(lambda: f"alice: {texts[-1]}" in self.there())
                self.assertEqual(self.there()[-5:], [f"alice: {text}" for text in texts])
        self.assertEqual(len(self.here()), 40)

    def test_what_waits_survives_a_kill_and_is_sent_once(self):
        self.system.order("fault", "reset", "--path", "/chat")
        texts = [f"before the end {n}" for n in range(10)]
        for text in texts:
            self.post(text)
        self.gateway.kill()
        self.system.order("fault", "none")
        self.gateway = self.bridged()
        self.until(lambda: len(self.there()) == 10)
        time.sleep(1)
        self.assertEqual(self.there(), [f"alice: {text}" for text in texts])
        self.assertEqual(self.here(), texts)


class BridgeToIDsOfItsOwn(Bridge):
    """A server that gives its own ids: what was sent is known again by them."""

    arguments = ("--ignore-idempotency-keys",)


class BridgedGateways(Parts, unittest.TestCase):
    """A room that two gateways have."""

    def test_gateways_that_are_bridged_to_each_other_have_each_message_once(self):
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        bridged = f"{BACK}, rooms: [r1], refresh: 100ms"
        first = self.start(f"http://127.0.0.1:{port}/", chat=bridged)
        second = self.start(address(first), "--set", f"http.port={port}", chat=bridged)
        for gateway in [first, second]:
            self.until(lambda: gateway.request("POST", "/chat/v1/rooms/r1/join", user="alice").status == 200)
        for number in range(10):
            for gateway, word in [(first, "first"), (second, "second")]:
                answer = gateway.send(
                    "POST", "/chat/v1/rooms/r1/messages", {"text": f"{word} {number}"}, user="alice")
                self.assertEqual(answer.status, 200, answer)

        def texts(gateway):
            return [m["text"] for m in gateway.get("/chat/v1/rooms/r1/messages", user="alice").json()["messages"]]

        self.until(lambda: len(texts(first)) >= 20 and len(texts(second)) >= 20, 120)
        # Many looks of each at the other: a message that came back would be here by now.
        time.sleep(3)
        for gateway, own, other in [(first, "first", "second"), (second, "second", "first")]:
            self.assertEqual(
                sorted(texts(gateway)),
                sorted([f"{own} {n}" for n in range(10)] + [f"alice: {other} {n}" for n in range(10)]))

    def test_a_room_of_another_gateway_is_joined_and_has_each_message_once(self):
        back = self.start()
        made = back.send(
            "POST", "/chat/v1/rooms", {"name": "Shared", "id": "r1", "isPublic": True}, user="alice")
        self.assertEqual(made.status, 200, made)
        front = self.start(address(back), chat=f"{BACK}, rooms: [r1], refresh: 100ms")
        self.until(lambda: front.request("POST", "/chat/v1/rooms/r1/join", user="alice").status == 200)
        for gateway, word in [(front, "front"), (back, "back")]:
            for number in range(5):
                answer = gateway.send(
                    "POST", "/chat/v1/rooms/r1/messages", {"text": f"{word} {number}"}, user="alice")
                self.assertEqual(answer.status, 200, answer)

        def texts(gateway):
            return [m["text"] for m in gateway.get("/chat/v1/rooms/r1/messages", user="alice").json()["messages"]]

        self.until(lambda: len(texts(front)) == 10 and len(texts(back)) == 10)
        time.sleep(1)
        for gateway, own, other in [(front, "front", "back"), (back, "back", "front")]:
            found = texts(gateway)
            self.assertEqual(len(found), 10, found)
            self.assertEqual([text for text in found if text.startswith(own)], [f"{own} {n}" for n in range(5)])
            self.assertEqual([text for text in found if text.startswith("alice")], [f"alice: {other} {n}" for n in range(5)])
        members = back.get("/chat/v1/rooms/r1/members", user="alice").json()["members"]
        self.assertEqual(members, ["alice", "carol"])


if __name__ == "__main__":
    unittest.main()
