"""A written value is readable in every format, or is refused with its field's name."""

import itertools
import json
import plistlib
import random
import tempfile
import unittest
import urllib.parse
import uuid
from decimal import Decimal

import cbor
from sync_device import CODECS
from harness import BPLIST, JSON, PLIST, XML, run_portico
from odata_reference import ROOT as REFERENCE
from odata_reference import ReferenceTest
from wire_values import FORMATS

CBOR = "application/cbor"
NOTES = "/api/v1/notes/notes"
PRODUCTS = "/api/v1/odata/reference-Products"
SAMPLES = "/api/v1/odata/reference-DecimalSamples"
MEDIA = "MediaItems"

# XML 1.0, section 2.2: what is no Char.
ODD = ["\x00", "\x01", "\x08", "\x0b", "\x0c", "\x0e", "\x1b", "\x1f", "\ufffe", "\uffff"]
CARRIED = [
    "\r", "a\rb\r\nc\n\r", "\t x \n", "\x7f", "\x85\u2028\u2029", "]]>&<>\"'", "\ufffd", "e\u0301\u00e9", "\U0001f600\U0010ffff",
    " lead and trail ", "$null", "a\n\n\nb", "\ufdd0\U0001ffff", "--", "&#1;",
]


class CarriedValues(ReferenceTest):
    def lists_are_readable(self, *paths):
        for path, accept in itertools.product(paths, FORMATS):
            answer = self.gateway.get(path, accept, user="bob")
            self.assertEqual(answer.status, 200, f"{path} as {accept}: {answer}")
            CODECS[accept][1](answer.body)


class OddText(CarriedValues):
    """Characters that XML cannot carry, at every way in."""

    def api(self, method, path, value, form=JSON):
        body = {JSON: lambda: json.dumps(value).encode(), CBOR: lambda: cbor.dumps(value),
                BPLIST: lambda: plistlib.dumps(value, fmt=plistlib.FMT_BINARY)}[form]()
        return self.gateway.request(method, path, body, {"Content-Type": form, "Accept": JSON}, user="alice")

    def odata(self, method, path, value, content_type=JSON, **headers):
        body = value if isinstance(value, (bytes, str)) else json.dumps(value)
        body = body.encode() if isinstance(body, str) else body
        return self.gateway.request(method, REFERENCE + path, body, {"Content-Type": content_type, **headers}, user="alice")

    def refusal(self, answer):
        """The error where it was refused; for batches that of the only part."""
        try:
            value = answer.json() if answer.body else {}
        except ValueError:
            return 400 if b" 400 " in answer.body else answer.status, answer.text()
        if "answers" in value:
            part = value["answers"][0]
            return part["status"], json.dumps(part["body"])
        if "responses" in value:
            return value["responses"][0]["status"], json.dumps(value)
        if "outcomes" in value:
            outcome = value["outcomes"][0]
            return (400 if outcome["outcome"] == "rejected" else 200), json.dumps(outcome)
        return answer.status, json.dumps(value)

    def ways(self):
        note = self.api("POST", NOTES, {"title": "t", "text": "x", "sharedWith": ["bob"]}).json()
        product = self.product("carried")
        at = f"Products({product['ID']})"
        room = self.gateway.send("POST", "/chat/v1/rooms", {"name": "r", "members": ["bob"]}, user="alice").json()
        room = room.get("room", room)["id"]
        for form in (JSON, CBOR, BPLIST):
            yield f"resource, created, {form}", "title", lambda t, f=form: self.api("POST", NOTES, {"title": t, "sharedWith": ["bob"]}, f)
            yield f"resource, changed, {form}", "text", lambda t, f=form: self.api("PATCH", f"{NOTES}/{note['id']}", {"text": t}, f)
        yield "resource, replaced", "title", lambda t: self.api("PUT", f"{NOTES}/{note['id']}", {"title": t})
        yield "resource, id", "id", lambda t: self.api("POST", NOTES, {"id": f"i{t}", "title": "t"})
        yield "resource, list", "sharedWith", lambda t: self.api("POST", NOTES, {"title": "t", "sharedWith": ["bob", t]})
        yield "resource, unknown field", "has no field", lambda t: self.api("POST", NOTES, {"title": "t", f"x{t}": 1})
        yield "resource of odata", "Name", lambda t: self.api("POST", PRODUCTS, {"Name": t, "Price": 1.5, "Status": 1})
        yield "resource of odata, undeclared", "ShippingAddress", lambda t: self.api("PATCH", f"{PRODUCTS}/{product['ID']}", {"ShippingAddress": {"City": t}})
        yield "batch", "title", lambda t: self.api("POST", "/batch", {"calls": [{"id": "1", "method": "POST", "path": NOTES, "body": {"title": t}}]})
        for form in (JSON, CBOR, BPLIST):
            yield f"push, created, {form}", "title", lambda t, f=form: self.push("create", {"title": t}, f)
        yield "odata, created", "Name", lambda t: self.odata("POST", "Products", {"Name": t, "Price": 1, "Status": "InStock"})
        yield "odata, changed", "Description", lambda t: self.odata("PATCH", at, {"Description": t})
        yield "odata, property", "Description", lambda t: self.odata("PUT", at + "/Description", {"value": t})
        yield "odata, raw value", "Description", lambda t: self.odata("PUT", at + "/Description/$value", t, "text/plain")
        yield "odata, complex", "ShippingAddress", lambda t: self.odata("PATCH", at, {"ShippingAddress": {"City": t}})
        yield "odata, deep insert", "Name", lambda t: self.odata("POST", "Categories", {"Name": "c", "Products": [{"Name": t, "Price": 1, "Status": "InStock"}]})
        yield "odata, JSON batch", "Name", lambda t: self.odata("POST", "$batch", {"requests": [{"id": "1", "method": "POST", "url": "Categories", "body": {"Name": t}}]})
        yield "odata, multipart batch", "Name", lambda t: self.odata(
            "POST", "$batch",
            "--b\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\nPOST Categories HTTP/1.1\r\n"
            f"Content-Type: application/json\r\n\r\n{json.dumps({'Name': t})}\r\n--b--\r\n", "multipart/mixed; boundary=b")
        yield "odata, delta", "Name", lambda t: self.odata("PATCH", "Categories", {"@context": "#$delta", "value": [{"ID": str(uuid.uuid4()), "Name": t}]})
        yield "odata, singleton", "Website", lambda t: self.odata("PATCH", "Company", {"Website": t})
        yield "chat, room", "name", lambda t: self.gateway.send("POST", "/chat/v1/rooms", {"name": t, "members": ["bob"]}, user="alice")
        yield "chat, message", "text", lambda t: self.gateway.send("POST", f"/chat/v1/rooms/{room}/messages", {"text": t}, user="alice")
        yield "chat, message of the old contract", "text", lambda t: self.twaddle({"function": "postmessage", "room": room, "text": t})
        yield "chat, room of the old contract", "name", lambda t: self.twaddle({"function": "createchatroom", "name": t, "members": ["bob"]})

    def twaddle(self, request):
        body = "post=" + urllib.parse.quote_plus(json.dumps(request))
        return self.gateway.request("POST", "/chat", body, {"Content-Type": "application/x-www-form-urlencoded"}, user="alice")

    def push(self, operation, fields, form):
        message = {"clientId": str(uuid.uuid4()), "mutations": [
            {"sequence": 1, "operation": operation, "collection": "notes", "id": str(uuid.uuid4()), "fields": fields}]}
        body = CODECS[form][0](message)
        return self.gateway.request("POST", "/sync/v1/push", body, {"Content-Type": form, "Accept": JSON}, user="alice")

    def test_what_XML_cannot_carry_is_refused_at_every_write_and_names_its_field(self):
        count = 0
        for name, field, write in self.ways():
            for odd in ODD:
                text = f"before{odd}after"
                with self.subTest(way=name, character=f"U+{ord(odd):04X}"):
                    answer = write(text)
                    status, words = self.refusal(answer)
                    self.assertEqual(status, 400, answer)
                    self.assertIn(field, words)
                    count += 1
        print(f"{count} odd texts were refused")
        self.lists_are_readable(NOTES, PRODUCTS, "/v2/list", "/chat/v1/rooms")
        self.pulls_are_readable("bob")

    def test_one_call_of_a_batch_is_refused_and_the_others_are_made(self):
        calls = [{"id": str(n), "method": "POST", "path": NOTES, "body": {"title": title}} for n, title in enumerate(["good", "b\x01"])]
        answers = self.expect(self.api("POST", "/batch", {"calls": calls}), 200).json()["answers"]
        self.assertEqual([part["status"] for part in answers], [201, 400])

    def test_a_refusal_is_an_error_in_every_format_though_it_names_what_was_sent(self):
        for accept in FORMATS:
            answer = self.gateway.request(
                "POST", NOTES, json.dumps({"title": "t", "x\x01\ufffe": 1}), {"Content-Type": JSON, "Accept": accept}, user="alice")
            self.assertEqual(answer.status, 400)
            self.assertEqual(CODECS[accept][1](answer.body)["error"]["code"], "request.invalid")

    def test_imports_and_accounts_refuse_it_too(self):
        user = {"UserId": 7, "UserName": "a\x01b", "ShoeSize": 40}
        employee = {"firstName": "A\x01", "lastName": "B", "division": "c", "email": "a@b.example", "phoneNumber": "1"}
        cases = [(["users", "import"], [user], "UserName"), (["employees", "import"], [employee], "firstName"),
                 (["feeds", "publish", "sonnets"], {"verses": [["a", "b\x01"]]}, "verses")]
        for command, value, field in cases:
            with self.subTest(command=command), tempfile.NamedTemporaryFile("w", suffix=".json") as file:
                json.dump(value, file)
                file.flush()
                done = run_portico(*command, file.name, "--data", self.gateway.data, program="porticoctl")
                self.assertEqual(done.returncode, 1, done)
                self.assertIn(field, done.stderr)
        done = run_portico("accounts", "add", "od\x01d", "--data", self.gateway.data, program="porticoctl", stdin="portico-demo\n")
        self.assertNotEqual(done.returncode, 0)
        self.lists_are_readable("/v2/list", "/api/v1/users/users", "/api/v1/employees/employees")

    def pulls_are_readable(self, user):
        for form in FORMATS:
            encode, decode = CODECS[form]
            token, pages = None, 0
            while True:
                message = {"limit": 200, **({"checkpoint": token} if token else {})}
                answer = self.gateway.request("POST", "/sync/v1/pull", encode(message), {"Content-Type": form, "Accept": form}, user=user)
                self.assertEqual(answer.status, 200, answer)
                page, pages = decode(answer.body), pages + 1
                if "complete" in page:
                    break
                token = page["next"]
            self.assertGreater(pages, 0)


class Texts(CarriedValues):
    def test_every_other_text_is_written_and_read_alike_in_every_format(self):
        for text, written in itertools.product(CARRIED, (JSON, CBOR, BPLIST, XML)):
            if written in (BPLIST, XML) and "&#1;" in text:
                continue
            note = {"title": "t", "text": text, "sharedWith": ["bob"]}
            body = self.xml(note) if written == XML else CODECS[written][0](note)
            created = self.expect(
                self.gateway.request("POST", NOTES, body, {"Content-Type": written, "Accept": JSON}, user="alice"), 201).json()
            for accept in FORMATS:
                with self.subTest(text=text, written=written, read=accept):
                    answer = self.expect(self.gateway.get(f"{NOTES}/{created['id']}", accept, user="bob"), 200)
                    self.assertEqual(CODECS[accept][1](answer.body)["text"], text)

    @staticmethod
    def xml(note):
        def escaped(text):
            return "".join(c if c.isalnum() else f"&#{ord(c)};" for c in text)

        return (f"<note><title>{note['title']}</title><text>{escaped(note['text'])}</text>"
                "<sharedWith>bob</sharedWith></note>").encode()

    def test_values_that_some_format_has_not_are_refused_with_their_field(self):
        product = self.product("odd values")
        path = f"{PRODUCTS}/{product['ID']}"
        values = [
            ({"Dimensions": {"Length": float("inf")}}, (BPLIST, PLIST)), ({"Dimensions": {"Length": float("nan")}}, (BPLIST, PLIST)),
            ({"Price": float("-inf")}, (BPLIST, PLIST)), ({"ShippingAddress": [None]}, (JSON, CBOR)),
            ({"Dimensions": {"a": [1, None]}}, (JSON, CBOR)), ({"Dimensions": {"CF$UID": 1}}, (JSON, CBOR)),
            ({"Dimensions": plistlib.UID(1)}, (BPLIST,)),
        ]
        count = 0
        for value, forms in values:
            for form in forms:
                with self.subTest(value=value, form=form):
                    answer = self.gateway.request("PATCH", path, CODECS[form][0](value), {"Content-Type": form, "Accept": JSON}, user="alice")
                    error = self.expect(answer, 400).json()["error"]
                    self.assertIn(next(iter(value)), error["message"])
                    count += 1
        self.lists_are_readable(path, PRODUCTS)


class Decimals(CarriedValues):
    AMOUNTS = [
        "3.36", "12.50", "0.1", "-7", "0", "0.123456789012345678", "1234567890123456.7", "98765432109876543210.5",
        "12345678901234567890", "-0.000000000000000001", "0.10000000000000001", "99999999999999999999.999999999999999999",
    ]

    def number(self, value):
        return Decimal(repr(value)) if isinstance(value, float) else Decimal(value)

    def read(self, accept, body):
        if accept == JSON:
            return json.loads(body, parse_float=str)
        return CODECS[accept][1](body)

    def test_a_decimal_comes_back_as_it_was_in_every_format_and_reaches_every_device(self):
        written = {}
        for amount in self.AMOUNTS:
            body = f'{{"Name": "{amount}", "Amount": {amount}}}'
            row = self.request("POST", "DecimalSamples", body, 201).json()
            written[row["ID"]] = Decimal(amount)
        generator = random.Random(5)
        for _ in range(40):
            amount = f"{generator.randrange(10 ** generator.randrange(1, 20))}.{generator.randrange(10 ** 18):018}"[:39].rstrip("0") + "1"
            amount = amount[:amount.index(".") + 19]
            row = self.request("POST", "DecimalSamples", f'{{"Name": "g", "Amount": {amount}}}', 201).json()
            written[row["ID"]] = Decimal(amount)
        for identifier, amount in written.items():
            for accept in FORMATS:
                answer = self.expect(self.gateway.get(f"{SAMPLES}/{identifier}", accept, user="bob"), 200)
                found = self.read(accept, answer.body)["Amount"]
                self.assertEqual(self.number(found), amount, f"{found!r} as {accept}")
        for form in FORMATS:
            encode, _ = CODECS[form]
            message = {"collections": ["reference-DecimalSamples"], "limit": 500}
            answer = self.gateway.request("POST", "/sync/v1/pull", encode(message), {"Content-Type": form, "Accept": form}, user="alice")
            page = self.read(form, self.expect(answer, 200).body)
            rows = {row["id"]: row["fields"]["Amount"] for row in page["operations"] if row["id"] in written}
            self.assertEqual({name: self.number(value) for name, value in rows.items()}, written, form)

    def test_a_string_of_digits_is_a_decimal_again_when_it_is_written(self):
        for form, amount in itertools.product((PLIST, BPLIST), ("0.123456789012345678", "12345678901234567890")):
            value = {"ID": str(uuid.uuid4()), "Name": "n", "Amount": amount}
            answer = self.gateway.request("POST", SAMPLES, CODECS[form][0](value), {"Content-Type": form, "Accept": JSON}, user="alice")
            self.expect(answer, 201)
            self.assertEqual(json.loads(answer.body, parse_float=Decimal, parse_int=Decimal)["Amount"], Decimal(amount))

    def test_a_number_of_seventeen_digits_is_kept_or_refused(self):
        product = self.product("seventeen")
        for name, text in (("Price", "1234567890123456.7"), ("Price", "0.12345678901234567891")):
            answer = self.gateway.request(
                "PATCH", f"{PRODUCTS}/{product['ID']}", f'{{"{name}": {text}}}', {"Content-Type": JSON}, user="alice")
            self.assertEqual(self.expect(answer, 400).json()["error"]["target"], name)
        answer = self.gateway.request(
            "PATCH", f"{PRODUCTS}/{product['ID']}", '{"Price": 0.10000000000000001}', {"Content-Type": JSON}, user="alice")
        self.assertEqual(self.expect(answer, 200).json()["Price"], 0.1)
        body = '{"Location": {"type": "Point", "coordinates": [123.45678901234567, -0.12345678901234567, 1234567890123456.7]}}'
        self.expect(self.gateway.request("PATCH", f"{PRODUCTS}/{product['ID']}", body, {"Content-Type": JSON}, user="alice"), 200)
        for accept in FORMATS:
            answer = self.expect(self.gateway.get(f"{PRODUCTS}/{product['ID']}", accept, user="bob"), 200)
            found = self.read(accept, answer.body)["Location"]["coordinates"]
            self.assertEqual([self.number(value) for value in found], [Decimal(text) for text in ("123.45678901234567", "-0.12345678901234567", "1234567890123456.7")], accept)

    def test_what_is_no_geometry_is_refused_and_names_its_property(self):
        """RFC 7946: positions, lines, closed rings, degrees; of the property's type."""
        product = self.product("geometries")
        ring = [[0, 0], [1, 0], [1, 1], [0, 0]]
        deep = [0, 0]
        for _ in range(90):
            deep = [deep]
        good = [
            ("Location", "Point", [0, 0]), ("Location", "Point", [-180, 90, 12.5]), ("Location", "Point", [180.0, -90, 1, 2]),
            ("Route", "LineString", [[0, 0], [1, 1]]), ("Area", "Polygon", [ring]), ("Area", "Polygon", [ring, ring]), ("Area", "Polygon", [])]
        bad = [("Location", "Point", value) for value in [
            [], [0], [0, 0, 0, 0, 0], ["0", "0"], [0, None], [None, None], [[0, 0]], [True, False], {}, "0,0", None, 0, [0, {"a": 1}],
            [180.1, 0], [-181, 0], [0, 90.5], [0, -91], [1e300, 0], [10 ** 30, 0], deep]]
        bad += [("Route", "LineString", value) for value in [
            [], [[0, 0]], [[0, 0], [1]], [[0, 0], [1, "1"]], [[0, 0], [181, 0]], [0, 0], [[[0, 0], [1, 1]]], [[0, 0], None], deep]]
        bad += [("Area", "Polygon", value) for value in [
            [[]], [ring[:3]], [[*ring[:3], [9, 9]]], ring, [ring, [[0, 0]]], [[[0, 0], [1, 0], [1, 91], [0, 0]]], [None], [ring, 1], deep]]
        bad += [("Location", "LineString", [[0, 0], [1, 1]]), ("Area", "Point", [0, 0]), ("Location", "point", [0, 0]), ("Location", None, [0, 0])]
        for name, kind, coordinates in good + bad:
            body = json.dumps({name: {"type": kind, "coordinates": coordinates}})
            answer = self.gateway.request("PATCH", f"{PRODUCTS}/{product['ID']}", body, {"Content-Type": JSON}, user="alice")
            with self.subTest(body=body):
                if (name, kind, coordinates) in good:
                    self.expect(answer, 200)
                else:
                    self.assertEqual(self.expect(answer, 400).json()["error"]["target"], name)


HARMLESS = ["text/plain", "text/plain; charset=utf-8", "image/png", "IMAGE/JPEG", "image/gif", "image/webp", "audio/mpeg", "video/mp4"]
HARMFUL = [
    "text/html", "text/html; charset=utf-8", "image/svg+xml", "application/xhtml+xml", "text/xml", "application/xml",
    "application/pdf", "text/javascript", "application/octet-stream", "multipart/x-mixed-replace; boundary=a",
    "application/x-shockwave-flash", "text/plain, text/html", "text/plain;x=<script>", "text", "/", "a/b/c", "text/html ; a=\"b;c\"",
]


class StoredBytes(CarriedValues):
    """Bytes that callers stored never act on the gateway's origin."""

    SCRIPT = b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(document.domain)</script></svg>"

    def protected(self, answer, shown, place):
        self.assertIn("sandbox", answer.headers.get("content-security-policy", ""), place)
        self.assertIn("default-src 'none'", answer.headers["content-security-policy"], place)
        self.assertEqual(answer.headers.get("x-content-type-options"), "nosniff", place)
        self.assertEqual(answer.headers.get("cross-origin-resource-policy"), "same-origin", place)
        self.assertEqual(answer.headers.get("content-disposition"), None if shown else "attachment", place)

    def ask(self, path, place, shown, declared):
        for method in ("GET", "HEAD"):
            answer = self.expect(self.gateway.request(method, path, user="alice"), 200)
            self.protected(answer, shown, (place, method))
            output = answer.headers["content-type"]
            known = declared.split(";")[0].strip().lower() == output.split(";")[0]
            self.assertTrue(known or output == "application/octet-stream", output)
            self.assertFalse(shown and output == "application/octet-stream", output)
        tag = answer.headers["etag"]
        unchanged = self.expect(self.gateway.get(path, headers={"If-None-Match": tag}, user="alice"), 304)
        self.protected(unchanged, shown, (place, 304))

    def test_every_stream_is_sandboxed_and_saved_unless_its_type_is_harmless(self):
        count = 0
        product = self.product("photographed")
        for declared in HARMLESS + HARMFUL:
            shown = declared in HARMLESS
            item = self.request("POST", MEDIA, "<script>", 201, Content_Type=declared if "/" in declared.strip("/") else "text/html").json()
            places = [f"MediaItems({item['ID']})/$value", f"Products({product['ID']})/Photo"]
            for path in places:
                self.expect(self.gateway.request("PUT", REFERENCE + path, self.SCRIPT, {"Content-Type": declared}, user="alice"), 204)
                with self.subTest(path=path, declared=declared):
                    self.ask(REFERENCE + path, path, shown, declared)
                    count += 1
        print(f"{count} streams were protected")

    def test_a_stored_media_type_adds_no_field_to_the_head(self):
        product = self.product("injected")
        path = f"{PRODUCTS}/{product['ID']}"
        fields = self.gateway.get(path, JSON, user="alice").json()
        media = next(name for name in fields if "Photo" in name and "type" in name.lower())
        content = next(name for name in fields if "Photo" in name and name != media)
        for declared in ["text/html\r\nX-Injected: yes", "image/png\r\n\r\n<script>", "image/png;\x7f", "image/\u00e9", "x" * 5000]:
            change = {content: "aGk=", media: declared}
            answer = self.gateway.send("PATCH", path, change, user="alice")
            self.assertIn(answer.status, (200, 400), answer)
            if answer.status == 400:
                continue
            answer = self.expect(self.gateway.get(f"{REFERENCE}Products({product['ID']})/Photo", user="alice"), 200)
            self.assertEqual(answer.headers["content-type"], "application/octet-stream")
            self.assertNotIn("x-injected", answer.headers)
            self.protected(answer, False, declared)

    def test_attachments_and_parts_of_them_are_protected_too(self):
        import hashlib

        data = self.SCRIPT * 100
        digest = hashlib.sha256(data).hexdigest()
        path = f"/sync/v1/attachments/{digest}"
        self.expect(self.gateway.request("PUT", path, data, user="alice"), 201)
        self.expect(self.gateway.send("POST", NOTES, {"title": "t", "attachments": [digest]}, user="alice"), 201)
        for headers, status in (({}, 200), ({"Range": "bytes=0-9"}, 206)):
            self.protected(self.expect(self.gateway.get(path, headers=headers, user="alice"), status), False, status)

    def test_an_answer_that_is_no_page_of_ours_is_sandboxed_whatever_it_is(self):
        for path in (NOTES, "/v2/list", "/health/live", "/openapi.json", REFERENCE + "$metadata", REFERENCE + "Products", "/nothing", "/plists/sonnets"):
            for accept in (JSON, XML, "text/html"):
                answer = self.gateway.get(path, accept, user="alice")
                if answer.headers["content-type"].startswith("text/html"):
                    # Values as a page of ours: test_pages.
                    continue
                self.assertEqual(answer.headers.get("content-security-policy"), "default-src 'none'; sandbox", f"{path} {answer}")
        for path in ("/", "/chat/"):
            page = self.expect(self.gateway.get(path, "text/html"), 200)
            self.assertNotIn("sandbox", page.headers["content-security-policy"])
            tag = page.headers.get("etag")
            if tag:
                again = self.expect(self.gateway.get(path, "text/html", headers={"If-None-Match": tag}), 304)
                self.assertEqual(again.headers["content-security-policy"], page.headers["content-security-policy"])


if __name__ == "__main__":
    unittest.main()
