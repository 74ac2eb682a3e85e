"""Requests that reached a precondition of Swift, each of which ended the process for everybody.

`Tests/RequestFuzzing` looks for more of them; what it finds is added here.
"""

import datetime
import json
import plistlib
import struct
import urllib.parse

import cbor
import http2_frames
from harness import BPLIST, JSON, Gateway, GatewayTest
from test_tls import SecureGateway

CBOR = "application/cbor"
V4, V2 = "/odata/v4/admissions", "/odata/v2/admissions"
LEAST = -(2**63)
NUMBERS = [LEAST, LEAST + 1, LEAST - 1, 2**63 - 1, 2**63, 2**64, -1, 0, 10**30]


def with_date(value, seconds):
    """A binary property list in which `datetime.datetime(2001, 1, 1, 0, 0, 1)` is this double of seconds since 2001."""
    data = plistlib.dumps(value, fmt=plistlib.FMT_BINARY)
    assert data.count(b"\x33" + struct.pack(">d", 1.0)) == 1
    return data.replace(b"\x33" + struct.pack(">d", 1.0), b"\x33" + struct.pack(">d", seconds))


class Traps(GatewayTest):
    settings = ("--set", "adapters.odata.services.admissions.access=public")

    def setUp(self):
        # One that a test has ended is no gateway for the next one.
        if self.gateway.process.poll() is not None:
            self.gateway.remove()
            type(self).gateway = Gateway(*self.settings)

    def tearDown(self):
        self.assertIsNone(self.gateway.process.poll(), "the gateway has ended")
        self.assertEqual(self.gateway.get("/health/live").status, 200)

    def odata(self, path):
        return self.gateway.get(urllib.parse.quote(path, safe="/$?&=(),;:@*'"))

    def test_header_fields_of_a_call_beyond_what_the_library_takes(self):
        for count in (65_535, 65_536, 65_600):
            call = {"id": "1", "method": "GET", "path": "/", "headers": {f"x{number}": "" for number in range(count)}}
            answer = self.gateway.send("POST", "/batch", {"calls": [call]})
            self.assertEqual(answer.json()["answers"][0]["status"], 431)

    def test_dates_beyond_all_calendars(self):
        second = datetime.datetime(2001, 1, 1, 0, 0, 1)
        call = {"id": "1", "method": "POST", "path": "/auth/login", "body": second}
        for seconds in (float(LEAST), float(2**63), 1e300, -1e300, float("inf"), float("-inf"), float("nan"), 1e12, -0.0, 5e-324):
            for accept in (JSON, CBOR, BPLIST):
                answer = self.gateway.request(
                    "POST", "/batch", with_date({"calls": [call]}, seconds), {"Content-Type": BPLIST, "Accept": accept})
                self.assertLess(answer.status, 500, answer)
            body = cbor.dumps({"calls": [{**call, "body": 0}]})
            body = body.replace(cbor.dumps("body") + b"\x00", cbor.dumps("body") + b"\xc1\xfb" + struct.pack(">d", seconds))
            self.assertLess(self.gateway.request("POST", "/batch", body, {"Content-Type": CBOR}).status, 500)

    def test_ranges_of_uploads_whose_lengths_overflow(self):
        path = "/sync/v1/attachments/" + "a" * 64
        for first in NUMBERS:
            for last in NUMBERS:
                field = f"bytes {first}-{last}/{2**63 - 1}"
                answer = self.gateway.request("PUT", path, b"x", {"Content-Range": field}, user="alice")
                self.assertLess(answer.status, 500, (field, answer))
                self.gateway.get(path, headers={"Range": f"bytes={first}-{last}"}, user="alice")

    def test_durations_whose_seconds_overflow(self):
        for text in ("P999999999999999D", "-P999999999999999D", "P106751991167300DT999999999999999H", "PT999999999999999H999999999999999M",
                     "PT999999999999999.999999999999999S"):
            answer = self.odata(f"{V4}/Appointments?$filter=Length eq duration'{text}'")
            self.assertIn(answer.status, (200, 400), answer)
            body = {"StudentID": 1, "StartsAt": "2024-01-01T00:00:00Z", "Length": text}
            self.assertIn(self.gateway.send("POST", V4 + "/Appointments", body).status, (201, 400))

    def test_ticks_beyond_64_bits(self):
        for number in NUMBERS:
            for offset in ("", "+0000", "-9999", "+9223372036854775807"):
                body = {"FirstName": "A", "LastName": "B", "Registered": f"/Date({number}{offset})/"}
                self.assertIn(self.gateway.send("POST", V2 + "/Students", body).status, (201, 400))

    def test_positions_that_others_invented(self):
        for number in NUMBERS:
            for token in (f"0.{number}.", f"{number}..", f"{number}.{number}.x"):
                self.assertLess(self.odata(f"{V4}/$all?$skiptoken={token}").status, 500)
            for option in ("$top", "$skip", "$index", "$skiptoken", "$deltatoken"):
                self.assertLess(self.odata(f"{V4}/Students?{option}={number}").status, 500)
            self.assertLess(self.odata(f"{V4}/Students?$apply=skip({number})/top({number})").status, 500)
            self.assertLess(self.odata(f"{V4}/Schools?$top=1&$expand=Students($levels={number};$top={number};$skip={number})").status, 500)

    def test_arithmetic_at_the_ends_of_64_bits(self):
        for number in ("-9223372036854775808", "9223372036854775807", "1e308", "99999999999999999999999999999999999999"):
            for operator in ("add", "sub", "mul", "div", "mod", "divby"):
                for other in ("-1", "0", "StudentID", number):
                    answer = self.odata(f"{V4}/Students?$top=1&$filter={number} {operator} {other} gt GPA")
                    self.assertLess(answer.status, 500, answer)
            for call in (f"substring(LastName,{number},{number})", f"round({number}) eq 1", f"cast({number},Edm.Int32) eq 1", f"-({number}) eq 1"):
                self.assertLess(self.odata(f"{V4}/Students?$top=1&$filter={call}").status, 500)

    def test_expressions_as_deep_as_they_get(self):
        for count in (100, 1_000, 1_900, 4_000):
            for text in (" add ".join(["1"] * count) + " eq 1", " and ".join(["true"] * count), "(" * count + "true" + ")" * count,
                         "not " * count + "true", "-" * count + "1 eq 1", "concat(" * count + "'a'" + ",'b')" * count + " eq 'a'"):
                answer = self.gateway.request("POST", V4 + "/Students/$query", "$top=1&$filter=" + text, {"Content-Type": "text/plain"})
                self.assertIn(answer.status, (200, 400), (text[:20], count, answer))
        for count in (100, 1_000, 2_000):
            for text in ("(" * count + "title eq 'a'" + ")" * count, "not " * count + "title eq 'a'", " or ".join(["title eq 'a'"] * (count // 4))):
                answer = self.gateway.get("/api/v1/notes/notes?filter=" + urllib.parse.quote(text), user="alice")
                self.assertIn(answer.status, (200, 400, 414), answer)

    def test_aliases_that_stand_for_aliases(self):
        for count in (10, 90, 500, 2_000):
            for operator in ("", " add @a{}"):
                aliases = "&".join(f"@a{number}=@a{number + 1}" + operator.format(number + 1) for number in range(count))
                text = f"$top=1&$filter=@a0 eq 1&{aliases}&@a{count}=1"
                answer = self.gateway.request("POST", V4 + "/Students/$query", text, {"Content-Type": "text/plain"})
                self.assertIn(answer.status, (200, 400), answer)

    def test_columns_that_are_made_of_columns(self):
        for count in (10, 40, 200):
            columns = [f"A{number} add A{number} as A{number + 1}" for number in range(count)]
            steps = "/".join(f"compute({column})" for column in columns)
            for text in (f"$apply=compute(1 as A0)/{steps}/top(1)", f"$top=1&$compute=1 as A0,{','.join(columns)}&$filter=A{count} gt 1"):
                answer = self.gateway.request("POST", V4 + "/Students/$query", text, {"Content-Type": "text/plain"})
                self.assertIn(answer.status, (200, 400), answer)

    def test_many_parts_of_one_step(self):
        for count in (100, 1_000, 4_000):
            for text in (f"concat({','.join(['top(1)'] * count)})", "/".join(["top(1)"] * count), "/".join(["filter(GPA gt 1)"] * count)):
                answer = self.gateway.request("POST", V4 + "/Students/$query", "$apply=" + text, {"Content-Type": "text/plain"})
                self.assertIn(answer.status, (200, 400), answer)

    def test_documents_as_deep_as_they_get(self):
        for count in (127, 128, 129, 512, 100_000):
            documents = {
                JSON: "[" * count + "]" * count, "application/xml": "<a>" * count + "</a>" * count,
                "application/x-plist": '<plist version="1.0">' + "<array>" * count + "</array>" * count + "</plist>",
                CBOR: b"\x81" * count + b"\x80", "application/atom+xml": '<entry xmlns="http://www.w3.org/2005/Atom">' * count + "</entry>" * count,
            }
            for kind, document in documents.items():
                for path in ("/batch", "/auth/login", V2 + "/Students", V4 + "/Students", V4 + "/$batch", "/sync/v1/push"):
                    try:
                        answer = self.gateway.request("POST", path, document, {"Content-Type": kind}, user="alice")
                    except OSError:
                        continue  # refused and closed while it was being sent
                    self.assertIn(answer.status // 100, (4,), (kind, path, count, answer))


class Authorities(GatewayTest):
    """The host that a request of HTTP/2 names becomes part of addresses."""

    @classmethod
    def setUpClass(cls):
        cls.gateway = SecureGateway(*Traps.settings)

    def test_a_host_beyond_ascii_is_refused(self):
        for host in ("\u00e4" * 50, "a\u0308" * 40, "a b", "a/b", "a\tb", "user@a"):
            link = f"https://{host}{V4}/Schools(1)"
            body = json.dumps({"FirstName": "A", "LastName": "B", "School@odata.bind": link}).encode()
            fields = [(":method", "POST"), (":scheme", "https"), (":authority", host), (":path", V4 + "/Students"), ("content-type", JSON)]
            block = b"".join(
                b"\0" + http2_frames.number(len(name), 7) + name.encode() + http2_frames.number(len(value.encode()), 7) + value.encode()
                for name, value in fields)
            with http2_frames.Connection(self.gateway.port) as connection:
                connection.send(http2_frames.HEADERS, block, http2_frames.END_HEADERS, 1)
                connection.send(http2_frames.DATA, body, http2_frames.END_STREAM, 1)
                try:
                    status, _ = connection.answer(1)
                    self.assertNotIn(status, (200, 201))
                except http2_frames.Ended:
                    pass  # HTTP/2's layer refuses some of them
            self.assertIsNone(self.gateway.process.poll(), "the gateway has ended")

    def test_an_address_beyond_ascii_is_refused(self):
        for path in ("/\u00e4", "/a b", "/#a", "/\x7f"):
            block = b"".join(
                b"\0" + http2_frames.number(len(name), 7) + name.encode() + http2_frames.number(len(value.encode()), 7) + value.encode()
                for name, value in [(":method", "GET"), (":scheme", "https"), (":authority", "a"), (":path", path)])
            with http2_frames.Connection(self.gateway.port) as connection:
                connection.send(http2_frames.HEADERS, block, http2_frames.END_HEADERS | http2_frames.END_STREAM, 1)
                try:
                    self.assertNotIn(connection.answer(1)[0], (200, 404))
                except http2_frames.Ended:
                    pass

    def test_more_fields_than_a_head_may_have_are_refused(self):
        with http2_frames.Connection(self.gateway.port) as connection:
            many = http2_frames.request(fields=[(f"x{number}", "") for number in range(150)])
            connection.send(http2_frames.HEADERS, many, http2_frames.END_HEADERS | http2_frames.END_STREAM, 1)
            self.assertNotEqual(connection.answer(1)[0], 200)
            connection.send(http2_frames.HEADERS, http2_frames.request(), http2_frames.END_HEADERS | http2_frames.END_STREAM, 3)
            self.assertEqual(connection.answer(3)[0], 200)
