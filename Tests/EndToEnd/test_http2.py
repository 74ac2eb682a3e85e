"""HTTP/2 is served like HTTP/1.1; abuse ends the connection and affects no other."""

import base64
import json
import socket
import struct
import time
import unittest

import http2_frames
from http2_frames import (
    ACK, CONTINUATION, DATA, END_HEADERS, END_STREAM, HEADERS, PING, PRIORITY, RST_STREAM, SETTINGS, WINDOW_UPDATE,
    Connection, Ended, literal, request)
from test_tls import SecureGateway

MOST_MEMORY = 250 << 20
WHOLE = END_HEADERS | END_STREAM
FLOOD = 50_000
PROTOCOL_ERROR, REFUSED_STREAM, ENHANCE_YOUR_CALM = 1, 7, 11


class Streams(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.gateway = SecureGateway("--set", "http.deadlines.write=2s", "--set", "http.deadlines.head=10s")

    @classmethod
    def tearDownClass(cls):
        cls.gateway.remove()

    def connect(self, settings=()):
        connection = Connection(self.gateway.port, settings)
        self.addCleanup(connection.close)
        return connection

    def tearDown(self):
        self.assertIsNone(self.gateway.process.poll(), "the gateway died")
        with Connection(self.gateway.port) as other:
            other.send(HEADERS, request(), WHOLE, 1)
            self.assertEqual(other.answer(1)[0], 200)
        self.assertLess(self.gateway.resident("VmHWM"), MOST_MEMORY)


class Served(Streams):
    def test_requests_are_answered_side_by_side(self):
        paths = {stream: "/health/live" if stream % 4 == 1 else "/nothing" for stream in range(1, 100, 2)}
        connection = self.connect()
        for stream, path in paths.items():
            connection.send(HEADERS, request(path), WHOLE, stream)
        found = connection.statuses(len(paths))
        self.assertEqual(found, {stream: 200 if path == "/health/live" else 404 for stream, path in paths.items()})

    def test_a_host_field_names_what_the_authority_names(self):
        for status, authority, hosts in [
                (200, "a", ["a"]), (200, "a", ["A"]), (200, "a:8443", ["a:8443"]), (400, "a", ["b"]), (400, "a", ["a", "b"]),
                (400, "a", ["a", "a"]), (400, "a", [""]), (400, "a", ["a:8443"]), (400, "a", ["a."]), (400, "a", ["a,b"])]:
            with self.subTest(authority=authority, hosts=hosts):
                connection = self.connect()
                connection.send(
                    HEADERS, request(fields=[("host", host) for host in hosts], authority=authority), WHOLE, 1)
                self.assertEqual(connection.answer(1)[0], status)
                connection.send(HEADERS, request(), WHOLE, 3)
                self.assertEqual(connection.answer(3)[0], 200)

    def test_a_body_is_read(self):
        connection = self.connect()
        fields = [("content-type", "application/json")]
        connection.send(HEADERS, request("/auth/login", "POST", fields), END_HEADERS, 1)
        connection.send(DATA, b'{"username":"alice",', 0, 1)
        connection.send(DATA, b'"password":"portico-demo"}', END_STREAM, 1)
        status, body = connection.answer(1)
        self.assertEqual(status, 200)
        self.assertIn(b"accessToken", body)

    MALFORMED = {
        "no path": request(path=None),
        "an empty path": request(path=""),
        "an address of another form": request(path="https://a/health/live"),
        "no authority": request(authority=None),
        "no method": request(method=None),
        "no scheme": request(scheme=None),
        "a field in capitals": request(fields=[("X-Odd", "a")]),
        "a name that is no token": request(fields=[("x odd", "a")]),
        "a connection's field": request(fields=[("connection", "close")]),
        "a transfer coding": request(fields=[("transfer-encoding", "chunked")]),
        "an unknown pseudo-field": request(fields=[(":odd", "a")]),
        "an answer's pseudo-field": request(fields=[(":status", "200")]),
        "a pseudo-field behind a field": request(fields=[("x", "a"), (":path", "/b")]),
        "a line end in a value": request(fields=[("x", "a\r\nb: c")]),
        "a NUL in a value": request(fields=[("x", "a\0b")]),
        "two paths": literal(":path", "/a") + request(),
        "two methods": literal(":method", "GET") + request(),
        "a length that is no number": request(fields=[("content-length", "one")]),
        "a length without a body": request(fields=[("content-length", "5")]),
    }

    def test_the_head_of_a_live_stream_names_no_length(self):
        basic = "Basic " + base64.b64encode(b"alice:portico-demo").decode()
        connection = self.connect()
        connection.send(HEADERS, request("/chat/v1/live", "HEAD", [("authorization", basic)]), WHOLE, 1)
        self.assertEqual(connection.answer(1), (200, b""))
        self.assertNotIn("content-length", connection.fields[1])
        self.assertEqual(connection.fields[1]["content-type"], "text/event-stream")
        with self.gateway.secured() as first:
            head = f"Host: a\r\nAuthorization: {basic}\r\n"
            first.sendall(
                f"HEAD /chat/v1/live HTTP/1.1\r\n{head}\r\n"
                f"HEAD /health/live HTTP/1.1\r\n{head}Connection: close\r\n\r\n".encode())
            received = b"".join(iter(lambda: first.recv(65536), b"")).lower()
        live, health, rest = received.split(b"\r\n\r\n")
        self.assertTrue(live.startswith(b"http/1.1 200"), live)
        for name in (b"content-length", b"transfer-encoding", b"connection"):
            self.assertNotIn(b"\r\n%s:" % name, live)
        self.assertIn(b"\r\ncontent-length: ", health)
        self.assertEqual(rest, b"")

    def test_a_malformed_request_costs_its_stream_and_not_its_connection(self):
        connection = self.connect()
        for number, (name, block) in enumerate(self.MALFORMED.items()):
            with self.subTest(name):
                stream = 4 * number + 1
                connection.send(HEADERS, block, WHOLE, stream)
                status, body = connection.answer(stream)
                self.assertIn(status, (400, PROTOCOL_ERROR) if body is None else (400,), body)
                connection.send(HEADERS, request(), WHOLE, stream + 2)
                self.assertEqual(connection.answer(stream + 2)[0], 200)

    def test_a_body_of_another_length_than_announced_is_refused(self):
        for length, body in [("5", b"{}"), ("1", b"{}")]:
            connection = self.connect()
            fields = [("content-type", "application/json"), ("content-length", length)]
            connection.send(HEADERS, request("/auth/login", "POST", fields), END_HEADERS, 1)
            connection.send(DATA, body, END_STREAM, 1)
            status, body = connection.answer(1)
            self.assertIn(status, (400, PROTOCOL_ERROR) if body is None else (400,), body)
            connection.send(HEADERS, request(), WHOLE, 3)
            self.assertEqual(connection.answer(3)[0], 200)

    def test_the_limits_of_a_head_are_those_of_http_1_1(self):
        """Each request once over HTTP/1.1 and once over HTTP/2, where its connection goes on whatever it is told."""
        head, most = 32 << 10, 100
        beside = len("/health/live" + "host" + "a" + "x")
        connection = self.connect()
        for number, (name, fields) in enumerate({
            "a long field": [("x", "a" * 31_000)],
            "a field at the limit": [("x", "a" * (head - beside))],
            "a field beyond the limit": [("x", "a" * (head - beside + 1))],
            "a field of twice the limit": [("x", "a" * 2 * head)],
            "long fields": [(f"x{number}", "a" * 10_000) for number in range(3)],
            "too long fields": [(f"x{number}", "a" * 10_000) for number in range(4)],
            "many fields": [(f"x{number}", "a") for number in range(most - 1)],
            "too many fields": [(f"x{number}", "a") for number in range(most)],
            "far too many fields": [(f"x{number}", "a") for number in range(300)],
            "thousands of fields": [("x", "")] * 3_000,
            "many cookies": [("cookie", f"a{number}=b") for number in range(most - 1)],
        }.items()):
            with self.subTest(name):
                stream = 4 * number + 1
                self.send_fields(connection, stream, request(fields=fields))
                status, body = connection.answer(stream)
                first = self.over_http_1(fields)
                self.assertEqual(status if body is not None else f"reset with {status}", first)
                connection.send(HEADERS, request(), WHOLE, stream + 2)
                self.assertEqual(connection.answer(stream + 2)[0], 200)

    @staticmethod
    def send_fields(connection, stream, block, frame=16_384):
        """As many frames as it takes."""
        pieces = [block[start:start + frame] for start in range(0, len(block), frame)]
        for index, piece in enumerate(pieces):
            flags = (END_HEADERS if piece is pieces[-1] else 0) | (END_STREAM if index == 0 else 0)
            connection.send(CONTINUATION if index else HEADERS, piece, flags, stream)

    def over_http_1(self, fields):
        with self.gateway.secured() as connection:
            lines = ["GET /health/live HTTP/1.1", "Host: a", *(f"{name}: {value}" for name, value in fields), "", ""]
            connection.sendall("\r\n".join(lines).encode())
            return int(connection.recv(65536).split()[1])

    def test_the_announced_limit_is_the_configured_one(self):
        connection = self.connect()
        kind, _, _, payload = connection.receive()
        self.assertEqual(kind, SETTINGS)
        found = dict(struct.iter_unpack(">HI", payload))
        self.assertEqual(found[6], 32 << 10)

    def test_trailers_beyond_the_limit_cost_their_stream(self):
        connection = self.connect()
        connection.send(HEADERS, request("/auth/login", "POST", [("content-type", "application/json")]), END_HEADERS, 1)
        connection.send(DATA, b"{}", 0, 1)
        trailers = b"".join(literal(f"x{number}", "a") for number in range(300))
        connection.send(HEADERS, trailers, WHOLE, 1)
        status, body = connection.answer(1)
        self.assertTrue(body is None or status in (400, 431), (status, body))
        connection.send(HEADERS, request(), WHOLE, 3)
        self.assertEqual(connection.answer(3)[0], 200)

    def test_an_early_answer_ends_a_stream_without_an_error(self):
        connection = self.connect()
        connection.send(HEADERS, request("/nothing", "POST"), END_HEADERS, 1)
        self.assertEqual(connection.answer(1)[0], 404)
        while True:
            kind, _, stream, payload = connection.receive()
            if kind == RST_STREAM:
                self.assertEqual((stream, int.from_bytes(payload, "big")), (1, 0))
                break
        connection.send(HEADERS, request(), WHOLE, 3)
        self.assertEqual(connection.answer(3)[0], 200)

    def test_what_a_caller_gives_up_is_no_error_of_the_server(self):
        cancel = struct.pack(">I", 8)
        connection = self.connect()
        login = request("/auth/login", "POST", [("content-type", "application/json")])
        connection.send(HEADERS, login, END_HEADERS, 1)
        connection.send(DATA, b'{"username":', 0, 1)
        time.sleep(0.1)
        connection.send(RST_STREAM, cancel, 0, 1)
        for stream, path in [(3, "/openapi.json"), (5, "/health/live"), (7, "/v2/list")]:
            connection.send(HEADERS, request(path), WHOLE, stream)
            connection.send(RST_STREAM, cancel, 0, stream)
        connection.send(HEADERS, request("/openapi.json"), WHOLE, 9)
        while connection.receive()[2] != 9:
            pass
        connection.send(RST_STREAM, cancel, 0, 9)
        connection.send(WINDOW_UPDATE, struct.pack(">I", 1 << 20), 0, 0)
        connection.send(HEADERS, login, END_HEADERS, 11)
        connection.send(DATA, b'{"username":', 0, 11)
        connection.send(HEADERS, request(), WHOLE, 13)
        self.assertEqual(connection.answer(13)[0], 200)
        connection.close()
        time.sleep(0.5)
        with Connection(self.gateway.port) as other:
            other.send(HEADERS, request(), WHOLE, 1)
            self.assertEqual(other.answer(1)[0], 200)
        errors = [line for line in self.gateway.log().splitlines() if '"level":"error"' in line or '"level":"warning"' in line]
        self.assertEqual(errors, [], errors)

    def test_a_download_may_open_its_windows_with_every_frame(self):
        """And in small steps, as some libraries do: that is work, no flood."""
        connection = self.connect()
        increments = 0
        for stream in range(1, 41, 2):
            connection.send(HEADERS, request("/openapi.json"), WHOLE, stream)
            ended = False
            while not ended:
                kind, flags, where, payload = connection.receive()
                if kind == SETTINGS and not flags & ACK:
                    connection.send(SETTINGS, flags=ACK)
                ended = where == stream and kind in (HEADERS, DATA) and flags & END_STREAM
                if kind != DATA:
                    continue
                for start in range(0, len(payload), 1_024):
                    step = struct.pack(">I", min(1_024, len(payload) - start))
                    connection.send(WINDOW_UPDATE, step, 0, 0)
                    increments += 1
                    if not ended:
                        connection.send(WINDOW_UPDATE, step, 0, stream)
                        increments += 1
        self.assertGreater(increments, 2_000)
        connection.send(PING, bytes(8))
        while connection.receive()[0] != PING:
            pass


class Abuse(Streams):
    #: Of a request whose body was held back, once it has come.
    late = 200

    @staticmethod
    def ask(path="/health/live", method="GET", fields=()):
        return request(path, method, fields)

    def ended(self, connection, frames):
        """Sends everything; the gateway ends the connection before it has read all of it or soon after."""
        try:
            for frame in frames:
                connection.send_bytes(frame)
        except Ended:
            return
        connection.until_ended()

    def flood(self, name, frame, count=FLOOD, first=b""):
        with self.subTest(name):
            batch = frame * 100
            self.ended(self.connect(), [first, *[batch] * (count // 100)])

    def test_floods_of_frames_that_cost_their_sender_nothing(self):
        frame = Connection.frame
        self.flood("PING", frame(PING, bytes(8)))
        self.flood("SETTINGS", frame(SETTINGS, struct.pack(">HI", 4, 65535)))
        self.flood("PRIORITY", frame(PRIORITY, struct.pack(">IB", 0, 1), 0, 1))
        opened = frame(HEADERS, self.ask("/auth/login", "POST"), END_HEADERS, 1)
        self.flood("empty DATA", frame(DATA, b"", 0, 1), first=opened)
        self.flood("acknowledged SETTINGS", frame(SETTINGS, flags=ACK))

    def test_floods_of_frames_that_the_library_does_not_count(self):
        """The gateway says why and reads no more: what is sent after that fails."""
        frame = Connection.frame
        opened = frame(HEADERS, self.ask("/auth/login", "POST"), END_HEADERS, 1)
        for name, first, one in [
            ("WINDOW_UPDATE of the connection", b"", frame(WINDOW_UPDATE, struct.pack(">I", 1))),
            ("WINDOW_UPDATE of a stream", opened, frame(WINDOW_UPDATE, struct.pack(">I", 1), 0, 1)),
            ("WINDOW_UPDATE beside honest requests", opened, frame(WINDOW_UPDATE, struct.pack(">I", 1)) * 50),
            ("unknown frames", b"", frame(0x42, b"abc")),
            ("unknown frames of a stream", opened, frame(0x42, b"", 0, 1)),
            ("unknown frames with long payloads", b"", frame(0xFF, bytes(1_000))),
            ("a frame of a later RFC", b"", frame(0x10, bytes(4) + b"u=1")),
        ]:
            with self.subTest(name):
                connection = self.connect()
                sent, cut = 0, False
                try:
                    connection.send_bytes(first)
                    for _ in range(FLOOD // 100):
                        connection.send_bytes(one * 100)
                        sent += 100
                except Ended:
                    cut = True
                codes = connection.until_ended()
                self.assertTrue(cut or ENHANCE_YOUR_CALM in codes, (sent, codes))

    def test_rapid_reset(self):
        def frames():
            for stream in range(1, 2 * FLOOD, 2):
                yield Connection.frame(HEADERS, self.ask("/openapi.json"), WHOLE, stream) + Connection.frame(
                    RST_STREAM, struct.pack(">I", 8), 0, stream)
        self.ended(self.connect(), frames())

    def test_fields_that_never_end(self):
        def frames():
            yield Connection.frame(HEADERS, self.ask(), 0, 1)
            for _ in range(FLOOD):
                yield Connection.frame(CONTINUATION, literal("x", "a" * 100), 0, 1)
        self.ended(self.connect(), frames())

    def test_empty_continuations(self):
        self.flood(
            "CONTINUATION", Connection.frame(CONTINUATION, b"", 0, 1), first=Connection.frame(HEADERS, self.ask(), 0, 1))

    def test_a_table_of_fields_as_a_bomb(self):
        """One large field in the table, then thousands of references of one byte to it."""
        connection = self.connect()
        bomb = self.ask() + literal("x", "a" * 3900, 0x40) + b"\xbe" * 12_000
        try:
            connection.send(HEADERS, bomb, WHOLE, 1)
            status, body = connection.answer(1)
            self.assertTrue(body is None or status in (400, 431), (status, body))
        except Ended:
            pass

    def test_one_stream_too_many_is_refused_and_the_others_go_on(self):
        connection = self.connect()
        fields = [("content-type", "application/json")]
        asked = b'{"username":"alice","password":"portico-demo"}'
        for stream in range(1, 200, 2):
            connection.send(HEADERS, self.ask("/auth/login", "POST", fields), END_HEADERS, stream)
        for stream in (201, 203):
            connection.send(HEADERS, self.ask(), WHOLE, stream)
            self.assertEqual(connection.answer(stream), (REFUSED_STREAM, None))
        connection.send(DATA, asked, END_STREAM, 1)
        self.assertEqual(connection.answer(1)[0], self.late)
        connection.send(HEADERS, self.ask(), WHOLE, 205)
        self.assertEqual(connection.answer(205)[0], 200)

    def test_more_streams_than_agreed(self):
        connection = self.connect()
        opened = [Connection.frame(HEADERS, self.ask("/auth/login", "POST"), END_HEADERS, stream)
            for stream in range(1, 20_001, 2)]
        self.ended(connection, opened)

    def test_a_window_that_never_opens(self):
        """An answer that may not be sent is given up after `http.deadlines.write`."""
        connection = self.connect([(4, 0)])
        connection.send(HEADERS, self.ask("/openapi.json"), WHOLE, 1)
        try:
            self.assertIsNone(connection.answer(1)[1])
        except Ended:
            pass

    def test_windows_that_are_no_windows(self):
        for name, stream, size in [("of nothing", 0, 0), ("beyond every number", 0, 0x7FFFFFFF)]:
            with self.subTest(name):
                connection = self.connect()
                self.ended(connection, [Connection.frame(WINDOW_UPDATE, struct.pack(">I", size), 0, stream)] * 2)

    def test_what_is_no_http(self):
        for name, data in {
            "another preface": b"GET / HTTP/1.1\r\nHost: a\r\n\r\n",
            "a frame that is too long": http2_frames.PREFACE + b"\xff\xff\xff\x00\x00\x00\x00\x00\x01",
            "data on no stream": http2_frames.PREFACE + Connection.frame(SETTINGS) + Connection.frame(DATA, b"a", 0, 0),
        }.items():
            with self.subTest(name):
                connection = self.connect()
                self.ended(connection, [data])

    def test_frames_that_ask_for_nothing_keep_no_connection(self):
        connection = self.connect()
        connection.send(HEADERS, self.ask(), WHOLE, 1)
        self.assertEqual(connection.answer(1)[0], 200)
        connection.socket.settimeout(1)
        ended = False
        for _ in range(60):
            try:
                connection.send(PING, b"12345678")
                while True:
                    connection.receive()
            except TimeoutError:
                continue
            except (Ended, OSError):
                ended = True
                break
        self.assertTrue(ended)

    def test_silence_ends_a_connection(self):
        connection = self.connect()
        connection.send(SETTINGS, flags=ACK)
        connection.until_ended()


class SlowBodies(unittest.TestCase):
    """The share of an address holds for the streams of all its connections."""

    @classmethod
    def setUpClass(cls):
        cls.gateway = SecureGateway("--set", "http.limits.inFlight=40", "--set", "http.limits.urgent=0")

    @classmethod
    def tearDownClass(cls):
        cls.gateway.remove()

    def connect(self, address):
        plain = socket.create_connection(
            ("127.0.0.1", self.gateway.port), timeout=60, source_address=(address, 0))
        connection = Connection(self.gateway.port, over=http2_frames.with_empty_trust_store().wrap_socket(plain))
        self.addCleanup(connection.close)
        return connection

    def send(self, connection, stream, length, body, flags=0):
        fields = [("content-type", "application/json"), *([("content-length", str(length))] if length else [])]
        connection.send(HEADERS, request("/auth/login", "POST", fields), END_HEADERS, stream)
        connection.send(DATA, body, flags, stream)

    def sign_in(self, address):
        body = json.dumps({"username": "alice", "password": "portico-demo"}).encode()
        connection = self.connect(address)
        self.send(connection, 1, len(body), body, END_STREAM)
        return connection.answer(1)[0]

    def test_another_address_is_served_while_one_sends_slowly(self):
        for length in (100_000, None):
            with self.subTest(length):
                held = [self.connect("127.0.0.2") for _ in range(2)]
                for connection in held:
                    for stream in range(1, 61, 2):
                        self.send(connection, stream, length, b" " * 700)
                for connection in held:
                    connection.socket.settimeout(0.5)
                refused = [status for connection in held for status in self.answered(connection)]
                self.assertEqual(self.sign_in("127.0.0.1"), 200)
                self.assertEqual(refused, [503] * 50)
                for connection in held:
                    connection.close()
                deadline = time.monotonic() + 30
                while self.sign_in("127.0.0.2") != 200:
                    self.assertLess(time.monotonic(), deadline, "no share is given back")

    def answered(self, connection):
        """The statuses of the streams that are answered until nothing more comes."""
        found = []
        try:
            while True:
                kind, _, stream, _ = connection.receive()
                if kind == HEADERS:
                    found.append(connection.status(stream))
        except TimeoutError:
            return found


if __name__ == "__main__":
    unittest.main()
