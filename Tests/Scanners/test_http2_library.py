"""HTTP/2 abuse through a library that others use (h2): its own state, compression and framing, not ours.

Where h2 would not send what is abuse, hyperframe writes the frame.
"""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "EndToEnd"))

import h2.config
import h2.connection
import h2.errors
import h2.events
import h2.settings
import hyperframe.frame as frames

from http2_frames import with_empty_trust_store
from test_tls import SecureGateway

MOST_MEMORY = 250 << 20
FLOOD = 20_000
HEAD = [(":method", "GET"), (":scheme", "https"), (":authority", "a"), (":path", "/health/live")]
LOGIN = [(":method", "POST"), (":scheme", "https"), (":authority", "a"), (":path", "/auth/login")]


class Ended(Exception):
    """The gateway ended the connection."""


class Caller:
    """A connection that h2 speaks on."""

    def __init__(self, gateway, settings=None):
        self.socket = gateway.secured(with_empty_trust_store())
        self.socket.settimeout(30)
        self.state = h2.connection.H2Connection(h2.config.H2Configuration(
            header_encoding="utf-8", validate_outbound_headers=False, normalize_outbound_headers=False))
        if settings:
            self.state.local_settings = h2.settings.Settings(client=True, initial_values=settings)
        self.state.initiate_connection()
        self.flush()

    def flush(self):
        self.write(self.state.data_to_send())

    def write(self, data):
        try:
            self.socket.sendall(data)
        except OSError as error:
            raise Ended(str(error)) from error

    def frame(self, frame):
        self.write(frame.serialize())

    def ask(self, stream, head=HEAD, ends=True):
        self.state.send_headers(stream, head, end_stream=ends)
        self.flush()

    def events(self):
        try:
            data = self.socket.recv(65536)
        except TimeoutError as error:
            raise AssertionError("the gateway neither answers nor ends the connection") from error
        except OSError as error:
            raise Ended(str(error)) from error
        if not data:
            raise Ended("closed")
        found = self.state.receive_data(data)
        if any(isinstance(event, h2.events.ConnectionTerminated) for event in found):
            raise Ended("terminated")
        self.flush()
        return found

    def status(self, stream):
        """Of the answer; None where the stream was reset."""
        while True:
            for event in self.events():
                if getattr(event, "stream_id", None) == stream:
                    if isinstance(event, h2.events.ResponseReceived):
                        return int(dict(event.headers)[":status"])
                    if isinstance(event, h2.events.StreamReset):
                        return None

    def until_ended(self):
        while True:
            self.events()

    def close(self):
        self.socket.close()


class Abuse(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.gateway = SecureGateway("--set", "http.deadlines.write=2s", "--set", "http.deadlines.head=10s")

    @classmethod
    def tearDownClass(cls):
        cls.gateway.remove()

    def caller(self, settings=None):
        caller = Caller(self.gateway, settings)
        self.addCleanup(caller.close)
        return caller

    def tearDown(self):
        self.assertIsNone(self.gateway.process.poll(), "the gateway died")
        honest = self.caller()
        honest.ask(1)
        self.assertEqual(honest.status(1), 200)
        self.assertLess(self.gateway.resident("VmHWM"), MOST_MEMORY)

    def ends(self, caller, acts):
        """The gateway ends the connection while it is abused, or soon after."""
        try:
            for act in acts:
                act()
            caller.until_ended()
        except Ended:
            return

    def test_rapid_reset(self):
        caller = self.caller()

        def once(stream):
            caller.state.send_headers(stream, HEAD, end_stream=True)
            caller.state.reset_stream(stream, h2.errors.ErrorCodes.CANCEL)
            caller.flush()
        self.ends(caller, (lambda stream=stream: once(stream) for stream in range(1, 2 * FLOOD, 2)))

    def test_pings(self):
        caller = self.caller()
        self.ends(caller, (lambda: (caller.state.ping(b"12345678"), caller.flush()) for _ in range(FLOOD)))

    def test_settings(self):
        caller = self.caller()
        change = {h2.settings.SettingCodes.MAX_CONCURRENT_STREAMS: 10}
        self.ends(caller, (lambda: (caller.state.update_settings(change), caller.flush()) for _ in range(FLOOD)))

    def test_empty_data(self):
        caller = self.caller()
        caller.ask(1, LOGIN, ends=False)
        self.ends(caller, (lambda: (caller.state.send_data(1, b""), caller.flush()) for _ in range(FLOOD)))

    def test_continuations_that_never_end(self):
        caller = self.caller()
        block = caller.state.encoder.encode(HEAD)
        caller.frame(frames.HeadersFrame(1, block))
        more = caller.state.encoder.encode([("x", "a" * 100)])
        self.ends(caller, (lambda: caller.frame(frames.ContinuationFrame(1, more)) for _ in range(FLOOD)))

    def test_a_bomb_of_fields(self):
        """The table's one large field, named ten thousand times."""
        caller = self.caller()
        large = ("x", "a" * 3_900)
        caller.state.encoder.encode([large])
        try:
            caller.frame(frames.HeadersFrame(
                1, caller.state.encoder.encode([*HEAD, *[large] * 10_000]), flags=["END_HEADERS", "END_STREAM"]))
            self.assertIn(caller.status(1), (None, 400, 431))
        except Ended:
            pass

    def test_windows(self):
        for name, size in (("of nothing", 0), ("beyond every number", 0x7FFFFFFF)):
            with self.subTest(name):
                caller = self.caller()
                self.ends(caller, [lambda: caller.frame(frames.WindowUpdateFrame(0, window_increment=size))] * 2)

    def test_a_window_that_never_opens(self):
        caller = self.caller({h2.settings.SettingCodes.INITIAL_WINDOW_SIZE: 0})
        caller.ask(1, [*HEAD[:3], (":path", "/openapi.json")])
        self.assertEqual(caller.status(1), 200)
        try:
            while True:
                if any(isinstance(event, h2.events.StreamReset) for event in caller.events()):
                    return
        except Ended:
            return


if __name__ == "__main__":
    unittest.main()
