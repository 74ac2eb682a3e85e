"""Asks for one response in every way that ends a connection, and reports whether all of it arrived."""

import base64
import re
import socket
import ssl
import struct
import time

from http2_frames import (
    ACK, DATA, END_HEADERS, END_STREAM, GOAWAY, HEADERS, PING, RST_STREAM, SETTINGS, WINDOW_UPDATE, Connection, request)

# Small, so that the gateway has most of an answer still to write when it would close.
RECEIVE_BUFFER = 16 << 10
PAUSE = 0.05
TIMEOUT = 120
AUTHORIZATION = "Basic " + base64.b64encode(b"alice:portico-demo").decode()


class Incomplete(AssertionError):
    """An answer was cut off."""


def open_slowly(port):
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER)
    connection.settimeout(TIMEOUT)
    connection.connect(("127.0.0.1", port))
    return connection


def head(wanted, version="1.1", **fields):
    """The head of a request; `wanted` is method, path, body and fields."""
    method, path, body, more = wanted
    lines = [f"{method} {path} HTTP/{version}", "Host: localhost", f"Authorization: {AUTHORIZATION}"]
    if body:
        lines.append(f"Content-Length: {len(body)}")
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in {**more, **fields}.items()]
    return "\r\n".join([*lines, "", ""]).encode()


def read_to_end(connection, pause=0.0, at_first=lambda: None):
    """What arrives until the gateway closes; `at_first` is called with the first bytes."""
    time.sleep(PAUSE)
    received = bytearray()
    while piece := connection.recv(65536):
        if not received:
            at_first()
        received += piece
        if pause:
            time.sleep(pause)
    return bytes(received)


def split(received, count=1):
    """So many answers in a row, each its status, fields and body. Raises where one is cut off or more follows."""
    answers = []
    while received or len(answers) < count:
        text, separator, rest = received.partition(b"\r\n\r\n")
        if not separator:
            raise Incomplete(f"no head in {len(received)} bytes")
        status = int(text.split()[1])
        fields = dict(re.findall(r"(?m)^([^:\r\n]+):[ ]*([^\r\n]*)", text.decode("latin-1").lower()))
        if fields.get("transfer-encoding") == "chunked":
            body, received = unchunked(rest)
        elif "content-length" in fields:
            length = int(fields["content-length"])
            if len(rest) < length:
                raise Incomplete(f"{len(rest)} of {length} bytes")
            body, received = rest[:length], rest[length:]
        else:
            body, received = rest, b""
        answers.append((status, fields, body))
    if len(answers) != count:
        raise Incomplete(f"{len(answers)} answers instead of {count}")
    return answers


def unchunked(data):
    body, place = bytearray(), 0
    while True:
        line = data.find(b"\r\n", place)
        if line < 0:
            raise Incomplete(f"no last chunk after {len(body)} bytes")
        size = int(data[place:line], 16)
        if len(data) < line + 2 + size + 2:
            raise Incomplete(f"a chunk is cut off after {len(body)} bytes")
        body += data[line + 2:line + 2 + size]
        place = line + 2 + size + 2
        if size == 0:
            return bytes(body), data[place:]


# Each takes a gateway and what is wanted and returns status, fields and body.

def with_connection_close(gateway, wanted):
    with open_slowly(gateway.port) as connection:
        connection.sendall(head(wanted, Connection="close") + wanted[2])
        return split(read_to_end(connection))[0]


def in_http_1_0(gateway, wanted):
    with open_slowly(gateway.port) as connection:
        connection.sendall(head(wanted, "1.0") + wanted[2])
        answer = split(read_to_end(connection))[0]
        if "transfer-encoding" in answer[1]:
            raise AssertionError("HTTP/1.0 has no chunks")
        return answer


def half_closed_by_the_client(gateway, wanted):
    with open_slowly(gateway.port) as connection:
        connection.sendall(head(wanted) + wanted[2])
        connection.shutdown(socket.SHUT_WR)
        return split(read_to_end(connection))[0]


def after_others_in_a_row(gateway, wanted):
    with open_slowly(gateway.port) as connection:
        connection.sendall((head(wanted) + wanted[2]) * 2 + head(wanted, Connection="close") + wanted[2])
        return split(read_to_end(connection), 3)[-1]


def with_unread_request_bytes(gateway, wanted):
    """What is behind the last request stays unread: a socket that is closed with unread bytes is reset."""
    with open_slowly(gateway.port) as connection:
        connection.sendall(head(wanted, Connection="close") + wanted[2] + b"GET / HTTP/1.1\r\n" + b"x" * 50_000)
        return split(read_to_end(connection))[0]


def taken_slowly(gateway, wanted):
    with open_slowly(gateway.port) as connection:
        connection.sendall(head(wanted, Connection="close") + wanted[2])
        return split(read_to_end(connection, pause=0.001))[0]


def over_tls(gateway, wanted):
    """Without a `close_notify` at the end the library raises."""
    with gateway.trust().wrap_socket(
            open_slowly(gateway.port), server_hostname="localhost", suppress_ragged_eofs=False) as connection:
        connection.sendall(head(wanted, Connection="close") + wanted[2])
        return split(read_to_end(connection))[0]


class HalfClosable:
    """TLS whose sending side can be closed alone, which Python's sockets cannot."""

    def __init__(self, gateway, context=None):
        self.plain = open_slowly(gateway.port)
        self.incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = (context or gateway.trust()).wrap_bio(self.incoming, self.outgoing, server_hostname="localhost")
        self.until_done(self.tls.do_handshake)

    def until_done(self, step, *arguments):
        while True:
            try:
                result = step(*arguments)
                self.send_pending()
                return result
            except ssl.SSLWantReadError:
                self.send_pending()
                self.receive()

    def send_pending(self):
        if self.outgoing.pending:
            self.plain.sendall(self.outgoing.read())

    def receive(self):
        if piece := self.plain.recv(65536):
            self.incoming.write(piece)
        else:
            self.incoming.write_eof()

    def selected_alpn_protocol(self):
        return self.tls.selected_alpn_protocol()

    def sendall(self, data):
        self.until_done(self.tls.write, data)

    def recv(self, count):
        try:
            return self.until_done(self.tls.read, count)
        except ssl.SSLZeroReturnError:
            return b""

    def end_sending(self):
        """A `close_notify`, and the end of the connection's sending side."""
        try:
            self.tls.unwrap()
        except ssl.SSLWantReadError:
            pass
        self.send_pending()
        self.plain.shutdown(socket.SHUT_WR)

    def close(self):
        self.plain.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def over_tls_half_closed(gateway, wanted):
    with HalfClosable(gateway) as connection:
        connection.sendall(head(wanted) + wanted[2])
        connection.end_sending()
        return split(read_to_end(connection))[0]


class Reader:
    """The answers of one connection of HTTP/2, whose windows open as they are read."""

    def __init__(self, gateway, settings=(), over=None):
        self.connection = Connection(gateway.port, settings, over)
        self.answers, self.ended, self.codes = {}, set(), {}
        self.is_mute = False

    def ask(self, stream, wanted):
        method, path, body, more = wanted
        fields = [("authorization", AUTHORIZATION), *((name.lower(), value) for name, value in more.items())]
        self.connection.send(
            HEADERS, request(path, method, fields), END_HEADERS | (0 if body else END_STREAM), stream)
        if body:
            self.connection.send(DATA, body, END_STREAM, stream)
        self.answers[stream] = [None, {}, bytearray()]

    def take(self):
        kind, flags, stream, payload = self.connection.receive()
        if kind == SETTINGS and not flags & ACK and not self.is_mute:
            self.connection.send(SETTINGS, flags=ACK)
        if kind == PING and not flags & ACK and not self.is_mute:
            self.connection.send(PING, payload, ACK)
        if kind == GOAWAY and payload[4:8] != bytes(4):
            raise Incomplete(f"going away: {int.from_bytes(payload[4:8], 'big')}")
        if kind == RST_STREAM:
            self.codes[stream] = int.from_bytes(payload, "big")
            self.ended.add(stream)
        if kind == HEADERS:
            fields = self.connection.fields[stream]
            self.answers[stream][:2] = [int(fields[":status"]), fields]
        if kind == DATA:
            self.answers[stream][2] += payload
            if payload and not self.is_mute:
                self.open(stream, len(payload))
        if kind in (HEADERS, DATA) and flags & END_STREAM:
            self.ended.add(stream)

    def open(self, stream, size):
        increment = struct.pack(">I", size)
        self.connection.send(WINDOW_UPDATE, increment, 0, 0)
        if stream not in self.ended:
            self.connection.send(WINDOW_UPDATE, increment, 0, stream)

    def finish(self):
        while len(self.ended) < len(self.answers):
            self.take()
        for stream, (status, fields, body) in self.answers.items():
            if self.codes.get(stream):
                raise Incomplete(f"reset with {self.codes[stream]} after {len(body)} bytes")
            if len(body) != int(fields.get("content-length", len(body))):
                raise Incomplete(f"{len(body)} of {fields['content-length']} bytes")
        return self.answers

    def close(self):
        self.connection.close()


def over_http_2(gateway, wanted):
    reader = Reader(gateway)
    try:
        reader.ask(1, wanted)
        time.sleep(PAUSE)
        return tuple(reader.finish()[1])
    finally:
        reader.close()


def over_http_2_through_a_small_window(gateway, wanted):
    """The end of the answer waits for the stream's window."""
    reader = Reader(gateway, [(4, 10_000)])
    try:
        reader.ask(1, wanted)
        return tuple(reader.finish()[1])
    finally:
        reader.close()


def over_http_2_half_closed(gateway, wanted):
    """With windows so large that nothing has to be said after the request."""
    tls = HalfClosable(gateway, gateway.trust("h2"))
    reader = Reader(gateway, [(4, 0x7FFFFFFF)], tls)
    reader.connection.send(WINDOW_UPDATE, struct.pack(">I", 0x7FFFFFFF - 65_535), 0, 0)
    try:
        reader.ask(1, wanted)
        tls.end_sending()
        reader.is_mute = True
        return tuple(reader.finish()[1])
    finally:
        reader.close()


PLAIN = [
    with_connection_close, in_http_1_0, half_closed_by_the_client, after_others_in_a_row, with_unread_request_bytes, taken_slowly]
SECURE = [
    over_tls, over_tls_half_closed, over_http_2, over_http_2_through_a_small_window, over_http_2_half_closed]
