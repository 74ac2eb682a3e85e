"""`/openapi.json` as generators of clients take it: small, with names that are identifiers, and true of what is answered.
What generators make of it is Tests/Generators' matter."""

import json
import keyword
import re
import unittest

from harness import DEMO, JSON, GatewayTest, run_portico
from routes import METHODS

QUICK = True
LARGEST = 300_000
IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9]*(_[A-Za-z0-9]+)*")
NOTES = "/api/v1/notes/notes"


def folded(name):
    """The same for names that are one where a language writes them in its own case."""
    return name.replace("_", "").lower()


def places(value, at=""):
    """Every dictionary of a value, with where it is."""
    if isinstance(value, dict):
        yield at, value
        for key, inner in value.items():
            yield from places(inner, f"{at}/{key}")
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from places(inner, f"{at}/{index}")


class Description(GatewayTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.text = cls.gateway.get("/openapi.json").body
        cls.document, cls.all = json.loads(cls.text), cls.gateway.get("/openapi.json?formats=all").json()

    def operations(self, document=None):
        for path, methods in (document or self.document)["paths"].items():
            for method, operation in methods.items():
                yield f"{method.upper()} {path}", operation

    def referenced(self, value):
        while "$ref" in value:
            found = self.document
            for part in value["$ref"].removeprefix("#/").split("/"):
                found = found[part]
            value = found
        return value

    def test_it_is_small(self):
        self.assertLess(len(self.text), LARGEST)

    def test_bodies_and_answers_are_described_in_json_unless_all_formats_are_asked_for(self):
        written = {kind for _, value in places(self.document) for kind in value.get("content", {})}
        self.assertFalse({"application/cbor", "application/x-apple-binary-plist"} & written)
        everything = {kind for _, value in places(self.all) for kind in value.get("content", {})}
        self.assertLessEqual({JSON, "application/xml", "application/x-plist", "application/cbor"}, everything)
        self.assertEqual(self.gateway.get("/openapi.json?formats=json").body, self.text)
        self.expect(self.gateway.get("/openapi.json?formats=none"), 400)

    def test_both_have_the_same_operations_with_the_same_answers(self):
        one, other = dict(self.operations()), dict(self.operations(self.all))
        self.assertEqual(set(one), set(other))
        for name, operation in one.items():
            self.assertEqual(set(operation["responses"]), set(other[name]["responses"]), name)

    def test_every_operation_declares_what_each_of_them_may_answer(self):
        for name, operation in self.operations():
            with self.subTest(name):
                answers, declared = operation["responses"], set()
                for status, answer in answers.items():
                    declared |= {int(status)} if status.isdigit() else set(self.referenced(answer)["x-portico-statuses"])
                self.assertLessEqual({400, 401, 403, 406, 414, 429, 431, 500, 503, 504}, declared)
                if "requestBody" in operation:
                    self.assertLessEqual({408, 413, 415}, declared)
                self.assertTrue(any(status.startswith(("2", "3")) for status in answers))

    def test_the_front_page_is_described_as_a_page_and_as_a_value(self):
        content = self.document["paths"]["/"]["get"]["responses"]["200"]["content"]
        self.assertEqual(list(content), [JSON, "text/html"])
        for kind in content:
            self.assertEqual(self.gateway.get("/", kind).headers["content-type"].partition(";")[0], kind)

    def test_names_are_identifiers_and_no_two_become_one(self):
        identifiers = [operation["operationId"] for _, operation in self.operations()]
        schemas = list(self.document["components"]["schemas"])
        for names in (identifiers, schemas, list(self.document["components"]["responses"])):
            self.assertEqual([name for name in names if not IDENTIFIER.fullmatch(name) or keyword.iskeyword(name)], [])
            self.assertEqual(len({folded(name) for name in names}), len(names))

    def test_every_object_is_a_component_with_a_title_of_its_own(self):
        schemas = self.document["components"]["schemas"]
        self.assertEqual({name: schema["title"] for name, schema in schemas.items()}, {name: name for name in schemas})
        inline = [
            at for at, value in places(self.document)
            if "properties" in value and isinstance(value.get("type"), str) and not re.fullmatch("/components/schemas/[^/]+", at)]
        self.assertEqual(inline, [])

    def test_every_reference_leads_somewhere_and_every_component_is_referred_to(self):
        references = {value["$ref"] for _, value in places(self.document) if isinstance(value.get("$ref"), str)}
        for reference in references:
            self.referenced({"$ref": reference})
        known = {
            f"#/components/{kind}/{name}" for kind in ("schemas", "responses", "parameters", "headers") for name in self.document["components"][kind]}
        self.assertEqual(known, references)

    def test_it_says_what_it_is_and_what_its_parts_are(self):
        self.assertTrue(all(self.document["info"][part] for part in ("title", "version", "summary", "description")))
        texts = {tag["name"]: tag["description"] for tag in self.document["tags"]}
        self.assertTrue(all(texts.values()), texts)
        self.assertEqual({tag for _, operation in self.operations() for tag in operation["tags"]}, set(texts))
        self.assertTrue(all(operation["summary"] for _, operation in self.operations()))

    def test_only_methods_of_openapi_and_extensions_are_named(self):
        for _, methods in self.document["paths"].items():
            self.assertEqual([one for one in methods if one not in METHODS and not one.startswith("x-")], [])

    def test_what_a_record_always_has_is_required_and_only_what_may_be_null_is_nullable(self):
        schemas = self.document["components"]["schemas"]
        note, row = schemas["notes_notes"], schemas["notes_notesRow"]
        made = self.expect(self.gateway.send("POST", NOTES, {"title": "t", "text": ""}, user="alice"), 201).json()
        self.assertEqual(set(note["required"]), set(made))
        self.assertNotIn("required", row)
        for name, member in note["properties"].items():
            may_be_null = "null" in member.get("type", []) or {"type": "null"} in member.get("anyOf", [])
            self.assertTrue(may_be_null or made[name] is not None, name)
        self.assertEqual((note["properties"]["id"]["type"], note["properties"]["title"]["type"]), ("string", "string"))
        chosen = self.gateway.get(f"{NOTES}?select=title&limit=1", user="alice").json()["items"][0]
        self.assertEqual(set(chosen), {"title"})

    def test_what_a_creation_requires_is_what_it_is_refused_without(self):
        required = self.document["components"]["schemas"]["notes_notesFields"]["required"]
        whole = {"title": "t", "text": ""}
        self.assertIn("title", required)
        for name in required:
            answer = self.gateway.send("POST", NOTES, {key: one for key, one in whole.items() if key != name}, user="alice")
            self.assertEqual((answer.status, answer.json()["error"]["target"]), (400, name))
        self.assertNotIn("required", self.document["components"]["schemas"]["notes_notesChanges"])


class PublicAddress(GatewayTest):
    settings = ("--set", "http.publicURL=https://api.example.org/portico")

    def test_the_server_is_where_callers_reach_the_gateway(self):
        document = self.gateway.get("/openapi.json").json()
        self.assertEqual(document["servers"], [{"url": "https://api.example.org/portico"}])

    def test_an_address_that_is_none_is_refused_before_the_start(self):
        for address in ("api.example.org", "ftp://api.example.org", "https://api.example.org/", "https://a@api.example.org"):
            done = run_portico("check", "--config", DEMO, "--set", f"http.publicURL={address}")
            self.assertEqual(done.returncode, 1, address)
            self.assertIn("http.publicURL", done.stderr)


if __name__ == "__main__":
    unittest.main()
