"""A service that an SAP system described: what its EDMX says of sets and properties is told in both versions and holds."""

import json
import unittest
import xml.etree.ElementTree as ElementTree

from harness import JSON, ROOT, GatewayTest

QUICK = True

MODEL = ROOT / "Tests/EndToEnd/models/orders.edmx.xml"
OLD, NEW = "/sap/opu/odata/sap/ORDERS/", "/odata/v4/orders/"
SAP = "{http://www.sap.com/Protocols/SAPData}"
EDM4 = "{http://docs.oasis-open.org/odata/ns/edm}"
EDMX4 = "{http://docs.oasis-open.org/odata/ns/edmx}"


class Orders(GatewayTest):
    settings = (
        "--set", f"adapters.odata.services.orders.model={MODEL}", "--set", "adapters.odata.services.orders.access=public")

    def ask(self, path, status=200, root=OLD):
        path = root + path.replace(" ", "%20").replace("'", "%27")
        return self.expect(self.gateway.request("GET", path, headers={"Accept": JSON}, user="alice"), status)

    def send(self, method, path, body, status, root=OLD):
        headers = {"Content-Type": JSON, "Accept": JSON, "X-Requested-With": "X"}
        return self.expect(self.gateway.request(method, root + path, json.dumps(body), headers, user="alice"), status)

    def document(self, root):
        answer = self.gateway.request("GET", root + "$metadata", headers={"Accept": "application/xml"}, user="alice")
        return ElementTree.fromstring(self.expect(answer, 200).body)


class Telling(Orders):
    def test_version_2_tells_every_attribute_as_it_was_given(self):
        def declared(document):
            return {
                element.get("Name"): attributes for element in document.iter()
                if (attributes := {n: v for n, v in element.attrib.items() if n.startswith(SAP) and not n.endswith("-version")})}
        self.assertEqual(declared(self.document(OLD)), declared(ElementTree.parse(MODEL)))

    def test_version_4_tells_it_in_the_words_of_the_vocabularies(self):
        document = self.document(NEW)
        terms = {
            element.get("Name"): [a.get("Term").rsplit(".", 1)[1] for a in element.findall(f"{EDM4}Annotation")]
            for element in document.iter() if element.tag in (f"{EDM4}Property", f"{EDM4}EntitySet")}
        self.assertEqual(terms["ChangedAt"], ["Computed"])
        self.assertEqual(terms["Plant"], ["Label", "Immutable"])
        self.assertEqual(terms["Total"], ["ISOCurrency"])
        self.assertEqual(
            terms["Orders"],
            ["InsertRestrictions", "DeleteRestrictions", "FilterRestrictions", "SortRestrictions", "SearchRestrictions",
             "ChangeTracking"])
        self.assertEqual(terms["Lines"], ["FilterRestrictions", "CountRestrictions", "ChangeTracking"])
        used = {a.get("Term").rsplit(".", 1)[0] for a in document.iter(f"{EDM4}Annotation")}
        self.assertEqual({i.get("Namespace") for i in document.iter(f"{EDMX4}Include")}, used)


class Holding(Orders):
    def test_the_declared_writer_of_a_property_is_enforced(self):
        sent = {
            "No": "H1", "Plant": "P1", "Note": "mine", "ChangedAt": "/Date(0)/", "Total": "12.50", "Currency": "EUR"}
        answer = self.send("POST", "Orders", sent, 201)
        order = answer.json()["d"]
        self.assertEqual((order["Plant"], order["Note"], order["Total"]), ("P1", None, "12.50"))
        self.assertNotEqual(order["ChangedAt"], "/Date(0)/")
        message = json.loads(answer.headers["sap-message"])
        untaken = {message["target"], *(detail["target"] for detail in message["details"])}
        self.assertEqual(untaken, {"ChangedAt", "Note"})
        answer = self.send("MERGE", "Orders('H1')", {"Plant": "P2", "Note": "later"}, 204)
        self.assertEqual(json.loads(answer.headers["sap-message"])["target"], "Plant")
        order = self.ask("Orders('H1')").json()["d"]
        self.assertEqual((order["Plant"], order["Note"]), ("P1", "later"))
        self.expect(self.gateway.request("DELETE", OLD + "Orders('H1')", headers={"X-Requested-With": "X"}, user="alice"), 405)

    def test_a_query_cannot_do_what_a_set_excludes(self):
        for root in (OLD, NEW):
            for path, name in [
                ("Orders?$filter=Note eq 'x'", "Note"), ("Orders?$orderby=No,Note", "Note"),
                ("Lines", "$filter"), ("Lines?$filter=Id eq 1", "OrderNo"),
            ]:
                with self.subTest(root + path):
                    self.assertIn(name, self.ask(path, 400, root).text())
        self.assertIn("searched", self.ask("Orders?$search=x", 400, NEW).text())
        self.assertIn("counted", self.ask("Lines?$filter=OrderNo eq 'x'&$inlinecount=allpages", 400).text())
        self.assertIn("counted", self.ask("Lines?$filter=OrderNo eq 'x'&$count=true", 400, NEW).text())

    def test_a_filter_keeps_to_the_expressions_that_a_property_takes(self):
        for condition, name in [
            ("Plant eq 'A' or Plant eq 'B'", "Plant"), ("Plant ne 'A'", "Plant"), ("startswith(Plant,'A')", "Plant"),
            ("Plant eq 'A' and Plant eq 'B'", "Plant"), ("Currency gt 'A'", "Currency"),
            ("Currency eq 'A' or No eq 'B'", "Currency"), ("Total gt 1 and Total ge 2", "Total"),
            ("Total lt 1 or Total gt 2", "Total"), ("not (Total lt 1)", "Total"),
        ]:
            for root in (OLD, NEW):
                with self.subTest(root + condition):
                    self.assertIn(f"by {name} with", self.ask(f"Orders?$filter={condition}", 400, root).text())
        for condition in [
            "Plant eq 'A' and No gt 'B'", "(Currency eq 'A' or Currency eq 'B') and Plant eq 'C'",
            "Total ge 1 and 5 gt Total", "Total eq 1", "No eq 'A' or No eq 'B'",
        ]:
            for root in (OLD, NEW):
                with self.subTest(root + condition):
                    self.ask(f"Orders?$filter={condition}", root=root)
        self.ask("Orders?$filter=Currency in ('A','B')", root=NEW)

    def test_saps_search_is_refused_where_a_set_cannot_be_searched(self):
        error = self.ask("Orders?search=x", 400).json()["error"]
        self.assertIn("searched", error["message"]["value"])
        self.ask("Orders?search=")

    def test_what_is_not_excluded_is_answered(self):
        self.send("POST", "Orders", {"No": "Q1", "Lines": {"results": [{"Id": 1, "Text": "a"}]}}, 201)
        self.assertEqual(len(self.ask("Lines?$filter=OrderNo eq 'Q1' and Text eq 'a'").json()["d"]["results"]), 1)
        self.assertEqual(self.ask("Lines(1)").json()["d"]["Text"], "a")
        self.assertEqual(len(self.ask("Orders('Q1')/Lines").json()["d"]["results"]), 1)
        expanded = self.ask("Orders?$expand=Lines&$filter=Plant eq null&$orderby=No desc").json()["d"]["results"]
        self.assertIn("Q1", [order["No"] for order in expanded])
        self.assertEqual(self.ask("Orders?$filter=Lines/any(l:l/Text eq 'a')", root=NEW).json()["value"][0]["No"], "Q1")


if __name__ == "__main__":
    unittest.main()
