"""One scenario for each row of "Shares by account" in docs/threat-model.md; `test_account_shares` runs them.

A scenario names what one account takes and what another asks for meanwhile. A new row gets a class here, whose name stands
in the row's last cell.
"""

import hashlib
import http.client
import json
import pathlib
import select
import selectors
import shutil
import socket
import tempfile
import threading
import time
import urllib.parse

from harness import START_SECONDS, Answer, Gateway, run_portico
from hostile_upstream import MirroredSystem
from ledger_upstream import LedgerUpstream
from long_queries import ENDLESS, LONG, SEARCHES, escaped
from server_sent_events import Stream
from sync_device import Device
from test_mirror_writes import CONFIGURATION, USERS, WRITES

ODATA = "/odata/v4/admissions/"
# Some megabytes.
LARGE = ODATA + escaped("Students?$expand=Visits,School($expand=Students($top=8))")


class Scenario:
    """`take` returns when one account has all that it can get. `ask` is one request of another account, all of which must
    be answered with 2xx; `release` ends what was taken."""

    settings = ()
    requests = 5

    @classmethod
    def prepared(cls):
        """With a gateway of its own, which the caller removes."""
        return cls(Gateway(*cls.settings))

    def __init__(self, gateway):
        self.gateway = gateway
        self.connections, self.threads, self.ended = [], [], threading.Event()
        self.tokens = {user: gateway.login(user).json()["accessToken"] for user in ["alice", "bob"]}

    def take(self):
        raise NotImplementedError

    def ask(self):
        raise NotImplementedError

    def release(self):
        self.ended.set()
        for connection in self.connections:
            connection.close()
        for thread in self.threads:
            thread.join()

    def alice(self, method, path, body=None, **headers):
        return self._request("alice", method, path, body, headers)

    def bob(self, method, path, body=None, **headers):
        return self._request("bob", method, path, body, headers)

    def _request(self, user, method, path, body, headers):
        if body is None:
            return self.gateway.request(method, path, headers=headers, token=self.tokens[user])
        return self.gateway.send(method, path, body, headers=headers, token=self.tokens[user])

    def begin(self, count, method, path, body=b"", fields=""):
        """Requests of alice's, each on a connection of its own; returns the connections, whose answers are not read."""
        begun = []
        for _ in range(count):
            connection = self.gateway.connect()
            connection.sendall(
                f"{method} {path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {self.tokens['alice']}\r\n{fields}"
                f"\r\n".encode() + body)
            begun.append(connection)
        self.connections += begun
        return begun

    def keep_calling(self, count, call):
        """Threads that call until the end; what they get is collected."""
        outcomes = []

        def run():
            while not self.ended.is_set():
                outcomes.append(call())

        self.threads += [threading.Thread(target=run) for _ in range(count)]
        for thread in self.threads[-count:]:
            thread.start()
        return outcomes

    def wait_until(self, condition, what):
        end = time.monotonic() + START_SECONDS
        while not condition():
            assert time.monotonic() < end, f"{what} never happens"
            time.sleep(0.02)


class Connections(Scenario):
    """Quiet connections of one address: a hundred do not take the hundred that there are. He comes from another address."""

    settings = ("--set", "http.limits.connections=100")

    def take(self):
        self.connections += [self.gateway.connect() for _ in range(60)]
        # The gateway counts a connection when it takes it up, which is later than the system does.
        self.wait_until(lambda: self.further_status() == 503, "a refusal")
        self.connections += [self.gateway.connect() for _ in range(60)]

    def further_status(self):
        """Of a request on a further connection of the same address, which is closed."""
        further = http.client.HTTPConnection("127.0.0.1", self.gateway.port, timeout=60)
        further.request("GET", "/auth/me")
        status = further.getresponse().status
        further.close()
        return status

    def ask(self):
        other = http.client.HTTPConnection(
            "127.0.0.1", self.gateway.port, timeout=60, source_address=("127.0.0.2", 0))
        other.request("GET", "/auth/me", headers={"Authorization": f"Bearer {self.tokens['bob']}"})
        received = other.getresponse()
        answer = Answer(received.status, dict(received.getheaders()), received.read())
        other.close()
        return answer


class RequestsUnderWay(Scenario):
    """Of the requests that are under way, `http.limits.inFlightPerCaller` are one account's, whatever it calls."""

    # More than there are: a share is never all of them.
    settings = ("--set", "http.limits.inFlight=20", "--set", "http.limits.urgent=0", "--set", "http.limits.inFlightPerCaller=100")

    def take(self):
        # Long polls, which wait for a change that does not come.
        checkpoint = self.alice("POST", "/sync/v1/pull", {"collections": ["notes"]}).json()["complete"]["checkpoint"]
        self.begin(40, "GET", f"/sync/v1/live?collections=notes&wait=60&checkpoint={checkpoint}")
        self.wait_until(lambda: self.refused() > 0, "a refusal")

    def refused(self):
        return len(select.select(self.connections, [], [], 0)[0])

    def ask(self):
        return self.bob("POST", "/sync/v1/pull", {"collections": ["notes"]})


class RepeatedRequests(Scenario):
    """Connections of one account that send again as soon as they are answered or refused: refusals hold no place of others."""

    settings = ("--set", "http.limits.inFlight=40", "--set", "http.limits.urgent=0")
    requests = 20

    PULL = json.dumps({"collections": ["employees"], "limit": 500}).encode()
    FIELDS = f"Content-Type: application/json\r\nContent-Length: {len(PULL)}\r\n"

    def take(self):
        self.refused = 0
        self.pulls = self.begin(200, "POST", "/sync/v1/pull", self.PULL, self.FIELDS)
        request = (
            f"POST /sync/v1/pull HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {self.tokens['alice']}\r\n{self.FIELDS}\r\n"
        ).encode() + self.PULL
        self.threads.append(threading.Thread(target=self.repeat, args=(request,)))
        self.threads[-1].start()
        self.wait_until(lambda: self.refused > 200, "refusals of what was sent again")

    def repeat(self, request):
        """Reads each answer to its end, and sends the next request at once."""
        with selectors.DefaultSelector() as selector:
            for connection in self.pulls:
                selector.register(connection, selectors.EVENT_READ, {"head": b"", "left": None})
            while not self.ended.is_set():
                for key, _ in selector.select(0.1):
                    if self.is_answered(key.data, key.fileobj.recv(1 << 18)):
                        key.fileobj.sendall(request)

    def is_answered(self, state, piece):
        assert piece, "the connection was ended"
        if state["left"] is None:
            state["head"] += piece
            head, end, rest = state["head"].partition(b"\r\n\r\n")
            if not end:
                return False
            self.refused += head.startswith(b"HTTP/1.1 503")
            state["left"], piece = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0]), rest
        state["left"] -= len(piece)
        if state["left"] > 0:
            return False
        state["head"], state["left"] = b"", None
        return True

    def ask(self):
        return self.bob("GET", "/auth/me")

    def release(self):
        # The connections are closed once nothing reads them.
        self.ended.set()
        for thread in self.threads:
            thread.join()
        super().release()


class Pulls(Scenario):
    """Four hundred pulls of one account do not come before those of another: hers are not all answered when his are."""

    PULL = json.dumps({"limit": 500}).encode()
    FIELDS = f"Content-Type: application/json\r\nContent-Length: {len(PULL)}\r\n"
    settings = ("--set", "http.deadlines.request=600s")
    requests = 20

    def take(self):
        self.pulls = self.begin(400, "POST", "/sync/v1/pull", self.PULL, self.FIELDS)
        self.wait_until(lambda: self.answered() > 0, "an answer")

    def answered(self):
        # Not select: its descriptors end at 1024.
        poll = select.poll()
        for connection in self.pulls:
            poll.register(connection, select.POLLIN)
        return len(poll.poll(0))

    def ask(self):
        answer = self.bob("POST", "/sync/v1/pull", {"collections": ["notes"]})
        assert self.answered() < 300, "they were answered first"
        return answer


class Batches(Scenario):
    """Batches of one account that are under way, and whose calls wait for slots."""

    settings = (*SEARCHES, "--set", "http.limits.inFlight=40", "--set", "http.limits.urgent=0")

    def take(self):
        body = json.dumps({"calls": [{"id": str(n), "method": "GET", "path": ENDLESS} for n in range(8)]}).encode()
        fields = f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        self.begin(60, "POST", "/batch", body, fields)
        self.wait_until(lambda: select.select(self.connections, [], [], 0)[0], "a refusal")

    def ask(self):
        return self.bob("POST", "/batch", {"calls": [{"id": "a", "method": "GET", "path": "/auth/me"}]})


class IncompleteBodies(Scenario):
    """Requests whose bodies come slowly, of one address: those that are collected, and those that are thrown away."""

    settings = ("--set", "http.limits.inFlight=40", "--set", "http.limits.urgent=0")

    def take(self):
        for path in ["/auth/login", "/nothing"]:
            for _ in range(60):
                connection = socket.create_connection(
                    ("127.0.0.1", self.gateway.port), timeout=60, source_address=("127.0.0.2", 0))
                connection.sendall(
                    f"POST {path} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
                    f"Content-Length: 100000\r\n\r\n{' ' * 700}".encode())
                self.connections.append(connection)
        self.wait_until(lambda: len(select.select(self.connections, [], [], 0)[0]) > 100, "a refusal")

    def ask(self):
        with self.gateway.connect() as connection:
            body = json.dumps({"username": "bob", "password": "portico-demo"}).encode()
            connection.sendall(
                f"POST /auth/login HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
                f"Content-Length: {len(body)}\r\n\r\n".encode())
            time.sleep(0.05)
            connection.sendall(body)
            return Answer(int(connection.recv(65536).split()[1]), {}, b"")


class Changes(Scenario):
    """Transactions that wait for the one that writes."""

    def take(self):
        self.made = self.keep_calling(40, lambda: self.alice("POST", "/api/v1/notes/notes", {"title": "t", "text": "t"}).status)
        self.wait_until(lambda: len(self.made) > 100, "a change")

    def ask(self):
        return self.bob("POST", "/api/v1/notes/notes", {"title": "t", "text": "t"})


class SignIns(Scenario):
    """Passwords that are checked: guesses of one name from one address beside another's sign-in from another."""

    def take(self):
        def guess():
            connection = http.client.HTTPConnection(
                "127.0.0.1", self.gateway.port, timeout=60, source_address=("127.0.0.2", 0))
            try:
                connection.request(
                    "POST", "/auth/login", json.dumps({"username": "alice", "password": "wrong"}),
                    {"Content-Type": "application/json"})
                return connection.getresponse().status
            finally:
                connection.close()
        guesses = self.keep_calling(40, guess)
        self.wait_until(lambda: any(status in (429, 503) for status in guesses), "a refusal")

    def ask(self):
        return self.gateway.send("POST", "/auth/login", {"username": "bob", "password": "portico-demo"})


class AccountChanges(Scenario):
    """Changes of accounts and sign-ins, each with its entry in the audit log, one after the other."""

    def take(self):
        begun = self.keep_calling(
            30, lambda: self.gateway.send("POST", "/auth/login", {"username": "alice", "password": "portico-demo"}).status)
        self.wait_until(lambda: len(begun) > 30, "a sign-in")

    def ask(self):
        return self.gateway.send("POST", "/auth/login", {"username": "bob", "password": "portico-demo"})


class CachedResponses(Scenario):
    settings = ("--set", "http.limits.answerCache=64KiB")

    def take(self):
        for number in range(100):
            self.alice("GET", f"/api/v1/users/users?limit={number + 1}")

    def ask(self):
        return self.bob("GET", "/api/v1/users/users?limit=1")


class Uploads(Scenario):
    requests = 1
    settings = ("--set", "sync.limits.uploadsPerPrincipal=3", "--set", "sync.limits.uploads=4")

    def upload(self, user, data, last):
        digest = hashlib.sha256(data).hexdigest()
        return self.gateway.request(
            "PUT", f"/sync/v1/attachments/{digest}", body=data[:last],
            headers={"Content-Range": f"bytes 0-{last - 1}/{len(data)}"}, token=self.tokens[user])

    def take(self):
        for number in range(5):
            status = self.upload("alice", f"alice's {number}".encode() * 10, 5).status
        assert status == 503, status

    def ask(self):
        return self.upload("bob", b"bob's " * 10, 5)


class LongReads(Scenario):
    settings = SEARCHES

    def take(self):
        used = self.gateway.processor_seconds()
        self.gateway.wait_until_it_works(used, *self.begin(30, "GET", ODATA + ENDLESS))

    def ask(self):
        return self.bob("GET", ODATA + LONG)


class LongAnswers(Scenario):
    settings = SEARCHES

    def take(self):
        used = self.gateway.processor_seconds()
        self.gateway.wait_until_it_works(used, *self.begin(6, "GET", LARGE))

    def ask(self):
        return self.bob("GET", LARGE)


class AsynchronousAnswers(Scenario):
    settings = (*SEARCHES, "--set", "adapters.odata.limits.asyncRunning=10")

    def take(self):
        while self.alice("GET", ODATA + ENDLESS, Prefer="respond-async").status == 202:
            pass

    def ask(self):
        """Fetches what was promised: a caller who sends the next before has two under way."""
        promised = self.bob("GET", ODATA + "Schools?$top=1", Prefer="respond-async")
        if promised.status != 202:
            return promised
        address = urllib.parse.urlsplit(promised.headers["location"]).path
        deadline = time.monotonic() + START_SECONDS
        while (fetched := self.bob("GET", address)).status == 202:
            if time.monotonic() > deadline:
                raise TimeoutError(f"{address} is not answered.")
            time.sleep(0.05)
        return fetched


class LiveStreams(Scenario):
    settings = ("--set", "limits.streamsPerPrincipal=3")

    def take(self):
        while True:
            stream = Stream(self.gateway, "alice")
            self.connections.append(stream)
            if stream.status != 200:
                return

    def ask(self):
        stream = Stream(self.gateway, "bob")
        stream.close()
        return stream


SEARCH = "/OrganizationInterfaceImplMobile/employeeSearch"
CONNECTED = """
http: {{ host: 127.0.0.1 }}
identity:
  basic: {{ enabled: true }}
  demoAccounts:
    - {{ name: alice, password: portico-demo, roles: [member] }}
    - {{ name: bob, password: portico-demo, roles: [member] }}
upstreams:
  hr:
    url: '{url}'
    networks: [127.0.0.1/32]
    deadline: 60s
    limits: {{ connections: {connections}, queue: 20, firstByte: 60s, tries: 1, failures: 1000 }}
{credentials}
adapters:
  employees: {{ upstream: hr, protocol: json, access: public-read, {employees} }}
"""
EXCHANGE = """    credentials:
      kind: exchange
      tokenURL: '{url}/token'
      clientID: portico
      clientSecret: {{ env: HR_SECRET }}
      audience: hr
"""


class ConnectedSystem(MirroredSystem):
    """Answers searches for a name that begins with `Slow`, and those of the account `slow`, when it ends."""

    slow = None

    def _employees(self, criteria, authorization):
        if criteria["fullName"].startswith("Slow") or self.slow and self.slow in authorization:
            self._wait(600)
        return super()._employees(criteria, authorization)


class OtherSystem(Scenario):
    """What stands in front of another system."""

    connections, credentials, employees = 4, "", "mode: call, freshFor: 1h, waitFor: 60s"

    @classmethod
    def prepared(cls):
        system, folder = ConnectedSystem(), pathlib.Path(tempfile.mkdtemp(prefix="portico-shares-"))
        config = folder / "portico.yaml"
        config.write_text(CONNECTED.format(
            url=system.address, connections=cls.connections, employees=cls.employees,
            credentials=cls.credentials.format(url=system.address)))
        scenario = cls(Gateway(*cls.settings, config=str(config), environment={"HR_SECRET": "secret"}))
        scenario.system, scenario.folder = system, folder
        return scenario

    def release(self):
        self.system.stop()
        super().release()
        shutil.rmtree(self.folder, True)

    def begin_search(self, name):
        body = json.dumps({"fullName": name, "rowsPerPage": 10}).encode()
        return self.begin(
            1, "POST", SEARCH, body, f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n")

    def ask(self):
        self.asked = getattr(self, "asked", 0) + 1
        return self.bob("POST", SEARCH, {"fullName": f"First{self.asked}", "rowsPerPage": 10})


class UpstreamTurns(OtherSystem):
    """Sixty calls of another system that do not return: three of its four turns, and half of the queue."""

    def take(self):
        for number in range(60):
            self.begin_search(f"Slow{number}")
        self.wait_until(lambda: len(self.system.searches) >= 3, "a call")
        self.wait_until(lambda: select.select(self.connections, [], [], 0)[0], "a refusal")


class CallsUnderWay(OtherSystem):
    """Calls whose callers hang up at once, fifty a second: each counts until the other system has answered."""

    def take(self):
        self.begun = self.keep_calling(1, self.abandon)
        self.wait_until(lambda: len(self.system.searches) >= 3 and len(self.begun) > 100, "a call")

    def abandon(self):
        time.sleep(0.02)
        for connection in self.begin_search(f"Slow{len(self.begun)}"):
            # Once the call has begun.
            time.sleep(0.005)
            connection.close()


class FetchesOfCallersRows(OtherSystem):
    """Rows that are fetched in a caller's name, for each of the account's sixty keys."""

    connections, credentials, employees = 40, EXCHANGE, "freshFor: 1h, waitFor: 60s"
    requests = 1

    def take(self):
        self.system.slow = self.alice("GET", "/auth/me").json()["id"]
        session, keys = self.tokens["alice"], []
        for number in range(60):
            keys.append(self.alice("POST", "/auth/keys", {"title": f"{number}"}).json()["key"])
        for self.tokens["alice"] in keys:
            self.begin(1, "GET", "/api/v1/employees/employees")
        self.tokens["alice"] = session
        self.wait_until(lambda: len(self.system.searches) >= 7, "a fetch")

    def ask(self):
        return self.bob("GET", "/api/v1/employees/employees")


class WorkerCalls(Scenario):
    """Calls that a worker does not return."""

    settings = ("--set", "adapters.tasks.worker.calls.inFlight=4", "--set", "http.deadlines.request=600s")

    @classmethod
    def prepared(cls):
        folder, parts = pathlib.Path(tempfile.mkdtemp(prefix="portico-shares-")), pathlib.Path(__file__).parent
        (folder / "program").mkdir()
        shutil.copy(parts / "packages/tasks_worker.py", folder / "program/tasks").chmod(0o755)
        shutil.copy(parts / "cbor.py", folder / "program")
        (folder / "program/behaviour.json").write_text(json.dumps(
            {"version": "1.0.0", "fields": {"title": "text"}, "binds": ["/tasks/kept"], "keeps": "bound0"}))
        accounts = [{"name": name, "password": "portico-demo", "roles": ["member"]} for name in ("alice", "bob")]
        config = folder / "portico.yaml"
        # The key is that of `Gateway`, which then has cheap passwords.
        config.write_text(
            f"identity:\n  basic: {{enabled: true}}\n  demoAccounts: {json.dumps(accounts)}\n"
            "plugins: [{path: ./program/tasks}]\nadapters: {tasks: {}}\nhttp: {host: 127.0.0.1}\n")
        scenario = cls(Gateway(*cls.settings, config=str(config)))
        scenario.folder = folder
        return scenario

    def take(self):
        self.begin(20, "GET", "/tasks/kept")
        self.wait_until(lambda: len(select.select(self.connections, [], [], 0)[0]) >= 16, "a refusal")

    def ask(self):
        return self.bob("POST", "/api/v1/tasks/operations/version", {})

    def release(self):
        super().release()
        shutil.rmtree(self.folder, True)


class MirroredUsers(Scenario):
    """Users that are another system's; what callers change of them waits for it."""

    @classmethod
    def prepared(cls):
        upstream = LedgerUpstream(honours_keys=True, users=[1])
        folder = pathlib.Path(tempfile.mkdtemp(prefix="portico-shares-"))
        (folder / "data").mkdir()
        config = folder / "portico.yaml"
        config.write_text(CONFIGURATION.format(
            url=upstream.address, access="{ read: login, write: login }", write="queued", keys="true"))
        gateway = Gateway(config=str(config), data=folder / "data")
        gateway.upstream, gateway.folder = upstream, folder
        return cls(gateway)

    def __init__(self, gateway):
        super().__init__(gateway)
        self.upstream, self.numbers = gateway.upstream, iter(range(100, 10**6))
        self.wait_until(lambda: self.alice("GET", f"{USERS}/1").status == 200, "a refresh")

    def release(self):
        super().release()
        self.upstream.stop()
        shutil.rmtree(self.gateway.folder, True)

    def user(self):
        number = next(self.numbers)
        return {"UserId": number, "UserName": f"User {number}", "ShoeSize": "8M"}

    def push(self, device, count):
        """Creations of a device; their outcomes."""
        users = [self.user() for _ in range(count)]
        return device.push(*[
            device.mutation("create", str(user["UserId"]), user, collection="users") for user in users])["outcomes"]


class PendingWriteQueue(MirroredUsers):
    """Changes that wait for a system that is down: hers find no place any more and are kept by her device, his are taken."""

    def take(self):
        self.upstream.is_down = True
        device = Device(self.gateway, "alice")
        last = {"outcome": "applied"}
        while last["outcome"] == "applied":
            outcomes = self.push(device, 100)
            assert {one["outcome"] for one in outcomes} <= {"applied", "retry"}, outcomes
            last = outcomes[-1]
        assert last["retryAfter"] > 0, last
        answer = self.alice("POST", USERS, self.user())
        assert answer.status == 503 and "retry-after" in answer.headers, answer

    def ask(self):
        return self.bob("POST", USERS, self.user())


class RefusedWrites(MirroredUsers):
    """Refused changes are kept for their authors to see: a thousand of hers do not put an end to his."""

    requests = 1

    def take(self):
        self.upstream.plan = ["refuse"] * 2_000
        assert self.bob("POST", USERS, self.user()).status == 201
        self.wait_until(lambda: len(self.upstream.asked) == 1, "a refusal")
        device = Device(self.gateway, "alice")
        for _ in range(11):
            outcomes = self.push(device, 100)
            assert {one["outcome"] for one in outcomes} == {"applied"}, outcomes
        self.wait_until(lambda: len(self.upstream.asked) == 1_101, "the last refusal")

    def ask(self):
        answer = self.bob("GET", WRITES)
        assert [write["state"] for write in answer.json()["items"]] == ["refused"], answer
        return answer


class KeptCopies(Scenario):
    """What devices wrote and was refused is kept: an account that has much refused has its oldest copies go, and no other's."""

    requests = 1

    def take(self):
        (outcome,) = self.refuse(Device(self.gateway, "bob"), 1)
        assert (outcome["outcome"], outcome["reason"]) == ("rejected", "access.denied"), outcome
        hers = Device(self.gateway, "alice")
        for _ in range(13):
            self.refuse(hers, 100)

    def refuse(self, device, count):
        """Changes of employees, which neither may write; each of another record."""
        mutations = [
            {"sequence": device.sequence + n + 1, "operation": "update", "collection": "employees",
             "id": f"{device.user}-{device.sequence + n}", "fields": {"lastName": "x"}} for n in range(count)]
        device.sequence += count
        return device.push(*mutations)["outcomes"]

    def kept(self, user, number):
        done = run_portico(
            "sync", "explain", user, f"employees/{user}-{number}", "--data", self.gateway.data, "--output", "json",
            program="porticoctl")
        assert done.returncode == 0, done
        return json.loads(done.stdout)["keptCopies"]

    def ask(self):
        assert len(self.kept("bob", 0)) == 1
        assert (len(self.kept("alice", 0)), len(self.kept("alice", 1299))) == (0, 1)
        return self.bob("GET", "/auth/me")


class WriteTurns(MirroredUsers):
    """Six hundred changes of hers are sent side by side with his one, not before it."""

    requests = 3

    def take(self):
        self.upstream.delay = 0.5
        device = Device(self.gateway, "alice")
        for _ in range(6):
            self.push(device, 100)

    def ask(self):
        answer = self.bob("POST", USERS, self.user())
        self.wait_until(lambda: self.bob("GET", WRITES).json()["items"] == [], "a change of his")
        assert len(self.upstream.made) < 400, "hers were made first"
        return answer
