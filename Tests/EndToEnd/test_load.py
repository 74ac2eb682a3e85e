"""Overload: a noisy caller, too many connections and slow readers do not keep other callers from being served."""

import json
import re
import select
import signal
import socket
import threading
import time
import unittest

from harness import Gateway, GatewayTest

ALONE = True

REQUEST = b"GET /nothing HTTP/1.1\r\nHost: a\r\n\r\n"


def read_all(connection):
    received = b""
    try:
        while piece := connection.recv(65536):
            received += piece
    except ConnectionResetError:
        pass
    return received


class Connections(GatewayTest):
    settings = ("--set", "http.limits.connections=20", "--set", "http.limits.connectionsPerAddress=20")

    def test_a_connection_beyond_the_limit_gets_503_and_health_answers(self):
        held = [self.gateway.connect() for _ in range(20)]
        for connection in held:
            connection.sendall(REQUEST)
            self.assertRegex(connection.recv(65536), rb"^HTTP/1.1 404 ")
        with self.gateway.connect() as late:
            late.sendall(REQUEST)
            received = read_all(late)
        head, _, body = received.partition(b"\r\n\r\n")
        self.assertRegex(head, rb"^HTTP/1.1 503 ")
        self.assertIn(b"retry-after: 1", head.lower())
        self.assertIn(b"connection: close", head.lower())
        self.assertEqual(json.loads(body)["error"]["code"], "server.overloaded")
        self.assertEqual(self.gateway.get("/health/ready").status, 200)
        for connection in held:
            connection.close()
        self.wait_until_served()

    def wait_until_served(self):
        deadline = time.monotonic() + 30
        while not self.is_served():
            self.assertLess(time.monotonic(), deadline, "no connection is given back")

    def is_served(self):
        try:
            return self.gateway.get("/nothing").status == 404
        except ConnectionError:
            # Far beyond the limit, as long as the gateway has not seen that the others are gone.
            return False

    def test_connections_far_beyond_the_limit_are_closed(self):
        held = [self.gateway.connect() for _ in range(200)]
        for connection in held:
            try:
                connection.sendall(REQUEST)
            except ConnectionError:
                continue
        answers = [self.first_line(connection) for connection in held]
        for connection in held:
            connection.close()
        self.assertGreater(answers.count(b"HTTP/1.1 404 Not Found"), 0)
        self.assertGreater(answers.count(b""), 0)
        self.wait_until_served()

    def first_line(self, connection):
        try:
            return connection.recv(65536).split(b"\r\n")[0]
        except ConnectionResetError:
            return b""


class UnderWay(GatewayTest):
    """More requests than may be under way, of several accounts, since one has only its share: further ones are refused at once."""

    settings = (
        "--set", "http.limits.inFlight=4", "--set", "http.limits.urgent=4", "--set", "http.limits.answerCache=0B")
    GET = "GET /api/v1/users/users HTTP/1.1\r\nHost: a\r\n{}\r\n"
    POST = "POST /auth/login HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n{}\r\n\r\n"
    WAYS = {
        "on a connection that stays": GET.format(""),
        "on one that is to end": GET.format("Connection: close\r\n"),
        "in HTTP/1.0": GET.format("").replace("1.1", "1.0"),
        "with a long body that has not come": POST.format("Content-Length: 1000000"),
        "with a body in chunks that have not come": POST.format("Transfer-Encoding: chunked"),
        "with the wish to be asked for the body": POST.format("Content-Length: 10\r\nExpect: 100-continue"),
    }

    def setUp(self):
        self.goes_on, self.worked = True, []
        calls = [{"id": str(number), "method": "GET", "path": "/api/v1/users/users?limit=100"} for number in range(50)]
        users = ["alice", "bob", "carol", "admin"] * 2
        self.busy = [threading.Thread(target=self.keep_busy, args=[user, {"calls": calls}]) for user in users]
        for thread in self.busy:
            thread.start()

    def keep_busy(self, user, batch):
        while self.goes_on:
            self.worked.append(self.gateway.send("POST", "/batch", batch, user=user).status)

    def tearDown(self):
        self.goes_on = False
        for thread in self.busy:
            thread.join()
        self.assertEqual(set(self.worked), {200, 503})
        self.assertEqual(self.gateway.get("/nothing").status, 404)

    def ask(self, request):
        """Requests that are answered soon; one that is not refused may have to send more first."""
        with self.gateway.connect() as connection:
            connection.sendall(request.encode())
            connection.settimeout(2)
            received = b""
            try:
                while not self.is_whole(received):
                    received += connection.recv(65536) or self.fail("it closes before the answer's end")
            except TimeoutError:
                pass
            return received

    @staticmethod
    def is_whole(received):
        head, end, body = received.partition(b"\r\n\r\n")
        length = re.search(rb"content-length: (\d+)", head.lower())
        return bool(end) and (not length or len(body) >= int(length[1]))

    def test_the_others_are_refused_and_health_and_what_is_urgent_is_not(self):
        for name, request in self.WAYS.items():
            with self.subTest(name):
                deadline = time.monotonic() + 60
                while not (received := self.ask(request)).startswith(b"HTTP/1.1 503 "):
                    self.assertLess(time.monotonic(), deadline, "nobody is refused")
                head, _, body = received.partition(b"\r\n\r\n")
                self.assertIn(b"retry-after: 1", head.lower())
                self.assertEqual(json.loads(body)["error"]["code"], "server.overloaded")
                self.assertEqual(self.gateway.get("/health/ready").status, 200)
                self.assertEqual(self.gateway.get("/auth/jwks.json").status, 200)


    def test_an_early_refusal_is_readable_while_the_request_is_still_being_sent(self):
        head = "POST /auth/login HTTP/1.1\r\nHost: a\r\nConnection: Close\r\nContent-Length: {}\r\n\r\n"
        for length in (0, 1, 5_000, 200_000):
            with self.subTest(length):
                deadline = time.monotonic() + 60
                while not (received := self.tell(head.format(length).encode() + b"x" * length)).startswith(b"HTTP/1.1 503 "):
                    self.assertLess(time.monotonic(), deadline, "nobody is refused")
                head_of_answer, _, body = received.partition(b"\r\n\r\n")
                self.assertIn(b"connection: close", head_of_answer.lower())
                self.assertTrue(head_of_answer.startswith(b"HTTP/1.1 503 Service Unavailable\r\n"))
                self.assertEqual(json.loads(body)["error"]["code"], "server.overloaded")

    def tell(self, request):
        """All of the answer to a request that is sent whole, and then the connection's end."""
        with self.gateway.connect() as connection:
            connection.settimeout(10)
            connection.sendall(request)
            received = b""
            while piece := connection.recv(65536):
                received += piece
            return received

    def test_health_answers_on_connections_that_end_while_others_are_refused(self):
        asked = b"GET /health/ready HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
        refused = self.WAYS["on one that is to end"].encode()
        deadline = time.monotonic() + 60
        while not self.tell(refused).startswith(b"HTTP/1.1 503 "):
            self.assertLess(time.monotonic(), deadline, "nobody is refused")
            self.assertTrue(self.tell(asked).startswith(b"HTTP/1.1 200 "))
        self.assertTrue(self.tell(asked).startswith(b"HTTP/1.1 200 "))


class SlowBodies(GatewayTest):
    """Bodies that come slowly, but fast enough for `http.limits.readRate`, leave places for other addresses."""

    settings = ("--set", "http.limits.inFlight=40", "--set", "http.limits.urgent=0")
    FULL = json.dumps({"username": "alice", "password": "portico-demo"}).encode()
    HEAD = b"POST /auth/login HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: %d\r\n%s\r\n"

    def connect(self, address):
        connection = socket.create_connection(
            ("127.0.0.1", self.gateway.port), timeout=60, source_address=(address, 0))
        self.addCleanup(connection.close)
        return connection

    def slow(self, address, more=b""):
        connection = self.connect(address)
        connection.sendall(self.HEAD % (100_000, more) + b" " * 700)
        return connection

    def sign_in(self, address):
        """The status of a request whose body comes a little after its head."""
        with self.connect(address) as connection:
            connection.sendall(self.HEAD % (len(self.FULL), b"Connection: close\r\n"))
            time.sleep(0.05)
            connection.sendall(self.FULL)
            return int(read_all(connection).split()[1])

    def answered(self, connections, count):
        """Those that have been answered, once there are so many."""
        deadline = time.monotonic() + 30
        while len(found := select.select(connections, [], [], 0.1)[0]) < count:
            self.assertLess(time.monotonic(), deadline, f"{len(found)} are answered instead of {count}")
        return found

    def until_served(self, address):
        deadline = time.monotonic() + 30
        while self.sign_in(address) != 200:
            self.assertLess(time.monotonic(), deadline, "no share is given back")

    def test_another_address_is_served_while_one_sends_slowly(self):
        for more in (b"", b"Connection: close\r\n"):
            with self.subTest(more):
                held = [self.slow("127.0.0.2", more) for _ in range(60)]
                self.answered(held, 20)
                self.assertEqual([self.sign_in("127.0.0.1") for _ in range(3)], [200] * 3)
                self.assertEqual(self.sign_in("127.0.0.2"), 503)
                refused = self.answered(held, 50)
                self.assertEqual(len(refused), 50)
                for connection in refused:
                    head, _, body = connection.recv(65536).partition(b"\r\n\r\n")
                    self.assertRegex(head, rb"^HTTP/1.1 503 ")
                    self.assertIn(b"retry-after: 1", head.lower())
                    self.assertEqual(json.loads(body)["error"]["code"], "server.overloaded")
                for connection in held:
                    connection.close()
                self.until_served("127.0.0.2")


class Kernel(GatewayTest):
    """What waits in the kernel: connections that nobody took yet, and bytes that nobody read."""

    def test_a_burst_of_connections_waits_while_the_gateway_is_busy(self):
        """One that found no place would be tried again by the kernel after a second, and then three."""
        self.gateway.process.send_signal(signal.SIGSTOP)
        try:
            asking = [self.asking() for _ in range(600)]
            self.assertEqual(self.established(asking, patience=0.8), 600)
        finally:
            self.gateway.process.send_signal(signal.SIGCONT)
            for connection in asking:
                connection.close()

    def asking(self):
        connection = socket.socket()
        connection.setblocking(False)
        connection.connect_ex(("127.0.0.1", self.gateway.port))
        return connection

    def established(self, connections, patience):
        poll, end, done = select.poll(), time.monotonic() + patience, set()
        for connection in connections:
            poll.register(connection, select.POLLOUT)
        while len(done) < len(connections) and time.monotonic() < end:
            for descriptor, _ in poll.poll(50):
                done.add(descriptor)
                poll.unregister(descriptor)
        return len(done)

    def test_little_is_buffered_for_a_slow_reader(self):
        with socket.socket() as reader:
            reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            reader.connect(("127.0.0.1", self.gateway.port))
            # More than the kernel would take for one connection of its own accord.
            reader.sendall(b"GET /openapi.json?formats=all HTTP/1.1\r\nHost: a\r\n\r\n" * 16)
            time.sleep(2)
            waiting = self.waiting_bytes(reader.getsockname()[1])
        self.assertGreater(waiting, 0)
        self.assertLess(waiting, 600 << 10)

    def waiting_bytes(self, client):
        with open("/proc/net/tcp") as table:
            rows = [line.split() for line in table][1:]
        ours, theirs = f":{self.gateway.port:04X}", f":{client:04X}"
        return sum(int(row[4].split(":")[0], 16) for row in rows if row[1].endswith(ours) and row[2].endswith(theirs))


class Rates(GatewayTest):
    settings = ("--set", "limits.requestsPerMinute=30")

    def test_a_caller_learns_its_allowance_and_when_to_come_back(self):
        token = self.gateway.login("alice").json()["accessToken"]
        first = self.gateway.get("/auth/me", token=token)
        self.assertEqual(first.headers["ratelimit-policy"], '"default";q=30;w=60')
        self.assertRegex(first.headers["ratelimit"], r'^"default";r=29;t=\d+$')
        answers = [self.gateway.get("/auth/me", token=token) for _ in range(40)]
        refused = [answer for answer in answers if answer.status == 429]
        self.assertTrue(refused)
        self.expect(refused[0], 429, "access.rateLimited")
        self.assertGreater(int(refused[0].headers["retry-after"]), 0)
        self.assertRegex(refused[0].headers["ratelimit"], r'^"default";r=0;')
        # Others, and health, do not pay for it.
        other = self.gateway.login("bob").json()["accessToken"]
        self.assertEqual(self.gateway.get("/auth/me", token=other).status, 200)
        self.assertEqual(self.gateway.get("/health/live").status, 200)


class Readers(unittest.TestCase):
    """An answer of several megabytes, buffered: a batch of one large page after another. Not of many: through a window of
    a few KiB the kernel takes its time."""

    SIZE = 6 << 20

    def setUp(self):
        self.gateway = Gateway("--set", "http.deadlines.write=2s", "--set", "http.limits.writeRate=16KiB")
        self.addCleanup(self.gateway.remove)
        count = self.SIZE // len(self.gateway.get("/openapi.json").body) + 1
        calls = [{"id": str(number), "method": "GET", "path": "/openapi.json"} for number in range(count)]
        body = json.dumps({"calls": calls}).encode()
        self.request = (
            b"POST /batch HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nConnection: close\r\n"
            b"Content-Length: " + str(len(body)).encode() + b"\r\n\r\n" + body)

    def start(self):
        connection = socket.socket()
        # Small, so that what is not read waits in the gateway; no smaller than a segment of the loopback, or the kernel probes.
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 131072)
        connection.settimeout(60)
        connection.connect(("127.0.0.1", self.gateway.port))
        connection.sendall(self.request)
        return connection

    def test_an_honest_slow_reader_gets_everything(self):
        with self.start() as whole:
            expected = len(read_all(whole).partition(b"\r\n\r\n")[2])
        self.assertGreater(expected, self.SIZE)
        received = bytearray()
        with self.start() as connection:
            # About six times as long as the deadline.
            pause = 12 / (expected / 65536)
            while piece := connection.recv(65536):
                received += piece
                time.sleep(pause * len(piece) / 65536)
        self.assertGreaterEqual(len(bytes(received).partition(b"\r\n\r\n")[2]), expected - 100_000)

    def test_a_connection_that_reads_nothing_is_closed(self):
        connections = [self.start() for _ in range(5)]
        deadline = time.monotonic() + 60
        while self.established() > 0:
            self.assertLess(time.monotonic(), deadline, "they are waited for still")
            time.sleep(0.2)
        for connection in connections:
            connection.close()

    def established(self):
        """Connections that the gateway has open."""
        local = f":{self.gateway.port:04X}"
        with open("/proc/net/tcp") as table:
            rows = [line.split() for line in table][1:]
        return sum(row[1].endswith(local) and row[3] == "01" for row in rows)


if __name__ == "__main__":
    unittest.main()
