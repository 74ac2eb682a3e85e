"""Buffered requests are answered without the asynchronous channel: in order, each as its own caller, completely."""

import json
import socket
import unittest

from harness import JSON, GatewayTest, altered

QUICK = True

NOTES = "/api/v1/notes/notes"


class BufferedRequests(GatewayTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.tokens = {name: cls.gateway.login(name).json()["accessToken"] for name in ("alice", "bob")}

    def connect(self):
        connection = socket.create_connection(("127.0.0.1", self.gateway.port), timeout=30)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.addCleanup(connection.close)
        return connection

    @staticmethod
    def request(path, *fields, method="GET", body=None, token=None):
        data = b"" if body is None else json.dumps(body).encode()
        lines = [f"{method} {path} HTTP/1.1", "Host: x", f"Accept: {JSON}", *fields]
        if token:
            lines.append(f"Authorization: Bearer {token}")
        if body is not None:
            lines += [f"Content-Type: {JSON}", f"Content-Length: {len(data)}"]
        return "\r\n".join([*lines, "", ""]).encode() + data

    @staticmethod
    def rest(connection):
        answer = b""
        while received := connection.recv(65_536):
            answer += received
        return answer

    @staticmethod
    def more(connection):
        """A connection that ends within an answer fails the test; it would be read for ever."""
        received = connection.recv(65_536)
        assert received, "the connection ended within an answer"
        return received

    def ask(self, connection, request):
        """One answer: its status and its JSON."""
        connection.sendall(request)
        answer = b""
        while b"\r\n\r\n" not in answer:
            answer += self.more(connection)
        head, body = answer.split(b"\r\n\r\n", 1)
        length = next(
            (int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")), 0)
        while len(body) < length:
            body += self.more(connection)
        return int(head[9:12]), json.loads(body) if body else None

    def test_answers_keep_the_order_of_their_requests(self):
        connection = self.connect()
        batch = {"calls": [{"id": str(n), "method": "GET", "path": "/api/v1/users/users?limit=50"} for n in range(20)]}
        requests = [self.request("/batch", method="POST", body=batch, token=self.tokens["alice"])]
        for number in range(20):
            requests.append(self.request(NOTES, method="POST", body={"id": f"order-{number}", "title": "t"}, token=self.tokens["alice"]))
            requests.append(self.request("/health/live"))
        requests.append(self.request("/nothing", "Connection: close"))
        connection.sendall(b"".join(requests))
        answers = self.rest(connection).split(b"HTTP/1.1 ")[1:]
        self.assertEqual([answer[:3] for answer in answers], [b"200"] + [b"201", b"200"] * 20 + [b"404"])
        for number, answer in enumerate(answers[1:-1:2]):
            self.assertIn(f'"order-{number}"'.encode(), answer)

    def test_each_request_of_a_connection_is_its_own_callers(self):
        connection = self.connect()
        for name in ["alice", "bob", None, "alice", "alice", None, "bob"]:
            status, value = self.ask(connection, self.request("/auth/me", token=self.tokens.get(name)))
            if name is None:
                self.assertEqual((status, value["error"]["code"]), (401, "auth.required"))
            else:
                self.assertEqual((status, value["name"]), (200, name))
        wrong = altered(self.tokens["alice"])
        self.assertEqual(self.ask(connection, self.request("/auth/me", token=wrong))[0], 401)
        self.assertEqual(self.ask(connection, self.request("/auth/me", f"Cookie: Bearer {self.tokens['alice']}"))[0], 401)

    def test_a_sign_in_that_ended_is_refused_on_the_connection_that_used_it(self):
        for how in ["token", "cookie"]:
            connection = self.connect()
            login = self.gateway.login("carol")
            cookie = login.headers["set-cookie"].split(";")[0]
            fields = [f"Authorization: Bearer {login.json()['accessToken']}"] if how == "token" else [f"Cookie: {cookie}"]
            for _ in range(3):
                self.assertEqual(self.ask(connection, self.request("/auth/me", *fields))[0], 200)
            ended = self.ask(connection, self.request("/auth/logout", "X-Requested-With: x", *fields, method="POST", body={}))
            self.assertEqual(ended[0], 204)
            self.assertEqual(self.ask(connection, self.request("/auth/me", *fields))[0], 401)

    def test_a_broken_request_behind_one_under_way_is_refused_after_its_answer(self):
        connection = self.connect()
        connection.sendall(self.request(NOTES, token=self.tokens["alice"]) + b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n")
        answers = self.rest(connection).split(b"HTTP/1.1 ")[1:]
        self.assertEqual([answer[:3] for answer in answers], [b"200", b"400"])

    def test_garbage_behind_a_request_under_way_is_refused_after_its_answer(self):
        connection = self.connect()
        connection.sendall(self.request(NOTES, token=self.tokens["alice"]) + b"\x00\x01 nonsense\r\n\r\n")
        answers = self.rest(connection).split(b"HTTP/1.1 ")[1:]
        self.assertEqual([answer[:3] for answer in answers], [b"200", b"400"])

    def test_a_disconnecting_caller_does_not_affect_others(self):
        for _ in range(50):
            connection = self.connect()
            connection.sendall(self.request(NOTES, token=self.tokens["alice"]) * 5)
            connection.close()
        self.assertEqual(self.gateway.get(NOTES, JSON, token=self.tokens["alice"]).status, 200)

    def test_a_request_in_pieces_follows_one_under_way(self):
        connection = self.connect()
        first = self.request(NOTES, token=self.tokens["alice"])
        second = self.request(NOTES, "Connection: close", method="POST", body={"id": "pieces", "title": "t"}, token=self.tokens["alice"])
        connection.sendall(first + second[:-10])
        connection.sendall(second[-10:])
        answers = self.rest(connection).split(b"HTTP/1.1 ")[1:]
        self.assertEqual([answer[:3] for answer in answers], [b"200", b"201"])

    def test_head_of_an_uncached_resource_has_its_length_and_no_body(self):
        connection = self.connect()
        connection.sendall(
            self.request(f"{NOTES}?limit=7", method="HEAD", token=self.tokens["alice"])
            + self.request(f"{NOTES}?limit=8", "Connection: close", method="HEAD", token=self.tokens["alice"]))
        answer = self.rest(connection)
        self.assertEqual(answer.count(b"HTTP/1.1 200 OK"), 2)
        self.assertEqual(answer.lower().count(b"content-length: "), 2)
        self.assertNotIn(b"items", answer)


if __name__ == "__main__":
    unittest.main()
