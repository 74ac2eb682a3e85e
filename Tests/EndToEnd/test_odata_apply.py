"""Collections within rows: `nest` and `addnested`, and sequences within `join`, held against what the sets have."""

import unittest

from odata_reference import ReferenceTest


class Nested(ReferenceTest):
    def setUp(self):
        super().setUp()
        if "Empty" not in self.names("Categories"):
            self.request("POST", "Categories", {"Name": "Empty"}, 201)
        self.products = self.values("Products?$expand=RelatedProducts($select=ID)&$orderby=ID")
        self.categories = self.values("Categories?$orderby=ID")

    def of(self, category):
        return [row for row in self.products if row["CategoryID"] == category["ID"]]

    def total(self, rows):
        return round(sum(row["Price"] for row in rows), 2) if rows else None

    @staticmethod
    def rounded(number):
        return None if number is None else round(number, 2)

    def test_parts_of_a_concat_stand_in_their_order_and_have_their_own_properties(self):
        asked = "Products?$apply=concat(topcount(2,Price),aggregate(Price with sum as Total),bottomcount(1,Price)/groupby((Name)))"
        rows = self.values(asked)
        prices = sorted((product["Price"] for product in self.values("Products")), reverse=True)
        self.assertEqual([row.get("Price") for row in rows], [*prices[:2], None, None])
        self.assertEqual(list(rows[2]), ["Total"])
        self.assertEqual(rows[3], {"Name": "Coffee Mug"})
        self.assertTrue(all("Total" not in row for row in rows[:2]))
        pages, address = [], asked
        while address:
            page = self.get(address, Prefer="maxpagesize=1").json()
            pages += page["value"]
            address = page.get("@odata.nextLink", "").partition("/reference/")[2]
        self.assertEqual(pages, rows)
        self.assertEqual(self.values(f"{asked}/skip(1)/top(2)"), rows[1:3])
        self.assertEqual(self.values(f"{asked}/concat(top(1),filter(Total ne null))"), [rows[0], rows[2]])
        self.assertEqual(self.values(f"{asked}&$orderby=Total desc,Name")[0], rows[2])

    def test_what_belongs_to_each_is_filtered_for_itself(self):
        page = self.get("Categories?$apply=addnested(Products,filter(Price gt 500) as Dear)&$orderby=ID").json()
        self.assertTrue(page["@odata.context"].endswith("$metadata#Categories(Dear())"))
        for row, category in zip(page["value"], self.categories, strict=True):
            self.assertEqual(row["Name"], category["Name"])
            self.assertTrue(row["Dear@odata.context"].endswith("$metadata#Products"))
            self.assertEqual(
                sorted(product["ID"] for product in row["Dear"]),
                sorted(product["ID"] for product in self.of(category) if product["Price"] > 500))

    def test_totals_are_there_for_those_that_have_nothing_too(self):
        steps = "aggregate(Price with sum as Total,$count as N) as Totals,topcount(1,Price) as Best"
        rows = self.values(f"Categories?$apply=addnested(Products,{steps})&$orderby=ID")
        for row, category in zip(rows, self.categories, strict=True):
            own = self.of(category)
            self.assertTrue(row["Totals@odata.context"].endswith("$metadata#Products(Total,N)"))
            self.assertEqual(len(row["Totals"]), 1)
            self.assertEqual(row["Totals"][0]["N"], len(own))
            self.assertEqual(self.rounded(row["Totals"][0]["Total"]), self.total(own))
            best = max((product["Price"] for product in own), default=None)
            self.assertEqual([product["Price"] for product in row["Best"]], [] if best is None else [best])
        self.assertIn(0, [row["Totals"][0]["N"] for row in rows])

    def test_groups_orders_and_parts_are_each_owners_own(self):
        steps = "groupby((Price gt 100),aggregate($count as N)) as Groups"
        self.refused(f"Categories?$apply=addnested(Products,{steps})")
        steps = "orderby(Price desc)/skip(1)/top(2) as Some,concat(aggregate($count as N),filter(Price gt 500)) as Both"
        rows = self.values(f"Categories?$apply=addnested(Products,{steps})&$orderby=ID")
        for row, category in zip(rows, self.categories, strict=True):
            own = sorted(self.of(category), key=lambda product: -product["Price"])
            self.assertEqual(
                sorted(product["Price"] for product in row["Some"]), sorted(product["Price"] for product in own[1:3]))
            self.assertEqual([item["N"] for item in row["Both"] if "N" in item], [len(own)])
            self.assertEqual(len(row["Both"]), 1 + sum(product["Price"] > 500 for product in own))

    def test_the_dearest_of_each_that_reach_a_sum_or_a_share(self):
        steps = "topsum(600,Price) as Sum,toppercent(50,Price) as Share,bottomsum(100,Price) as Low"
        rows = self.values(f"Categories?$apply=addnested(Products,{steps})&$orderby=ID")

        def reaching(prices, limit):
            found = []
            while len(found) < len(prices) and sum(found) < limit:
                found.append(prices[len(found)])
            return found

        for row, category in zip(rows, self.categories, strict=True):
            prices = sorted((product["Price"] for product in self.of(category)), reverse=True)
            for name, expected in (
                ("Sum", reaching(prices, 600)), ("Share", reaching(prices, sum(prices) / 2)),
                ("Low", reaching(prices[::-1], 100)),
            ):
                with self.subTest(category=category["Name"], name=name):
                    self.assertEqual(sorted(product["Price"] for product in row[name]), sorted(expected))

    def test_united_rows_keep_their_collections_and_get_further_ones(self):
        nested = "addnested(Products,aggregate($count as N) as T)"
        names = {category["ID"]: category["Name"] for category in self.categories}
        rows = self.values(f"Categories?$apply=concat(filter(Name eq 'Electronics')/{nested},filter(Name ne 'Electronics'))")
        self.assertEqual(len(rows), len(names))
        for row in rows:
            own = [{"N": len(self.of(row))}] if names[row["ID"]] == "Electronics" else []
            self.assertEqual(row["T"], own)
        rows = self.values(f"Categories?$apply=concat(identity,filter(Name eq 'Electronics'))/{nested}")
        self.assertEqual(len(rows), len(names) + 1)
        for row in rows:
            self.assertEqual(row["T"], [{"N": len(self.of(row))}])
        self.refused(f"Categories?$apply=groupby((Name))/{nested}")

    def test_of_each_group_any_part_is_taken(self):
        rows = self.values("Products?$apply=groupby((CategoryID),topcount(1,Price))")
        dearest = {}
        for product in self.products:
            key = product["CategoryID"]
            dearest[key] = max(dearest.get(key, 0), product["Price"])
        self.assertEqual({row["CategoryID"]: row["Price"] for row in rows}, dearest)
        rows = self.values("Products?$apply=groupby((CategoryID),orderby(Price desc)/skip(1)/aggregate(Price with sum as S,$count as N))")
        for row in rows:
            prices = sorted(product["Price"] for product in self.products if product["CategoryID"] == row["CategoryID"])[:-1]
            self.assertEqual(row["N"], len(prices))
            self.assertEqual(self.rounded(row["S"]), round(sum(prices), 2) if prices else None)

    def test_collections_within_collections_and_over_links(self):
        steps = "addnested(RelatedProducts,aggregate($count as N) as Related)/filter(Price gt 20) as P"
        rows = self.values(f"Categories?$apply=addnested(Products,{steps})&$orderby=ID")
        related = {product["ID"]: len(product["RelatedProducts"]) for product in self.products}
        found = {product["ID"]: product["Related"][0]["N"] for row in rows for product in row["P"]}
        self.assertEqual(found, {
            product["ID"]: related[product["ID"]] for product in self.products
            if product["Price"] > 20 and product["CategoryID"] is not None})

    def test_pages_and_options_go_by_the_rows(self):
        path, found = "Categories?$apply=addnested(Products,aggregate($count as N) as T)&$filter=Name ne 'x'&$orderby=Name desc", {}
        while path:
            page = self.get(path, Prefer="maxpagesize=1").json()
            found |= {row["ID"]: row["T"][0]["N"] for row in page["value"]}
            path = page.get("@odata.nextLink", "").partition("/odata/v4/reference/")[2]
        self.assertEqual(found, {category["ID"]: len(self.of(category)) for category in self.categories})
        hidden = self.values("Products?$apply=addnested(Category,compute(length(Name) as Next) as C,identity as D)&$expand=C")
        for row in hidden:
            self.assertNotIn("D", row)
            names = [category["Name"] for category in self.categories if category["ID"] == row["CategoryID"]]
            self.assertEqual([row["C"]["Next"]] if row["C"] else [], [len(name) for name in names])

    def test_one_row_has_the_results_of_all_sequences(self):
        page = self.get("Products?$apply=nest(groupby((CategoryID),aggregate(Price with sum as Total)) as Groups,topcount(2,Price) as Best)").json()
        self.assertTrue(page["@odata.context"].endswith("$metadata#Products(Groups(),Best())"))
        [row] = page["value"]
        self.assertTrue(row["Groups@odata.context"].endswith("$metadata#Products(CategoryID,Total)"))
        keys = {product["CategoryID"] for product in self.products}
        self.assertEqual({item["CategoryID"]: self.rounded(item["Total"]) for item in row["Groups"]}, {
            key: self.total([product for product in self.products if product["CategoryID"] == key]) for key in keys})
        prices = sorted((product["Price"] for product in self.products), reverse=True)
        self.assertEqual(sorted((item["Price"] for item in row["Best"]), reverse=True), prices[:2])

    def test_each_has_a_row_of_collections_of_its_own(self):
        rows = self.values("Categories?$apply=addnested(Products,nest(aggregate($count as N) as All,filter(Price gt 500) as Dear) as T)&$orderby=ID")
        for row, category in zip(rows, self.categories, strict=True):
            [made] = row["T"]
            self.assertEqual(made["All"], [{"N": len(self.of(category))}])
            self.assertEqual(len(made["Dear"]), sum(product["Price"] > 500 for product in self.of(category)))

    def test_sequences_within_a_join(self):
        joined = "Categories?$apply={}(Products as P,aggregate(Price with sum as Total,$count as N))/groupby((ID,P/Total,P/N))&$orderby=ID"
        expected = [(category["ID"], self.total(self.of(category)), len(self.of(category))) for category in self.categories]
        for join in ("join", "outerjoin"):
            rows = self.values(joined.format(join))
            self.assertEqual([(row["ID"], self.rounded(row["P"]["Total"]), row["P"]["N"]) for row in rows], expected)
        best = self.values("Categories?$apply=join(Products as P,topcount(1,Price))&$expand=P&$orderby=ID")
        self.assertEqual(
            [(row["ID"], row["P"]["Price"]) for row in best],
            [(category["ID"], max(product["Price"] for product in self.of(category)))
             for category in self.categories if self.of(category)])
        none = self.values("Categories?$apply=outerjoin(Products as P,filter(Price gt 500)/groupby((Status)))&$expand=P&$orderby=ID")
        for row in none:
            own = [product for product in self.products if product["CategoryID"] == row["ID"] and product["Price"] > 500]
            self.assertEqual(row["P"] is None, not own)
        narrowed = self.values("Categories?$apply=filter(Name eq 'Electronics')/join(Products as P,groupby((Status),aggregate($count as N)))&$expand=P")
        [category] = [category for category in self.categories if category["Name"] == "Electronics"]
        self.assertEqual(sum(row["P"]["N"] for row in narrowed), len(self.of(category)))

    def test_what_cannot_be_is_refused(self):
        for steps in (
            "addnested(Nothing,identity as X)", "addnested(Name,identity as X)", "addnested(Products,identity as Name)",
            "addnested(Products,identity as X,identity as X)", "addnested(Products,filter(Nothing eq 1) as X)",
            "nest(identity as X,identity as X)", "addnested(Products,aggregate(Name with sum as Y) as X)",
        ):
            with self.subTest(steps):
                self.refused(f"Categories?$apply={steps}")
        self.refused("Products?$apply=addnested(Category,filter(Name eq 'x') as X)")


if __name__ == "__main__":
    unittest.main()
