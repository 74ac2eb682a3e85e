"""Queries over several sets: `$crossjoin` and `$all`."""

import unittest

from odata_reference import ReferenceTest

QUICK = True

BOTH = "$crossjoin(Products,Categories)"
MATCH = "$filter=Products/CategoryID eq Categories/ID"


class CrossJoins(ReferenceTest):
    def count(self, sets):
        return int(self.get(f"{sets}/$count").text())

    def test_every_combination_is_a_row_of_links(self):
        page = self.get(BOTH).json()
        self.assertTrue(page["@odata.context"].endswith("$metadata#Collection(Edm.ComplexType)"))
        self.assertEqual(len(page["value"]), self.count("Products") * self.count("Categories"))
        self.get(page["value"][0]["Products@odata.navigationLink"])

    def test_names_of_sets_begin_the_paths(self):
        rows = self.values(f"{BOTH}?{MATCH}&$expand=Products($expand=Category),Categories($select=Name)&$orderby=Products/Price desc")
        self.assertEqual(len(rows), self.count("Products"))
        self.assertTrue(all(row["Products"]["Category"]["Name"] == row["Categories"]["Name"] for row in rows))
        prices = [row["Products"]["Price"] for row in rows]
        self.assertEqual(prices, sorted(prices, reverse=True))

    def test_pages_lead_through_all_once(self):
        seen, path = [], f"{BOTH}?$count=true&$expand=*"
        while path:
            page = self.get(path, Prefer="maxpagesize=5").json()
            seen += [(row["Products"]["ID"], row["Categories"]["ID"]) for row in page["value"]]
            path = page.get("@odata.nextLink", "").partition("/odata/v4/reference/")[2]
        self.assertEqual(len(set(seen)), page["@odata.count"])
        self.assertEqual(len(seen), page["@odata.count"])

    def test_what_is_joined_is_aggregated(self):
        names = {row["ID"]: row["Name"] for row in self.values("Categories")}
        products = [row for row in self.values("Products") if row["CategoryID"] in names]
        match = "filter(Products/CategoryID eq Categories/ID)"
        total = "aggregate(Products/Price with sum as Total,Products/$count as N)"
        page = self.get(f"{BOTH}?$apply={match}/groupby((Categories/Name),{total})&$orderby=Total desc").json()
        self.assertTrue(page["@odata.context"].endswith("$metadata#Collection(Edm.ComplexType)"))
        own = {name: [row["Price"] for row in products if names[row["CategoryID"]] == name] for name in names.values()}
        self.assertEqual(
            {row["Categories"]["Name"]: (round(row["Total"], 2), row["N"]) for row in page["value"]},
            {name: (round(sum(prices), 2), len(prices)) for name, prices in own.items() if prices})
        totals = [row["Total"] for row in page["value"]]
        self.assertEqual(totals, sorted(totals, reverse=True))
        # Without a condition each product is there once for every category, and counts once.
        [row] = self.values(f"{BOTH}?$apply=aggregate($count as Rows,Products/$count as N)")
        every = len(self.values("Products"))
        self.assertEqual((row["Rows"], row["N"]), (every * len(names), every))

    def test_a_join_without_aggregation_is_paged(self):
        path, found = f"{BOTH}?$apply=filter(Products/CategoryID eq Categories/ID)/compute(Products/Price mul 2 as Twice)&$count=true", []
        while path:
            page = self.get(path, Prefer="maxpagesize=3").json()
            found += page["value"]
            path = page.get("@odata.nextLink", "").partition("/odata/v4/reference/")[2]
        self.assertEqual(len(found), page["@odata.count"])
        for row in found:
            self.assertEqual(row["Products"]["CategoryID"], row["Categories"]["ID"])
            self.assertAlmostEqual(row["Twice"], row["Products"]["Price"] * 2)
        best = self.values(f"{BOTH}?$apply=filter(Products/CategoryID eq Categories/ID)/topcount(2,Products/Price)/groupby((Products/Name))")
        self.assertEqual(len(best), 2)
        self.refused(f"{BOTH}?$apply=groupby((Nothing/Name))")
        self.refused(f"{BOTH}?$apply=groupby((Name))")
        self.refused("$crossjoin(Products,Products)?$apply=identity")

    def test_what_is_no_set_is_not_found(self):
        self.refused("$crossjoin(Products,Nothing)", 404)
        self.refused(f"{BOTH}?$filter=Name eq 'x'")

    def test_all_has_everything_with_its_own_context(self):
        rows, path = [], "$all?$count=true"
        while path:
            page = self.get(path, Prefer="maxpagesize=4").json()
            rows += page["value"]
            path = page.get("@odata.nextLink", "").partition("/odata/v4/reference/")[2]
        self.assertEqual(len({row["@odata.id"] for row in rows}), page["@odata.count"])
        self.assertIn("Products", {row["@odata.context"].rpartition("#")[2].partition("/")[0] for row in rows})

    def test_all_is_searched_where_there_is_a_full_text(self):
        rows = self.values("$all?$search=Laptop")
        self.assertIn("Laptop", {row.get("Name") for row in rows})
        self.assertLessEqual({row["@odata.id"].rpartition("/")[2].partition("(")[0] for row in rows}, {"Products", "ProductDescriptions"})

    def test_all_of_one_type(self):
        rows = self.values("$all/ComplianceService.SpecialProduct?$filter=Price gt 1&$select=Name")
        self.assertEqual({row["Name"] for row in rows}, set(self.names("Products/ComplianceService.SpecialProduct")))
        self.refused("$all/ComplianceService.Nothing", 404)


if __name__ == "__main__":
    unittest.main()
