"""OData version negotiation, and what version 4.0 does not have."""

import unittest

from odata_reference import ReferenceTest

QUICK = True


class Versions(ReferenceTest):
    def test_the_negotiated_version_is_in_the_response(self):
        for headers, version in [
            ({}, "4.01"), ({"OData_MaxVersion": "4.0"}, "4.0"), ({"OData_MaxVersion": "4.01"}, "4.01"),
            ({"OData_Version": "4.0"}, "4.01"), ({"OData_MaxVersion": "5.0"}, "4.01"),
        ]:
            self.assertEqual(self.get("Products?$top=1", **headers).headers["odata-version"], version, headers)

    def test_an_unsupported_version_is_refused(self):
        self.refused("Products", 406, OData_MaxVersion="3.0")
        for version in ["nonsense", "4", "4.1", "4.0, 4.01", "5.0"]:
            self.request("POST", "Categories", {"Name": "Unread"}, 400, OData_Version=version)
            self.get("Products", OData_Version=version)

    def test_urls_of_4_01_are_understood_whatever_the_answer_is_written_in(self):
        key = self.values("Products?$top=1&$select=ID")[0]["ID"]
        for path in [
            "Products?$filter=Name in ('Laptop')", "Products?$filter=Price divby 2 gt 1", "Products?$schemaversion=*",
            "Products?$compute=Price add 1 as More", "Products?TOP=1", f"Products/{key}",
        ]:
            self.assertEqual(self.get(path, OData_MaxVersion="4.0").headers["odata-version"], "4.0", path)
        self.assertEqual(len(self.values("Products?top=1", OData_MaxVersion="4.0")), 1)

    def test_the_model_is_written_in_the_negotiated_version(self):
        for version in ["4.0", "4.01"]:
            self.assertIn(f'Version="{version}"', self.get("$metadata", OData_MaxVersion=version).text())
            document = self.get("$metadata?$format=json", OData_MaxVersion=version).json()
            self.assertEqual(document["$Version"], version)

    def test_control_information_is_prefixed_in_4_0(self):
        body = {"@type": "#ComplianceService.SpecialProduct", "Name": "Prefix", "Price": 1}
        self.request("POST", "Products", body, 400, OData_Version="4.0")
        self.request("POST", "Products", body, 201, OData_Version="4.01")

    def test_a_model_that_never_was_is_not_found(self):
        self.get("Products?$schemaversion=*&$top=1")
        self.refused("Products?$schemaversion=never", 404)


if __name__ == "__main__":
    unittest.main()
