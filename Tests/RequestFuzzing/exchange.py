"""Sends calls: over HTTP/1.1 as bytes of our own, over HTTP/2 by the tests' frames."""

import socket
import struct

import hpack_reader
import http2_frames
from mutation import encoded

SECONDS = 30


class Silence(Exception):
    """No answer in ``SECONDS``."""


class Answer:
    def __init__(self, status, head, body):
        self.status, self.head, self.body = status, head, body


def fields(call, token):
    names = {name.lower() for name, _ in call.headers}
    headers = list(call.headers)
    if call.kind and "content-type" not in names:
        headers.append(("Content-Type", call.kind))
    if token and "authorization" not in names:
        headers.append(("Authorization", "Bearer " + token))
    return headers


def raw(call, token):
    """The request's bytes; its length is right unless a field says otherwise."""
    body = encoded(call)
    headers = fields(call, token)
    if not any(name.lower() in ("content-length", "transfer-encoding") for name, _ in headers) and (body or call.method in ("POST", "PUT", "PATCH")):
        headers.append(("Content-Length", str(len(body))))
    lines = [f"{call.method} {call.target} HTTP/1.1", "Host: localhost", *(f"{name}: {value}" for name, value in headers)]
    if any(name.lower() == "transfer-encoding" for name, _ in headers):
        body = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body) if body else b"0\r\n\r\n"
    return "\r\n".join(lines).encode("utf-8", "replace") + b"\r\n\r\n" + body


class Plain:
    """Connections of HTTP/1.1, one after the other."""

    def __init__(self, port):
        self.port, self.socket = port, None

    def send(self, data, method):
        """The answer; None where the connection ended without one. A kept connection that ended is tried once more."""
        for is_new in ((True,) if self.socket is None else (False, True)):
            if is_new:
                self.close()
                self.socket = socket.create_connection(("127.0.0.1", self.port), timeout=SECONDS)
            try:
                self.socket.sendall(data)
            except TimeoutError as error:
                raise Silence from error
            except OSError:
                pass  # the answer may be there all the same
            answer = self.receive(method)
            if answer:
                return answer
            self.close()
        return None

    def receive(self, method):
        data = b""
        while b"\r\n\r\n" not in data or data.startswith(b"HTTP/1.1 100"):
            if data.startswith(b"HTTP/1.1 100") and b"\r\n\r\n" in data:
                data = data.split(b"\r\n\r\n", 1)[1]
                continue
            piece = self.take()
            if not piece:
                return None
            data += piece
        head, rest = data.split(b"\r\n\r\n", 1)
        status, lower = int(head.split(b" ", 2)[1]), head.lower()
        body = self.body(method, status, lower, rest)
        if b"connection: close" in lower or b"text/event-stream" in lower:
            self.close()
        return Answer(status, head, body)

    def body(self, method, status, head, rest):
        if method == "HEAD" or status in (204, 304) or b"text/event-stream" in head:
            return b""
        if b"content-length: " in head:
            length = int(head.split(b"content-length: ", 1)[1].split(b"\r\n", 1)[0])
            while len(rest) < length and (piece := self.take()):
                rest += piece
            return rest[:length]
        while not rest.endswith(b"0\r\n\r\n") and (piece := self.take()):
            rest += piece
        return rest

    def take(self):
        try:
            return self.socket.recv(262_144)
        except TimeoutError as error:
            raise Silence from error
        except OSError:
            return b""

    def close(self):
        if self.socket:
            self.socket.close()
        self.socket = None


class Framed:
    """HTTP/2, a connection for each few calls. Answers are a status and a body."""

    def __init__(self, port):
        self.port, self.connection, self.stream = port, None, 1

    def send(self, call, token):
        try:
            if self.connection is None or self.stream > 41:
                self.close()
                self.connection, self.stream, self.table = http2_frames.Connection(self.port), 1, hpack_reader.Table()
            block = http2_frames.request(
                call.target, call.method, [(name.lower(), value) for name, value in fields(call, token)], authority="localhost")
            body, stream = encoded(call)[:60_000], self.stream
            self.stream += 2
            end = 0 if body else http2_frames.END_STREAM
            pieces = [block[at:at + 16_000] for at in range(0, len(block), 16_000)]
            self.connection.send(http2_frames.HEADERS, pieces[0], end | (http2_frames.END_HEADERS if len(pieces) == 1 else 0), stream)
            for number, piece in enumerate(pieces[1:], 2):
                self.connection.send(http2_frames.CONTINUATION, piece, http2_frames.END_HEADERS if number == len(pieces) else 0, stream)
            for at in range(0, len(body), 16_000):
                self.connection.send(
                    http2_frames.DATA, body[at:at + 16_000], http2_frames.END_STREAM if at + 16_000 >= len(body) else 0, stream)
            return self.receive(stream)
        except (http2_frames.Ended, OSError, struct.error, UnicodeError, AssertionError):
            self.close()
            return None

    def receive(self, stream):
        status, body = None, b""
        while True:
            kind, flags, where, payload = self.connection.receive()
            if kind == http2_frames.SETTINGS and not flags & http2_frames.ACK:
                self.connection.send(http2_frames.SETTINGS, flags=http2_frames.ACK)
            if kind == http2_frames.DATA and payload:
                self.connection.send(http2_frames.WINDOW_UPDATE, struct.pack(">I", len(payload)))
            head = dict(self.table.read(payload)) if kind == http2_frames.HEADERS else {}
            if where != stream:
                continue
            if kind == http2_frames.RST_STREAM:
                return Answer(status or 0, b"", body)
            if kind == http2_frames.HEADERS:
                status = int(head.get(":status", 0)) or status
                if head.get("content-type") == "text/event-stream":
                    self.close()
                    return Answer(status, b"", b"")
            if kind == http2_frames.DATA:
                body += payload
                if not flags & http2_frames.END_STREAM and payload:
                    self.connection.send(http2_frames.WINDOW_UPDATE, struct.pack(">I", len(payload)), stream=stream)
            if flags & http2_frames.END_STREAM:
                return Answer(status, b"", body)

    def close(self):
        if self.connection:
            self.connection.close()
        self.connection = None
