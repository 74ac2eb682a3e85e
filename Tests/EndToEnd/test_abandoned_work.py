"""Work that nobody waits for ends: after its deadline, when its caller has gone, and when the gateway stops."""

import json
import os
import pathlib
import socket
import struct
import time
import unittest
import urllib.parse

from harness import Gateway, GatewayTest

V4 = "/odata/v4/admissions/"
V2 = "/odata/v2/admissions/"
SETTINGS = (
    "--set", "adapters.odata.services.admissions.samples=1500",
    "--set", "adapters.odata.services.admissions.access=public-read",
    "--set", "adapters.odata.services.admissions.pageSize=10000",
    # Far beyond what can be written in the time of these tests.
    "--set", "adapters.odata.limits.writtenRows=100000000",
    "--set", "adapters.odata.limits.answerBytes=1099511627776",
    "--set", "adapters.odata.limits.streamSeconds=3",
    "--set", "http.deadlines.request=3s",
    # With data of its own: what others begin with has few students.
    "--set", "store.streams=8",
    "--set", "http.deadlines.stop=3s",
    "--set", "log.access=false",
)
# Three tables, every row with every other, and no row that is looked for.
ENDLESS = "$crossjoin(Students,Visits,Appointments)?$filter=" \
    "contains(concat(concat(Students/LastName,Visits/Kind),Appointments/Place),'q-q')"
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


# Where nothing but what is tested ends them.
PATIENT = (*SETTINGS, "--set", "adapters.odata.limits.streamSeconds=300", "--set", "http.deadlines.request=300s")


class Abandoned(GatewayTest):
    # Processor time that an idle gateway may use in a second.
    idle = 0.3

    def send(self, heavy, gateway=None):
        """A connection on which the request was sent, and whose answer is not read."""
        gateway = gateway or self.gateway
        body = (heavy.body or "").encode()
        fields = {"Host": f"127.0.0.1:{gateway.port}", "Content-Length": str(len(body)), **heavy.headers}
        head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
        connection = gateway.connect()
        self.addCleanup(connection.close)
        connection.sendall(f"{heavy.method} {heavy.path} HTTP/1.1\r\n{head}\r\n".encode() + body)
        return connection

    def used(self, gateway=None):
        """Seconds of processor time so far."""
        fields = pathlib.Path(f"/proc/{(gateway or self.gateway).process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def check_is_idle(self, heavy):
        """From a second on after whatever happened."""
        time.sleep(1)
        end = time.monotonic() + 20
        # A machine with much else to do may be late; work that goes on goes on for longer than that.
        while True:
            before = self.used()
            time.sleep(1)
            if self.used() - before < self.idle:
                break
            self.assertLess(time.monotonic(), end, f"{heavy.name}: work goes on")
        self.assertLess(self.gateway.resident(), 1_500 << 20, heavy.name)
        # It is short, and takes a place of those that the others had.
        search = self.gateway.get(V4 + escaped("Students?$top=1&$filter=contains(LastName,'a')"))
        self.assertEqual(search.status, 200, (heavy.name, search))


class Late(Abandoned):
    settings = SETTINGS

    def test_work_ends_at_its_deadline(self):
        for heavy in HEAVY:
            with self.subTest(heavy.name):
                before, began, first = self.used(), time.monotonic(), b""
                connection = self.send(heavy)
                connection.settimeout(30)
                try:
                    while piece := connection.recv(1 << 16):
                        first = first or piece
                        # What is sent while it is made is broken off; everything else is answered.
                        if first.startswith(b"HTTP/1.1 504 "):
                            break
                except ConnectionError:
                    pass
                self.assertTrue(first.startswith((b"HTTP/1.1 504 ", b"HTTP/1.1 200 ")), (heavy.name, first))
                self.assertLess(time.monotonic() - began, 30, heavy.name)
                self.assertGreater(self.used() - before, self.idle, f"{heavy.name} is not heavy")
                self.check_is_idle(heavy)


class Gone(Abandoned):
    settings = PATIENT

    def test_work_ends_when_its_caller_has_gone(self):
        for heavy in HEAVY:
            for way in ["closed", "reset"]:
                with self.subTest(f"{heavy.name}, {way}"):
                    connection = self.send(heavy)
                    time.sleep(0.5)
                    if way == "reset":
                        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    connection.close()
                    self.check_is_idle(heavy)


class Stopping(unittest.TestCase):
    send = Abandoned.send

    def test_a_stop_waits_no_longer_than_it_says(self):
        for heavy in HEAVY[::4]:
            with self.subTest(heavy.name):
                gateway = Gateway(*PATIENT)
                self.addCleanup(gateway.remove)
                self.send(heavy, gateway)
                time.sleep(1)
                began = time.monotonic()
                self.assertEqual(gateway.stop(), 0)
                self.assertLess(time.monotonic() - began, 20, heavy.name)
                gateway.remove()


if __name__ == "__main__":
    unittest.main()
