"""Every route that the gateway declares, against everybody's worst: nothing is taken, nothing grows, nothing falls over."""

import http.client
import random
import select
import socket
import struct
import time
import unittest
import urllib.parse

import wire_values
from harness import JSON, Gateway, GatewayTest
from routes import routes

SEED = 20261121
HUGE = 100 << 20
MOST_MEMORY = 200 << 20
# The gateway reads a little on, so that its answer arrives; kernel buffers of both sides come on top.
MOST_TAKEN = 32 << 20
# Nobody creates or changes their entities, say the models, or none but the one that is there: everybody is refused,
# whatever the body.
CLOSED = ("/api/v1/odata/reference-ReadOnlyItems", "/api/v1/odata/reference-Company")


class HostileBodies(GatewayTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.routes = [route for route in routes(cls.gateway) if route.body_types]

    def setUp(self):
        # A token, because the memory that hashing a password takes is not what is measured here. One for each test,
        # because a sign-out is among the routes.
        self.token = self.gateway.login("admin").json()["accessToken"]
        self.gateway.forget_peak()

    def tearDown(self):
        self.assertIsNone(self.gateway.process.poll(), "the gateway died")
        self.assertEqual(self.gateway.get("/health/ready").status, 200)
        self.assertLess(self.gateway.resident("VmHWM"), MOST_MEMORY)

    def calls(self):
        for route in self.routes:
            for content_type in [*wire_values.FORMATS, wire_values.FORM]:
                yield route, content_type, JSON if content_type == wire_values.FORM else content_type

    def refused(self, body_of, but=()):
        """Sends `body_of(route, content_type)` to every route in every format: each is a 4xx in the caller's format."""
        made = 0
        for route, content_type, accept in self.calls():
            body = body_of(route, content_type)
            if content_type in but or (not body and not route.needs_body):
                continue
            headers = {"Content-Type": content_type, "Accept": accept}
            answer = self.gateway.request(route.method, route.path, body, headers, token=self.token)
            with self.subTest(route=route, content_type=content_type, body=body[:60]):
                self.assertIn(answer.status, range(400, 500), answer)
                if not route.template.startswith(("/auth/", "/irj/", *CLOSED)):
                    self.assertNotIn(answer.status, (401, 403), "refused for its sender instead of its body")
                self.assertEqual(answer.headers["content-type"].split(";")[0], accept)
                self.assertTrue(wire_values.error_code(accept, answer.body))
            made += 1
        self.assertGreater(made, 100)

    def valid(self, route, content_type):
        return wire_values.encode(content_type, {name: "x" for name in route.members})

    def test_the_description_names_routes_with_bodies_of_every_adapter(self):
        paths = {route.template for route in self.routes}
        for path in ["/auth/login", "/batch", "/api/v1/notes/notes", "/api/v1/users/users", "/api/v1/employees/employees"]:
            self.assertIn(path, paths)
        for route in self.routes:
            self.assertTrue({*wire_values.FORMATS, wire_values.FORM} <= set(route.body_types), route)
            self.assertTrue(route.members, route)

    def test_a_body_that_the_description_calls_optional_may_be_left_out(self):
        optional = {route.template: route for route in self.routes if not route.needs_body}
        self.assertIn("/auth/logout", optional)
        for template, route in optional.items():
            token = self.gateway.login("admin").json()["accessToken"]
            answer = self.gateway.request(route.method, route.path, token=token)
            self.assertIn(answer.status, (200, 204), (template, answer))

    def test_an_empty_body_is_refused_everywhere(self):
        self.refused(lambda route, content_type: b"")

    def test_a_truncated_document_is_refused_everywhere(self):
        self.refused(lambda route, content_type: self.valid(route, content_type)[:-7])

    def test_random_bytes_are_refused_everywhere(self):
        generator = random.Random(SEED)
        self.refused(lambda route, content_type: generator.randbytes(generator.randrange(1, 2000)))

    def test_members_of_wrong_types_are_refused_everywhere(self):
        wrong = {"wrong": ["1", {"types": "x"}]}
        self.refused(
            lambda route, content_type: wire_values.encode(content_type, {name: wrong for name in route.members}),
            but=[wire_values.FORM])  # which carries nothing but texts

    def test_a_list_where_a_dictionary_is_expected_is_refused_everywhere(self):
        self.refused(lambda route, content_type: wire_values.encode(content_type, ["a", "b"]))

    def test_a_hundred_megabytes_are_refused_and_the_connection_closed(self):
        for route, content_type, accept in self.calls():
            self.stream(route, content_type, accept, f"Content-Length: {HUGE}", b" " * 65536)

    def test_a_hundred_megabytes_in_chunks_are_refused_and_the_connection_closed(self):
        piece = b"10000\r\n" + b" " * 65536 + b"\r\n"
        for route in self.routes:
            self.stream(route, JSON, JSON, "Transfer-Encoding: chunked", piece)

    def stream(self, route, content_type, accept, length, piece):
        head = (
            f"{route.method} {route.path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {self.token}\r\n"
            f"Content-Type: {content_type}\r\nAccept: {accept}\r\n{length}\r\n\r\n")
        with self.subTest(route=route, content_type=content_type, length=length):
            with self.gateway.connect() as connection:
                connection.sendall(head.encode())
                sent, received = self.send_until_closed(connection, piece)
            self.assertLess(sent, MOST_TAKEN)
            if received:
                self.check_refusal(received, accept)

    def send_until_closed(self, connection, piece):
        """What was sent and what was received when the gateway closed, or everything was sent and it has not."""
        sent, received = 0, b""
        try:
            while sent < HUGE:
                readable, writable, _ = select.select([connection], [connection], [], 30)
                if readable:
                    got = connection.recv(65536)
                    if not got:
                        return sent, received
                    received += got
                elif writable:
                    sent += connection.send(piece)
                else:
                    self.fail("the gateway neither reads nor closes")
        except (ConnectionResetError, BrokenPipeError):
            pass
        return sent, received

    def check_refusal(self, received, accept):
        head, _, body = received.partition(b"\r\n\r\n")
        # 415 where the route takes no forms: that too is answered without reading the body.
        self.assertRegex(head.split(b"\r\n")[0], rb"^HTTP/1.1 (413|415) ")
        self.assertIn(b"connection: close", head.lower())
        self.assertTrue(wire_values.error_code(accept, body))

    def test_a_client_that_disconnects_within_a_body_affects_no_other(self):
        for route in self.routes:
            for length, part in [("Content-Length: 1000", b"{"), ("Transfer-Encoding: chunked", b"1\r\n{\r\n")]:
                for sent, resets in [(b"", False), (part, False), (part, True)]:
                    self.leave(route, length, sent, resets)

    def leave(self, route, length, part, resets):
        head = (
            f"{route.method} {route.path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {self.token}\r\n"
            f"Content-Type: {JSON}\r\n{length}\r\n\r\n")
        with self.gateway.connect() as connection:
            connection.sendall(head.encode() + part)
            if resets:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.assertIsNone(self.gateway.process.poll(), f"the gateway died of {route}, {length}")

    def test_a_body_that_never_comes_is_given_up(self):
        """The deadline ends the reading; what follows it must not read again from the start."""
        gateway = Gateway("--set", "http.deadlines.request=1s")
        self.addCleanup(gateway.remove)
        with gateway.connect() as connection:
            connection.sendall(
                b"POST /auth/login HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 20\r\n\r\n{")
            received = b""
            while piece := connection.recv(65536):
                received += piece
        self.assertRegex(received[:20], rb"^HTTP/1.1 (408|503|504) ")
        self.assertEqual(gateway.get("/health/ready").status, 200)

    def test_a_body_that_trickles_is_given_up(self):
        gateway = Gateway("--set", "http.limits.readRate=1KiB")
        self.addCleanup(gateway.remove)
        received = b""
        with gateway.connect() as connection:
            connection.sendall(
                b"POST /auth/login HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 99999\r\n\r\n{")
            connection.settimeout(0.1)
            for _ in range(300):
                try:
                    connection.sendall(b" ")
                    piece = connection.recv(65536)
                except TimeoutError:
                    continue
                except OSError:
                    break
                if not piece:
                    break
                received += piece
            else:
                self.fail("the connection is still open")
        self.assertRegex(received[:20], rb"^HTTP/1.1 408 ")

    def test_the_rest_of_refused_bodies_that_trickle_holds_no_connection(self):
        gateway = Gateway(
            "--set", "http.limits.connections=10", "--set", "http.limits.connectionsPerAddress=10",
            "--set", "http.deadlines.head=3s")
        self.addCleanup(gateway.remove)
        requests = {"404": "POST /nothing", "405": "DELETE /health/live", "401": "POST /sync/v1/pull"}
        held = []
        for number in range(10):
            status, line = list(requests.items())[number % 3]
            connection = gateway.connect()
            self.addCleanup(connection.close)
            connection.sendall(
                f"{line} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 200000\r\n\r\n".encode())
            self.assertIn(status.encode(), connection.recv(65536).split(b"\r\n")[0])
            connection.settimeout(0.01)
            held.append(connection)
        end = time.monotonic() + 60
        while held:
            self.assertLess(time.monotonic(), end, f"{len(held)} are still open")
            held = [connection for connection in held if self.trickles(connection)]
            time.sleep(0.1)
        # The gateway's side of them lingers.
        while gateway.get("/nothing").status != 404:
            self.assertLess(time.monotonic(), end, "no connection is given back")
            time.sleep(0.1)

    def trickles(self, connection):
        """Sends one byte more; false where the gateway has ended the connection."""
        try:
            connection.sendall(b" ")
            return connection.recv(65536) != b""
        except TimeoutError:
            return True
        except OSError:
            return False

    def test_a_refused_small_body_leaves_the_connection_usable(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.gateway.port, timeout=60)
        try:
            for body in [b"", b"{", b"\xff", b"[]"]:
                headers = {"Content-Type": JSON, "Authorization": f"Bearer {self.token}"}
                connection.request("POST", "/api/v1/notes/notes", body, headers)
                used = connection.sock
                answer = connection.getresponse()
                answer.read()
                self.assertEqual(answer.status, 400)
                self.assertIs(connection.sock, used)
        finally:
            connection.close()


ODD_VALUES = [
    "", "0", "-1", "99999999999999999999999", "1e400", "NaN", "true", "'", "''", "%00", "%ff%fe", "%zz", "%", "%2500", "a%00b",
    "..%2f..%2fetc%2fpasswd", "*", "(" * 500, "not%20" * 200, "%27%3B%20DROP%20TABLE%20notes%3B--", "%22*%22", "%F0%9F%98%80",
    "id%20eq%201%20or%20", ",,,", "-", "-id,-id,id", "a" * 3000, "%E2%80%AE", "null", "[]", "{}",
]
ODD_QUERIES = [
    "", "&", "=", "&&&===", "limit=1&limit=2", "format=json&format=plist", "format=nonsense", "nonsense=1", "a" * 9000,
    "&".join(f"p{number}=1" for number in range(1500)), "?", "filter", "%=%", "+=+",
]


class OddQueries(GatewayTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.token = cls.gateway.login("admin").json()["accessToken"]
        cls.routes = [route for route in routes(cls.gateway) if route.method == "GET"]

    def check(self, target):
        answer = self.gateway.get(target, JSON, token=self.token)
        with self.subTest(target=target[:200]):
            self.assertLess(answer.status, 500, answer)
            if answer.status >= 400 and "/sca/" in target:
                self.assertIn(b":Fault>", answer.body)  # SOAP's failures have its own shape
            elif answer.status >= 400:
                self.assertTrue(wire_values.error_code(JSON, answer.body))

    def test_no_query_makes_a_read_fail_inside(self):
        for route in self.routes:
            for query in ODD_QUERIES:
                self.check(f"{route.path}?{query}")

    def test_no_value_of_a_declared_parameter_makes_a_read_fail_inside(self):
        for route in self.routes:
            for parameter in route.operation.get("parameters", []):
                if parameter["in"] == "query":
                    for value in ODD_VALUES:
                        self.check(f"{route.path}?{parameter['name']}={value}")

    def test_no_path_parameter_makes_a_read_fail_inside(self):
        for route in self.routes:
            for value in ODD_VALUES:
                self.check(route.path_with({}, otherwise=urllib.parse.quote(value, safe="%'*()-,[]{}\"")))


if __name__ == "__main__":
    unittest.main()
