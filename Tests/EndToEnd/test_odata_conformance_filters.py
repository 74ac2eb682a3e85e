"""Filters and aggregation, compared with the seed data."""

import unittest

from odata_reference import ReferenceTest

QUICK = True

LAPTOPS = ["Laptop", "Premium Laptop Pro"]
DEAR = ["Laptop", "Premium Laptop Pro", "Smartphone"]

FILTERS = [
    ("contains(Name,'Laptop')", LAPTOPS),
    ("startswith(Name,'Lap') or endswith(Name,'Pro')", LAPTOPS),
    ("length(Name) eq 6 and toupper(Name) eq 'LAPTOP'", ["Laptop"]),
    ("indexof(Name,'Mug') eq 7", ["Coffee Mug"]),
    ("substring(Name,7) eq 'Mug' and substring(Name,0,3) eq 'Cof'", ["Coffee Mug"]),
    ("concat(concat(Name,'-'),'x') eq 'Laptop-x'", ["Laptop"]),
    ("trim(concat('  ',tolower(Name))) eq 'laptop'", ["Laptop"]),
    ("matchesPattern(Name,'^[LS].*p')", ["Laptop", "Smartphone"]),
    ("Price gt 500", DEAR),
    ("not (Price le 500)", DEAR),
    ("Price in (15.5,29.99)", ["Coffee Mug", "Wireless Mouse"]),
    ("round(Price) eq 1000 or floor(Price) eq 15 or ceiling(Price) eq 30", ["Coffee Mug", "Laptop", "Wireless Mouse"]),
    ("Price mul 2 sub 1 eq 30", ["Coffee Mug"]),
    ("Rating mod 100 eq 10 and Rating div 10 eq 11", ["Wireless Mouse"]),
    ("year(CreatedAt) eq 2024 and month(CreatedAt) eq 1", ["Laptop"]),
    ("day(ReleaseDate) eq 31", ["Office Chair"]),
    ("hour(OpenTime) eq 9 and minute(OpenTime) eq 30", ["Laptop"]),
    ("date(CreatedAt) eq 2024-03-20", ["Wireless Mouse"]),
    ("ProcessingTime eq duration'PT30M'", ["Coffee Mug"]),
    ("Status has ComplianceService.ProductStatus'Discontinued'", ["Office Chair"]),
    ("Status eq 'InStock'", ["Coffee Mug"]),
    ("Category/Name eq 'Kitchen'", ["Coffee Mug"]),
    ("isof(ComplianceService.SpecialProduct) and Price gt 1500", ["Premium Laptop Pro"]),
    ("Descriptions/any(d:d/LanguageKey eq 'DE') and Name eq 'Laptop'", ["Laptop"]),
    ("Descriptions/$count ge 2 and startswith(Name,'L')", ["Laptop"]),
    ("geo.distance(Location,geography'SRID=4326;Point(-122.3321 47.6062)') lt 1", ["Laptop"]),
    ("Name eq @name&@name='Smartphone'", ["Smartphone"]),
    ("ReleaseDate eq null and Status has 'OnSale'", ["Gaming Mouse Ultra", "Smartphone"]),
    ("Price lt $root/Company/Founded and $root/Categories/any(c:c/ID eq CategoryID and c/Name eq 'Kitchen')", ["Coffee Mug"]),
    ("case(Price gt 1000:'a',true:'b') eq 'a'", ["Premium Laptop Pro"]),
]

REFUSED = [
    "Nothing eq 1", "Price eq", "Price gt 'x'", "unknown(Name)", "contains(Name)", "Name", "length(Price) eq 1",
    "Status eq 'Nothing'", "Descriptions/any(d:e/LanguageKey eq 'x')", "Price eq 1 and", "(Price eq 1", "any()",
    "Descriptions/all()", "ShippingAddress gt null", "Category le null", "EmailAddresses eq ('a','b')",
]


class Filters(ReferenceTest):
    def test_each_finds_its_products(self):
        for condition, names in FILTERS:
            with self.subTest(condition):
                self.assertEqual(self.names(f"Products?$orderby=Name&$filter={condition}"), names)

    def test_each_is_refused(self):
        for condition in REFUSED:
            with self.subTest(condition):
                self.refused(f"Products?$filter={condition}")

    def test_root_leads_to_what_is_elsewhere(self):
        key = next(row["ID"] for row in self.values("Products?$select=ID,Name") if row["Name"] == "Laptop")
        dearer = self.names(f"Products?$filter=Price gt $root/Products({key})/Price")
        self.assertEqual(dearer, ["Premium Laptop Pro"])
        self.assertEqual(self.names(f"Products?$filter=$it eq $root/Products(ID={key})"), ["Laptop"])
        self.refused("Products?$filter=$root/Nothing/Name eq 'x'")

    def test_groups_and_totals(self):
        applied = "Products?$apply=groupby((Category/Name),aggregate(Price with sum as Total,$count as Number))"
        found = {row["Category"]["Name"]: (round(row["Total"], 2), row["Number"]) for row in self.values(applied)}
        self.assertEqual(found, {"Electronics": (3979.95, 5), "Furniture": (249.99, 1), "Kitchen": (15.5, 1)})

    def test_what_belongs_to_the_rows_is_counted(self):
        many = self.values("Categories?$apply=groupby((Name),aggregate(Products/Price with sum as Total,Products/$count as N))")
        single = self.values("Products?$apply=groupby((Category/Name),aggregate(Price with sum as Total,$count as N))")
        self.assertEqual(
            {row["Name"]: (row["Total"], row["N"]) for row in many if row["N"]},
            {row["Category"]["Name"]: (row["Total"], row["N"]) for row in single if row["Category"]["Name"]})
        top = self.values("Products?$apply=aggregate($count from CategoryID with max as Most)")
        self.assertEqual(top[0]["Most"], max(row["N"] for row in single))
        joined = self.values("Categories?$apply=join(Products as P)&$select=ID&$expand=P&$orderby=P/Name")
        self.assertEqual([row["P"]["Name"] for row in joined], sorted(self.names("Products?$filter=CategoryID ne null")))
        self.assertTrue(all(row["P"]["CategoryID"] == row["ID"] for row in joined))
        lonely = self.values("Products?$apply=outerjoin(RelatedProducts as R)&$expand=R&$filter=R/ID eq null")
        self.assertTrue(lonely and all(row["R"] is None for row in lonely))
        counted = self.values("Products?$apply=aggregate(Descriptions/$count as Texts)")
        self.assertEqual(counted[0]["Texts"], int(self.get("ProductDescriptions/$count").text()))

    def test_names_are_new_and_amounts_are_positive(self):
        for steps in [
            "compute(Price as Name)", "compute(Price as X,Price as X)", "compute(Price as X)/compute(Price as X)",
            "groupby((Name))/compute(1 as Name)", "topcount(0,Price)", "bottompercent(0,Price)",
        ]:
            with self.subTest(steps):
                self.refused(f"Products?$apply={steps}")

    def test_a_rollup_has_the_grand_total_that_is_asked_for(self):
        rows = self.values("Products?$apply=groupby((rollup(null,CategoryID)),aggregate(Price with sum as Total))")
        self.assertEqual(sorted(round(row["Total"], 2) for row in rows), [15.5, 249.99, 3979.95, 4245.44])
        self.assertEqual([row for row in rows if "CategoryID" not in row], [{"Total": max(row["Total"] for row in rows)}])
        self.refused("Products?$apply=groupby((rollup(CategoryID)),aggregate(Price with sum as Total))")

    def test_steps_follow_each_other(self):
        for steps, names in [
            ("filter(Price gt 500)/orderby(Price)", ["Smartphone", "Laptop", "Premium Laptop Pro"]),
            ("orderby(Price desc)/top(1)", ["Premium Laptop Pro"]), ("topcount(2,Price)/orderby(Name)", LAPTOPS),
            ("concat(topcount(1,Price),bottomcount(1,Price))", ["Coffee Mug", "Premium Laptop Pro"]),
        ]:
            with self.subTest(steps):
                found = self.names(f"Products?$apply={steps}")
                self.assertEqual(sorted(found) if "concat" in steps else found, names)


if __name__ == "__main__":
    unittest.main()
