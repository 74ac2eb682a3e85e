"""HTTP/2: served like HTTP/1.1, and every way to make it work for nothing ends the connection and nothing else."""

import struct
import unittest

import streams
from streams import (
    ACK, CONTINUATION, DATA, END_HEADERS, END_STREAM, HEADERS, PING, PRIORITY, RST_STREAM, SETTINGS, WINDOW_UPDATE,
    Connection, Ended, literal, request)
from test_tls import SecureGateway

MOST_MEMORY = 250 << 20
WHOLE = END_HEADERS | END_STREAM
FLOOD = 50_000


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

    def test_a_body_is_read(self):
        connection = self.connect()
        fields = [("content-type", "application/json")]
        connection.send(HEADERS, request("/auth/login", "POST", fields), END_HEADERS, 1)
        connection.send(DATA, b'{"username":"alice",', 0, 1)
        connection.send(DATA, b'"password":"portico-demo"}', END_STREAM, 1)
        status, body = connection.answer(1)
        self.assertEqual(status, 200)
        self.assertIn(b"accessToken", body)

    def test_a_malformed_request_costs_its_stream_or_its_connection(self):
        for name, block in {
            "no path": request(path=None),
            "an empty path": request(path=""),
            "an address of another form": request(path="https://a/health/live"),
            "no authority": request(authority=None),
            "a field in capitals": request(fields=[("X-Odd", "a")]),
            "a connection's field": request(fields=[("connection", "close")]),
            "a transfer coding": request(fields=[("transfer-encoding", "chunked")]),
            "an unknown pseudo-field": request(fields=[(":odd", "a")]),
            "a line end in a value": request(fields=[("x", "a\r\nb: c")]),
            "a NUL in a value": request(fields=[("x", "a\0b")]),
            "two paths": literal(":path", "/a") + request(),
        }.items():
            with self.subTest(name):
                connection = self.connect()
                try:
                    connection.send(HEADERS, block, WHOLE, 1)
                    status, body = connection.answer(1)
                except Ended:
                    continue
                self.assertTrue(body is None or status == 400, (status, body))

    def test_a_body_of_another_length_than_announced_is_refused(self):
        connection = self.connect()
        fields = [("content-type", "application/json"), ("content-length", "5")]
        try:
            connection.send(HEADERS, request("/auth/login", "POST", fields), END_HEADERS, 1)
            connection.send(DATA, b"{}", END_STREAM, 1)
            status, body = connection.answer(1)
            self.assertTrue(body is None or status == 400, (status, body))
        except Ended:
            pass


class Abuse(Streams):
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
        opened = frame(HEADERS, request("/auth/login", "POST"), END_HEADERS, 1)
        self.flood("empty DATA", frame(DATA, b"", 0, 1), first=opened)

    def test_rapid_reset(self):
        def frames():
            for stream in range(1, 2 * FLOOD, 2):
                yield Connection.frame(HEADERS, request("/openapi.json"), WHOLE, stream) + Connection.frame(
                    RST_STREAM, struct.pack(">I", 8), 0, stream)
        self.ended(self.connect(), frames())

    def test_fields_that_never_end(self):
        def frames():
            yield Connection.frame(HEADERS, request(), 0, 1)
            for _ in range(FLOOD):
                yield Connection.frame(CONTINUATION, literal("x", "a" * 100), 0, 1)
        self.ended(self.connect(), frames())

    def test_empty_continuations(self):
        self.flood(
            "CONTINUATION", Connection.frame(CONTINUATION, b"", 0, 1), first=Connection.frame(HEADERS, request(), 0, 1))

    def test_a_table_of_fields_as_a_bomb(self):
        """One large field in the table, then thousands of references of one byte to it."""
        connection = self.connect()
        bomb = request() + literal("x", "a" * 3900, 0x40) + b"\xbe" * 12_000
        try:
            connection.send(HEADERS, bomb, WHOLE, 1)
            status, body = connection.answer(1)
            self.assertTrue(body is None or status in (400, 431), (status, body))
        except Ended:
            pass

    def test_more_streams_than_agreed(self):
        connection = self.connect()
        opened = [Connection.frame(HEADERS, request("/auth/login", "POST"), END_HEADERS, stream)
            for stream in range(1, 20_001, 2)]
        self.ended(connection, opened)

    def test_a_window_that_never_opens(self):
        """An answer that may not be sent is given up after `http.deadlines.write`."""
        connection = self.connect([(4, 0)])
        connection.send(HEADERS, request("/openapi.json"), WHOLE, 1)
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
            "a frame that is too long": streams.PREFACE + b"\xff\xff\xff\x00\x00\x00\x00\x00\x01",
            "data on no stream": streams.PREFACE + Connection.frame(SETTINGS) + Connection.frame(DATA, b"a", 0, 0),
        }.items():
            with self.subTest(name):
                connection = self.connect()
                self.ended(connection, [data])

    def test_frames_that_ask_for_nothing_keep_no_connection(self):
        connection = self.connect()
        connection.send(HEADERS, request(), WHOLE, 1)
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


if __name__ == "__main__":
    unittest.main()
