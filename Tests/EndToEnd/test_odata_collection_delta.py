"""`PATCH` of a collection: a delta makes it what it says, all at once."""

import unittest

from odata_reference import ReferenceTest

CONTEXT = {"@context": "#$delta"}


class CollectionDeltas(ReferenceTest):
    def patch(self, items, status=204, path="Products", **headers):
        return self.request("PATCH", path, {**CONTEXT, "value": items}, status, **headers)

    def test_entities_are_created_changed_and_deleted_together(self):
        first, second = self.product("Delta one"), self.product("Delta two")
        self.patch([
            {"ID": first["ID"], "Price": 7},
            {"@id": f"Products({second['ID']})", "@removed": {"reason": "deleted"}},
            {"Name": "Delta three", "Price": 3, "Status": "InStock"},
        ])
        self.assertEqual(self.get(f"Products({first['ID']})").json()["Price"], 7)
        self.get(f"Products({second['ID']})", 404)
        self.assertEqual(self.names("Products?$filter=Name eq 'Delta three'"), ["Delta three"])

    def test_the_result_is_returned_on_request(self):
        first, second = self.product("Told one"), self.product("Told two")
        answer = self.patch(
            [{"ID": second["ID"], "@removed": {}}, {"ID": first["ID"], "Price": 8}], 200, Prefer="return=representation")
        body = answer.json()
        self.assertTrue(body["@odata.context"].endswith("#Products/$delta"), body)
        self.assertEqual(body["value"][0]["@odata.removed"], {"reason": "deleted"})
        self.assertEqual((body["value"][1]["ID"], body["value"][1]["Price"]), (first["ID"], 8))
        self.assertEqual(answer.headers["preference-applied"], "return=representation")

    def test_nothing_happens_where_one_item_cannot_be(self):
        first = self.product("Kept")
        self.patch([{"ID": first["ID"], "Price": 9}, {"Name": "Bad", "Price": "dear"}], 400)
        self.patch([{"ID": first["ID"], "Price": 9}, {"Name": "Bad", "Nothing": 1}], 400)
        self.assertEqual(self.get(f"Products({first['ID']})").json()["Price"], 1)

    def test_what_is_gone_already_is_passed_over(self):
        gone = self.product("Gone")
        self.request("DELETE", f"Products({gone['ID']})", status=204)
        self.patch([{"@id": f"Products({gone['ID']})", "@removed": {"reason": "deleted"}}])

    def test_an_etag_is_a_condition(self):
        entity = self.product("Tagged")
        self.patch([{"ID": entity["ID"], "@etag": entity["@odata.etag"], "Price": 2}])
        self.patch([{"ID": entity["ID"], "@etag": entity["@odata.etag"], "Price": 3}], 412)
        self.assertEqual(self.get(f"Products({entity['ID']})").json()["Price"], 2)

    def test_the_entities_of_another_one(self):
        category = self.request("POST", "Categories", {"Name": "Delta"}, 201).json()["ID"]
        one, two = self.product("Member one", CategoryID=category), self.product("Member two")
        self.patch(
            [{"@id": f"Products({two['ID']})"}, {"@id": f"Products({one['ID']})", "@removed": {"reason": "changed"}}],
            path=f"Categories({category})/Products")
        self.assertEqual(self.names(f"Categories({category})/Products"), ["Member two"])

    def test_what_a_delta_link_answered_is_one(self):
        page = self.get("Categories", Prefer="track-changes").json()
        made = self.request("POST", "Categories", {"Name": "Followed"}, 201).json()["ID"]
        delta = self.get(page["@odata.deltaLink"].partition("/odata/v4/reference/")[2]).json()
        self.request("DELETE", f"Categories({made})", status=204)
        items = [{name: value for name, value in item.items() if "etag" not in name} for item in delta["value"]]
        self.request("PATCH", "Categories", {"@context": delta["@odata.context"], "value": items}, 204)
        self.assertEqual(self.get(f"Categories({made})").json()["Name"], "Followed")

    def test_what_is_no_delta_is_refused(self):
        for body in ([], {}, {"value": 1}, {"@context": "#Products", "value": []}):
            self.request("PATCH", "Products", body, 400)
        self.patch([{"@removed": {"reason": "deleted"}}], 400)
        self.patch([{"ID": 1, "@removed": {"reason": "changed"}}], 400)
        self.patch([{"@context": "#Products/$link", "source": "Products(1)"}], 501)
        self.patch([], 405, OData_Version="4.0", OData_MaxVersion="4.0")
        self.patch([{"Name": "No"}], 405, path="ReadOnlyItems")


if __name__ == "__main__":
    unittest.main()
