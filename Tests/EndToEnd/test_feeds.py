"""The plist feeds contract, checked from outside (the client library's checks apart)."""

import json
import pathlib
import plistlib
import subprocess
import tempfile
import unittest

from harness import BPLIST, BUILD, JSON, PLIST, ROOT, XML, GatewayTest, has_tool, run_tool

QUICK = True

FEED = "/plists/sonnets"
DTD = """<!ENTITY % plistObject "(array | data | date | dict | real | integer | string | true | false )" >
<!ELEMENT plist %plistObject;><!ATTLIST plist version CDATA "1.0">
<!ELEMENT array (%plistObject;)*><!ELEMENT dict (key, %plistObject;)*><!ELEMENT key (#PCDATA)>
<!ELEMENT string (#PCDATA)><!ELEMENT data (#PCDATA)><!ELEMENT date (#PCDATA)><!ELEMENT true EMPTY>
<!ELEMENT false EMPTY><!ELEMENT real (#PCDATA)><!ELEMENT integer (#PCDATA)>"""


def roman(number):
    text = ""
    for value, digits in [(100, "C"), (90, "XC"), (50, "L"), (40, "XL"), (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I")]:
        while number >= value:
            text, number = text + digits, number - value
    return text


class FeedsContract(GatewayTest):
    def control(self, *arguments):
        command = [BUILD / "porticoctl", *arguments, "--data", self.gateway.data]
        return subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=60)

    def publish(self, name, value):
        with tempfile.NamedTemporaryFile(suffix=".plist") as file:
            plistlib.dump(value, file)
            file.flush()
            done = self.control("feeds", "publish", name, file.name)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_the_feed_is_a_public_xml_property_list(self):
        answer = self.expect(self.gateway.get(FEED), 200)
        self.assertTrue(answer.headers["content-type"].startswith(PLIST))
        self.assertIn(b'"-//Apple//DTD PLIST 1.0//EN"', answer.body)
        verses = answer.plist()["verses"]
        self.assertTrue(all(len(verse) == 2 and "\n" in verse[1] for verse in verses))

    def test_independent_readers_take_it(self):
        body = self.gateway.get(FEED).body
        with tempfile.NamedTemporaryFile(suffix=".plist") as file:
            file.write(body)
            file.flush()
            if has_tool("plutil"):
                run_tool("plutil", "-lint", file.name)
            if has_tool("plistutil"):
                run_tool("plistutil", "-i", file.name)
            if has_tool("xmllint"):
                with tempfile.NamedTemporaryFile(suffix=".dtd") as dtd:
                    dtd.write(DTD.encode())
                    dtd.flush()
                    run_tool("xmllint", "--nonet", "--noout", "--dtdvalid", dtd.name, file.name)

    def test_the_etag_answers_304_until_the_next_publication(self):
        self.publish("changing", {"n": 1})
        first = self.expect(self.gateway.get("/plists/changing", user="alice"), 200)
        tag = first.headers["etag"]
        again = self.gateway.get("/plists/changing", user="alice", headers={"If-None-Match": tag})
        self.assertEqual((again.status, again.body), (304, b""))
        since = first.headers["last-modified"]
        self.expect(self.gateway.get("/plists/changing", user="alice", headers={"If-Modified-Since": since}), 304)
        self.publish("changing", {"n": 2})
        changed = self.gateway.get("/plists/changing", user="alice", headers={"If-None-Match": tag})
        self.assertEqual((changed.status, changed.plist()), (200, {"n": 2}))
        self.assertNotEqual(changed.headers["etag"], tag)

    def test_shared_caches_may_keep_what_needs_no_login(self):
        for user, expected in [(None, "public, no-cache"), ("alice", "private, no-cache")]:
            for _ in range(2):
                answer = self.gateway.get(FEED, user=user)
                self.assertEqual(answer.headers["cache-control"], expected)
        fields = self.gateway.get(FEED).headers["vary"].split(", ")
        self.assertLessEqual({"Accept", "Authorization", "Cookie"}, set(fields))

    def test_binary_and_json_carry_the_same_data(self):
        plain = self.gateway.get(FEED).plist()
        binary = self.gateway.get(FEED, BPLIST)
        self.assertTrue(binary.body.startswith(b"bplist00"))
        self.assertEqual(binary.plist(), plain)
        self.assertEqual(self.gateway.get(FEED, JSON).json(), plain)

    def test_text_xml_means_the_property_list_and_application_xml_does_not(self):
        self.assertIn(b"<plist", self.gateway.get(FEED, "text/xml").body)
        self.assertNotIn(b"<plist", self.gateway.get(FEED, XML).body)
        self.assertNotIn(b"<plist", self.gateway.get(FEED + "?format=xml").body)

    def test_publish_list_versions_and_roll_back(self):
        self.publish("rolling", {"n": 1})
        self.publish("rolling", {"n": 2})
        versions = json.loads(self.control("feeds", "versions", "rolling", "--output", "json").stdout)["versions"]
        self.assertEqual(len(versions), 2)
        self.publish("rolling", {"n": 2})
        self.assertEqual(len(json.loads(self.control("feeds", "versions", "rolling", "--output", "json").stdout)["versions"]), 2)
        done = self.control("feeds", "rollback", "rolling", "1")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.gateway.get("/plists/rolling", user="alice").plist(), {"n": 1})
        listed = json.loads(self.control("feeds", "list", "--output", "json").stdout)["feeds"]
        self.assertIn("rolling", [feed["name"] for feed in listed])

    def test_a_feed_that_is_not_public_needs_a_login(self):
        self.publish("internal", {"n": 1})
        self.expect(self.gateway.get("/plists/internal"), 401)
        self.expect(self.gateway.get("/plists/internal", user="alice"), 200)

    def test_an_unknown_feed_is_404(self):
        self.expect(self.gateway.get("/plists/nothing", JSON, user="alice"), 404, "record.notFound")

    def test_the_front_page_lists_the_feed(self):
        answer = self.expect(self.gateway.get("/", "text/html"), 200)
        self.assertTrue(answer.headers["content-type"].startswith("text/html"))
        self.assertIn(FEED, answer.text())

    @unittest.skipUnless((ROOT.parent / "shared/data/sonnets.txt").exists(), "needs the poems")
    def test_154_sonnets_in_154_out(self):
        poems = (ROOT.parent / "shared/data/sonnets.txt").read_text().strip("\n").split("\n\n")
        self.assertEqual(len(poems), 154)
        content = {"verses": [[roman(number), text] for number, text in enumerate(poems, 1)]}
        self.publish("all-sonnets", content)
        for accept in [PLIST, BPLIST]:
            self.assertEqual(self.gateway.get("/plists/all-sonnets", accept, user="alice").plist(), content)
        self.assertEqual(self.gateway.get("/plists/all-sonnets", JSON, user="alice").json(), content)


if __name__ == "__main__":
    unittest.main()
