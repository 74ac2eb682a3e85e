"""A request has the same response by every way: HTTP/1.1, HTTP/2, as a call of a batch, and from the admin socket."""

import http.client
import json
import os
import pathlib
import random
import socket
import struct
import unittest

from harness import Gateway
from http2_frames import END_HEADERS, END_STREAM, DATA, HEADERS, WINDOW_UPDATE, Connection, request
from test_tls import SecureGateway

SEED = int(os.environ.get("TEST_SEED", "20"))
REQUESTS = 400
#: Of the sending, not of the response.
OWN = {"date", "x-request-id", "connection", "content-length", "transfer-encoding", "ratelimit", "content-encoding"}
#: Of responses on a connection; the calls of a batch have their document's.
ON_A_CONNECTION = {"x-content-type-options", "content-security-policy"}


class AdminSocket(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost")
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(30)
        self.sock.connect(str(self.path))


def kept(fields, without=frozenset()):
    found = {}
    for name, value in fields:
        if name.lower() not in OWN | without:
            found.setdefault(name.lower(), []).append(value)
    return {name: sorted(", ".join(values).split(", ")) for name, values in found.items()}


def without_id(body, fields):
    """The body without the request's id, whatever its format."""
    own = dict((name.lower(), value) for name, value in fields)["x-request-id"]
    return body.replace(own.encode(), b"ID")


class SameResponse(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.gateway = SecureGateway("--set", "identity.basic.enabled=true")
        response, content = cls.gateway.call(
            "POST", "/auth/login", json.dumps({"username": "alice", "password": "portico-demo"}),
            {"Content-Type": "application/json"})
        assert response.status == 200, content
        cls.token = json.loads(content)["accessToken"]
        cls.random = random.Random(SEED)

    @classmethod
    def tearDownClass(cls):
        cls.gateway.remove()

    PATHS = [
        "/health/live", "/health/ready", "/openapi.json", "/auth/me", "/auth/jwks.json", "/nothing", "/v2/list", "/v2/nobody",
        "/api/v1/users/users", "/api/v1/users/users?limit=3", "/api/v1/users/users/nobody", "/api/v1/notes/notes",
        "/api/v1/notes/notes/nobody", "/api/v1/users/users?filter=%22", "/plists/sonnets", "/plists/nothing",
        "/odata/v4/admissions/Students?$top=1", "/odata/v4/admissions/Nothing", "/a%2Fb", "/a%zz", "/v2/%00", "/" + "a" * 9_000,
        "/auth/password", "/irj/portal", "/batch", "/sync/v1/pull", "/api/v1/users/users?access_token=a",
    ]
    METHODS = ["GET"] * 6 + ["HEAD"] * 3 + ["POST"] * 3 + ["PUT", "PATCH", "DELETE", "OPTIONS"]
    ACCEPTS = [None, None, "application/json", "text/xml", "application/x-plist", "image/png", "*/*;q=0", "a/b;q=x"]
    BODIES = [None, None, b"{}", b"{", b'{"username":"alice"}', b"[1]"]

    def requests(self, count):
        pick = self.random.choice
        for number in range(count):
            method, path, body = pick(self.METHODS), pick(self.PATHS), None
            fields = {}
            if accept := pick(self.ACCEPTS):
                fields["accept"] = accept
            if credential := pick([None, None, "Bearer " + self.token, "Bearer wrong", "Odd x"]):
                fields["authorization"] = credential
            if method in ("POST", "PUT", "PATCH") and (body := pick(self.BODIES)) is not None:
                fields["content-type"] = pick(["application/json", "application/json", "application/odd"])
            if pick([0] * 4 + [1]):
                fields["if-none-match"] = pick(["*", '"a"', 'W/"b"'])
            if pick([0] * 4 + [1]):
                fields["origin"] = "https://elsewhere.example"
            if pick([0] * 9 + [1]):
                fields["x-long"] = "x" * pick([1_000, 40_000])
            if pick([0] * 9 + [1]):
                fields |= {f"x-{index}": "y" for index in range(120)}
            yield number, method, path, fields, body

    def over_http_1(self, method, path, fields, body):
        with self.gateway.secured() as connection:
            lines = [f"{method} {path} HTTP/1.1", "Host: a"] + [f"{name}: {value}" for name, value in fields.items()]
            if body is not None:
                lines.append(f"Content-Length: {len(body)}")
            connection.sendall("\r\n".join([*lines, "", ""]).encode() + (body or b""))
            response = http.client.HTTPResponse(connection, method=method)
            response.begin()
            return response.status, response.getheaders(), response.read()

    def over_http_2(self, method, path, fields, body):
        with Connection(self.gateway.port, [(4, 1 << 24)]) as connection:
            connection.send(WINDOW_UPDATE, struct.pack(">I", 1 << 24))
            own = list(fields.items()) + ([("content-length", str(len(body)))] if body is not None else [])
            block = request(path, method, own)
            pieces = [block[start:start + 16_384] for start in range(0, len(block), 16_384)]
            for index, piece in enumerate(pieces):
                flags = END_HEADERS if piece is pieces[-1] else 0
                if index == 0 and body is None:
                    flags |= END_STREAM
                connection.send(9 if index else HEADERS, piece, flags, 1)
            if body is not None:
                connection.send(DATA, body, END_STREAM, 1)
            status, content = connection.answer(1)
            return status, [field for field in connection.sections[1] if not field[0].startswith(":")], content

    def test_by_both_versions(self):
        for number, method, path, fields, body in self.requests(REQUESTS):
            with self.subTest(number=number, method=method, path=path[:60], fields=str(fields)[:200], body=body):
                first = self.over_http_1(method, path, fields, body)
                second = self.over_http_2(method, path, fields, body)
                self.assertEqual(second[0], first[0], (second[2], first[2]))
                self.assertEqual(kept(second[1]), kept(first[1]))
                self.assertEqual(without_id(second[2], second[1]), without_id(first[2], first[1]))

    def test_alone_and_in_a_batch(self):
        """Without what only a connection can say: bodies that are no JSON, and methods that a batch has not."""
        for number, method, path, fields, body in self.requests(REQUESTS):
            if method in ("HEAD", "OPTIONS") or body == b"{" or path == "/batch" or fields.get("content-type") == "application/odd":
                continue
            with self.subTest(number=number, method=method, path=path[:60], fields=str(fields)[:200], body=body):
                fields.pop("origin", None)
                fields.setdefault("accept", "application/json")
                first = self.over_http_1(method, path, fields, body)
                call = {"id": "a", "method": method, "path": path, "headers": fields}
                if body is not None:
                    call["body"] = json.loads(body)
                _, content = self.gateway.call(
                    "POST", "/batch", json.dumps({"calls": [call]}), {"Content-Type": "application/json"})
                answer = json.loads(content)["answers"][0]
                self.assertEqual(answer["status"], first[0], (answer, first))
                mine = kept(answer.get("headers", {}).items(), ON_A_CONNECTION)
                self.assertEqual(mine, kept(first[1], ON_A_CONNECTION))
                if "json" in str(mine.get("content-type")):
                    own = json.dumps(answer.get("body")).encode()
                    self.assertEqual(
                        json.loads(without_id(own, answer["headers"].items())),
                        json.loads(without_id(first[2], first[1])))


class AdminListener(unittest.TestCase):
    def test_the_admin_socket_takes_the_same_steps(self):
        """For what is on both: health, unknown paths, other methods, paths that are not well-formed."""
        gateway = Gateway()
        self.addCleanup(gateway.remove)
        path = pathlib.Path(gateway.data) / "admin.sock"
        for method in ("GET", "HEAD", "OPTIONS", "POST", "DELETE"):
            for target in ("/health/live", "/health/ready", "/nothing/at/all", "/a%zz", "/" + "a" * 9_000):
                with self.subTest(method=method, target=target[:40]):
                    found = []
                    for connection in (http.client.HTTPConnection("127.0.0.1", gateway.port), AdminSocket(path)):
                        connection.request(method, target)
                        response = connection.getresponse()
                        fields = kept(response.getheaders())
                        # The pages of error codes are on the public listener alone.
                        fields.pop("link", None)
                        found.append((response.status, fields, without_id(response.read(), response.getheaders())))
                        connection.close()
                    if found[1][0] == 404 and found[0][0] != 404:
                        continue
                    self.assertEqual(found[0], found[1])


class CountedOnce(unittest.TestCase):
    def test_a_batch_counts_as_its_first_call(self):
        gateway = Gateway("--set", "limits.requestsPerMinute=10", "--set", "limits.addressRequestsPerMinute=10")
        self.addCleanup(gateway.remove)
        call = {"id": "a", "method": "GET", "path": "/openapi.json"}
        statuses = []
        for _ in range(4):
            answer = gateway.send("POST", "/batch", {"calls": [call, call, call]})
            statuses.append([each["status"] for each in answer.json()["answers"]] if answer.status == 200 else answer.status)
        self.assertEqual(statuses, [[200] * 3] * 3 + [[200, 429, 429]])

    def test_what_the_cache_does_not_answer_is_counted_once(self):
        gateway = Gateway("--set", "limits.requestsPerMinute=6", "--set", "http.limits.answerCache=0B")
        self.addCleanup(gateway.remove)
        statuses = [gateway.get("/v2/list").status for _ in range(8)]
        self.assertEqual(statuses.count(429), 2, statuses)


if __name__ == "__main__":
    unittest.main()
