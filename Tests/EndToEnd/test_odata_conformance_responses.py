"""The format of OData responses: metadata levels, identities, and the client's preferences."""

import unittest

from odata_reference import ReferenceTest

QUICK = True


class Answers(ReferenceTest):
    def first(self, *names):
        return f"Products?$top=1&$orderby=Name&$select={','.join(names or ('Name', 'Description'))}"

    def test_the_metadata_levels_of_an_entity(self):
        output = {}
        for level in ("none", "minimal", "full"):
            answer = self.get(self.first(), Accept=f"application/json;odata.metadata={level}")
            self.assertIn(f"odata.metadata={level}", answer.headers["content-type"])
            output[level] = {key for key in answer.json()["value"][0] if "@" in key}
        self.assertEqual(output["none"], set())
        self.assertIn("@odata.etag", output["minimal"])
        self.assertLessEqual({"@odata.id", "@odata.type", "@odata.editLink", "Category@odata.navigationLink"}, output["full"])

    def test_an_entity_has_its_id_and_context(self):
        listed = self.values("Products?$top=1&$select=ID")[0]
        entity = self.get(f"Products({listed['ID']})").json()
        self.assertTrue(entity["@odata.id"].startswith("http://127.0.0.1:"), entity)
        self.assertTrue(entity["@odata.context"].endswith("$metadata#Products/$entity"), entity)

    def test_keys_are_there_whatever_is_selected(self):
        self.assertEqual(set(self.values("Products?$top=1&$select=Name")[0]) - {"@odata.etag", "@odata.type"}, {"ID", "Name"})

    def test_nulls_are_omitted_on_request(self):
        path = "Products?$filter=ReleaseDate eq null&$top=1&$select=Name,ReleaseDate"
        self.assertIn("ReleaseDate", self.values(path)[0])
        answer = self.get(path, Prefer="omit-values=nulls")
        self.assertNotIn("ReleaseDate", answer.json()["value"][0])
        self.assertIn("omit-values=nulls", answer.headers["preference-applied"])

    def test_defaults_are_omitted_on_request(self):
        named = self.product("Plain")
        self.assertEqual((named["Rating"], named["Quantity"]), (0, 0))
        path = f"Products({named['ID']})?$select=ID,Name,Price,Rating,Quantity,Version,Description,ProductType"
        answer = self.get(path, Prefer="omit-values=defaults")
        received = {name: value for name, value in answer.json().items() if "@" not in name}
        self.assertEqual(received, {"ID": named["ID"], "Name": "Plain", "Price": 1})
        self.assertEqual(answer.headers["preference-applied"], "omit-values=defaults")
        self.request("PATCH", f"Products({named['ID']})", {"Rating": 3}, 204)
        self.assertEqual(self.get(path, Prefer="omit-values=defaults").json()["Rating"], 3)
        self.assertNotIn("preference-applied", self.get(path, Prefer="omit-values=others").headers)

    def test_the_model_says_that_changes_can_be_followed(self):
        model = self.get("$metadata?$format=json").json()
        container = model["ComplianceService"][model["$EntityContainer"].split(".")[-1]]
        for name in ("Products", "Categories"):
            self.assertTrue(container[name]["@Org.OData.Capabilities.V1.ChangeTracking"]["Supported"])
        text = self.get("$metadata").text()
        self.assertIn('Include Namespace="Org.OData.Capabilities.V1"', text)

    def test_large_numbers_are_strings_on_request(self):
        page = self.get("Products?$count=true&$top=1", Accept="application/json;IEEE754Compatible=true").json()
        self.assertIsInstance(page["@odata.count"], str)
        self.assertIsInstance(self.get("Products?$count=true&$top=1").json()["@odata.count"], int)

    def test_options_stand_where_they_mean_something(self):
        one = f"Products({self.values('Products?$top=1&$select=ID')[0]['ID']})"
        for option in ("$filter=Price gt 1", "$top=1", "$skip=1", "$orderby=Name", "$count=true", "$search=x"):
            self.refused(f"{one}?{option}")
        for wrong in ("$top=-1", "$skip=x", "$count=maybe", "$filter=", "$orderby=Price sideways", "$unknown=1", "$top=1&$top=2"):
            self.refused(f"Products?{wrong}")

    def test_a_null_for_what_the_service_computes_is_ignored(self):
        made = self.product("Computed", ID=None, CreatedAt=None, Version=None)
        self.assertTrue(made["ID"] and made["CreatedAt"])
        self.assertEqual(made["Version"], 1)
        path = f"Products({made['ID']})"
        self.request("PATCH", path, {"Rating": 3, "Version": None, "CreatedAt": None}, 200, Prefer="return=representation")
        now = self.get(path).json()
        self.assertEqual((now["Rating"], now["Version"], now["CreatedAt"]), (3, 2, made["CreatedAt"]))
        self.request("POST", "Products", {"Name": None, "Price": 1}, 400)

    def test_an_empty_segment_is_no_part_of_a_path(self):
        for path in ("/Products", "//", "/$metadata", "Products//$count"):
            answer = self.gateway.get("/odata/v4/reference/" + path)
            self.assertIn(answer.status, (400, 404), path)
        self.assertEqual(self.gateway.get("/odata/v4/reference").status, 200)

    def test_a_reference_system_is_a_text_in_the_models_json(self):
        model = self.get("$metadata?$format=json").json()["ComplianceService"]
        self.assertEqual(model["Product"]["Location"]["$SRID"], "4326")

    def test_methods_that_a_resource_does_not_have(self):
        for method, path in [
            ("DELETE", "Products"), ("PUT", "Products"), ("POST", "$metadata"), ("DELETE", ""), ("DELETE", "Company"),
            ("POST", "Products/$count"),
        ]:
            answer = self.request(method, path, {} if method != "DELETE" else None, 405)
            self.assertIn("GET", answer.headers["allow"])


if __name__ == "__main__":
    unittest.main()
