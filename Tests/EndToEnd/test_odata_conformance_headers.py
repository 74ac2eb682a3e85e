"""The header fields of OData responses."""

import unittest

from odata_reference import ReferenceTest

QUICK = True


class HeaderFields(ReferenceTest):
    def test_vary_names_the_fields_of_the_negotiation(self):
        made = self.request("POST", "Products", {"Name": "Vary", "Price": 1}, 201)
        for answer in [self.get("Products?$top=1"), self.get("$metadata"), self.get(""), made]:
            self.assertEqual(answer.headers["vary"], "Accept, OData-MaxVersion, Prefer, Accept-Encoding")

    def test_documents_can_be_kept(self):
        for path in ["", "$metadata", "$metadata?$format=json"]:
            first = self.get(path)
            self.assertEqual(first.headers["cache-control"], "private, no-cache")
            again = self.get(path, 304, If_None_Match=first.headers["etag"])
            self.assertEqual((again.body, again.headers["etag"]), (b"", first.headers["etag"]))
            self.get(path, 200, If_None_Match='W/"1"')

    def test_an_error_names_its_language_and_its_version(self):
        for version in ["4.0", "4.01"]:
            answer = self.get("Products?$top=x", 400, OData_MaxVersion=version)
            self.assertEqual(answer.headers["content-language"], "en")
            self.assertEqual(answer.headers["odata-version"], version)

    def test_snapshots_are_not_promised(self):
        self.refused("Products", 412, Isolation="snapshot")
        self.refused("Products", 412, OData_Isolation="snapshot")

    def test_a_preference_is_confirmed_as_it_was_called(self):
        for name in ["maxpagesize", "odata.maxpagesize"]:
            answer = self.get("Products", Prefer=f"{name}=2")
            self.assertEqual(answer.headers["preference-applied"], f"{name}=2")
        wish = 'odata.include-annotations="*,-Org.OData.Core.V1.*"'
        self.assertEqual(self.get("Products", Prefer=wish).headers["preference-applied"], wish)


if __name__ == "__main__":
    unittest.main()
