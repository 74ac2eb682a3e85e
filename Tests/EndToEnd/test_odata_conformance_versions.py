"""Which version of OData is spoken, and what the older one does not have."""

import unittest

from odata_reference import ReferenceTest


class Versions(ReferenceTest):
    def test_the_version_that_is_spoken_is_told(self):
        for headers, version in [
            ({}, "4.01"), ({"OData_MaxVersion": "4.0"}, "4.0"), ({"OData_MaxVersion": "4.01"}, "4.01"),
            ({"OData_Version": "4.0"}, "4.01"), ({"OData_MaxVersion": "5.0"}, "4.01"),
        ]:
            self.assertEqual(self.get("Products?$top=1", **headers).headers["odata-version"], version, headers)

    def test_who_speaks_older_versions_only_is_told_so(self):
        self.refused("Products", 406, OData_MaxVersion="3.0")
        self.refused("Products", 400, OData_Version="nonsense")

    def test_what_4_01_brought_is_refused_in_4_0(self):
        for path in [
            "Products?$filter=Name in ('Laptop')", "Products?$compute=Price add 1 as More",
            "Products?$filter=Price divby 2 gt 1", "Products?$schemaversion=*",
        ]:
            self.get(path)
            self.refused(path, OData_MaxVersion="4.0")

    def test_keys_are_segments_since_4_01(self):
        key = self.values("Products?$top=1&$select=ID")[0]["ID"]
        self.get(f"Products/{key}")
        self.refused(f"Products/{key}", 404, OData_MaxVersion="4.0")

    def test_in_4_0_options_have_their_dollar(self):
        self.assertEqual(len(self.values("Products?top=1")), 1)
        self.assertGreater(len(self.values("Products?top=1", OData_MaxVersion="4.0")), 1)

    def test_a_model_that_never_was_is_not_found(self):
        self.get("Products?$schemaversion=*&$top=1")
        self.refused("Products?$schemaversion=never", 404)


if __name__ == "__main__":
    unittest.main()
