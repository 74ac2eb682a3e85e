"""One scenario for each row of "Shares by account" in docs/threat-model.md; `test_account_shares` runs them.

A scenario names what one account takes and what another asks for meanwhile. A new row gets a class here, whose name stands
in the row's last cell.
"""

import base64
import json
import socket
import threading
import time
import urllib.parse

from harness import START_SECONDS
from server_sent_events import Stream

ODATA = "/odata/v4/admissions/"
SEARCHES = (
    "--set", "adapters.odata.services.admissions.samples=1500",
    "--set", "adapters.odata.services.admissions.pageSize=10000",
    "--set", "store.longReads=2",
    # A busy machine ends a short search within it.
    "--set", "store.longReadTurn=3s",
    "--set", "store.streams=3",
    # So that no search ends by itself.
    "--set", "http.deadlines.request=600s",
    "--set", "http.deadlines.stop=2s",
)


def escaped(text):
    return urllib.parse.quote(text, safe="/?$&=(),;:@!*'")


# No row is found however long it goes on.
ENDLESS = ODATA + escaped(
    "Students?$filter=contains(FirstName,'q-q') or School/Students/any(a:a/School/Students/any(b:b/School/Students/any("
    "c:c/School/Students/any(d:contains(concat(a/LastName,d/LastName),'q-q')))))")
# Some millions of steps: beyond what a connection for quick reads does, and soon over.
LONG = ODATA + escaped("Students/$count?$filter=School/Students/any(b:contains(concat(LastName,b/LastName),'q-q'))")
# Some megabytes.
LARGE = ODATA + escaped("Students?$expand=Visits,School($expand=Students($top=8))")


class Scenario:
    """`take` returns when one account has all that it can get. `ask` is one request of another account, all of which must
    be answered with 2xx; `release` ends what was taken."""

    settings = ()
    requests = 5

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


class RequestsUnderWay(Scenario):
    """Of the requests that are under way, `http.limits.inFlightPerCaller` are one account's, whatever it calls."""

    settings = (*SEARCHES, "--set", "http.limits.inFlight=12", "--set", "http.limits.inFlightPerCaller=6")

    def take(self):
        self.begin(40, "GET", ENDLESS)
        self.wait_until(lambda: self.alice("GET", ENDLESS).status == 503, "a refusal")

    def ask(self):
        return self.bob("GET", "/auth/me")


class LongReads(Scenario):
    settings = SEARCHES

    def take(self):
        used = self.gateway.processor_seconds()
        self.gateway.wait_until_it_works(used, *self.begin(30, "GET", ENDLESS))

    def ask(self):
        return self.bob("GET", LONG)


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
        while self.alice("GET", ENDLESS, Prefer="respond-async").status == 202:
            pass

    def ask(self):
        return self.bob("GET", ODATA + "Schools?$top=1", Prefer="respond-async")


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
