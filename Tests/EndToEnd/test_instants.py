"""Instants of all years with up to ten digits of a second, in through every interface and out through every other one: none is
changed, and conditions, orders, pages and functions of them are exact. What a format or a precision cannot carry is refused."""

import base64
import datetime
import json
import math
import pathlib
import plistlib
import random
import re
import shutil
import struct
import tempfile
import urllib.parse
import xml.etree.ElementTree as ElementTree
from fractions import Fraction
from unittest import mock

import cbor

from harness import BPLIST, JSON, PLIST, ROOT, XML, Gateway, GatewayTest, run_portico
from server_sent_events import Stream
from sync_device import CODECS, Device

CBOR = "application/cbor"
ENVELOPE = "http://schemas.xmlsoap.org/soap/envelope/"
MODEL = ROOT / "Tests/EndToEnd/models/moments.csdl.xml"
API = "/api/v1/odata/moments-Moments"
V4 = "/odata/v4/moments/Moments"
V2 = "/odata/v2/moments/Moments"
COLLECTION = "moments-Moments"
ATOM = "application/atom+xml"
METADATA = "http://schemas.microsoft.com/ado/2007/08/dataservices/metadata"
DATA = "http://schemas.microsoft.com/ado/2007/08/dataservices"
ENTRY = (
    f'<entry xmlns="http://www.w3.org/2005/Atom" xmlns:m="{METADATA}" xmlns:d="{DATA}"><content type="application/xml">'
    '<m:properties><d:ID m:type="Edm.Int32">{}</d:ID><d:At m:type="Edm.DateTimeOffset">{}</d:At></m:properties></content></entry>')
COUNT = 10_000
# Apple's distantPast, the ends of the calendar, .NET's seven digits, what a double takes for the next day.
SPECIAL = [
    "0000-12-30T00:00:00Z", "0000-01-01T00:00:00.0000000001Z", "9999-12-31T23:59:59.9999999999Z", "9999-12-31T23:59:59.999999Z",
    "2026-06-24T12:57:44.7570874Z", "2026-06-24T12:57:44.7570873Z", "2023-01-04T23:59:59.999999999Z", "2023-01-05T00:00:00Z",
    "2000-12-31T23:59:59.9999999Z", "2001-01-01T00:00:00Z",
]


def instant(numbers):
    """Random, in canonical form: without zeros at the fraction's end."""
    year = numbers.choice([numbers.randrange(10_000), 2026])
    day = datetime.date(2000 + year % 400 if year % 400 else 2000, 1, 1) + datetime.timedelta(days=numbers.randrange(365))
    time = f"{numbers.randrange(24):02}:{numbers.randrange(60):02}:{numbers.randrange(60):02}"
    digits = numbers.choice([0, 3, 6, 7, 7, 9, 10])
    fraction = "".join(numbers.choice("0123456789") for _ in range(digits)).rstrip("0")
    return f"{year:04}-{day.month:02}-{day.day:02}T{time}{'.' if fraction else ''}{fraction}Z"


def key(text):
    """Texts that compare like the instants."""
    whole, _, fraction = text.rstrip("Z").partition(".")
    return f"{whole}.{fraction:0<12}"


def shown(value):
    """CBOR has whole seconds as numbers since 1970."""
    if not isinstance(value, int):
        return value
    days, seconds = divmod(value, 86_400)
    # Years in which datetime has no days are moved by whole cycles of the calendar.
    cycles = -((days + 719_162) // 146_097) if not -719_162 <= days < 2_932_897 else 0
    day = datetime.date(1970, 1, 1) + datetime.timedelta(days=days + cycles * 146_097)
    time = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    return f"{day.year - cycles * 400:04}-{day.month:02}-{day.day:02}T{time}Z"


class Doubles:
    """In the place of the module datetime in plistlib, whose dates are of fewer years and digits than a binary property list's."""

    @staticmethod
    def datetime(*_):
        return 0.0

    @staticmethod
    def timedelta(seconds):
        return seconds


def is_below(seconds, text):
    """Whether the double, of seconds since 2001, is the greatest whose shortest digits are not after the instant."""
    whole, _, fraction = text.rstrip("Z").partition(".")
    # Python's calendar has no year 0; 400 years are a whole cycle.
    day = datetime.datetime.fromisoformat(f"{int(whole[:4]) % 400 + 400:04}{whole[4:]}")
    cycles = int(whole[:4]) // 400 - 1
    exact = (day - datetime.datetime(2001, 1, 1)) // datetime.timedelta(seconds=1) + cycles * 146_097 * 86_400
    exact += Fraction(int(fraction or 0), 10 ** len(fraction))
    return Fraction(repr(seconds)) <= exact < Fraction(repr(math.nextafter(seconds, math.inf)))


class InstantTest(GatewayTest):
    settings = (
        "--set", f"adapters.odata.services.moments.model={MODEL}", "--set", "adapters.odata.services.moments.access=public",
        "--set", "limits.requestsPerMinute=100000",
    )

    def send(self, method, path, value, status, content_type=JSON, accept=JSON):
        body = CODECS[content_type][0](value)
        answer = self.gateway.request(
            method, path, body, {"Content-Type": content_type, "Accept": accept, "X-Requested-With": "X"}, user="alice")
        return self.expect(answer, status)

    def ask(self, path, accept=JSON, status=200):
        path = urllib.parse.quote(path, safe="/?&=$(),':;*!%+-._~")
        return self.expect(self.gateway.get(path, accept, user="alice"), status)


class EveryWay(InstantTest):
    """Ten thousand, each through one way in and all ways out."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        numbers = random.Random(36)
        texts = SPECIAL + [instant(numbers) for _ in range(COUNT - len(SPECIAL))]
        cls.written = dict(enumerate(texts, 1))
        cls.loaded = False

    def setUp(self):
        if not type(self).loaded:
            type(self).loaded = True
            self.load()

    def load(self):
        """A few through each way of single records, the rest from files and by sync."""
        row = lambda number: {"ID": number, "At": self.written[number]}
        everything = iter(self.written)
        take = lambda count: [next(everything) for _ in range(count)]
        for content_type in (JSON, XML, CBOR):
            for number in take(150):
                self.send("POST", API, row(number), 201, content_type)
        for number in take(150):
            self.send("POST", V4, row(number), 201)
        for number in take(100):
            self.send("POST", V2, row(number), 201)
        for number in take(100):
            self.send("POST", API, {"ID": number}, 201)
            self.send("PATCH", f"{API}/{number}", {"At": self.written[number]}, 200)
        for number in take(100):
            entry = ENTRY.format(number, self.written[number]).encode()
            answer = self.gateway.request(
                "POST", V2, entry, {"Content-Type": ATOM, "Accept": ATOM, "X-Requested-With": "X"}, user="alice")
            self.expect(answer, 201)
        for media_type in (JSON, XML, CBOR):
            calls = [{"id": str(n), "method": "POST", "path": API, "body": row(n)} for n in take(100)]
            answers = CODECS[media_type][1](self.send("POST", "/batch", {"calls": calls}, 200, media_type, media_type).body)["answers"]
            self.assertEqual({int(answer["status"]) for answer in answers}, {201}, answers[:2])
        requests = [{"id": str(n), "method": "POST", "url": "Moments", "body": row(n)} for n in take(100)]
        answers = self.send("POST", "/odata/v4/moments/$batch", {"requests": requests}, 200).json()["responses"]
        self.assertEqual({answer["status"] for answer in answers}, {201}, answers[:2])
        for media_type in (JSON, CBOR):
            device = Device(self.gateway, "alice", media_type, collections=[COLLECTION])
            for _ in range(10):
                mutations = [
                    device.mutation("create", str(n), row(n), collection=COLLECTION) for n in take(100)]
                outcomes = device.push(*mutations)["outcomes"]
                self.assertEqual({outcome["outcome"] for outcome in outcomes}, {"applied"}, outcomes[:3])
        whole = [number for number, text in self.written.items() if "." not in text and text > "0001"][-100:]
        for number in whole:
            body = f"<plist><dict><key>ID</key><integer>{number}</integer><key>At</key><date>{self.written[number]}</date></dict></plist>"
            headers = {"Content-Type": PLIST, "Accept": JSON}
            self.expect(self.gateway.request("POST", API, body.encode(), headers, user="alice"), 201)
        rest = [number for number in everything if number not in set(whole)]
        half = len(rest) // 2
        with tempfile.TemporaryDirectory() as folder:
            files = {"a.json": json.dumps([row(n) for n in rest[:half]]),
                     "b.csv": "ID,At\n" + "".join(f"{n},{self.written[n]}\n" for n in rest[half:])}
            for name, content in files.items():
                path = pathlib.Path(folder, name)
                path.write_text(content)
                done = run_portico("odata", "import", "moments", "Moments", path, "--data", self.gateway.data, program="porticoctl")
                self.assertEqual(done.returncode, 0, done.stderr)

    def holds(self, found, where):
        wrong = [(n, found.get(n), text) for n, text in self.written.items() if found.get(n) != text]
        self.assertEqual((len(found), wrong[:5]), (COUNT, []), where)

    def test_each_format_of_the_resources_has_every_digit(self):
        for accept in (JSON, XML, CBOR):
            found, cursor = {}, ""
            while cursor is not None:
                page = CODECS[accept][1](self.ask(f"{API}?limit=1000&order=At{cursor}", accept).body)
                found |= {int(item["ID"]): shown(item["At"]) for item in page["items"]}
                cursor = f"&cursor={page['next']}" if page.get("next") else None
            self.holds(found, accept)

    def test_odata_has_every_digit_in_both_versions_in_pages_and_orders(self):
        rows, path = [], f"{V4}?$orderby=At desc,ID&$select=ID,At"
        while path:
            page = self.ask(path).json()
            rows += [(row["ID"], row["At"]) for row in page["value"]]
            path = page.get("@odata.nextLink")
            path = path and urllib.parse.unquote(path[path.index("/odata/"):] if "/odata/" in path else f"/odata/v4/moments/{path}")
        self.holds(dict(rows), "version 4")
        self.assertEqual([n for n, _ in rows], sorted(self.written, key=lambda n: (key(self.written[n]), -n))[::-1])
        for number in list(self.written)[:20]:
            text = self.ask(f"{V2}({number})/At/$value", "*/*").text()
            self.assertEqual(text.rstrip("Z") + "Z", self.written[number])

    def test_atom_has_every_digit(self):
        found, path = {}, f"{V2}?$orderby=ID&$select=ID,At"
        while path:
            feed = ElementTree.fromstring(self.ask(path, ATOM).body)
            for values in feed.iter(f"{{{METADATA}}}properties"):
                found[int(values.findtext(f"{{{DATA}}}ID"))] = values.findtext(f"{{{DATA}}}At").rstrip("Z") + "Z"
            links = [link.get("href") for link in feed.findall("{http://www.w3.org/2005/Atom}link") if link.get("rel") == "next"]
            path = links and urllib.parse.unquote(links[0][links[0].index("/odata/"):])
        self.holds(found, ATOM)

    def test_batches_have_every_digit(self):
        numbers, pages = list(self.written), {}
        for media_type in (JSON, XML, CBOR):
            pages[media_type] = {}
        for first in range(0, COUNT, 1_000):
            some = numbers[first:first + 1_000]
            for media_type, found in pages.items():
                calls = [{
                    "id": str(some[at]), "method": "GET",
                    "path": f"{API}?limit=100&filter=" + urllib.parse.quote(f"ID ge {some[at]} and ID le {some[at + 99]}"),
                } for at in range(0, 1_000, 100)]
                body = CODECS[media_type][1](self.send("POST", "/batch", {"calls": calls}, 200, media_type, media_type).body)
                for answer in body["answers"]:
                    found |= {int(item["ID"]): shown(item["At"]) for item in answer["body"]["items"]}
        for media_type, found in pages.items():
            self.holds(found, f"a batch in {media_type}")

    def test_a_device_gets_every_digit(self):
        for media_type in (JSON, CBOR, XML):
            device = Device(self.gateway, "alice", media_type, collections=[COLLECTION], limit=1000)
            self.assertEqual(device.pull(), [])
            self.holds({int(n): shown(fields["At"]) for (_, n), (_, fields) in device.rows.items()}, media_type)

    def test_a_live_stream_has_every_digit(self):
        for name, read in (("json", lambda data: json.loads(data)), ("cbor", lambda data: cbor.loads(base64.b64decode(data)))):
            stream = Stream(self.gateway, "alice", query=f"?collections={COLLECTION}&limit=1000&format={name}")
            self.addCleanup(stream.close)
            found, page = {}, {}
            while "complete" not in page:
                page = read(stream.event()["data"])
                found |= {int(one["id"]): shown(one["fields"]["At"]) for one in page["operations"]}
            self.holds(found, f"a stream in {name}")

    def test_property_lists_have_what_they_can_hold_of_every_one(self):
        for first in range(1, COUNT, 1_000):
            path = f"{API}?limit=1000&order=ID&filter=ID ge {first}"
            whole = re.findall(r"<key>At</key>\s*<date>([^<]+)</date>", self.ask(path, PLIST).text())
            rows = [self.written[number] for number in range(first, first + 1_000)]
            self.assertEqual(whole, [f"{text.rstrip('Z').partition('.')[0]}Z" for text in rows])
            with mock.patch.object(plistlib, "datetime", Doubles):
                held = [row["At"] for row in plistlib.loads(self.ask(path, BPLIST).body)["items"]]
            wrong = [(text, double) for text, double in zip(rows, held, strict=True) if not is_below(double, text)]
            self.assertEqual(wrong[:5], [])

    def count(self, path):
        return int(self.ask(path, "*/*").text().lstrip("\ufeff"))

    def test_conditions_compare_every_digit_even_more_than_are_stored(self):
        numbers = random.Random(7)
        keys = [key(text) for text in self.written.values()]
        literals = SPECIAL + [numbers.choice(list(self.written.values())) for _ in range(10)]
        # Longer than any that is stored.
        literals += [f"{key(text)[:-2]}01Z" for text in literals[:10]] + ["2023-01-04T23:59:59.999999999999Z"]
        signs = {"eq": "__eq__", "ne": "__ne__", "lt": "__lt__", "le": "__le__", "gt": "__gt__", "ge": "__ge__"}
        for text in literals:
            for sign, method in signs.items():
                expected = sum(getattr(one, method)(key(text)) for one in keys)
                self.assertEqual(self.count(f"{V4}/$count?$filter=At {sign} {text}"), expected, f"{sign} {text}")
            expected = sum(one <= key(text) for one in keys)
            self.assertEqual(self.count(f"{V2}/$count?$filter=At le datetimeoffset'{text}'"), expected, text)
            page = self.ask(f"{API}?limit=1&count=true&filter=At le '{text}'").json()
            self.assertEqual(page["total"], expected, text)

    def test_functions_are_exact(self):
        for number in list(self.written)[:40]:
            text = self.written[number]
            day, time = text.rstrip("Z").split("T")
            second, _, fraction = time.partition(".")
            hour, minute, second = map(int, second.split(":"))
            condition = (
                f"ID eq {number} and date(At) eq {day} and time(At) eq {time} and year(At) eq {int(day[:4])} and hour(At) eq {hour}"
                f" and minute(At) eq {minute} and second(At) eq {second} and fractionalseconds(At) eq 0.{fraction or 0}"
                f" and At sub {text} eq duration'PT0S' and At add duration'PT0.5S' sub duration'PT0.5S' eq At")
            if text.startswith("9999-12-31T23:59:59.9"):
                condition = condition[:condition.index(" and At add")]
            self.assertEqual(self.count(f"{V4}/$count?$filter={condition}"), 1, condition)

    def test_what_changes_is_told_with_every_digit(self):
        link = self.expect(
            self.gateway.get(f"{V4}?$filter=ID%20lt%2050", headers={"Prefer": "odata.track-changes"}, user="alice"), 200).json()
        while "@odata.nextLink" in link:
            link = self.ask(link["@odata.nextLink"][link["@odata.nextLink"].index("/odata/"):]).json()
        self.send("PATCH", f"{V4}(49)", {"Label": "changed"}, 204)
        delta = link["@odata.deltaLink"]
        changed = self.ask(urllib.parse.unquote(delta[delta.index("/odata/"):])).json()["value"]
        self.assertEqual([(row["ID"], row["At"]) for row in changed], [(49, self.written[49])])


class ThroughPrograms(InstantTest):
    """Ten thousand in over SOAP, through a program in another language to the store, back to it and out again."""

    @classmethod
    def setUpClass(cls):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="portico-instants-"))
        cls.addClassCleanup(shutil.rmtree, folder, True)
        (folder / "instants").mkdir()
        shutil.copy(ROOT / "Tests/EndToEnd/packages/instants_worker.py", folder / "instants/instants").chmod(0o755)
        for part in ("worker.py", "cbor.py"):
            shutil.copy(ROOT / "Plugins/python-tasks/program" / part, folder / "instants")
        config = folder / "portico.yaml"
        config.write_text(f"http: {{ host: 127.0.0.1 }}\nplugins:\n  - {{ path: {folder / 'instants/instants'} }}\n")
        cls.gateway = Gateway(config=str(config))

    def test_each_has_every_digit(self):
        numbers = random.Random(63)
        written = SPECIAL + [instant(numbers) for _ in range(COUNT - len(SPECIAL))]
        for first in range(0, COUNT, 500):
            some = written[first:first + 500]
            body = (
                f'<e:Envelope xmlns:e="{ENVELOPE}"><e:Body><keep xmlns="urn:instants"><input1><first>{first}</first>'
                + "".join(f"<at>{text}</at>" for text in some) + "</input1></keep></e:Body></e:Envelope>")
            headers = {"Content-Type": "text/xml; charset=utf-8"}
            answer = self.expect(self.gateway.request("POST", "/soap/instants", body.encode(), headers), 200)
            found = [one.text for one in ElementTree.fromstring(answer.body).iter("{urn:instants}at")]
            self.assertEqual([pair for pair in zip(some, found, strict=True) if pair[0] != pair[1]][:5], [])
        found, cursor = {}, ""
        while cursor is not None:
            page = self.expect(self.gateway.get(f"/api/v1/instants/moments?limit=1000&order=number{cursor}"), 200).json()
            found |= {item["number"]: item["at"] for item in page["items"]}
            cursor = f"&cursor={page['next']}" if page.get("next") else None
        self.assertEqual([found.get(number) for number in range(COUNT)], written)


class WhatIsNotCarried(InstantTest):
    """Formats and precisions that have fewer digits."""

    number = 20_000

    def moment(self, status=201, content_type=JSON, **fields):
        type(self).number += 1
        answer = self.send("POST", API, {"ID": self.number, **fields}, status, content_type)
        return answer.json()

    def test_a_precision_holds_at_every_way_in(self):
        made = self.moment(Milliseconds="2026-06-24T12:57:44.757Z", Time="12:57:44.7570874")
        self.assertEqual((made["Milliseconds"], made["Time"]), ("2026-06-24T12:57:44.757Z", "12:57:44.7570874"))
        self.assertEqual(len(made["Due"]), len("2026-06-24T12:57:44Z"), "what the server sets is cut")
        device = Device(self.gateway, "alice", collections=[COLLECTION])
        for field, value in [("Milliseconds", "2026-06-24T12:57:44.7570Z"), ("Milliseconds", "2026-06-24T12:57:44.7571Z"),
                             ("Time", "12:57:44.75708741"), ("At", "2026-06-24T12:57:44.1234567890123Z"),
                             ("At", "2026-06-24T12:57:44.1234567890123456789Z")]:
            refused = not value.endswith("7570Z")
            for path in (API, V4, V2):
                type(self).number += 1
                row = {"ID": self.number, field: value if field != "Time" or path != V2 else "PT12H57M44.75708741S"}
                error = self.send("POST", path, row, 400 if refused else 201)
                if refused:
                    self.assertIn(field, error.text())
            type(self).number += 1
            outcome = device.change("create", str(self.number), {"ID": self.number, field: value}, collection=COLLECTION)
            self.assertEqual(outcome["outcome"], "rejected" if refused else "applied", outcome)

    def test_property_lists_have_the_instant_rounded_down_and_take_back_what_they_had(self):
        made = self.moment(At="2026-06-24T12:57:44.7570874Z")
        path = f"{API}/{made['ID']}"
        self.assertEqual(plistlib.loads(self.ask(path, PLIST).body)["At"], datetime.datetime(2026, 6, 24, 12, 57, 44))
        binary = plistlib.loads(self.ask(path, BPLIST).body)["At"]
        self.assertEqual(binary, datetime.datetime(2026, 6, 24, 12, 57, 44, 757087))
        last = self.moment(At="9999-12-31T23:59:59.999999Z")
        self.assertEqual(plistlib.loads(self.ask(f"{API}/{last['ID']}", BPLIST).body)["At"].year, 9999)
        # A record that was read in a property list and is changed in another field keeps its instant.
        changed = self.send("PATCH", path, {"Label": "read on a phone"}, 200, BPLIST).json()
        self.assertEqual(changed["At"], "2026-06-24T12:57:44.7570874Z")

    def test_a_record_that_is_read_edited_and_sent_back_keeps_its_instant_in_every_format(self):
        """What a client of the format got, byte by byte, with another label."""
        texts = ["2026-06-24T12:57:44.7570874Z", "0000-12-30T00:00:00Z", "9999-12-31T23:59:59.9999999Z", "1969-12-31T23:59:59.999999999Z"]
        ways = [(API + "/{}", content_type) for content_type in (JSON, XML, CBOR, PLIST, BPLIST)]
        ways += [(V4 + "({})", JSON), (V2 + "({})", ATOM), (V2 + "({})", "application/json;odata=verbose")]
        for text in texts:
            for path, content_type in ways:
                made = self.moment(At=text, Label="before")
                address = path.format(made["ID"])
                for method, old, new in (("PUT", b"before", b"middle"), ("PATCH", b"middle", b"edited")):
                    with self.subTest(text=text, address=address, content_type=content_type, method=method):
                        read = self.ask(address, content_type).body
                        self.assertEqual(read.count(old), 1)
                        headers = {"Content-Type": content_type, "Accept": content_type, "X-Requested-With": "X"}
                        answer = self.gateway.request(
                            method, address, read.replace(old, new), headers, user="alice")
                        self.assertIn(answer.status, (200, 204), answer)
                        after = self.ask(f"{API}/{made['ID']}").json()
                        self.assertEqual((after["At"], after["Label"]), (text, new.decode()))

    def test_a_device_that_sends_back_what_it_read_keeps_the_instant(self):
        for media_type, text in [(JSON, "2026-06-24T12:57:44.7570874Z"), (CBOR, "2026-06-24T12:57:44.7570874Z"),
                                 (XML, "2026-06-24T12:57:44.7570874Z"), (PLIST, "2026-06-24T12:57:44.7570874Z"),
                                 (BPLIST, "2026-06-24T12:57:44.757087Z")]:
            made = self.moment(At=text, Label="before")
            read = CODECS[media_type][1](self.ask(f"{API}/{made['ID']}", media_type).body)
            device = Device(self.gateway, "alice", media_type, collections=[COLLECTION])
            fields = {"At": read["At"], "Label": "edited"}
            mutation = device.mutation("update", str(made["ID"]), fields, collection=COLLECTION)
            for _ in range(2):
                outcome, = device.push(mutation)["outcomes"]
                self.assertEqual(outcome["outcome"], "applied", (media_type, outcome))
            after = self.ask(f"{API}/{made['ID']}").json()
            self.assertEqual((after["At"], after["Label"]), (text, "edited"), media_type)
            # Another instant is another one.
            other = device.change("update", str(made["ID"]), {"At": "2026-06-24T12:57:45Z"}, collection=COLLECTION) \
                if media_type in (JSON, CBOR, XML) else None
            if other:
                self.assertEqual(self.ask(f"{API}/{made['ID']}").json()["At"], "2026-06-24T12:57:45Z")

    def test_a_double_of_a_binary_property_list_is_kept_bit_by_bit(self):
        for number in range(20):
            seconds = 446_659_264.757_087_4 + number / 7
            type(self).number += 1
            body = plistlib.dumps({"ID": self.number, "At": datetime.datetime(2001, 1, 1)}, fmt=plistlib.FMT_BINARY)
            body = body.replace(b"\x33" + struct.pack(">d", 0.0), b"\x33" + struct.pack(">d", seconds))
            answer = self.gateway.request("POST", API, body, {"Content-Type": BPLIST, "Accept": BPLIST}, user="alice")
            self.expect(answer, 201)
            self.assertIn(b"\x33" + struct.pack(">d", seconds), answer.body)

    def test_a_file_is_converted_exactly_or_not_at_all(self):
        document = '<value xmlns:v="urn:portico:value" v:type="date">2026-06-24T12:57:44.7570874Z</value>'
        same = run_portico("convert", "--from", "xml", "--to", "xml", stdin=document)
        self.assertIn(">2026-06-24T12:57:44.7570874Z<", same.stdout)
        for target in ("plist", "bplist"):
            refused = run_portico("convert", "--from", "xml", "--to", target, stdin=document)
            self.assertEqual(refused.returncode, 1, refused)
