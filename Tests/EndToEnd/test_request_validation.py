"""Ambiguous and malformed requests are refused with a JSON error, and the connection is closed."""

import json
import socket
import unittest

from harness import GatewayTest

QUICK = True

CANARY = "/canary"
SMUGGLED = f"GET {CANARY} HTTP/1.1\r\nHost: a\r\n\r\n"
LOGIN = "POST /auth/login HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
CHUNKED = LOGIN + "Transfer-Encoding: chunked\r\n"
GET = "GET /health/live HTTP/1.1\r\n"
HOST = "Host: a\r\n"

# Every one of these gets exactly one answer with this status, and its connection ends.
REFUSED = {
    "no Host": (400, GET + "\r\n"),
    "two Hosts": (400, GET + "Host: a\r\nHost: b\r\n\r\n"),
    "two equal Hosts": (400, GET + HOST + HOST + "\r\n"),
    "an empty Host": (400, GET + "Host:\r\n\r\n"),
    "a Host with a path": (400, GET + "Host: a/b\r\n\r\n"),
    "a Host with a user": (400, GET + "Host: user@a\r\n\r\n"),
    "a Host with a list": (400, GET + "Host: a, b\r\n\r\n"),
    "HTTP/1.0 without a Host": (400, "GET /health/live HTTP/1.0\r\n\r\n"),
    "a target in absolute form for another host": (400, "GET http://b/health/live HTTP/1.1\r\n" + HOST + "\r\n"),
    "authority-form": (400, "CONNECT a:443 HTTP/1.1\r\n" + HOST + "\r\n"),
    "no slash": (400, "GET health/live HTTP/1.1\r\n" + HOST + "\r\n"),
    "an asterisk but for OPTIONS": (400, "GET * HTTP/1.1\r\n" + HOST + "\r\n"),
    "a fragment": (400, "GET /health/live#a HTTP/1.1\r\n" + HOST + "\r\n"),
    "a control character in the address": (400, "GET /health/\x01live HTTP/1.1\r\n" + HOST + "\r\n"),
    "a byte beyond ASCII in the address": (400, "GET /health/liv\xe9 HTTP/1.1\r\n" + HOST + "\r\n"),
    "a space in the address": (400, "GET /health /live HTTP/1.1\r\n" + HOST + "\r\n"),
    "HTTP/0.9": (400, "GET /health/live\r\n\r\n"),
    "HTTP/1.2": (400, "GET /health/live HTTP/1.2\r\n" + HOST + "\r\n"),
    "HTTP/2 in the clear": (400, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
    "HTTP/3.0": (400, "GET /health/live HTTP/3.0\r\n" + HOST + "\r\n"),
    "another protocol": (400, "GET /health/live XTTP/1.1\r\n" + HOST + "\r\n"),
    "a method of odd characters": (400, "G@T /health/live HTTP/1.1\r\n" + HOST + "\r\n"),
    "a lower-case method": (501, "get /health/live HTTP/1.1\r\n" + HOST + "\r\n"),
    "an unknown method": (501, "FOO /health/live HTTP/1.1\r\n" + HOST + "\r\n"),
    "a chunk's extension without an end": (413, CHUNKED + "\r\n5;" + "a" * 500_000),
    "chunks' extensions that are too long together": (413, CHUNKED + "\r\n" + ("1;" + "a" * 4_000 + "\r\n \r\n") * 100),
    "a TLS greeting": (400, "\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x03" + "\x00" * 32),
    "bare line feeds": (400, GET.replace("\r", "") + "Host: a\n\n"),
    "one bare line feed": (400, GET + "Host: a\n" + "Accept: */*\r\n\r\n"),
    "a bare carriage return": (400, GET + HOST + "Accept: a\rb\r\n\r\n"),
    "a folded field": (400, GET + HOST + "Accept: text/html,\r\n application/json\r\n\r\n"),
    "a space before the colon": (400, GET + "Host : a\r\n\r\n"),
    "a space before the first field": (400, GET + " Host: a\r\n\r\n"),
    "a field without a colon": (400, GET + HOST + "Accept\r\n\r\n"),
    "a field without a name": (400, GET + HOST + ": a\r\n\r\n"),
    "a NUL in a name": (400, GET + HOST + "Acc\x00ept: a\r\n\r\n"),
    "a NUL in a value": (400, GET + HOST + "Accept: a\x00b\r\n\r\n"),
    "a control character in a value": (400, GET + HOST + "Accept: a\x08b\r\n\r\n"),
    "an unknown expectation": (417, GET + HOST + "Expect: miracles\r\n\r\n"),
    "a length and chunks": (400, CHUNKED + "Content-Length: 5\r\n\r\n0\r\n\r\n"),
    "chunks and a length": (400, LOGIN + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
    "two lengths": (400, LOGIN + "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello"),
    "two equal lengths": (400, LOGIN + "Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello"),
    "a list of lengths": (400, LOGIN + "Content-Length: 5, 5\r\n\r\nhello"),
    "a signed length": (400, LOGIN + "Content-Length: +5\r\n\r\nhello"),
    "a negative length": (400, LOGIN + "Content-Length: -5\r\n\r\nhello"),
    "a hexadecimal length": (400, LOGIN + "Content-Length: 0x5\r\n\r\nhello"),
    "an empty length": (400, LOGIN + "Content-Length: \r\n\r\nhello"),
    "a length beyond every number": (400, LOGIN + "Content-Length: 99999999999999999999999\r\n\r\nhello"),
    "HTTP/1.0 with chunks": (400, CHUNKED.replace("1.1", "1.0") + "\r\n0\r\n\r\n"),
    "an unknown coding": (501, LOGIN + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"),
    "chunks that are not last": (400, LOGIN + "Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n"),
    "chunks twice": (400, CHUNKED + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
    "a misspelt coding": (400, LOGIN + "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n"),
    "a coding with a vertical tab": (400, LOGIN + "Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n"),
    "a coding behind a space": (400, LOGIN + "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n"),
    "an empty coding": (400, LOGIN + "Transfer-Encoding:\r\n\r\n0\r\n\r\n"),
    "a chunk's size of odd characters": (400, CHUNKED + "\r\n5x\r\nhello\r\n0\r\n\r\n"),
    "a chunk's size with 0x": (400, CHUNKED + "\r\n0x5\r\nhello\r\n0\r\n\r\n"),
    "a negative chunk": (400, CHUNKED + "\r\n-5\r\nhello\r\n0\r\n\r\n"),
    "a chunk beyond every number": (400, CHUNKED + "\r\nfffffffffffffffff\r\nhello\r\n0\r\n\r\n"),
    "a chunk longer than its size": (400, CHUNKED + "\r\n3\r\nhello\r\n0\r\n\r\n"),
    "a chunk's size without a carriage return": (400, CHUNKED + "\r\n5\nhello\r\n0\r\n\r\n"),
    "a chunk's extension with a bare line feed": (400, CHUNKED + "\r\n5;a\nhello\r\n0\r\n\r\n"),
    "a chunk's data without its line end": (400, CHUNKED + "\r\n5\r\nhello0\r\n\r\n"),
    "an empty chunk's size": (400, CHUNKED + "\r\n\r\nhello\r\n0\r\n\r\n"),
    "a trailer without a colon": (400, CHUNKED + "\r\n2\r\n{}\r\n0\r\nnonsense\r\n\r\n"),
    "too many fields": (431, GET + HOST + "".join(f"X-{n}: a\r\n" for n in range(2000)) + "\r\n"),
    "a field that is too long": (431, GET + HOST + "X: " + "a" * 100_000 + "\r\n\r\n"),
    "a name that is too long": (431, GET + HOST + "X" * 100_000 + ": a\r\n\r\n"),
    "fields that are too long together": (431, GET + HOST + "".join(f"X-{n}: {'a' * 900}\r\n" for n in range(50)) + "\r\n"),
}

# These are odd and allowed; the connection goes on, but where the last member says otherwise.
TAKEN = {
    "an asterisk for OPTIONS": (204, "OPTIONS * HTTP/1.1\r\n" + HOST + "\r\n", True),
    "a host with a port": (200, GET + "Host: a:8080\r\n\r\n", True),
    "a host in brackets": (200, GET + "Host: [::1]:8080\r\n\r\n", True),
    "names in capitals": (200, GET + "HOST: a\r\n\r\n", True),
    "an empty line before the request": (200, "\r\n" + GET + HOST + "\r\n", True),
    "bytes beyond ASCII in a value": (200, GET + HOST + "X: \xe9\r\n\r\n", True),
    "HTTP/1.0": (200, "GET /health/live HTTP/1.0\r\n" + HOST + "\r\n", False),
    "the wish to close": (200, GET + HOST + "Connection: close\r\n\r\n", False),
    "the wish to close among others": (200, GET + HOST + "Connection: x, Close\r\n\r\n", False),
    "another protocol offered": (200, GET + HOST + "Connection: Upgrade\r\nUpgrade: h2c\r\n\r\n", False),
}


def answers(received):
    """Status, fields and body of each response in a row; fails where one is cut off."""
    found = []
    while received:
        head, separator, rest = received.partition(b"\r\n\r\n")
        assert separator, received[:200]
        line, *fields = head.decode("latin-1").split("\r\n")
        fields = {name.lower(): value.strip() for name, _, value in (field.partition(":") for field in fields)}
        length = int(fields.get("content-length", 0))
        assert len(rest) >= length, "a response is cut off"
        found.append((int(line.split()[1]), fields, rest[:length]))
        received = rest[length:]
    return found


class Strictness(GatewayTest):
    def exchange(self, text, ends=False):
        """Everything that comes back until the gateway closes, or until it has nothing more to say to a peer at its end."""
        with self.gateway.connect() as connection:
            connection.sendall(text.encode("latin-1"))
            if ends:
                connection.shutdown(socket.SHUT_WR)
            received = b""
            try:
                while piece := connection.recv(65536):
                    received += piece
            except ConnectionResetError:
                self.assertTrue(received, "reset without an answer")
            return received

    def tearDown(self):
        self.assertIsNone(self.gateway.process.poll(), "the gateway died")
        self.assertNotIn(CANARY, self.gateway.log())

    def check_refused(self, status, received):
        (found,) = answers(received)
        self.assertEqual(found[0], status, received[:300])
        self.assertEqual(found[1]["connection"], "close")
        self.assertEqual(found[1]["content-type"].split(";")[0], "application/json")
        error = json.loads(found[2])["error"]
        self.assertTrue(error["code"].startswith("request."), error)
        self.assertTrue(error["message"] and error["requestId"])

    def test_requests_with_no_or_several_meanings_are_refused_and_nothing_behind_them_is_read(self):
        self.assertGreaterEqual(len(REFUSED), 36)
        for name, (status, text) in REFUSED.items():
            with self.subTest(name):
                self.check_refused(status, self.exchange(text + SMUGGLED))

    def test_a_target_in_absolute_form_is_answered_like_its_path(self):
        for target in ("http://a/health/live", "HTTP://a:80/health/live", "http://A/health/live"):
            with self.subTest(target):
                received = self.exchange(f"GET {target} HTTP/1.1\r\n{HOST}Connection: close\r\n\r\n")
                self.assertEqual([found[0] for found in answers(received)], [200], received)

    def test_a_request_that_is_cut_off_is_refused(self):
        for name, text in {
            "in its body": LOGIN + "Content-Length: 100\r\n\r\n{}",
            "in its chunks": CHUNKED + "\r\n2\r\n{}\r\n",
            "in its head": GET + HOST,
        }.items():
            with self.subTest(name):
                self.check_refused(400, self.exchange(text, ends=True))

    def test_an_address_that_is_too_long_is_refused(self):
        for length, status in ((8_192, 404), (8_193, 414)):
            for more in ("", "Connection: close\r\n"):
                path = "/nothing/".ljust(length, "x")
                answer = self.gateway.get(path, headers={"Connection": "close"} if more else {})
                self.assertEqual(answer.status, status)

    def test_a_refusal_waits_for_the_answers_before_it(self):
        slow = "POST /auth/login HTTP/1.1\r\nHost: a\r\nContent-Type: text/odd\r\nContent-Length: 2\r\n\r\n{}"
        for name, (_, text) in list(REFUSED.items())[:12]:
            with self.subTest(name):
                found = answers(self.exchange(slow + GET + HOST + "\r\n" + text + SMUGGLED))
                self.assertEqual([status for status, _, _ in found], [415, 200, 400])

    def test_odd_requests_that_are_allowed_are_answered(self):
        for name, (status, text, goes_on) in TAKEN.items():
            with self.subTest(name):
                found = answers(self.exchange(text + GET + HOST + "\r\n", ends=True))
                self.assertEqual(found[0][0], status)
                self.assertEqual(len(found), 2 if goes_on else 1)
                if not goes_on:
                    self.assertEqual(found[0][1].get("connection"), "close")


if __name__ == "__main__":
    unittest.main()
