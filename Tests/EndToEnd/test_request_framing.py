"""Requests that are split, joined and repeated on a connection each get the response that they get alone."""

import random
import socket
import time
import unittest

from harness import GatewayTest, altered
from test_buffered_requests import BufferedRequests

SEARCH = "/OrganizationInterfaceImplMobile/employeeSearch"


class RepeatedRequests(GatewayTest):
    request = staticmethod(BufferedRequests.request)

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.tokens = {name: cls.gateway.login(name).json()["accessToken"] for name in ("alice", "bob")}
        cls.requests = [
            cls.request("/health/live"), cls.request("/health/live", method="HEAD"), cls.request("/nothing"),
            cls.request("/plists/sonnets"), cls.request("/api/v1/users/users?limit=3", "X-Fold: a"),
            *(cls.request("/auth/me", token=cls.tokens[name]) for name in ("alice", "bob")),
            cls.request("/auth/me", token=altered(cls.tokens["alice"])),
            *(cls.search(page, token) for page in range(4) for token in cls.tokens.values()),
            cls.chunked(1), cls.chunked(2),
        ]
        cls.alone = {request: cls.answered(request) for request in cls.requests}

    @classmethod
    def search(cls, page, token):
        value = {"fullName": "", "division": "", "order": "ASC", "rowsPerPage": 3, "pageIndex": page}
        return cls.request(SEARCH, method="POST", body=value, token=token)

    @classmethod
    def chunked(cls, page):
        head, body = cls.search(page, cls.tokens["alice"]).split(b"\r\n\r\n")
        head = head.replace(b"Content-Length: %d" % len(body), b"Transfer-Encoding: chunked")
        return head + b"\r\n\r\n%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)

    @classmethod
    def answered(cls, request):
        with cls.open() as connection:
            connection.sendall(request)
            return cls.answer(connection.makefile("rb"), request)

    @classmethod
    def open(cls):
        connection = cls.gateway.connect()
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection

    @staticmethod
    def answer(stream, request):
        """Status and body; the head's other fields tell each sending apart."""
        status, length = stream.readline()[9:12], 0
        while (line := stream.readline()) not in (b"\r\n", b""):
            name, _, value = line.partition(b":")
            length = int(value) if name.lower() == b"content-length" else length
        return status, b"" if request.startswith(b"HEAD") else stream.read(length).split(b'"requestId"')[0]

    def check(self, connection, requests, pieces):
        for piece in pieces:
            connection.sendall(piece)
            time.sleep(0.002)
        stream = connection.makefile("rb")
        for request in requests:
            self.assertEqual(self.answer(stream, request), self.alone[request], request)

    def test_the_answers_do_not_depend_on_how_the_requests_come(self):
        chance = random.Random(215)
        for _ in range(40):
            with self.open() as connection:
                few = chance.sample(self.requests, 3)
                for _ in range(12):
                    self.check(connection, *self.sending(chance, few))

    @staticmethod
    def sending(chance, few):
        """Some requests, and their bytes as they are sent: mostly one, whole."""
        requests = [chance.choice(few) for _ in range(chance.choice((1, 1, 1, 1, 1, 2, 3)))]
        data = b"".join(requests)
        if chance.random() < 0.1:
            data = b"\r\n" * chance.randint(1, 2) + data
        cuts = sorted(chance.sample(range(1, len(data)), chance.choice((0, 0, 0, 0, 1, 2))))
        return requests, [data[start:end] for start, end in zip([0, *cuts], [*cuts, len(data)])]

    def test_a_body_that_follows_its_head_later_belongs_to_it(self):
        request = self.search(1, self.tokens["alice"])
        end = request.index(b"\r\n\r\n") + 4
        with self.open() as connection:
            for cut in (end, end + 5, end, len(request), end):
                self.check(connection, [request], [piece for piece in (request[:cut], request[cut:]) if piece])

    def test_a_body_that_reads_like_a_request_is_a_body(self):
        known, next_one = self.request("/auth/me", token=self.tokens["alice"]), self.requests[0]
        head = self.request(SEARCH, f"Content-Length: {len(known)}", method="POST", token=self.tokens["alice"])
        self.alone[head + known] = self.answered(head + known)
        self.assertEqual(self.alone[head + known][0], b"415")
        for pieces in ([head, known], [head + known[:7], known[7:]], [head, known[:-1], known[-1:]]):
            for before in ([], [known]):
                with self.open() as connection:
                    self.check(connection, [known] * 2, [known] * 2)
                    glued = [b"".join(before) + pieces[0], *pieces[1:]]
                    self.check(connection, [*before, head + known, known, next_one], [*glued, known, next_one])

    def test_a_head_that_goes_on_with_a_request_s_bytes_is_one_head(self):
        known = self.request("/auth/me", token=self.tokens["alice"])
        broken = b"GET /auth/me HTTP/1.1\r\nHost: x\r\nX-Odd: "
        self.alone[broken + known] = self.answered(broken + known)
        self.assertEqual(self.alone[broken + known][0], b"400")
        with self.open() as connection:
            self.check(connection, [known] * 2, [known] * 2)
            self.check(connection, [known, broken + known], [known + broken, known])

    def test_two_heads_in_one_reading_are_two(self):
        """As many fields in both, and a body as long as its own head: counted as one, they would come to an end."""
        first = self.request("/auth/me", "X-One: 1", token=self.tokens["alice"])
        head = self.request(SEARCH, "Content-Length: 000", method="POST", token=self.tokens["alice"])
        head = head.replace(b"000", b"%d" % len(head))
        body = first + b"." * (len(head) - len(first))
        self.alone |= {request: self.answered(request) for request in (first, head + body)}
        with self.open() as connection:
            self.check(connection, [first, head + body, first], [first + head, body + first])

    def test_empty_lines_before_a_head_are_not_counted_as_one(self):
        """Counted so, the head's bytes would be taken for the body's, and the body's for the next request's."""
        value = {"fullName": "x" * 900, "division": "", "order": "ASC", "rowsPerPage": 3, "pageIndex": 1}
        request = self.request(SEARCH, method="POST", body=value, token=self.tokens["alice"])
        self.alone[request] = self.answered(request)
        head = request.index(b"\r\n\r\n") + 4
        body = len(request) - head
        self.assertGreater(body, head)
        with self.open() as connection:
            first = b"\r\n\r\n" + request[:body]
            self.check(connection, [request, *self.requests[:2]], [first, request[body:], *self.requests[:2]])
            self.check(connection, [request] * 2, [request] * 2)

    def test_a_stop_of_the_sign_in_is_seen_by_the_next_repetition(self):
        token = self.gateway.login("bob").json()["accessToken"]
        request = self.request("/auth/me", token=token)
        with self.open() as connection:
            stream = connection.makefile("rb")
            for expected in (b"200", b"200", b"401", b"401"):
                if expected == b"401":
                    self.gateway.send("POST", "/auth/logout", {}, token=token)
                connection.sendall(request)
                self.assertEqual(self.answer(stream, request)[0], expected)


# Its own module runs it.
del BufferedRequests

if __name__ == "__main__":
    unittest.main()
