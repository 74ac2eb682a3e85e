"""`portico-stand-in`: what it serves, its faults on the wire, and its command line."""

import http.client
import plistlib
import re
import socket
import time
import unittest
import xml.etree.ElementTree as ET

from stand_in import PROGRAM, StandIn, run

NAMESPACE = "{http://captechventures.com/schema}"
ANN = {"firstName": "Ann", "lastName": "Lee", "division": "Sales"}


@unittest.skipUnless(PROGRAM.exists(), "the stand-in is not built")
class StandInTest(unittest.TestCase):
    ARGUMENTS = ("--employees", 500)

    @classmethod
    def setUpClass(cls):
        cls.system = StandIn(*cls.ARGUMENTS)
        cls.addClassCleanup(cls.system.stop)

    def tearDown(self):
        self.system.order("fault", "none")

    def connect(self):
        connection = socket.create_connection(("127.0.0.1", self.system.port), timeout=30)
        self.addCleanup(connection.close)
        return connection

    def ask(self, path="/employees"):
        """A request whose answer is read byte by byte."""
        connection = self.connect()
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: stand-in\r\n\r\n".encode())
        return connection


class Service(StandInTest):
    def test_every_employee_is_on_exactly_one_page(self):
        count = self.system.order("status")["employees"]
        seen, path = [], "/employees?offset=0&limit=130"
        while path:
            answer = self.system.get(path)
            self.assertEqual(answer.status, 200)
            seen += [employee["id"] for employee in answer.json()["employees"]]
            following = re.match(r'<([^>]+)>; rel="next"', answer.headers.get("link", ""))
            path = following and following[1]
        self.assertEqual((len(seen), len(set(seen))), (count, count))

    def test_the_search_finds_both_john_does(self):
        answer = self.system.send("POST", "/OrganizationInterfaceImplMobile/employeeSearch", {
            "fullName": "John Doe", "order": "ASC", "rowsPerPage": "10", "pageIndex": "0"})
        found = answer.json()
        self.assertEqual(len(found["employees"]), found["totalRows"])
        self.assertGreaterEqual(found["totalRows"], 2)
        self.assertEqual(set(found["employees"][0]), {"firstName", "lastName", "division", "email", "phoneNumber"})

    def test_users_and_the_feed_parse_with_other_implementations(self):
        users = ET.fromstring(self.system.get("/v2/list").body).findall(f"{NAMESPACE}entry")
        self.assertEqual([users[0].find(f"{NAMESPACE}{name}").text for name in ("UserId", "UserName")], ["100", "Fake 1"])
        detail = ET.fromstring(self.system.get("/v2/101").body)
        self.assertEqual([child.text for child in detail], ["101", "Fake 2", "12W"])
        feed = self.system.get("/plists/sonnets")
        self.assertEqual(len(plistlib.loads(feed.body)["verses"]), 154)
        self.assertEqual(self.system.get("/plists/sonnets", {"If-None-Match": feed.headers["etag"]}).status, 304)

    def test_changes_by_order_are_what_a_change_token_brings(self):
        token = self.system.get("/employees?limit=1").json()["changeToken"]
        self.assertEqual(self.system.order("change", 3), {"changed": 3})
        self.assertEqual(len(self.system.get(f"/employees?changedSince={token}").json()["employees"]), 3)

    def test_a_write_is_applied_once_for_each_key_and_is_in_the_ledger(self):
        before = self.system.order("status")
        for _ in range(3):
            self.assertEqual(self.system.send("POST", "/employees", ANN, {"Idempotency-Key": "one"}).status, 201)
        after = self.system.order("status")
        self.assertEqual(
            [after[name] - before[name] for name in ("applied", "repeats", "employees")], [1, 2, 1])
        self.assertEqual(self.system.get("/ledger").json()["writes"][-1]["idempotencyKey"], "one")

    def test_what_is_no_request_of_its_is_refused(self):
        self.assertEqual(self.system.get("/nothing").status, 404)
        self.assertEqual(self.system.send("DELETE", "/plists/sonnets").status, 405)
        self.assertEqual(self.system.send("POST", "/employees", "x" * (2 << 20)).status, 413)
        self.assertEqual(self.system.send("POST", "/stand-in/faults", '{"kind":"hang"}', {"Content-Type": "text/plain"}).status, 400)


class Faults(StandInTest):
    def test_a_hang_keeps_the_connection_and_says_nothing(self):
        self.system.order("fault", "hang", "--path", "/employees")
        connection = self.ask()
        connection.settimeout(0.5)
        with self.assertRaises(TimeoutError):
            connection.recv(1)
        self.assertEqual(self.system.get("/v1/list").status, 200)

    def test_a_drip_sends_the_answer_byte_by_byte(self):
        self.system.order("fault", "drip")
        connection, received = self.ask(), b""
        while not re.search(rb"\r\n\r\n...", received, re.DOTALL):
            piece = connection.recv(4096)
            self.assertTrue(piece)
            received += piece
        self.assertLess(len(received.split(b"\r\n\r\n")[1]), 20)

    def test_a_reset_comes_before_the_answer_or_in_the_middle_of_it(self):
        self.system.order("fault", "reset")
        with self.assertRaises(ConnectionResetError):
            self.ask().recv(1)
        self.system.order("fault", "reset", "--applied")
        connection, received = self.ask(), b""
        with self.assertRaises(ConnectionResetError):
            while piece := connection.recv(65536):
                received += piece
        self.assertNotIn(b"nextCursor", received)

    def test_a_truncated_answer_is_shorter_than_it_says(self):
        self.system.order("fault", "truncate")
        with self.assertRaises(http.client.IncompleteRead):
            self.system.get("/employees")

    def test_lies_have_status_200(self):
        for kind in ("garbage", "login-page", "empty"):
            self.system.order("fault", kind)
            answer = self.system.get("/employees")
            self.assertEqual(answer.status, 200, kind)
            if kind == "empty":
                self.assertEqual(answer.json()["employees"], [])
            else:
                self.assertIn("html" if kind == "login-page" else "json", answer.headers["content-type"])
                self.assertRaises(ValueError, answer.json)

    def test_a_huge_answer_goes_on_beyond_a_hundred_megabytes_and_leaves_others_alone(self):
        self.system.order("fault", "huge", "--path", "/employees")
        connection, received = self.ask(), 0
        while received < 100 << 20:
            received += len(connection.recv(1 << 20))
        self.assertEqual(self.system.get("/v1/list").status, 200)

    def test_a_slow_answer_is_genuine_and_late(self):
        self.system.order("fault", "slow", "300ms")
        begin = time.monotonic()
        self.assertEqual(self.system.get("/employees").status, 200)
        self.assertGreaterEqual(time.monotonic() - begin, 0.3)

    def test_a_share_of_failures_ends_by_itself(self):
        self.system.order("fault", "error", "503", "--share", "0.5", "--for", "2s")
        end = time.monotonic() + 60
        statuses = []
        while self.system.order("status")["faults"]:
            statuses += [self.system.get("/employees?limit=1").status for _ in range(20)]
            self.assertLess(time.monotonic(), end)
        self.assertEqual(set(statuses), {200, 503})
        self.assertEqual(self.system.get("/employees?limit=1").status, 200)


class WithoutKeys(StandInTest):
    ARGUMENTS = ("--employees", 1_000_000, "--ignore-idempotency-keys")

    def test_a_million_rows_are_served_and_keys_ignored(self):
        self.assertEqual(self.system.get("/employees?offset=999999").json()["employees"][0]["id"], "E1099999")
        for _ in range(2):
            self.system.send("POST", "/employees", ANN, {"Idempotency-Key": "one"})
        self.assertEqual(self.system.order("status")["employees"], 1_000_002)


@unittest.skipUnless(PROGRAM.exists(), "the stand-in is not built")
class CommandLine(unittest.TestCase):
    def test_wrong_usage_is_status_2_with_the_reason(self):
        for arguments, word in [
            (["--employees", "-1"], "employees"), (["--employees", "1000001"], "1000000"), (["fault"], "<kind>"),
            (["fault", "sulk"], "sulk"), (["fault", "slow"], "300ms"), (["fault", "slow", "3 days"], "3 days"),
            (["fault", "error"], "503"), (["fault", "hang", "2"], "no value"), (["fault", "hang", "--for", "x"], "x"),
            (["change", "3", "--add", "--delete"], "exclude"), (["change", "some"], "some"), (["status", "--port", "0"], "port"),
        ]:
            done = run(*arguments)
            self.assertEqual((done.returncode, done.stdout), (2, ""), (arguments, done))
            self.assertIn(word, done.stderr)

    def test_help_names_every_command_and_fault(self):
        text = run("--help").stdout + run("fault", "--help").stdout
        for word in ("serve", "fault", "change", "status", "hang", "drip", "reset", "truncate", "garbage", "login-page",
                     "empty", "huge", "slow", "error", "none", "/employees", "/ledger"):
            self.assertIn(word, text)

    def test_without_a_service_or_with_a_taken_port_the_reason_is_said(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            done = run("--port", port)
            self.assertEqual(done.returncode, 1)
            self.assertIn(f"port {port}", done.stderr)
        done = run("status", "--port", port)
        self.assertEqual(done.returncode, 1)
        self.assertIn("Is it serving there?", done.stderr)


if __name__ == "__main__":
    unittest.main()
