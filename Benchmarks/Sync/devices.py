"""What asks the gateway: callers with one connection each, processes full of them, and live streams by the thousand."""

import http.client
import json
import multiprocessing
import select
import socket
import time
import uuid

PUSH = 5_000


class Caller:
    """One connection that stays, as a device has it."""

    def __init__(self, port, token):
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
        self.headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json", "Accept": "application/json"}
        self.client, self.sequence = str(uuid.uuid4()), 0

    def post(self, path, message):
        self.connection.request("POST", path, json.dumps(message), self.headers)
        answer = self.connection.getresponse()
        body = answer.read()
        assert answer.status == 200, (answer.status, body[:300])
        return json.loads(body), len(body)

    def push(self, count, text="x" * 100):
        mutations = []
        for _ in range(count):
            self.sequence += 1
            mutations.append({"sequence": self.sequence, "operation": "create", "collection": "notes",
                "id": str(uuid.uuid4()), "fields": {"title": "t", "text": text}})
        answer, _ = self.post("/sync/v1/push", {"clientId": self.client, "mutations": mutations})
        assert all(outcome["outcome"] == "applied" for outcome in answer["outcomes"]), answer["outcomes"][0]

    def fill(self, count):
        for start in range(0, count, PUSH):
            self.push(min(PUSH, count - start))

    def pull(self, checkpoint=None, limit=10_000):
        """Records, bytes and the checkpoint of a whole pull."""
        records = size = 0
        while True:
            message = {"collections": ["notes"], "limit": limit, **({"checkpoint": checkpoint} if checkpoint else {})}
            page, length = self.post("/sync/v1/pull", message)
            records, size = records + len(page["operations"]), size + length
            if "complete" in page:
                return records, size, page["complete"]["checkpoint"]
            checkpoint = page["next"]

    def pull_unread(self, limit=10_000):
        """Bytes of a whole pull by a caller that looks for nothing but where the next page begins."""
        size, place = 0, None
        while True:
            message = {"collections": ["notes"], "limit": limit, **({"checkpoint": place} if place else {})}
            self.connection.request("POST", "/sync/v1/pull", json.dumps(message), self.headers)
            answer = self.connection.getresponse()
            body = answer.read()
            assert answer.status == 200, (answer.status, body[:300])
            size += len(body)
            found = body.rfind(b'"next":"')
            if found < 0:
                assert body.rfind(b'"complete":') > 0, body[-300:]
                return size
            place = body[found + 8:body.index(b'"', found + 8)].decode()


def push_rate(port, token, batch, clients, seconds):
    """Acknowledged mutations a second of so many clients, in processes of up to eight: one interpreter alone would be what
    is measured."""
    count = min(clients, 8)
    gate, made = multiprocessing.Barrier(count + 1), multiprocessing.Queue()
    shares = [clients // count + (number < clients % count) for number in range(count)]
    processes = [multiprocessing.Process(target=_pushing, args=(port, token, batch, share, seconds, gate, made)) for share in shares]
    for process in processes:
        process.start()
    gate.wait()
    began = time.monotonic()
    total = sum(made.get() for _ in processes)
    took = time.monotonic() - began
    for process in processes:
        process.join()
    return total / took


def _pushing(port, token, batch, clients, seconds, gate, made):
    """Several clients of one process: each has one push under way, all of them at once."""
    callers = [Caller(port, token) for _ in range(clients)]
    for caller in callers:
        caller.connection.connect()
    gate.wait()
    end, done = time.monotonic() + seconds, 0
    for caller in callers:
        _begin(caller, batch)
    waiting = list(callers)
    while waiting:
        ready, _, _ = select.select([caller.connection.sock for caller in waiting], [], [], 60)
        assert ready, "the gateway says nothing"
        for caller in [caller for caller in waiting if caller.connection.sock in ready]:
            _finish(caller)
            done += batch
            if time.monotonic() < end:
                _begin(caller, batch)
            else:
                waiting.remove(caller)
    made.put(done)


def _begin(caller, batch):
    mutations = []
    for _ in range(batch):
        caller.sequence += 1
        mutations.append({"sequence": caller.sequence, "operation": "create", "collection": "notes",
            "id": str(uuid.uuid4()), "fields": {"title": "t", "text": "x" * 100}})
    message = {"clientId": caller.client, "mutations": mutations}
    caller.connection.request("POST", "/sync/v1/push", json.dumps(message), caller.headers)


def _finish(caller):
    answer = caller.connection.getresponse()
    body = answer.read()
    assert answer.status == 200, (answer.status, body[:300])
    assert body.count(b'"applied"') == body.count(b'"outcome"'), body[:300]


class Streams:
    """Many live streams in one thread."""

    def __init__(self, port, token, count, query):
        self.poll, self.sockets = select.epoll(), {}
        request = f"GET /sync/v1/live?{query} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {token}\r\n\r\n".encode()
        for number in range(count):
            connection = socket.create_connection(("127.0.0.1", port))
            connection.sendall(request)
            self.sockets[connection.fileno()] = connection
            self.poll.register(connection.fileno(), select.EPOLLIN)
            if number % 100 == 99:
                self.settle(0.02)
        self.settle(1)

    def settle(self, quiet):
        while events := self.poll.poll(quiet):
            for descriptor, _ in events:
                assert self.sockets[descriptor].recv(65536), "a stream has ended"

    def close(self):
        self.poll.close()
        for connection in self.sockets.values():
            connection.close()
