"""Employees, users, feeds and chat in front of systems whose answers are not what was asked for. What is known stays as it is,
whatever is said, and the gateway answers in time."""

import json
import re
import time
import unittest

import test_soap
from lying_proxy import LyingProxy
from stand_in import PROGRAM
from test_upstream_adapters import ASKING, BACK, CRITERIA, FEED, Parts, control

EVERYBODY = dict(division="", order="ASC", rowsPerPage=500, pageIndex=0, fullName="")
LONG = b"x" * 10_000_000
BOMB = b'<!DOCTYPE a [<!ENTITY a "%s"><!ENTITY b "%s">]>' % (b"ha" * 1000, b"&a;" * 1000)


def body(change):
    return lambda path, sent, status, fields, body: (status, fields, change(body))


def replaced(pattern, replacement, count=0):
    """Fails where there is nothing to replace: that would be no lie."""
    def change(found):
        result, times = re.subn(pattern, replacement, found, count=count, flags=re.S)
        assert times, (pattern, found[:200])
        return result
    return body(change)


def told(status=None, **fields):
    fields = {name.replace("_", "-"): value for name, value in fields.items()}
    return lambda path, sent, old, genuine, body: (status or old, {**genuine, **fields}, body)


ANY = {
    "half of it": body(lambda found: found[:len(found) // 2]),
    "nothing": body(lambda _: b""),
    "twice": body(lambda found: found * 2),
    "another type": told(Content_Type="image/png"),
    "no content": lambda path, sent, status, fields, body: (204, fields, b""),
    "a part": told(206),
    "a redirect": told(302, Location="/login"),
    "another coding": told(Content_Encoding="gzip"),
    "another character set": told(Content_Type="text/xml; charset=utf-16"),
    "zeros": body(lambda found: b"\0" * len(found)),
    "a page": lambda path, sent, status, fields, body: (200, {"Content-Type": "text/html"}, b"<html><form/></html>"),
    "more than may be": body(lambda found: found + b" " * (17 << 20)),
}
XML = {
    "entities": body(lambda found: BOMB + re.sub(b"^<\\?xml.*?\\?>", b"", found).replace(b"Doe", b"&b;").replace(b"Fake", b"&b;")),
    "a DOCTYPE": body(lambda found: b"<!DOCTYPE a>" + re.sub(b"^<\\?xml.*?\\?>", b"", found)),
    "an open element": body(lambda found: found[:found.rindex(b"</")]),
    "depth": body(lambda found: b"<a>" * 100_000),
    "another root": body(lambda found: b"<other/>"),
}


@unittest.skipUnless(PROGRAM.exists(), "the stand-in is not built")
class Liar(Parts, unittest.TestCase):
    parts, arguments = {}, ()

    @classmethod
    def setUpClass(cls):
        if cls is Liar:
            raise unittest.SkipTest("what the others share")
        cls.system = cls.stand_in(*cls.arguments)
        cls.proxy = LyingProxy(cls.system.port)
        cls.addClassCleanup(cls.proxy.stop)
        cls.gateway = cls.start(cls.proxy.address + "/", **cls.parts)

    def setUp(self):
        self.addCleanup(setattr, self.proxy, "lie", None)

    def believes_nothing(self, known, lies, mirror=None):
        """`known` says what the gateway knows."""
        self.proxy.lie = None
        good = known()
        for name, lie in lies.items():
            with self.subTest(name):
                self.proxy.lie = lie
                began = time.monotonic()
                self.assertEqual(known(), good)
                self.assertLess(time.monotonic() - began, 30)
                self.proxy.lie = None
                if mirror:
                    self.until(lambda: control(self.gateway, "mirrors", "refresh", mirror)[0].returncode == 0)
                self.assertEqual(known(), good)
        self.assertIsNone(self.gateway.process.poll())
        self.assertLess(self.gateway.resident("VmHWM"), 700 << 20)


class Users(Liar):
    parts, arguments = {"users": f"{BACK}, access: public-read, {ASKING}"}, ("--users", 12)

    def known(self):
        answer = self.gateway.get("/v1/list")
        self.assertEqual(answer.status, 200, answer)
        return answer.body

    def test_no_answer_of_another_kind_replaces_users(self):
        self.believes_nothing(self.known, {**ANY, **XML}, "users/users")

    def test_no_answer_that_says_something_else_replaces_users(self):
        self.believes_nothing(self.known, {
            "no number": replaced(rb"<UserId>\d+", b"<UserId>x"),
            "no number in one": replaced(rb"<UserId>\d+", b"<UserId>", 1),
            "a number beyond all": replaced(rb"<UserId>101", b"<UserId>99999999999999999999"),
            "a negative number": replaced(rb"<UserId>101", b"<UserId>-101"),
            "a long name": replaced(rb"<UserName>[^<]*", b"<UserName>" + LONG, 1),
            "no names": replaced(rb"<UserName>[^<]*</UserName>", b""),
            "another list": replaced(rb"UserList", b"GroupList"),
            "another entry": replaced(rb"(</?)entry", rb"\1user"),
            "entries in entries": replaced(rb"<entry>", b"<entry><entry>", 1),
            "another namespace": replaced(rb"captechventures", b"example"),
            "other prefixes": replaced(rb"<(/?)(\w)", rb"<\1p:\2"),
            "nil": replaced(rb"<UserName>[^<]*</UserName>",
                            b'<UserName xmlns:i="http://www.w3.org/2001/XMLSchema-instance" i:nil="true"/>'),
        }, "users/users")

    def test_a_user_who_comes_twice_is_one(self):
        self.known()
        self.proxy.lie = replaced(rb"(<entry><UserId>101</UserId>.*?</entry>)", rb"\1\1\1")
        self.assertEqual(self.known().count(b"<UserId>101<"), 1)

    def test_a_negative_age_and_one_beyond_all_is_no_trouble(self):
        for age in ["-5", "5, 6", "x", "1.5"]:
            self.proxy.lie = told(Age=age)
            self.assertLess(int(self.gateway.get("/v1/list").headers["age"]), 100)
        # One that no number holds is the largest.
        for age in ["4000000000", "99999999999999999999"]:
            self.proxy.lie = told(Age=age)
            self.assertIn(self.gateway.get("/v1/list").status, [200, 503])
        self.proxy.lie = None
        self.until(lambda: control(self.gateway, "mirrors", "refresh", "users/users")[0].returncode == 0)


class UsersOfDocuments(Liar):
    """Version 2 alone: a list, and a document for each user."""

    parts, arguments = {"users": f"{BACK}, access: {{ read: public, write: login }}, write: through, {ASKING}"}, ("--users", 6)

    def only_version_2(self, lie=None):
        def answer(path, sent, status, fields, body):
            if path.startswith("/v1"):
                return 404, {"Content-Type": "text/plain"}, b"none"
            return lie(path, sent, status, fields, body) if lie and "list" not in path else (status, fields, body)
        return answer

    def test_no_document_of_another_user_is_taken(self):
        self.proxy.lie = self.only_version_2()
        good = self.gateway.get("/v1/list")
        self.assertEqual(good.status, 200, good)
        for name, lie in {
            "the same for all": replaced(rb"<UserId>\d+", b"<UserId>101"),
            "other numbers": replaced(rb"<UserId>(\d+)", rb"<UserId>1\1"),
            "no number": replaced(rb"<UserId>\d+</UserId>", b""),
            "another document": replaced(rb"user\b", b"group"),
            **ANY, **XML,
        }.items():
            with self.subTest(name):
                self.proxy.lie = self.only_version_2(lie)
                self.assertEqual(self.gateway.get("/v1/list").body, good.body)
                self.proxy.lie = self.only_version_2()
                self.until(lambda: control(self.gateway, "mirrors", "refresh", "users/users")[0].returncode == 0)

    def test_a_change_that_is_answered_with_another_user_changes_none(self):
        self.proxy.lie = None
        good = self.gateway.get("/v1/list").body
        self.proxy.lie = lambda path, sent, status, fields, body: (
            (200, fields, re.sub(rb"<UserId>\d+", b"<UserId>100", re.sub(rb"<UserName>[^<]*", b"<UserName>Eve", body)))
            if "/user/" in path else (status, fields, body))
        answer = self.gateway.send(
            "PATCH", "/api/v1/users/users/101", {"UserName": "Ann"}, user="alice")
        self.assertEqual((answer.status, answer.json()["error"]["code"]), (504, "upstream.outcomeUnknown"), answer)
        self.assertNotIn(b"Eve", self.gateway.get("/v1/list").body)
        self.assertEqual(self.gateway.get("/v1/list").body.count(b"<UserId>"), good.count(b"<UserId>"))


EMPLOYEES_JSON = {
    "no list": replaced(rb'"employees"', b'"people"'),
    "a dictionary": replaced(rb'"employees":\[.*\]', b'"employees":{}'),
    "null": replaced(rb'"employees":\[.*\]', b'"employees":null'),
    "an error code": replaced(rb'^\{', b'{"errorCode":"E1",'),
    "a total beyond all": replaced(rb'"totalRows":\d+', b'"totalRows":9223372036854775807'),
    "a negative total": replaced(rb'"totalRows":\d+', b'"totalRows":-1'),
    "a smaller total": replaced(rb'"totalRows":\d+', b'"totalRows":3'),
    "pages of none": replaced(rb'"rowsPerPage":\d+', b'"rowsPerPage":0'),
    "pages beyond all": replaced(rb'"rowsPerPage":\d+', b'"rowsPerPage":9223372036854775807'),
    "numbers for rows": replaced(rb'\[.*\]', b"[1,2,3]"),
    "an empty list": replaced(rb'\[.*\]', b"[]"),
    "a long name": replaced(rb'"firstName":"[^"]*"', b'"firstName":"' + LONG + b'"', 1),
    "half a surrogate": replaced(rb'"firstName":"[^"]*"', rb'"firstName":"\\ud800"', 1),
    "a key twice": replaced(rb'^\{', b'{"employees":[],'),
    "depth": body(lambda found: b'{"employees":' + b"[" * 100_000),
}
EMPLOYEES_XML = {
    "a fault with 200": lambda path, sent, status, fields, body: (200, fields, re.sub(
        rb"(<[\w:]*Body>).*(</[\w:]*Body>)",
        rb"\1<soap:Fault><faultcode>soap:Server</faultcode><faultstring>x</faultstring></soap:Fault>\2", body, flags=re.S)),
    "another version": replaced(rb"http://schemas.xmlsoap.org/soap/envelope/", b"http://www.w3.org/2003/05/soap-envelope"),
    "no body": replaced(rb"<[\w:]*Body>.*</[\w:]*Body>", b""),
    "an empty body": replaced(rb"(<[\w:]*Body>).*(</[\w:]*Body>)", rb"\1\2"),
    "an empty answer": replaced(rb"(<[\w:]*employeeSearchResponse[^>]*>).*(</[\w:]*employeeSearchResponse>)", rb"\1\2"),
    "no employees": replaced(rb"<employees>.*</employees>", b""),
    "nil": replaced(rb"<output1>.*</output1>", b'<output1 xsi:nil="true"/>'),
    "another operation": replaced(rb"employeeSearchResponse", b"employeeListResponse"),
    "another element": replaced(rb"output1", b"output2"),
    "other rows": replaced(rb"(</?)employees", rb"\1persons"),
    "a total beyond all": replaced(rb"<totalRows>\d+", b"<totalRows>99999999999999999999"),
    "a smaller total": replaced(rb"<totalRows>\d+", b"<totalRows>3"),
    "a long name": replaced(rb"<firstName>[^<]*", b"<firstName>" + LONG, 1),
    "a header that must be understood": replaced(
        rb"(<soap:Body>)", rb'<soap:Header><t:a xmlns:t="urn:t" soap:mustUnderstand="1"/></soap:Header>\1'),
    "the request": lambda path, sent, status, fields, body: (status, fields, sent),
}


class Employees(Liar):
    protocol = "protocol: json"
    lies = {**ANY, **EMPLOYEES_JSON}
    arguments = ("--employees", 15)

    @classmethod
    def setUpClass(cls):
        cls.parts = {"employees": f"{BACK}, access: public-read, {cls.protocol}, {ASKING}"}
        super().setUpClass()

    def known(self, criteria=EVERYBODY):
        answer = self.gateway.send("POST", test_soap.SEARCH, criteria)
        self.assertEqual(answer.status, 200, answer)
        return answer.json()

    def test_no_lie_replaces_employees(self):
        self.believes_nothing(self.known, self.lies, "employees/employees")


class EmployeesCalled(Employees):
    protocol = "protocol: json, mode: call"

    def test_no_lie_replaces_employees(self):
        """What is asked for the first time is an error, or has the contract's shape."""
        self.proxy.lie = None
        self.known()
        for number, (name, lie) in enumerate(self.lies.items()):
            with self.subTest(name):
                self.proxy.lie = lie
                criteria = {**EVERYBODY, "rowsPerPage": 20 + number}
                answer = self.gateway.send("POST", test_soap.SEARCH, criteria)
                self.assertIn(answer.status, [200, 503], answer)
                if answer.status == 200:
                    page = answer.json()
                    self.assertGreaterEqual(page["totalRows"], len(page["employees"]))
                    for employee in page["employees"]:
                        self.assertEqual(list(employee), test_soap.KEYS)
                else:
                    self.assertIn("back", answer.json()["errorMessage"])
        self.proxy.lie = None
        self.assertEqual(len(self.known()["employees"]), 15)
        self.assertIsNone(self.gateway.process.poll())


class EmployeesOfSOAP(Employees):
    protocol = "protocol: soap, wsdl: hr.wsdl"
    lies = {**ANY, **XML, **EMPLOYEES_XML}

    def test_what_services_do_beside_their_wsdl_is_read(self):
        good = self.known()
        for name, lie in {
            "other prefixes": replaced(rb"soap:|:soap=", lambda found: found.group(0).replace(b"soap", b"x")),
            "no namespace": replaced(rb"<employees>", b'<employees xmlns="">'),
            "any XML": told(Content_Type="application/xml"),
        }.items():
            with self.subTest(name):
                self.proxy.lie = lie
                self.assertEqual(control(self.gateway, "mirrors", "refresh", "employees/employees")[0].returncode, 0)
                self.assertEqual(self.known(), good)


class EmployeesOfSOAPCalled(EmployeesCalled):
    protocol = "protocol: soap, wsdl: hr.wsdl, mode: call"
    lies = {**ANY, **XML, **EMPLOYEES_XML}


class Feeds(Liar):
    parts = {"feed": f"{BACK}, path: plists/sonnets, {ASKING}"}

    def known(self):
        answer = self.gateway.get(FEED)
        self.assertEqual(answer.status, 200, answer)
        return answer.body

    def test_no_lie_replaces_a_feed(self):
        def fresh(lie):
            """The answer is a whole one: what is said to be unchanged shows no lie."""
            return lambda path, sent, status, fields, body: lie(path, sent, *self.whole)

        answer = self.system.get(FEED)
        self.whole = (200, {"Content-Type": "application/x-plist"}, answer.body)
        lies = {**ANY, **XML}
        # A property list has a DOCTYPE of its own, and another character set's name is no other character set.
        for name in ["a DOCTYPE", "another character set", "another type"]:
            lies.pop(name)
        lies.update({
            "an array": replaced(rb"<plist.*", b'<plist version="1.0"><array/></plist>'),
            "a text": replaced(rb"<plist.*", b'<plist version="1.0"><string>x</string></plist>'),
            "an external entity": replaced(rb"<!DOCTYPE.*?>", b'<!DOCTYPE plist [<!ENTITY x SYSTEM "file:///etc/passwd">]>'),
            "a key twice": replaced(rb"<key>verses</key>", b"<key>verses</key><true/><key>verses</key>"),
            "no value": replaced(rb"</dict>", b"<key>last</key></dict>"),
            "JSON with null": body(lambda _: b'{"a": null}'),
            "a number beyond all": body(lambda _: b'{"a": 1e999}'),
            "depth": body(lambda _: b'{"a":' + b"[" * 500 + b"]" * 500 + b"}"),
            "shared references": body(lambda _: b"bplist00" + b"\xaf\x10\xff" * 100),
            "unchanged": lambda path, sent, status, fields, body: (304, {"ETag": '"other"'}, b""),
        })
        self.believes_nothing(self.known, {name: fresh(lie) for name, lie in lies.items()}, "feeds/sonnets")


class Chat(Liar):
    parts = {"chat": f"{BACK}, rooms: [r1], refresh: 100ms"}

    def twaddle(self, function, **members):
        answer = self.gateway.request(
            "POST", "/chat", json.dumps({"function": function, **members}), {"Content-Type": "application/json"}, user="alice")
        self.assertEqual(answer.status, 200, answer)
        return answer.json()

    def texts(self):
        return [message["text"] for message in self.twaddle("getmessages", room="r1", limit=200)["messages"]]

    def post_there(self, text):
        request = json.dumps({"function": "postmessage", "room": "r1", "user": "ann", "text": text})
        self.assertEqual(self.system.send("POST", "/chat", "post=" + request).status, 200)

    def test_no_lie_stops_a_bridge(self):
        def of_messages(change):
            def lie(path, sent, status, fields, body):
                answer = json.loads(body)
                if "messages" in answer:
                    change(answer["messages"])
                return status, fields, json.dumps(answer).encode()
            return lie

        def every(**members):
            return of_messages(lambda messages: [message.update(members) for message in messages[-1:]])

        lies = {
            **ANY,
            "no list": replaced(rb'"messages?"', b'"other"'),
            "another order": of_messages(lambda messages: messages.reverse()),
            "twice": of_messages(lambda messages: messages.extend(list(messages))),
            "no id": every(id=None), "an id that is a number": every(id=7), "an empty id": every(id=""),
            "a long id": every(id="x" * 1000), "an id of signs": every(id="../../etc \u0000\n"),
            "a long text": every(text="x" * 10_000_000), "no text": every(text=""), "a text of nothing": every(text=None),
            "a text that no format carries": every(text="a\u0000b\u0001"), "half a surrogate": every(text="\ud800"),
            "another user": every(user="admin"), "a long name": every(user="x" * 100_000), "a user of signs": every(user="\u0000"),
            "a number beyond all": every(seq=2 ** 63 - 1), "a negative number": every(seq=-5), "a text for a number": every(seq="x"),
            "depth": body(lambda _: b'{"messages":' + b"[" * 100_000),
        }
        self.until(lambda: self.gateway.request("POST", "/chat/v1/rooms/r1/join", user="alice").status == 200)
        for number, (name, lie) in enumerate(lies.items()):
            with self.subTest(name):
                self.post_there(f"before {number}")
                self.proxy.lie = lie
                self.twaddle("postmessage", room="r1", text=f"meanwhile {number}")
                time.sleep(0.4)
                self.proxy.lie = None
                self.post_there(f"after {number}")
                self.until(lambda: f"ann: after {number}" in self.texts(), 20)
                self.assertEqual(self.texts().count(f"ann: after {number}"), 1)
                self.assertEqual(self.texts().count(f"meanwhile {number}"), 1)
        self.assertIsNone(self.gateway.process.poll())
        self.assertLess(self.gateway.resident("VmHWM"), 700 << 20)


if __name__ == "__main__":
    unittest.main()
