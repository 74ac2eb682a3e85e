"""OData 2.0 in Atom over the demonstration's admissions service, checked from outside by another XML parser."""

import http.cookies
import random
import unittest
import urllib.parse
import xml.etree.ElementTree as ElementTree

from harness import GatewayTest

ROOT = "/sap/opu/odata/sap/ADMISSIONSCOUNSELOR/"
ATOM, XML = "application/atom+xml", "application/xml"
A = "{http://www.w3.org/2005/Atom}"
M = "{http://schemas.microsoft.com/ado/2007/08/dataservices/metadata}"
D = "{http://schemas.microsoft.com/ado/2007/08/dataservices}"
EDM = "{http://schemas.microsoft.com/ado/2008/09/edm}"
EDMX = "{http://schemas.microsoft.com/ado/2007/06/edmx}"
APP = "{http://www.w3.org/2007/app}"
SAP = "{http://www.sap.com/Protocols/SAPData}"
RELATED = "http://schemas.microsoft.com/ado/2007/08/dataservices/related/"

ENTRY = """<?xml version="1.0" encoding="utf-8"?>
<entry xmlns="http://www.w3.org/2005/Atom" xmlns:m="http://schemas.microsoft.com/ado/2007/08/dataservices/metadata"
  xmlns:d="http://schemas.microsoft.com/ado/2007/08/dataservices">
  <category term="ADMISSIONSCOUNSELOR.{type}" scheme="http://schemas.microsoft.com/ado/2007/08/dataservices/scheme"/>
  {links}<content type="application/xml"><m:properties>{properties}</m:properties></content></entry>"""


class AtomTest(GatewayTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        form = urllib.parse.urlencode({"j_user": "alice", "j_password": "portico-demo"})
        answer = cls.gateway.request("POST", "/irj/portal", form, {"Content-Type": "application/x-www-form-urlencoded"})
        assert answer.status == 200, answer
        cookie = http.cookies.SimpleCookie(answer.headers["set-cookie"])["portico_session"]
        cls.session = {"Cookie": f"{cookie.key}={cookie.value}; Domain=portico.example; Path=/"}
        cls.token = cls.gateway.get(ROOT, headers={**cls.session, "X-CSRF-Token": "Fetch"}).headers["x-csrf-token"]

    def get(self, path, status=200, **headers):
        path = path if path.startswith("/") else ROOT + path
        return self.expect(self.gateway.get(self.quoted(path), headers={**self.session, **headers}), status)

    def send(self, method, path, body=None, status=None, kind=ATOM, token=True, **headers):
        headers = {**self.session, "Content-Type": kind, **{name.replace("_", "-"): text for name, text in headers.items()}}
        if token:
            headers["X-CSRF-Token"] = self.token
        answer = self.gateway.request(method, ROOT + self.quoted(path), body, headers)
        return self.expect(answer, status) if status else answer

    @staticmethod
    def quoted(path):
        return path.replace(" ", "%20").replace("'", "%27")

    def xml(self, path, **headers):
        return ElementTree.fromstring(self.get(path, **headers).body)

    @staticmethod
    def values(entry):
        found = entry.find(f"{A}content/{M}properties")
        return {child.tag.removeprefix(D): child.text for child in found}

    @staticmethod
    def entry(kind, links="", **properties):
        texts = "".join(
            f'<d:{name} m:null="true"/>' if value is None else f"<d:{name}>{value}</d:{name}>"
            for name, value in properties.items())
        return ENTRY.format(type=kind, links=links, properties=texts)


class Documents(AtomTest):
    def test_atom_is_the_default_format(self):
        answer = self.get("States?$top=2")
        self.assertIn("application/atom+xml", answer.headers["content-type"])
        self.assertEqual(answer.headers["dataserviceversion"], "2.0")
        feed = ElementTree.fromstring(answer.body)
        self.assertEqual((feed.tag, len(feed.findall(f"{A}entry"))), (f"{A}feed", 2))

    def test_the_service_document_lists_the_sets(self):
        answer = self.get("")
        self.assertIn("application/atomsvc+xml", answer.headers["content-type"])
        service = ElementTree.fromstring(answer.body)
        collections = [c.get("href") for c in service.iter(f"{APP}collection")]
        self.assertEqual(set(collections), {"States", "Schools", "Students", "Counselors", "Visits", "Appointments"})

    def test_the_model_is_edmx_with_associations(self):
        document = self.xml("$metadata")
        self.assertEqual((document.tag, document.get("Version")), (f"{EDMX}Edmx", "1.0"))
        self.assertEqual(document.find(f"{EDMX}DataServices").get(f"{M}DataServiceVersion"), "2.0")
        properties = {p.get("Name"): p for p in document.find(f".//{EDM}EntityType[@Name='Student']").iter(f"{EDM}Property")}
        self.assertEqual(properties["BirthDate"].get("Type"), "Edm.DateTime")
        self.assertEqual(properties["BirthDate"].get(f"{SAP}display-format"), "Date")
        self.assertEqual(properties["GPA"].get("Type"), "Edm.Decimal")
        names = {a.get("Name") for a in document.iter(f"{EDM}Association")}
        for navigation in document.iter(f"{EDM}NavigationProperty"):
            self.assertIn(navigation.get("Relationship").split(".")[1], names)
        roles = {e.get("Role") for a in document.iter(f"{EDM}AssociationSet") for e in a.iter(f"{EDM}End")}
        self.assertTrue(roles)

    def test_an_entry_has_its_address_type_links_and_values(self):
        entry = self.xml("Students(1)")
        self.assertTrue(entry.find(f"{A}id").text.endswith(ROOT + "Students(1)"))
        self.assertEqual(entry.find(f"{A}category").get("term"), "ADMISSIONSCOUNSELOR.Student")
        links = {link.get("rel"): link.get("href") for link in entry.findall(f"{A}link")}
        self.assertEqual(links["edit"], "Students(1)")
        self.assertEqual(links[RELATED + "School"], "Students(1)/School")
        self.assertTrue(entry.get(f"{M}etag"))
        properties = entry.find(f"{A}content/{M}properties")
        self.assertEqual(properties.find(f"{D}StudentID").get(f"{M}type"), "Edm.Int32")
        json = self.get("Students(1)?$format=json").json()["d"]
        self.assertEqual(properties.find(f"{D}GPA").text, json["GPA"])
        self.assertRegex(properties.find(f"{D}BirthDate").text, r"^\d{4}-\d\d-\d\dT00:00:00$")

    def test_counts_pages_and_expansions(self):
        feed = self.xml("States?$inlinecount=allpages&$top=1&$expand=Schools")
        self.assertEqual(feed.find(f"{M}count").text, "51")
        inline = [link.find(f"{M}inline") for link in feed.iter(f"{A}link") if link.get("rel") == RELATED + "Schools"]
        self.assertEqual(len(inline), 1)
        self.assertIsNotNone(inline[0].find(f"{A}feed"))
        seen, link = [], "Students?$select=StudentID"
        while link:
            feed = self.xml(link)
            seen += [self.values(entry)["StudentID"] for entry in feed.findall(f"{A}entry")]
            following = [l.get("href") for l in feed.findall(f"{A}link") if l.get("rel") == "next"]
            link = following and urllib.parse.urlsplit(following[0])._replace(scheme="", netloc="").geturl()
        self.assertEqual((len(seen), len(set(seen))), (400, 400))

    def test_one_related_entity_is_an_entry_and_none_is_nothing(self):
        created = ElementTree.fromstring(
            self.send("POST", "Students", self.entry("Student", FirstName="No", LastName="School"), 201).body)
        path = f"Students({self.values(created)['StudentID']})"
        inline = self.xml(f"{path}?$expand=School").find(f"{A}link/{M}inline")
        self.assertEqual(len(list(inline)), 0)
        inline = self.xml("Students(1)?$expand=School").find(f"{A}link/{M}inline/{A}entry")
        self.assertEqual(inline.find(f"{A}category").get("term"), "ADMISSIONSCOUNSELOR.School")

    def test_a_property_and_links_alone(self):
        name = self.xml("States('MS')/Name")
        self.assertEqual((name.tag, name.text), (f"{D}Name", "Mississippi"))
        uri = self.xml("Students(1)/$links/School")
        self.assertEqual(uri.tag, f"{D}uri")
        self.assertRegex(uri.text, r"Schools\(\d+\)$")
        links = self.xml("States('MS')/$links/Schools")
        self.assertEqual(links.tag, f"{D}links")
        self.assertTrue(all("Schools(" in uri.text for uri in links.findall(f"{D}uri")))


class Errors(AtomTest):
    def test_a_failure_is_reported_in_saps_xml(self):
        for path, status in [("States('XX')", 404), ("Students?$filter=Nope eq 1", 400), ("Students?$filter=(", 400),
                             ("Nothing", 404), ("Students?$top=x", 400)]:
            answer = self.get(path, status)
            self.assertIn("application/xml", answer.headers["content-type"])
            error = ElementTree.fromstring(answer.body)
            self.assertEqual(error.tag, f"{M}error")
            self.assertTrue(error.find(f"{M}code").text)
            message = error.find(f"{M}message")
            self.assertTrue(message.text)
            self.assertEqual(message.get("{http://www.w3.org/XML/1998/namespace}lang"), "en")
            self.assertEqual(error.find(f"{M}innererror/{M}transactionid").text, answer.headers["x-request-id"])

    def test_a_missing_session_is_reported_in_saps_xml_too(self):
        answer = self.expect(self.gateway.get(ROOT + "States"), 401)
        self.assertEqual(ElementTree.fromstring(answer.body).tag, f"{M}error")

    def test_what_a_hostile_body_holds_is_refused_and_not_resolved(self):
        bomb = '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]>'
        outside = '<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]>'
        body = self.entry("Student", FirstName="&a;", LastName="B").removeprefix('<?xml version="1.0" encoding="utf-8"?>')
        deep = "<a>" * 500 + "</a>" * 500
        for text in [bomb + body, outside + body, body, deep, "", "<entry", "<entry/>", body.replace("&a;", "\x01")]:
            answer = self.send("POST", "Students", text)
            self.assertEqual(answer.status, 400, text[:60])
            self.assertNotIn(b"root:", answer.body)
            self.assertEqual(ElementTree.fromstring(answer.body).tag, f"{M}error")

    def test_a_damaged_body_is_answered_whatever_became_of_it(self):
        chance = random.Random(2011)
        links = f'<link rel="{RELATED}School" href="Schools(2)"/><link rel="{RELATED}Visits"><m:inline><feed/></m:inline></link>'
        whole = self.entry("Student", links, FirstName="A", LastName="B", GPA="3.25", BirthDate="2001-02-03T00:00:00").encode()
        statuses = set()
        for _ in range(300):
            body = bytearray(whole)
            for _ in range(chance.randint(1, 4)):
                start, length = chance.randrange(len(body)), chance.randint(0, 12)
                body[start:start + length] = chance.choice([
                    b"", b"<", b"&#0;", b"&#x41;", b"<![CDATA[", b"]]>", b"<a/>", b'"', chance.randbytes(3), bytes(body[start:start + 40])])
            answer = self.send("MERGE", "Students(399)", bytes(body))
            statuses.add(answer.status)
            if answer.status != 204:
                self.assertEqual(ElementTree.fromstring(answer.body).tag, f"{M}error", bytes(body))
        self.assertLessEqual(statuses, {204, 400, 409})
        self.assertIn(400, statuses)

    def test_a_text_that_xml_cannot_carry_is_refused_when_it_is_written(self):
        body = '{"FirstName": "A\\u0001", "LastName": "B"}'
        answer = self.send("POST", "Students?$format=json", body, 400, kind="application/json", Accept="application/json")
        self.assertIn("FirstName", answer.json()["error"]["message"]["value"])


class Writing(AtomTest):
    def test_an_entry_is_created_merged_replaced_and_deleted(self):
        body = self.entry(
            "Student", FirstName="A &amp; B", LastName=" spaces ", GPA="3.25", BirthDate="2001-02-03T00:00:00", Email=None,
            Registered="2026-01-02T03:04:05Z", SchoolID="1")
        answer = self.send("POST", "Students", body, 201)
        created = ElementTree.fromstring(answer.body)
        values = self.values(created)
        self.assertTrue(answer.headers["location"].endswith(f"Students({values['StudentID']})"))
        self.assertEqual((values["FirstName"], values["LastName"], values["GPA"]), ("A & B", " spaces ", "3.25"))
        self.assertEqual((values["BirthDate"], values["Registered"]), ("2001-02-03T00:00:00", "2026-01-02T03:04:05Z"))
        path = f"Students({values['StudentID']})"
        self.send("MERGE", path, self.entry("Student", GPA="3.75"), 204)
        merged = self.values(self.xml(path))
        self.assertEqual((merged["GPA"], merged["FirstName"]), ("3.75", "A & B"))
        self.send("POST", path, self.entry("Student", GPA="2.5"), 204, X_HTTP_Method="MERGE")
        self.send("PUT", path, self.entry("Student", FirstName="C", LastName="D"), 204)
        replaced = self.values(self.xml(path))
        self.assertEqual((replaced["GPA"], replaced["FirstName"]), (None, "C"))
        self.send("DELETE", path, status=204)
        self.get(path, 404)

    def test_what_was_read_can_be_sent_back(self):
        self.send("PUT", "Students(3)", self.get("Students(3)").body, 204)
        links = {l.get("href") for l in self.xml("Students(3)").findall(f"{A}link")}
        self.assertIn("Students(3)/School", links)

    def test_links_and_entries_within_an_entry(self):
        visit = self.entry("Visit", VisitID="910001", VisitedAt="2026-03-01T10:00:00Z").split("?>")[1]
        links = (
            f'<link rel="{RELATED}School" type="application/atom+xml;type=entry" href="Schools(2)"/>'
            f'<link rel="{RELATED}Visits" type="application/atom+xml;type=feed" title="Visits"><m:inline><feed>{visit}</feed>'
            "</m:inline></link>")
        created = ElementTree.fromstring(
            self.send("POST", "Students", self.entry("Student", links, FirstName="A", LastName="B"), 201).body)
        values = self.values(created)
        self.assertEqual(values["SchoolID"], "2")
        visits = self.xml(f"Students({values['StudentID']})/Visits").findall(f"{A}entry")
        self.assertEqual([self.values(v)["VisitID"] for v in visits], ["910001"])

    def test_a_link_is_set_by_its_address(self):
        body = f'<uri xmlns="{D[1:-1]}">{ROOT}Schools(5)</uri>'
        self.send("PUT", "Students(4)/$links/School", body, 204, kind=XML)
        self.assertTrue(self.xml("Students(4)/$links/School").text.endswith("Schools(5)"))

    def test_wrong_values_are_refused_with_their_property(self):
        for properties, target in [({"GPA": "x"}, "GPA"), ({"BirthDate": "2001-02-03T01:00:00"}, "BirthDate"), ({"Nope": "1"}, "Nope")]:
            answer = self.send("POST", "Students", self.entry("Student", FirstName="A", LastName="B", **properties), 400)
            error = ElementTree.fromstring(answer.body)
            self.assertEqual(error.find(f"{M}innererror/{M}errordetails/{M}errordetail/{M}propertyref").text, target)


class EveryType(AtomTest):
    """Of the reference model, which is writable without a login."""

    ROOT = "/odata/v2/reference/"

    def ask(self, path, accept=ATOM):
        return self.expect(self.gateway.get(self.ROOT + self.quoted(path), accept), 200)

    def plain(self, path):
        return self.gateway.get("/odata/v4/reference/" + self.quoted(path)).json()

    def product(self, name="Laptop"):
        rows = self.ask(f"Products?$filter=Name eq '{name}'", "application/json").json()["d"]["results"]
        return rows[0]["__metadata"]["uri"].split(self.ROOT)[1]

    def test_what_was_read_and_is_sent_back_is_the_same_in_version_4(self):
        for name in ("Laptop", "Coffee Mug"):
            path = self.product(name)
            there = path.replace("guid'", "").replace("')", ")")
            before = self.plain(there)
            headers = {"Content-Type": ATOM}
            self.expect(self.gateway.request("PUT", self.ROOT + path, self.ask(path).body, headers), 204)
            after = self.plain(there)
            for changing in ("@odata.etag", "Version"):
                before.pop(changing), after.pop(changing)
            self.assertEqual(after, before)

    def test_derived_types_complex_values_geography_and_enumerations_are_written(self):
        entry = ElementTree.fromstring(self.ask(self.product()).body)
        self.assertEqual(entry.find(f"{A}category").get("term"), "ComplianceService.SpecialProduct")
        values = entry.find(f"{A}content/{M}properties")
        self.assertEqual(values.find(f"{D}Status").text, "InStock,Featured")
        self.assertEqual(values.find(f"{D}ShippingAddress").get(f"{M}type"), "ComplianceService.Address")
        self.assertEqual(values.find(f"{D}ShippingAddress/{D}City").text, "Seattle")
        self.assertIn('"Point"', values.find(f"{D}Location").text)
        self.assertEqual(values.find(f"{D}OpenTime").text, "PT09H30M00S")
        self.assertEqual(values.find(f"{D}Description").get(f"{M}null"), "true")

    def test_a_media_entry_has_its_properties_beside_its_content(self):
        entry = ElementTree.fromstring(self.ask("MediaItems").body).find(f"{A}entry")
        source = entry.find(f"{A}content").get("src")
        self.assertEqual(entry.find(f"{A}content").get("type"), entry.find(f"{M}properties/{D}ContentType").text)
        self.assertIn(source, [link.get("href") for link in entry.findall(f"{A}link") if link.get("rel") == "edit-media"])
        self.assertIsNotNone(entry.find(f"{M}properties/{D}ContentType"))
        self.assertEqual(len(self.ask(source).body), 20)

    def test_functions_answer_properties_and_feeds(self):
        twice = ElementTree.fromstring(self.ask("Calculate?value=21").body)
        self.assertEqual((twice.tag, twice.text), (f"{D}Calculate", "42"))
        top = ElementTree.fromstring(self.ask("GetTopProducts?count=3").body)
        self.assertEqual(len(top.findall(f"{A}entry")), 3)


class Tokens(AtomTest):
    BODY = '{"FirstName": "A", "LastName": "B"}'

    def post(self, body=BODY, **headers):
        return self.gateway.request("POST", ROOT + "Students", body, {"Content-Type": "application/json", **headers})

    def test_a_write_needs_the_token_of_its_session(self):
        refused = self.expect(self.post(**self.session), 403)
        self.assertEqual(refused.headers["x-csrf-token"], "Required")
        self.assertEqual(ElementTree.fromstring(refused.body).tag, f"{M}error")
        self.expect(self.post(**self.session, **{"X-CSRF-Token": self.token}), 201)
        other = self.gateway.login("bob").headers["set-cookie"].split(";")[0]
        self.expect(self.post(Cookie=other, **{"X-CSRF-Token": self.token}), 403)

    def test_basic_authentication_needs_one_too(self):
        basic = {"Authorization": "Basic YWxpY2U6cG9ydGljby1kZW1v"}
        self.assertEqual(self.expect(self.post(**basic), 403).headers["x-csrf-token"], "Required")
        token = self.gateway.get(ROOT, headers={**basic, "X-CSRF-Token": "Fetch"}).headers["x-csrf-token"]
        self.expect(self.post(**basic, **{"X-CSRF-Token": token}), 201)
        self.expect(self.gateway.request(
            "POST", ROOT + "Students", self.BODY, {"Content-Type": "application/json", "X-CSRF-Token": token}, user="bob"), 403)

    def test_a_batch_needs_one_for_all_that_is_in_it(self):
        body = BATCH.format(change=change("POST", "Students", self.BODY, 1))
        kind = "multipart/mixed; boundary=b"
        refused = self.send("POST", "$batch", body, 403, kind=kind, token=False)
        self.assertEqual(refused.headers["x-csrf-token"], "Required")
        self.assertEqual(self.send("POST", "$batch", body, 202, kind=kind).body.count(b"HTTP/1.1 201"), 1)


BATCH = "--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n{change}--c--\r\n--b--\r\n"


def change(method, url, body, content_id):
    head = f"--c\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\nContent-ID: {content_id}\r\n\r\n"
    return f"{head}{method} {url} HTTP/1.1\r\nContent-Type: application/json\r\nAccept: application/json\r\n\r\n{body}\r\n"


def question(url):
    return f"--b\r\nContent-Type: application/http\r\n\r\nGET {url} HTTP/1.1\r\nAccept: application/json\r\n\r\n\r\n"


class Batches(AtomTest):
    def batch(self, body):
        answer = self.send("POST", "$batch", body, 202, kind="multipart/mixed; boundary=b")
        self.assertTrue(answer.headers["content-type"].startswith("multipart/mixed; boundary="))
        self.assertEqual(answer.headers["dataserviceversion"], "2.0")
        return answer.text()

    def statuses(self, text):
        return [int(line.split()[1]) for line in text.splitlines() if line.startswith("HTTP/1.1")]

    def test_reads_and_a_change_set_with_references_and_merge(self):
        changes = (
            change("POST", "Students", '{"FirstName": "Batch", "LastName": "One"}', 1)
            + change("MERGE", "$1", '{"GPA": "3.5"}', 2)
            + change("POST", "$1/Visits", '{"VisitID": 920001, "VisitedAt": "/Date(1767322800000+0000)/"}', 3))
        text = self.batch(
            question("States('MS')") + BATCH.format(change=changes).removesuffix("--b--\r\n")
            + question("Visits(920001)?$expand=Student") + "--b--\r\n")
        self.assertEqual(self.statuses(text), [200, 201, 204, 201, 200])
        self.assertIn('"GPA":"3.5"', text)

    def test_a_change_set_is_atomic(self):
        changes = change("POST", "States", '{"StateCode": "ZY", "Name": "No"}', 1) + change("POST", "States", '{"StateCode": "ZZ"}', 2)
        text = self.batch(BATCH.format(change=changes))
        self.assertEqual(self.statuses(text), [400])
        self.get("States('ZY')", 404)

    def test_every_part_goes_by_itself(self):
        text = self.batch(question("States('XX')") + question("States('MS')") + "--b--\r\n")
        self.assertEqual(self.statuses(text), [404, 200])

    def test_what_is_no_batch_is_refused(self):
        self.send("POST", "$batch", "{}", 415, kind="application/json")
        self.expect(self.gateway.request("POST", ROOT + "$batch", "", {"Content-Type": "multipart/mixed; boundary=b"}), 401)
        self.send("POST", "$batch", "--b\r\n", 400, kind="multipart/mixed; boundary=b")
        self.get("$batch", 405)


if __name__ == "__main__":
    unittest.main()
