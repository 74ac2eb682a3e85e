"""A server on the loopback interface that answers as hostile or broken systems do, by the path that is asked for."""

import base64
import gzip
import http.server
import json
import socket
import socketserver
import ssl
import struct
import threading
import time
import urllib.parse


class HostileUpstream:
    """`asked` has the heads of all requests; `is_down`: every connection is reset."""

    def __init__(self, host="127.0.0.1"):
        self.asked, self.is_down = [], False
        self._ending = threading.Event()
        outer = self

        class Handler(socketserver.BaseRequestHandler):
            def handle(self):
                try:
                    outer._answer(self.request)
                except OSError:
                    pass  # The gateway has gone.

        class Server(socketserver.ThreadingTCPServer):
            allow_reuse_address, daemon_threads = True, True
            # Five by default: with more connections at once the kernel drops some, which is an unreachable server.
            request_queue_size = 128

        self._server = Server((host, 0), Handler)
        self.port = self._server.server_address[1]
        self.address = f"http://{host}:{self.port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def stop(self):
        self._ending.set()
        self._server.shutdown()
        self._server.server_close()

    def paths(self):
        return [head.split(" ")[1] for head in self.asked]

    def _answer(self, connection):
        head = b""
        while b"\r\n\r\n" not in head:
            piece = connection.recv(65536)
            if not piece:
                return
            head += piece
        head = head.decode("latin-1")
        self.asked.append(head)
        if self.is_down:
            return self._reset(connection)
        path = head.split(" ")[1].strip("/").split("?")[0]
        if path.startswith("to-"):
            target = bytes.fromhex(path[3:]).decode()
            return self._plain(connection, b"", 302, f"Location: {target}\r\n")
        getattr(self, "_" + path.replace("-", "_"), self._missing)(connection)

    @staticmethod
    def _plain(connection, body=b"fine", status=200, fields=""):
        head = f"HTTP/1.1 {status} X\r\nContent-Length: {len(body)}\r\nConnection: close\r\n{fields}\r\n"
        connection.sendall(head.encode() + body)

    def _missing(self, connection):
        self._plain(connection, b"nothing", 404)

    def _forbidden(self, connection):
        self._plain(connection, b"no", 403)

    def _ok(self, connection):
        self._plain(connection)

    def _wait(self, seconds):
        self._ending.wait(seconds)

    def _hang(self, connection):
        self._wait(60)

    def _hang_in_body(self, connection):
        connection.sendall(b"HTTP/1.1 200 X\r\nContent-Length: 10\r\n\r\nabc")
        self._wait(60)

    def _drip(self, connection):
        for byte in b"HTTP/1.1 200 X\r\nContent-Length: 1000\r\n\r\n" + b"x" * 1000:
            connection.sendall(bytes([byte]))
            if self._ending.wait(0.05):
                return

    @staticmethod
    def _reset(connection):
        # Without lingering, closing sends a reset.
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.close()

    def _reset_in_body(self, connection):
        connection.sendall(b"HTTP/1.1 200 X\r\nContent-Length: 10\r\n\r\nabc")
        time.sleep(0.05)
        self._reset(connection)

    def _garbage(self, connection):
        connection.sendall(bytes(range(256)) * 16)

    def _large(self, connection):
        connection.sendall(b"HTTP/1.1 200 X\r\nContent-Length: 1073741824\r\n\r\n")
        for _ in range(16384):
            connection.sendall(b"x" * 65536)

    def _large_chunked(self, connection):
        connection.sendall(b"HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\n")
        for _ in range(16384):
            connection.sendall(b"10000\r\n" + b"x" * 65536 + b"\r\n")

    def _bomb(self, connection):
        self._plain(connection, gzip.compress(b"\0" * (64 << 20)), fields="Content-Encoding: gzip\r\n")

    def _short(self, connection):
        connection.sendall(b"HTTP/1.1 200 X\r\nContent-Length: 1000\r\nConnection: close\r\n\r\nabc")

    def _negative(self, connection):
        connection.sendall(b"HTTP/1.1 200 X\r\nContent-Length: -5\r\nConnection: close\r\n\r\nabc")

    def _two_lengths(self, connection):
        connection.sendall(b"HTTP/1.1 200 X\r\nContent-Length: 3\r\nContent-Length: 5\r\nConnection: close\r\n\r\nabcde")

    def _bad_chunk(self, connection):
        connection.sendall(b"HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffffff\r\nabc")

    def _header_flood(self, connection):
        connection.sendall(b"HTTP/1.1 200 X\r\n")
        for number in range(1_000_000):
            connection.sendall(b"X-%d: " % number + b"y" * 1000 + b"\r\n")

    def _long_header(self, connection):
        connection.sendall(b"HTTP/1.1 200 X\r\nX-Long: ")
        for _ in range(100_000):
            connection.sendall(b"y" * 1000)

    def _informational_flood(self, connection):
        for _ in range(1_000_000):
            connection.sendall(b"HTTP/1.1 103 Early\r\nX: y\r\n\r\n")

    def _unknown_coding(self, connection):
        self._plain(connection, b"abc", fields="Content-Encoding: klingon\r\n")

    def _login(self, connection):
        self._plain(connection, b"<form><input name=j_password></form>", fields="Content-Type: text/html\r\n")


class MirroredSystem(HostileUpstream):
    """Employees and users as their contracts have them, and a token endpoint that knows the caller.

    `fault`: how every request is answered instead, by a path of `HostileUpstream` or by `truncated`, `other` and `empty`.
    `searches` has the criteria that were posted, `delay` seconds pass before an answer, `subjects` has the claims of which
    tokens were made."""

    PAGE = 500

    def __init__(self):
        self.fault, self.delay, self.searches, self.subjects = None, 0, [], []
        self.employees = [self.employee(number) for number in range(60)]
        self.users = {number: f"User {number}" for number in range(100, 140)}
        super().__init__()

    @staticmethod
    def employee(number, division="Sales", phone=""):
        return {"firstName": f"First{number}", "lastName": f"Last{number}", "division": division,
                "email": f"e{number}@example.com", "phoneNumber": phone}

    def _answer(self, connection):
        request = b""
        while b"\r\n\r\n" not in request:
            piece = connection.recv(65536)
            if not piece:
                return
            request += piece
        head, body = request.split(b"\r\n\r\n", 1)
        head = head.decode("latin-1")
        fields = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head.split("\r\n")[1:])}
        while len(body) < int(fields.get("content-length", 0)):
            body += connection.recv(65536)
        self.asked.append(head)
        if self.is_down:
            return self._reset(connection)
        path = head.split(" ")[1]
        if path == "/token":
            return self._token(connection, body)
        if self.delay:
            self._wait(self.delay)
        content, kind = self._content(path, body, fields)
        if content is None or self.fault == "missing":
            return self._missing(connection)
        if self.fault == "truncated":
            content = content[: len(content) // 2]
        elif self.fault == "other":
            content = b'{"weather": "fine"}' if kind == "application/json" else b"<weather>fine</weather>"
        elif self.fault and self.fault != "empty":
            return getattr(self, "_" + self.fault.replace("-", "_"))(connection)
        self._plain(connection, content, fields=f"Content-Type: {kind}\r\n")

    def _content(self, path, body, fields):
        if path.endswith("/employeeSearch"):
            criteria = json.loads(body)
            self.searches.append(criteria)
            return self._employees(criteria, fields.get("authorization", "")), "application/json"
        if path == "/users/v1/list":
            users = {} if self.fault == "empty" else self.users
            entries = "".join(
                f"<entry><UserId>{number}</UserId><UserName>{name}</UserName><ShoeSize>8.5M</ShoeSize></entry>"
                for number, name in users.items())
            text = f'<UserList xmlns="http://captechventures.com/schema">{entries}</UserList>'
            return text.encode(), "application/xml"
        return None, None

    def _employees(self, criteria, authorization):
        found = [one for one in self.employees if criteria["fullName"].lower() in one["firstName"].lower()]
        if authorization:
            found = [{**self.employee(0), "lastName": authorization}]
        if self.fault == "empty":
            found = []
        size, index = min(criteria["rowsPerPage"], self.PAGE), criteria["pageIndex"]
        page = found[index * size:(index + 1) * size]
        return json.dumps({"employees": page, "totalRows": len(found), "rowsPerPage": size, "pageIndex": index}).encode()

    def _token(self, connection, body):
        form = dict(urllib.parse.parse_qsl(body.decode()))
        payload = form["subject_token"].split(".")[1]
        claims = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
        self.subjects.append(claims)
        token = {"access_token": "-".join(["token-of", claims["sub"], *claims["roles"]]), "token_type": "Bearer", "expires_in": 600,
                 "issued_token_type": "urn:ietf:params:oauth:token-type:access_token"}
        self._plain(connection, json.dumps(token).encode(), fields="Content-Type: application/json\r\n")


class SecureUpstream:
    """A system with TLS that asks for a client certificate, a token endpoint, and pages that tell what they were shown.

    `forms` has what the token endpoint was sent."""

    def __init__(self, certificate, key, client_authority):
        self.forms = []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
                outer.forms.append((self.headers.get("Authorization"), dict(urllib.parse.parse_qsl(body))))
                self.answer({"access_token": f"token-{len(outer.forms)}", "token_type": "Bearer", "expires_in": 600})

            def do_GET(self):
                subject = dict(pair[0] for pair in (self.connection.getpeercert() or {}).get("subject", ()))
                self.answer({"authorization": self.headers.get("Authorization"), "client": subject.get("commonName")})

            def answer(self, value):
                body = json.dumps(value).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *arguments):
                pass

        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        context.verify_mode = ssl.CERT_OPTIONAL
        context.load_verify_locations(client_authority)
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True, do_handshake_on_connect=False)
        self.address = f"https://localhost:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def stop(self):
        self._server.shutdown()
        self._server.server_close()
