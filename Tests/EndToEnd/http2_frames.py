"""HTTP/2 by hand (RFC 9113), since what is tested are frames that no library would send.

Fields are written without compression; of the answer's only the status is looked at.
"""

import socket
import ssl
import struct

from hpack_reader import Table

DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = range(10)
END_STREAM, END_HEADERS, ACK = 0x1, 0x4, 0x1
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"


def with_empty_trust_store(protocols=("h2",)):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    if protocols:
        context.set_alpn_protocols(list(protocols))
    return context


def number(value, bits, first=0):
    """HPACK's integer (RFC 7541, section 5.1)."""
    most = (1 << bits) - 1
    if value < most:
        return bytes([first | value])
    out, value = [first | most], value - most
    while value >= 128:
        out.append(value % 128 + 128)
        value //= 128
    return bytes([*out, value])


def literal(name, value, first=0x00):
    """A field that is not indexed; `first` 0x40 puts it in the table."""
    return bytes([first]) + number(len(name), 7) + name.encode() + number(len(value), 7) + value.encode()


def request(path="/health/live", method="GET", fields=(), authority="a", scheme="https"):
    pseudo = [(":method", method), (":scheme", scheme), (":authority", authority), (":path", path)]
    return b"".join(literal(name, value) for name, value in [*pseudo, *fields] if value is not None)


class Ended(Exception):
    """The gateway closed the connection."""


class Connection:
    def __init__(self, port, settings=(), over=None):
        """`over` is a connection of TLS that is there already."""
        self.socket = over or with_empty_trust_store().wrap_socket(
            socket.create_connection(("127.0.0.1", port), timeout=60))
        assert self.socket.selected_alpn_protocol() == "h2"
        self.buffer, self.table = b"", Table()
        # Of the responses so far, by their streams.
        self.fields = {}
        # The same with fields that stand several times.
        self.sections = {}
        self.send_bytes(PREFACE)
        self.send(SETTINGS, b"".join(struct.pack(">HI", name, value) for name, value in settings))

    def send_bytes(self, data):
        try:
            self.socket.sendall(data)
        except (ConnectionError, ssl.SSLError) as error:
            raise Ended(str(error)) from error

    @staticmethod
    def frame(kind, payload=b"", flags=0, stream=0):
        return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload

    def send(self, kind, payload=b"", flags=0, stream=0):
        self.send_bytes(self.frame(kind, payload, flags, stream))

    def receive(self):
        """Kind, flags, stream and payload of the next frame."""
        header = self.take(9)
        payload = self.take(int.from_bytes(header[:3], "big"))
        stream = int.from_bytes(header[5:], "big") & 0x7FFFFFFF
        if header[3] == HEADERS:
            self.sections[stream] = list(self.table.read(payload))
            self.fields[stream] = dict(self.sections[stream])
        return header[3], header[4], stream, payload

    def take(self, count):
        while len(self.buffer) < count:
            try:
                piece = self.socket.recv(65536)
            except (ConnectionError, ssl.SSLError) as error:
                raise Ended(str(error)) from error
            if not piece:
                raise Ended("closed")
            self.buffer += piece
        taken, self.buffer = self.buffer[:count], self.buffer[count:]
        return taken

    def answer(self, stream):
        """The status and body of a stream's response, or the code with which it was reset, and None."""
        status, body = None, b""
        while True:
            kind, flags, where, payload = self.receive()
            if kind == SETTINGS and not flags & ACK:
                self.send(SETTINGS, flags=ACK)
            if kind == GOAWAY and payload[4:8] != bytes(4):
                raise Ended(f"going away: {int.from_bytes(payload[4:8], 'big')}")
            if where != stream:
                continue
            if kind == RST_STREAM:
                return int.from_bytes(payload, "big"), None
            if kind == HEADERS:
                status = self.status(stream)
            if kind == DATA:
                body += payload
            if kind in (HEADERS, DATA) and flags & END_STREAM:
                return status, body

    def status(self, stream):
        return int(self.fields[stream][":status"])

    def statuses(self, count):
        """Of so many streams, by their number, in whatever order they are answered."""
        found = {}
        while len(found) < count:
            kind, _, stream, payload = self.receive()
            if kind == HEADERS:
                found[stream] = self.status(stream)
        return found

    def until_ended(self):
        """Reads on until the gateway closes; the codes of what went away or was reset on the way."""
        codes = []
        try:
            while True:
                kind, _, _, payload = self.receive()
                if kind == GOAWAY:
                    codes.append(int.from_bytes(payload[4:8], "big"))
        except Ended:
            return codes

    def close(self):
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
