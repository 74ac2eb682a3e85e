"""A stand-in for Apple's push service: HTTP/2 over TLS (RFC 9113), answers as Apple documents them."""

import collections
import json
import socket
import ssl
import threading
import uuid

import hpack_reader

Push = collections.namedtuple("Push", "headers body")
DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = 0, 1, 3, 4, 6, 7, 8, 9
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"


def frame(kind, payload=b"", flags=0, stream=0):
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload


def literal(name, value):
    text = lambda part: bytes([len(part)]) + part.encode()
    return b"\x00" + text(name) + text(value)


class StandIn:
    def __init__(self, certificate, key):
        self.lock, self.pushes, self.planned = threading.Condition(), collections.defaultdict(list), collections.defaultdict(list)
        self.connections, self.is_paused = set(), False
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        context.set_alpn_protocols(["h2"])
        self.context = context
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def answers(self, token, *answers):
        """What the next pushes to that device are answered; 200 afterwards."""
        with self.lock:
            self.planned[token] += answers

    def to(self, token):
        with self.lock:
            return list(self.pushes[token])

    def forget(self):
        with self.lock:
            self.pushes.clear()
            self.planned.clear()

    def pause(self):
        with self.lock:
            self.is_paused = True

    def go_on(self):
        with self.lock:
            self.is_paused = False
            self.lock.notify_all()

    def hang_up(self):
        with self.lock:
            for connection in self.connections:
                connection.shutdown(socket.SHUT_RDWR)

    def close(self):
        self.listener.close()

    def accept(self):
        while True:
            try:
                plain, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(plain,), daemon=True).start()

    def serve(self, plain):
        try:
            with self.context.wrap_socket(plain, server_side=True) as connection:
                assert connection.selected_alpn_protocol() == "h2", "the client does not speak HTTP/2"
                with self.lock:
                    self.connections.add(connection)
                self.talk(connection)
        except (OSError, EOFError, AssertionError):
            pass

    def talk(self, connection):
        def take(count):
            data = b""
            while len(data) < count:
                piece = connection.recv(count - len(data))
                if not piece:
                    raise EOFError
                data += piece
            return data

        assert take(len(PREFACE)) == PREFACE
        connection.sendall(frame(SETTINGS))
        table, streams = hpack_reader.Table(), {}
        while True:
            head = take(9)
            size, kind, flags = int.from_bytes(head[:3], "big"), head[3], head[4]
            stream, payload = int.from_bytes(head[5:], "big") & 0x7FFFFFFF, take(size)
            if kind == SETTINGS and not flags & 1:
                connection.sendall(frame(SETTINGS, flags=1))
            elif kind == PING and not flags & 1:
                connection.sendall(frame(PING, payload, flags=1))
            elif kind == HEADERS:
                padding = payload[0] if flags & 8 else 0
                payload = payload[1 if flags & 8 else 0:len(payload) - padding]
                streams[stream] = [dict(table.read(payload[5:] if flags & 0x20 else payload)), b""]
            elif kind == DATA:
                streams[stream][1] += payload
                update = len(payload).to_bytes(4, "big")
                if payload:
                    connection.sendall(frame(WINDOW_UPDATE, update) + frame(WINDOW_UPDATE, update, stream=stream))
            if kind in (HEADERS, DATA) and flags & 1:
                connection.sendall(self.answer(*streams.pop(stream), stream))

    def answer(self, headers, body, stream):
        status, reason = self.verdict(headers, body)
        fields = literal(":status", str(status)) + literal("apns-id", headers.get("apns-id", str(uuid.uuid4())))
        if status == 200:
            return frame(HEADERS, fields, flags=5, stream=stream)
        received = json.dumps({"reason": reason}).encode()
        return frame(HEADERS, fields, flags=4, stream=stream) + frame(DATA, received, flags=1, stream=stream)

    def verdict(self, headers, body):
        path = headers[":path"]
        if headers[":method"] != "POST" or not path.startswith("/3/device/"):
            return 405, "MethodNotAllowed"
        if "authorization" not in headers:
            return 403, "MissingProviderToken"
        if "apns-topic" not in headers:
            return 400, "MissingTopic"
        if len(body) > 4096:
            return 413, "PayloadTooLarge"
        token = path.removeprefix("/3/device/")
        with self.lock:
            while self.is_paused:
                self.lock.wait()
            self.pushes[token].append(Push(headers, body))
            return self.planned[token].pop(0) if self.planned[token] else (200, "")
