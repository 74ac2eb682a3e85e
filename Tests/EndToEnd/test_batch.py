"""`POST /batch`: content negotiation before any call runs, limits for each call, one answer for each in every format."""

import base64
import hashlib
import itertools
import json
import plistlib
import re

import cbor
from harness import BPLIST, JSON, PLIST, XML, GatewayTest

CBOR = "application/cbor"
NOTES = "/api/v1/notes/notes"
ODATA = "/odata/v4/admissions"


class BatchTest(GatewayTest):
    settings = ("--set", "adapters.odata.services.admissions.access=public")

    def batch(self, calls, accept=JSON, content_type=JSON, user="alice", **more):
        body = {JSON: lambda v: json.dumps(v).encode(), CBOR: cbor.dumps, PLIST: plistlib.dumps,
                BPLIST: lambda v: plistlib.dumps(v, fmt=plistlib.FMT_BINARY)}[content_type]({"calls": calls})
        return self.gateway.request("POST", "/batch", body, {"Content-Type": content_type, "Accept": accept}, user=user, **more)

    def answers(self, calls, **more):
        answer = self.expect(self.batch(calls, **more), 200)
        kind = answer.headers["content-type"].split(";")[0]
        return {JSON: json.loads, CBOR: cbor.loads, PLIST: plistlib.loads, BPLIST: plistlib.loads}[kind](answer.body)["answers"]

    def titles(self):
        page = self.gateway.get(f"{NOTES}?limit=1000", user="alice").json()
        return {note["title"] for note in page["items"]}


class HeadOfACall(BatchTest):
    def test_a_call_with_too_many_header_fields_is_431_and_the_others_are_answered(self):
        for count in [101, 1_000, 65_600]:
            fields = {f"X-{number}": "1" for number in range(count)}
            answers = self.answers(
                [{"id": "long", "method": "GET", "path": "/health/live", "headers": fields},
                 {"id": "short", "method": "GET", "path": "/health/live"}], user=None)
            self.assertEqual([(a["id"], a["status"]) for a in answers], [("long", 431), ("short", 200)])
            self.assertEqual(answers[0]["body"]["error"]["code"], "request.headersTooLarge")
        self.assertEqual(self.gateway.get("/health/live").status, 200)

    def test_a_call_with_long_header_fields_is_431(self):
        answers = self.answers([{"id": "a", "method": "GET", "path": "/health/live", "headers": {"X-Long": "a" * 40_000}}])
        self.assertEqual(answers[0]["status"], 431)

    def test_a_call_with_a_long_path_is_414(self):
        answers = self.answers([{"id": "a", "method": "GET", "path": "/" + "a" * 9_000},
                                {"id": "b", "method": "GET", "path": "/health/live"}])
        self.assertEqual([a["status"] for a in answers], [414, 200])

    def test_a_call_whose_path_is_not_well_formed_is_400_and_the_others_are_answered(self):
        paths = [f"/health/live{text}" for text in
                 [" ", "\r", "\n", "\r\nX: y", "\t", "\x7f", "\x80", "\x9f", "\u00a0", "\u00e9",
                  "\u2028", "\U0001f600", "#", "#a", "?a=b c", "?a=\u00e9", "?a#b", "%", "%zz", "%ff"]]
        paths += ["", "health/live", "http://a/health/live", "*", "a:1"]
        for path in paths:
            answers = self.answers([{"id": "bad", "method": "GET", "path": path},
                                    {"id": "good", "method": "GET", "path": "/health/live"}])
            self.assertEqual([(a["id"], a["status"]) for a in answers], [("bad", 400), ("good", 200)], path)
            self.assertEqual(answers[0]["body"]["error"]["code"], "request.malformed", path)
        for text in ["\0", "\x01", "\x1f", "\uffff"]:
            # No text of any document may hold these.
            refused = self.batch([{"id": "bad", "method": "GET", "path": f"/health/live{text}"}])
            self.assertEqual(self.expect(refused, 400).json()["error"]["target"], "calls[0].path")

    def test_fields_that_cannot_be_part_of_a_call_are_refused_before_any_is_made(self):
        for headers in [{"Content-Length": "1"}, {"Origin": "https://a.example"}, {"X": "a\nb"}, {"a b": "c"},
                        {":path": "/"}, {"X-A": "1", "x-a": "2"}, {"Sec-Fetch-Site": "none"}, {"X": 1}]:
            answer = self.batch([{"id": "a", "method": "POST", "path": NOTES, "body": {"title": "refused"}},
                                 {"id": "b", "method": "GET", "path": "/", "headers": headers}])
            self.expect(answer, 400, "request.invalid")
        self.assertNotIn("refused", self.titles())


class FormatOfABatch(BatchTest):
    def test_an_answer_that_cannot_be_had_is_refused_before_any_call_is_made(self):
        self.expect(self.batch([{"id": "a", "method": "POST", "path": NOTES, "body": {"title": "unacceptable"}}], accept="image/png"), 406)
        self.assertNotIn("unacceptable", self.titles())

    def test_calls_with_and_without_bodies_are_answered_in_every_format(self):
        for number, (content_type, accept) in enumerate(itertools.product([JSON, CBOR, PLIST, BPLIST], repeat=2)):
            note = f"{NOTES}/every-{number}"
            answers = self.answers(
                [{"id": "made", "method": "PUT", "path": note, "body": {"title": "made"}},
                 {"id": "missing", "method": "GET", "path": NOTES + "/missing"}],
                content_type=content_type, accept=accept)
            self.assertEqual([(a["id"], a["status"]) for a in answers], [("made", 201), ("missing", 404)])
            self.assertEqual(answers[0]["body"]["title"], "made")
            self.assertEqual(answers[1]["body"]["error"]["code"], "record.notFound")
            deleted, = self.answers([{"id": "gone", "method": "DELETE", "path": note}], content_type=content_type, accept=accept)
            self.assertEqual((deleted["status"], deleted.get("body")), (204, None))

    def test_an_id_that_a_format_cannot_carry_is_refused_before_any_call_is_made(self):
        answer = self.batch([{"id": "\u0001", "method": "POST", "path": NOTES, "body": {"title": "unnamed"}}], accept=PLIST)
        self.assertEqual(answer.status, 400, answer)
        self.assertIn(b"calls[0].id", answer.body)
        self.assertNotIn("unnamed", self.titles())


class FormatOfACall(BatchTest):
    def test_odata_is_answered_as_json_unless_the_call_says_otherwise(self):
        path = ODATA + "/Students?$top=1&$select=FirstName"
        for content_type, accept in itertools.product([JSON, CBOR, PLIST, BPLIST], repeat=2):
            answer, = self.answers([{"id": "a", "method": "GET", "path": path}], content_type=content_type, accept=accept)
            self.assertEqual(answer["status"], 200, answer)
            self.assertEqual(len(answer["body"]["value"]), 1)
        atom, = self.answers(
            [{"id": "a", "method": "GET", "path": path.replace("v4", "v2"), "headers": {"Accept": "application/atom+xml"}}])
        self.assertTrue(atom["body"].startswith("<?xml"), atom)

    def test_a_streamed_response_is_complete(self):
        path = ODATA + "/Students?$top=300"
        answer, = self.answers([{"id": "a", "method": "GET", "path": path}])
        self.assertEqual(answer["body"]["value"], self.gateway.get(path, user="alice").json()["value"])

    def test_an_odata_entity_is_made_by_a_body_of_the_batch_in_every_format(self):
        for content_type in [JSON, CBOR, PLIST, BPLIST]:
            answer, = self.answers(
                [{"id": "a", "method": "POST", "path": ODATA + "/Students", "body": {"FirstName": "Batch", "LastName": "Made"}}],
                content_type=content_type, user="admin")
            self.assertEqual(answer["status"], 201, answer)

    def test_a_call_names_its_own_format(self):
        for accept in [JSON, CBOR, PLIST, BPLIST]:
            answer, = self.answers([{"id": "a", "method": "GET", "path": "/v2/101", "headers": {"accept": accept}}])
            self.assertEqual(answer["headers"]["content-type"], accept)
            self.assertEqual(answer["body"]["UserName"], "Fake 2")
        xml, = self.answers([{"id": "a", "method": "GET", "path": "/v2/101", "headers": {"Accept": XML}}])
        self.assertIn("<UserName>Fake 2</UserName>", xml["body"])
        none, = self.answers([{"id": "a", "method": "GET", "path": "/v2/101", "headers": {"Accept": "image/png"}}])
        self.assertEqual(none["status"], 406)

    def test_bodies_of_other_types_are_text_or_data(self):
        signed_in, = self.answers(
            [{"id": "a", "method": "POST", "path": "/irj/portal", "body": "j_user=alice&j_password=portico-demo",
              "headers": {"Content-Type": "application/x-www-form-urlencoded"}}], user=None)
        self.assertEqual(signed_in["status"], 200, signed_in)
        data = bytes(range(256)) * 40
        digest = hashlib.sha256(data).hexdigest()
        path = "/sync/v1/attachments/" + digest
        for body, content_type in [(base64.b64encode(data).decode(), JSON), (data, PLIST), (data, CBOR)]:
            stored, = self.answers(
                [{"id": "a", "method": "PUT", "path": path, "body": body, "headers": {"Content-Type": "application/octet-stream"}}],
                content_type=content_type)
            self.assertEqual(stored["status"], 201, stored)
        entry = (
            '<entry xmlns="http://www.w3.org/2005/Atom" xmlns:m="http://schemas.microsoft.com/ado/2007/08/dataservices/metadata"'
            ' xmlns:d="http://schemas.microsoft.com/ado/2007/08/dataservices"><content type="application/xml"><m:properties>'
            "<d:FirstName>In</d:FirstName><d:LastName>Atom</d:LastName></m:properties></content></entry>")
        made, = self.answers(
            [{"id": "a", "method": "POST", "path": ODATA.replace("v4", "v2") + "/Students", "body": entry,
              "headers": {"Content-Type": "application/atom+xml"}}], user=None)
        self.assertEqual(made["status"], 201, made)
        self.assertEqual(made["body"]["d"]["LastName"], "Atom")
        page, = self.answers([{"id": "a", "method": "GET", "path": "/", "headers": {"Accept": "text/html"}}])
        self.assertTrue(page["body"].lower().startswith("<!doctype html"))


class OtherWrites(BatchTest):
    """Nothing is written where the answer could not be had."""

    def test_every_described_write_is_negotiated_first(self):
        document = self.gateway.get("/openapi.json").json()
        refused = 0
        before = self.gateway.get(f"{NOTES}?limit=1000", user="alice").json()
        for path, methods in document["paths"].items():
            for method, operation in methods.items():
                if method not in ("post", "put", "patch") or "{path}" in path or re.match(r"/(odata|sap|batch)", path):
                    continue
                answers = [a for status, a in operation.get("responses", {}).items() if status.startswith("2")]
                if not any(JSON in a.get("content", {}) for a in answers):
                    continue
                target = re.sub(r"\{[^}]*\}", "a" * 64 if "sha256" in path else "1", path)
                answer = self.gateway.request(
                    method.upper(), target, json.dumps({"title": "x"}), {"Content-Type": JSON, "Accept": "image/png"}, user="alice")
                # A request that is refused for another reason did nothing either.
                self.assertNotIn(answer.status // 100, (2, 5), (method, path, answer))
                refused += answer.status == 406
        self.assertGreater(refused, 10)
        self.assertEqual(self.gateway.get(f"{NOTES}?limit=1000", user="alice").json(), before)

    def test_a_write_of_odata_is_negotiated_first(self):
        for service, accept in itertools.product([ODATA, "/odata/v2/admissions"], ["image/png", PLIST]):
            answer = self.gateway.send(
                "POST", service + "/Students", {"FirstName": "Un", "LastName": "Acceptable"}, headers={"Accept": accept}, user="admin")
            self.assertGreaterEqual(answer.status, 400, answer)
        page = self.gateway.get(ODATA + "/Students?$filter=LastName%20eq%20'Acceptable'", user="admin")
        self.assertEqual(page.json()["value"], [], page)
