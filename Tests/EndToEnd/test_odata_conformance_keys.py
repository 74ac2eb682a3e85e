"""Keys that the service generates."""

import unittest

from odata_reference import ReferenceTest

QUICK = True

ABSENT = "00000000-0000-0000-0000-0000000000ff"


class ServiceKeys(ReferenceTest):
    def test_a_key_that_is_sent_is_ignored(self):
        made = self.request("POST", "Products", {"ID": ABSENT, "Name": "Mine", "Price": 1}, 201).json()
        self.assertNotEqual(made["ID"], ABSENT)
        self.get(f"Products({ABSENT})", 404)

    def test_what_is_not_there_is_not_made_by_a_change(self):
        for method in ["PUT", "PATCH"]:
            for condition in [{}, {"If_Match": "*"}, {"If_Match": 'W/"1"'}]:
                self.request(method, f"Products({ABSENT})", {"Name": "No", "Price": 1}, 404, **condition)
        self.request("PUT", f"MediaItems({ABSENT})", {"Name": "No", "ContentType": "text/plain"}, 404)

    def test_a_key_that_clients_choose_makes_one(self):
        product = self.product("Told")["ID"]
        path = f"ProductDescriptions(ProductID={product},LanguageKey='DE')"
        self.request("PUT", path, {"Description": "No"}, 412, If_Match="*")
        self.request("PUT", path, {"Description": "Erz\u00e4hlt"}, 201)
        self.get(path)

    def test_nothing_is_in_an_empty_list(self):
        self.assertEqual(self.names("Products?$filter=Name in ()"), [])


if __name__ == "__main__":
    unittest.main()
