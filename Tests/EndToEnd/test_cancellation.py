"""Abandoned work is cancelled: after its deadline, when the client disconnects, and when the gateway stops."""

import concurrent.futures
import contextlib
import functools
import http.client
import json
import os
import socket
import struct
import subprocess
import time
import unittest
import urllib.parse

from harness import START_SECONDS, Gateway, GatewayTest
from test_tls import SecureGateway

V4 = "/odata/v4/admissions/"
V2 = "/odata/v2/admissions/"
SETTINGS = (
    "--set", "adapters.odata.services.admissions.samples=1500",
    "--set", "adapters.odata.services.admissions.access=public-read",
    "--set", "adapters.odata.services.admissions.pageSize=10000",
    # Far beyond what can be written in the time of these tests.
    "--set", "adapters.odata.limits.writtenRows=100000000",
    "--set", "adapters.odata.limits.answerBytes=1099511627776",
    "--set", "adapters.odata.limits.streamSeconds=1",
    "--set", "http.deadlines.request=500ms",
    # With data of its own: what others begin with has few students.
    "--set", "store.streams=8",
    "--set", "http.deadlines.stop=1s",
    "--set", "log.access=false",
)
# Rows of six tables, each with every other, and no row that is looked for. The filter names them all: otherwise some are
# joined after it.
ENDLESS = "$crossjoin(Students,Visits,Appointments,Schools,States,Counselors)?$filter=contains(concat(concat(" \
    "concat(Students/LastName,Visits/Kind),concat(Appointments/Place,Schools/Name))," \
    "concat(States/Name,Counselors/LastName)),'q-q')"
NESTED = "contains(FirstName,'q-q') or School/Students/any(a:a/School/Students/any(b:b/School/Students/any(" \
    "c:c/School/Students/any(d:contains(concat(a/LastName,d/LastName),'q-q')))))"
# Some millions of entities, of which each is written often.
CYCLE = "Students($expand=School($expand=Students($expand=School($expand=Students))))"


def escaped(text):
    return urllib.parse.quote(text, safe="/?$&=(),;:@!*'")


def multipart(*targets):
    lines = []
    for target in targets:
        lines += ["--b", "Content-Type: application/http", "Content-Transfer-Encoding: binary", "",
            f"GET {escaped(target)} HTTP/1.1", "", ""]
    return "\r\n".join([*lines, "--b--", ""])


def listed(*targets):
    return json.dumps({"requests": [
        {"id": str(number), "method": "GET", "url": escaped(target)} for number, target in enumerate(targets)]})


class Heavy:
    def __init__(self, name, path, method="GET", body=None, **headers):
        self.name, self.path, self.method, self.body = name, escaped(path), method, body
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}


# Every kind of request that can be made to work for longer than anybody waits.
HEAVY = [
    Heavy("a join of sets", V4 + ENDLESS),
    Heavy("a join that is counted", V4 + ENDLESS.replace("?", "?$count=true&$top=1&")),
    Heavy("a filter by related entities", V4 + "Students?$filter=" + NESTED),
    Heavy("the number of what a filter finds", V4 + "Students/$count?$filter=" + NESTED),
    Heavy("an order by a search", V4 + "Students?$orderby=School/Name&$count=true&$filter=" + NESTED),
    Heavy("an aggregation", V4 + "Students?$apply=filter(" + NESTED + ")/groupby((LastName),aggregate($count as N))"),
    Heavy("an aggregation of a join", V4 + ENDLESS.split("?")[0] + "?$apply=filter(" + ENDLESS.split("=", 1)[1]
        + ")/aggregate($count as N)"),
    Heavy("an expansion with a filter", V4 + "Schools?$expand=Students($filter=" + NESTED + ")"),
    Heavy("expansions that multiply", V4 + f"Schools?$expand={CYCLE}"),
    Heavy("expansions that multiply, of everything", V4 + f"$all/ADMISSIONSCOUNSELOR.School?$expand={CYCLE}"),
    Heavy("expansions in Atom", V2 + "Schools?$format=atom&$expand=" + "/".join(["Students", "School"] * 3)),
    Heavy("expansions in version 2's JSON", V2 + "Schools?$format=json&$expand=" + "/".join(["Students", "School"] * 3)),
    Heavy("a batch", V4 + "$batch", "POST", multipart(ENDLESS, ENDLESS), Content_Type="multipart/mixed; boundary=b"),
    Heavy("a batch in JSON", V4 + "$batch", "POST", listed(ENDLESS, ENDLESS), Content_Type="application/json"),
    Heavy("a batch of expansions", V4 + "$batch", "POST", multipart(*[f"Schools?$expand={CYCLE}"] * 3),
        Content_Type="multipart/mixed; boundary=b"),
    Heavy("a query in a body", V4 + "Students/$query", "POST", "$filter=" + escaped(NESTED), Content_Type="text/plain"),
]


# Its answer is written while it is made.
UNREAD = HEAVY[8]

# Where nothing but what is tested ends them.
PATIENT = (*SETTINGS, "--set", "adapters.odata.limits.streamSeconds=300", "--set", "http.deadlines.request=300s")


def request(heavy):
    body = (heavy.body or "").encode()
    fields = {"Host": "127.0.0.1", "Content-Length": str(len(body)), **heavy.headers}
    head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    return f"{heavy.method} {heavy.path} HTTP/1.1\r\n{head}\r\n".encode() + body


def send(heavy, gateway):
    """A connection on which the request was sent, and whose answer is not read."""
    connection = gateway.connect()
    connection.sendall(request(heavy))
    return connection


class Abandoned(GatewayTest):
    def check_is_idle(self, heavy):
        self.gateway.wait_until_idle()
        self.assertLess(self.gateway.resident(), 1_500 << 20, heavy.name)
        # It is short, and takes a place of those that the others had. A busy machine may be late with it.
        end = time.monotonic() + START_SECONDS
        while True:
            search = self.gateway.get(V4 + escaped("Students?$top=1&$filter=contains(LastName,'a')"))
            if search.status == 200:
                return
            self.assertIn(search.status, [503, 504], (heavy.name, search))
            self.assertLess(time.monotonic(), end, (heavy.name, search))


class Late(Abandoned):
    settings = SETTINGS

    def test_work_ends_at_its_deadline(self):
        for heavy in HEAVY:
            with self.subTest(heavy.name):
                with send(heavy, self.gateway) as connection:
                    connection.settimeout(START_SECONDS)
                    answer = http.client.HTTPResponse(connection)
                    try:
                        answer.begin()
                        answer.read()
                        is_whole = True
                    except (ConnectionError, http.client.IncompleteRead):
                        is_whole = False
                # What is sent while it is made is broken off; everything else is answered.
                self.assertEqual((answer.status, is_whole), (504, True) if is_whole else (200, False), heavy.name)
                self.check_is_idle(heavy)


class Gone(Abandoned):
    settings = PATIENT

    def test_work_ends_when_its_caller_has_gone(self):
        for heavy in HEAVY:
            for way in ["closed", "reset"]:
                with self.subTest(f"{heavy.name}, {way}"):
                    used = self.gateway.processor_seconds()
                    with send(heavy, self.gateway) as connection:
                        self.gateway.wait_until_it_works(used, connection)
                        if way == "reset":
                            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    self.check_is_idle(heavy)


class Stopping(unittest.TestCase):
    """Callers that stay and read nothing do not hold a stop up either."""

    def started(self, kind=Gateway):
        gateway = kind(*PATIENT)
        self.addCleanup(gateway.remove)
        return gateway, gateway.processor_seconds()

    def stop(self, gateway):
        # It waits for a minute; the callers would stay for five.
        self.assertEqual(gateway.stop(), 0)

    def stop_during(self, *kinds):
        gateway, used = self.started()
        with contextlib.ExitStack() as stack:
            connections = [stack.enter_context(send(heavy, gateway)) for heavy in kinds]
            gateway.wait_until_it_works(used, *connections)
            self.stop(gateway)

    def stop_over_tls(self):
        gateway, used = self.started(SecureGateway)
        with gateway.secured() as connection:
            connection.sendall(request(UNREAD))
            gateway.wait_until_it_works(used, connection)
            self.stop(gateway)

    def stop_over_http2(self):
        gateway, used = self.started(SecureGateway)
        with subprocess.Popen(
            ["curl", "--silent", "--insecure", "--http2", "--limit-rate", "1", "--output", os.devnull,
                f"https://127.0.0.1:{gateway.port}{UNREAD.path}"]) as reader:
            try:
                gateway.wait_until_it_works(used)
                self.stop(gateway)
            finally:
                reader.kill()

    def test_a_stop_waits_no_longer_than_it_says(self):
        cases = {heavy.name: functools.partial(self.stop_during, heavy) for heavy in HEAVY[::4]}
        cases["all kinds at once"] = functools.partial(self.stop_during, *HEAVY)
        cases["an answer over TLS"] = self.stop_over_tls
        cases["an answer over HTTP/2"] = self.stop_over_http2
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            ends = {name: pool.submit(case) for name, case in cases.items()}
            for name, end in ends.items():
                with self.subTest(name):
                    end.result()


if __name__ == "__main__":
    unittest.main()
