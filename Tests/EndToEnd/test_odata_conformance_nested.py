"""Nested entities: deep insert and deep update."""

import unittest

from odata_reference import ReferenceTest

QUICK = True


class Nested(ReferenceTest):
    def descriptions(self, path):
        return {row["LanguageKey"]: row["Description"] for row in self.values(f"{path}/Descriptions")}

    def made(self, name, **properties):
        texts = [{"LanguageKey": "EN", "Description": "one"}, {"LanguageKey": "DE", "Description": "eins"}]
        product = self.product(name, Descriptions=texts, **properties)
        self.assertEqual(len(product["Descriptions"]), 2)
        return f"Products({product['ID']})"

    def change(self, path, body, status=204, **headers):
        return self.request("PATCH", path, body, status, **headers)

    def test_a_list_in_a_change_replaces_the_list(self):
        path = self.made("Whole")
        self.change(path, {"Descriptions": [
            {"LanguageKey": "EN", "Description": "first"}, {"LanguageKey": "FR", "Description": "un"}]})
        self.assertEqual(self.descriptions(path), {"EN": "first", "FR": "un"})
        self.change(path, {"Descriptions": []})
        self.assertEqual(self.descriptions(path), {})

    def test_a_delta_says_what_changes(self):
        path = self.made("Delta")
        key = path.removeprefix("Products(").removesuffix(")")
        gone = {"@removed": {"reason": "deleted"}, "@id": f"ProductDescriptions(ProductID={key},LanguageKey='EN')"}
        self.change(path, {"Descriptions@delta": [gone, {"LanguageKey": "IT", "Description": "uno"}]})
        self.assertEqual(self.descriptions(path), {"DE": "eins", "IT": "uno"})

    def test_one_entity_is_changed_where_it_is_and_created_where_none_is(self):
        path = self.made("Single")
        self.change(path, {"Category": {"Name": "New", "Description": "a"}})
        self.change(path, {"Category": {"Description": "b"}})
        self.assertEqual(self.get(f"{path}/Category").json()["Description"], "b")
        self.assertEqual(self.names("Categories?$filter=Name eq 'New'"), ["New"])
        self.change(path, {"Category": None})
        self.get(f"{path}/Category", 204)

    def test_links_are_made_and_parted(self):
        one, two = self.made("Left"), self.made("Right")
        self.change(one, {"RelatedProducts": [{"@id": two}]})
        self.assertEqual(self.names(f"{one}/RelatedProducts"), ["Right"])
        self.change(one, {"RelatedProducts": []})
        self.assertEqual(self.names(f"{one}/RelatedProducts"), [])
        self.get(two)

    def test_all_of_it_or_nothing(self):
        path = self.made("Atomic")
        self.change(path, {"Price": 5, "Descriptions": [{"LanguageKey": "EN", "Nothing": 1}]}, 400)
        self.assertEqual(self.get(path).json()["Price"], 1)
        self.assertEqual(len(self.descriptions(path)), 2)

    def test_odata_4_0_has_none_of_this(self):
        self.change(self.made("Old"), {"Descriptions": []}, 204)
        self.change(self.made("Older"), {"Category": {"Name": "X"}}, 400, OData_Version="4.0")


if __name__ == "__main__":
    unittest.main()
