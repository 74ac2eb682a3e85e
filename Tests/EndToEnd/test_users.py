"""The XML users contract over HTTP."""

import json
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree

from harness import BPLIST, JSON, PLIST, XML, GatewayTest, has_tool, run_tool

QUICK = True

NAMESPACE = "{http://captechventures.com/schema}"


class UsersContract(GatewayTest):
    def list(self):
        return self.expect(self.gateway.get("/v2/list", user="alice"), 200)

    def test_the_list_has_the_prescribed_root_and_entries(self):
        answer = self.list()
        self.assertTrue(answer.headers["content-type"].startswith("application/xml"))
        root = ElementTree.fromstring(answer.body)
        self.assertEqual(root.tag, NAMESPACE + "UserList")
        first = root[0]
        self.assertEqual(first.tag, NAMESPACE + "entry")
        self.assertEqual([child.tag for child in first], [NAMESPACE + "UserId", NAMESPACE + "UserName"])
        self.assertIn("100", [entry[0].text for entry in root])

    def test_the_list_has_neither_cdata_nor_shoe_sizes(self):
        body = self.list().body
        self.assertNotIn(b"CDATA", body)
        self.assertNotIn(b"ShoeSize", body)

    @unittest.skipUnless(has_tool("xmllint"), "needs xmllint")
    def test_list_and_detail_validate_against_the_schema_that_the_gateway_serves(self):
        schema = self.expect(self.gateway.get("/v2/schema.xsd", user="alice"), 200)
        with tempfile.NamedTemporaryFile(suffix=".xsd") as file:
            file.write(schema.body)
            file.flush()
            for path in ["/v2/list", "/v2/101"]:
                body = self.gateway.get(path, user="alice").body
                run_tool("xmllint", "--nonet", "--noout", "--schema", file.name, "-", stdin=body)

    def test_a_user_is_found_by_its_id_on_both_paths(self):
        for path in ["/v2/101", "/v2/user/101"]:
            root = ElementTree.fromstring(self.expect(self.gateway.get(path, user="alice"), 200).body)
            self.assertEqual(root.tag.rsplit("}")[-1], "user")
            values = [(child.tag.rsplit("}")[-1], child.text) for child in root]
            self.assertEqual(values, [("UserId", "101"), ("UserName", "Fake 2"), ("ShoeSize", "12W")])

    def test_an_unknown_id_is_404_and_one_that_is_no_integer_is_400(self):
        self.expect(self.gateway.get("/v2/999999", user="alice"), 404)
        self.expect(self.gateway.get("/v2/abc", user="alice"), 400)

    def test_every_format_answers_the_same_data(self):
        as_json = self.gateway.get("/v2/101", JSON, user="alice").json()
        self.assertEqual(as_json, {"UserId": 101, "UserName": "Fake 2", "ShoeSize": "12W"})
        for accept in [PLIST, BPLIST]:
            self.assertEqual(self.gateway.get("/v2/101", accept, user="alice").plist(), as_json)
        self.assertTrue(self.gateway.get("/v2/101", BPLIST, user="alice").body.startswith(b"bplist00"))

    def test_the_first_version_is_still_served(self):
        self.expect(self.gateway.get("/v1/list", user="alice"), 200)

    def test_a_name_with_markup_and_accents_round_trips(self):
        name = "A&B ‹é> \U0001F600"
        created = self.gateway.send(
            "POST", "/api/v1/users/users", {"UserId": 70001, "UserName": name, "ShoeSize": "9"}, user="admin")
        self.expect(created, 201)
        root = ElementTree.fromstring(self.gateway.get("/v2/70001", user="alice").body)
        self.assertEqual(root[1].text, name)
        self.assertEqual(self.gateway.get("/api/v1/users/users/70001", user="alice").json()["UserName"], name)

    def test_a_doctype_an_entity_and_a_bomb_are_refused_at_once(self):
        bomb = "".join(f'<!ENTITY a{n} "{f"&a{n-1};" * 10}">' for n in range(1, 10))
        documents = [
            '<!DOCTYPE user><user><UserId>1</UserId></user>',
            '<!DOCTYPE user [<!ENTITY x SYSTEM "file:///etc/passwd">]><user><UserName>&x;</UserName></user>',
            f'<!DOCTYPE user [<!ENTITY a0 "x">{bomb}]><user><UserName>&a9;</UserName></user>',
        ]
        for document in documents:
            answer = self.gateway.request(
                "POST", "/api/v1/users/users", document, {"Content-Type": XML, "Accept": JSON}, user="admin")
            self.expect(answer, 400, "request.refused")
            self.assertNotIn(b"root:", answer.body)

    def test_an_xml_document_creates_a_user(self):
        document = "<user><UserId>70002</UserId><UserName>From XML</UserName><ShoeSize>8.5M</ShoeSize></user>"
        answer = self.gateway.request(
            "POST", "/api/v1/users/users", document, {"Content-Type": XML, "Accept": JSON}, user="admin")
        self.expect(answer, 201)
        self.assertEqual(answer.json(), {"UserId": 70002, "UserName": "From XML", "ShoeSize": "8.5M"})

    def test_without_a_login_it_is_401_with_a_challenge(self):
        answer = self.expect(self.gateway.get("/v2/list"), 401)
        self.assertIn("Basic", answer.headers["www-authenticate"])


if __name__ == "__main__":
    unittest.main()
