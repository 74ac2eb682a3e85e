"""Cached responses follow the rules of all responses: order, access, freshness."""

import json
import socket
import time
import unittest

from harness import JSON, GatewayTest, altered

SEARCH = "/OrganizationInterfaceImplMobile/employeeSearch"
CRITERIA = {"fullName": "", "division": "", "order": "ASC", "rowsPerPage": 10, "pageIndex": 3}


class AtHand(GatewayTest):
    settings = ("--set", "http.deadlines.head=2s")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.token = cls.gateway.login("alice").json()["accessToken"]

    def raw(self, *pieces):
        """Everything that comes back until the gateway closes."""
        with socket.create_connection(("127.0.0.1", self.gateway.port), timeout=30) as connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for piece in pieces:
                connection.sendall(piece)
            answer = b""
            while received := connection.recv(65_536):
                answer += received
            return answer

    @staticmethod
    def head(path, *fields, method="GET"):
        return "\r\n".join([f"{method} {path} HTTP/1.1", "Host: x", *fields, "", ""]).encode()

    def test_pipelined_requests_are_answered_in_their_order(self):
        paths = ["/health/live", "/nothing/1", "/health/ready", "/nothing/2", "/health/live"]
        requests = [self.head(path) for path in paths[:-1]] + [self.head(paths[-1], "Connection: close")]
        answer = self.raw(b"".join(requests))
        self.assertEqual([part[:3] for part in answer.split(b"HTTP/1.1 ")[1:]], [b"200", b"404", b"200", b"404", b"200"])
        self.assertLess(answer.index(b'"live"'), answer.index(b'"ready"'))

    def test_a_connection_that_is_to_end_ends(self):
        self.assertIn(b'"live"', self.raw(self.head("/health/live", "Connection: close")))

    def test_head_has_the_length_and_no_body(self):
        answer = self.raw(self.head("/health/live", method="HEAD") + self.head("/health/live", "Connection: close", method="HEAD"))
        self.assertEqual(answer.count(b"200 OK"), 2)
        self.assertNotIn(b"live", answer)

    def test_a_kept_page_is_the_same_page_in_pieces_too(self):
        first = self.gateway.send("POST", SEARCH, CRITERIA, token=self.token)
        second = self.gateway.send("POST", SEARCH, CRITERIA, token=self.token)
        self.assertEqual((first.status, first.body), (200, second.body))
        body = json.dumps(CRITERIA).encode()
        fields = (f"Authorization: Bearer {self.token}", f"Content-Type: {JSON}", f"Content-Length: {len(body)}")
        head = self.head(SEARCH, *fields, "Connection: keep-alive", method="POST")
        last = self.head("/health/live", "Connection: close")
        self.assertIn(first.body, self.raw(head + body + last))
        self.assertIn(first.body, self.raw(head, body[:20], body[20:], last))

    def test_a_cached_response_is_only_for_permitted_callers(self):
        for _ in range(2):
            self.assertEqual(self.gateway.send("POST", SEARCH, CRITERIA, token=self.token).status, 200)
        self.assertEqual(self.gateway.send("POST", SEARCH, CRITERIA).status, 401)
        self.assertEqual(self.gateway.send("POST", SEARCH, CRITERIA, token=altered(self.token)).status, 401)

    def test_a_token_that_was_signed_out_is_not_remembered(self):
        token = self.gateway.login("bob").json()["accessToken"]
        for _ in range(2):
            self.assertEqual(self.gateway.send("POST", SEARCH, CRITERIA, token=token).status, 200)
        self.assertEqual(self.gateway.send("POST", "/auth/logout", {}, token=token).status, 204)
        self.assertEqual(self.gateway.send("POST", SEARCH, CRITERIA, token=token).status, 401)

    def test_a_changed_record_is_read_anew(self):
        path = "/api/v1/users/users/70077"
        created = self.gateway.send(
            "POST", "/api/v1/users/users", {"UserId": 70077, "UserName": "One", "ShoeSize": "9"}, user="admin")
        self.expect(created, 201)
        for name in ["Two", "Three"]:
            self.expect(self.gateway.send("PATCH", path, {"UserName": name}, user="admin"), 200)
            for _ in range(3):
                self.assertEqual(self.gateway.get(path, JSON, token=self.token).json()["UserName"], name)
        self.expect(self.gateway.request("DELETE", path, user="admin"), 204)
        self.expect(self.gateway.get(path, JSON, token=self.token), 404)

    def test_a_quiet_connection_is_closed_and_a_busy_one_is_not(self):
        for _ in range(20):
            with socket.create_connection(("127.0.0.1", self.gateway.port), timeout=30) as connection:
                if self.stays_while_busy(connection):
                    self.assertEqual(connection.recv(65_536), b"")
                    return
        self.fail("the machine stood still for seconds, again and again")

    def stays_while_busy(self, connection):
        """False where this test was not busy: a machine that stands still makes every connection a quiet one."""
        last = time.monotonic()
        for _ in range(8):
            try:
                connection.sendall(self.head("/health/live"))
                answer = connection.recv(65_536)
            except ConnectionError:
                answer = b""
            if b"200 OK" not in answer:
                self.assertGreater(time.monotonic() - last, 1.5, answer)
                return False
            last = time.monotonic()
            time.sleep(0.5)
        return True

    def test_it_has_the_fields_that_it_had_at_first(self):
        for number, path in enumerate(["/plists/sonnets", "/v2/101"]):
            first, second, unchanged = (
                self.gateway.get(f"{path}?n={number}", token=self.token, headers=headers)
                for headers in [{}, {}, {"If-None-Match": "*"}])
            for answer in [first, second, unchanged]:
                del answer.headers["date"], answer.headers["x-request-id"]
            self.assertEqual((first.headers, first.body), (second.headers, second.body))
            self.assertEqual((unchanged.status, unchanged.body), (304, b""))
            self.assertLess(set(unchanged.headers), set(first.headers))

    def test_every_answer_has_an_id_of_its_own(self):
        ids = {self.gateway.get("/health/live").headers["x-request-id"] for _ in range(5)}
        self.assertEqual(len(ids), 5)


if __name__ == "__main__":
    unittest.main()
