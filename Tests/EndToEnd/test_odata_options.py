"""Every system query option in every place where OData's grammar has options: each is answered, refused, or 501.

The table is generated: places times options. An option that is answered makes a difference, since its value is one that
must; an answer that is the same as without it shows that the option was passed over. And a name that the model does not
have is refused wherever an option names properties.
"""

import json
import unittest

from odata_reference import ROOT, ReferenceTest
from harness import Gateway
import urllib.parse

NAMED = {"$filter", "$orderby", "$select", "$expand", "$compute", "$apply"}
UNKNOWN = {
    "$filter": "Nope eq 1", "$orderby": "Nope", "$select": "Nope", "$expand": "Nope", "$compute": "Nope add 1 as N",
    "$apply": "aggregate(Nope with sum as N)",
}
COMMON = {
    "$top": "1", "$skip": "1", "$count": "true", "$index": "1", "$levels": "2", "$format": "application/json;odata.metadata=full",
    "$skiptoken": "nonsense", "$deltatoken": "nonsense", "$schemaversion": "9", "$id": "Products", "$apply": "aggregate($count as N)",
}
# What makes a difference of each type's entities.
OF = {
    "Product": {
        "$filter": "Price lt 100", "$orderby": "Name desc", "$select": "Price", "$expand": "Category", "$search": "Laptop",
        "$compute": "Price mul 2 as Twice"},
    "Category": {
        "$filter": "Name eq 'Nothing'", "$orderby": "Name desc", "$select": "Description", "$expand": "Products", "$search": "x",
        "$compute": "length(Name) as Long", "$levels": "2"},
    "Description": {
        "$filter": "LanguageKey eq 'DE'", "$orderby": "LanguageKey desc", "$select": "Description", "$expand": "Product",
        "$search": "Hochleistung", "$compute": "length(Description) as Long"},
    "Address": {
        "$filter": "City eq 'x'", "$orderby": "City", "$select": "City", "$expand": "City", "$search": "x", "$compute": "1 as One"},
    "Cross": {
        "$filter": "Products/Price lt 100", "$orderby": "Products/Price desc", "$select": "Products/Name", "$expand": "Products",
        "$search": "Laptop", "$compute": "Products/Price mul 2 as Twice"},
}
# Of a number the specification says what it is not affected by (Protocol 4.01, section 11.2.10). Names are looked at.
OF_COUNT = {"$orderby", "$select", "$expand", "$compute", "$top", "$skip", "$count", "$format"}
# What a client is told in a way of its own: compared without.
ASIDE = ("context", "etag", "nextLink", "deltaLink")


class EveryOptionInEveryPlace(ReferenceTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        rows = json.loads(cls.gateway.get(ROOT + "Products?$expand=Descriptions,RelatedProducts").body)["value"]
        cls.key = next(row["ID"] for row in rows if len(row["Descriptions"]) > 1 and row["ShippingAddress"] and row["CategoryID"])
        # Each with several, so that a part of them and another order are to be seen.
        for row in rows:
            for other in rows:
                if row["ID"] != other["ID"]:
                    cls.gateway.send(
                        "POST", f"{ROOT}Products({row['ID']})/RelatedProducts/$ref", {"@odata.id": f"Products({other['ID']})"})
        cls.gateway.request(
            "PUT", f"{ROOT}Products({cls.key})/Photo", b"bytes", {"Content-Type": "image/png"})
        cls.category = json.loads(cls.gateway.get(ROOT + f"Products({cls.key})/Category").body)["ID"]

    def places(self):
        """Name, type of what is there, and the address with an option or without one."""
        product = f"Products({self.key})"

        def top(path):
            return lambda option: path + (f"?{option}" if option else "")

        def nested(address):
            return lambda option: address.replace("()", f"({option})" if option else "")

        def behind(address):
            return lambda option: address + (f"&{option}" if option else "")

        for path, kind in [
            ("", "Product"), ("$metadata", "Product"), ("$all", "Product"), ("$all/ComplianceService.Product", "Product"),
            ("$crossjoin(Products,Categories)", "Cross"),
            ("Products", "Product"), ("Products/$count", "Product"), ("Products/$ref", "Product"),
            ("Products/ComplianceService.SpecialProduct", "Product"), ("Products/$filter(Price gt 1)", "Product"),
            (product, "Product"), (f"{product}/$ref", "Product"), (f"{product}/Descriptions", "Description"),
            (f"{product}/Descriptions/$count", "Description"), (f"{product}/Descriptions/$ref", "Description"),
            (f"{product}/Category", "Category"), (f"{product}/Category/$ref", "Category"), ("Company", "Address"),
            (f"{product}/RelatedProducts", "Product"), (f"{product}/Name", "Address"), (f"{product}/Name/$value", "Address"),
            (f"{product}/ShippingAddress", "Address"), (f"{product}/ShippingAddress/City", "Address"),
            (f"{product}/Photo", "Address"), ("MediaItems", "Address"), ("GetTopProducts(count=3)", "Product"),
            ("GetTopProducts(count=3)/$count", "Product"), ("GetProductStats()", "Address"), ("Calculate(value=1)", "Address"),
            (f"{product}/ComplianceService.GetRelatedProducts()", "Product"),
            (f"{product}/ComplianceService.GetTotalPrice(taxRate=0.1)", "Address"),
        ]:
            yield path or "the service", kind, top(path)
        for address in ["$entity?$id=" + product, f"$entity/ComplianceService.Product?$id={product}"]:
            yield address, "Product", behind(address)
        for address, kind in [
            ("Products?$expand=Descriptions()", "Description"), ("Products?$expand=Category()", "Category"),
            ("Products?$expand=RelatedProducts()", "Product"), ("Products?$expand=Descriptions/$ref()", "Description"),
            ("Products?$expand=Descriptions/$count()", "Description"), ("Products?$expand=*()", "Product"),
            ("Products?$expand=Category/$ref()", "Category"), (f"{product}?$expand=Descriptions()", "Description"),
            (f"{product}/Category?$expand=Products()", "Product"),
            ("Categories?$expand=Products($expand=Descriptions())", "Description"),
            ("Products?$apply=identity&$expand=Descriptions()", "Description"),
            ("Products?$apply=groupby((CategoryID))&$expand=Category()", "Category"),
            ("Products?$expand=RelatedProducts/ComplianceService.SpecialProduct()", "Product"),
            ("Categories?$expand=Products($apply=identity;$expand=Descriptions())", "Description"),
            ("$crossjoin(Products,Categories)?$expand=Products()", "Product"),
            ("GetTopProducts(count=3)?$expand=Descriptions()", "Description"),
            ("Products?$select=ShippingAddress()", "Address"), ("Products?$select=Name()", "Address"),
            ("Products?$select=Descriptions()", "Description"), ("Products?$select=Category()", "Category"),
            ("Products?$filter=Descriptions/$count() gt 0", "Description"),
            ("Products?$orderby=Descriptions/$count() desc,Name", "Description"),
            ("Products/$count?$filter=Descriptions/$count() gt 1", "Description"),
        ]:
            yield address, kind, nested(address)

    @staticmethod
    def received(answer):
        def aside(value):
            if isinstance(value, list):
                return [aside(item) for item in value]
            if not isinstance(value, dict):
                return value
            return {name: aside(item) for name, item in value.items() if not name.split("@")[-1].split(".")[-1] in ASIDE}
        kind = answer.headers.get("content-type")
        try:
            return kind, aside(json.loads(answer.body))
        except ValueError:
            return kind, answer.body

    def ask(self, path, method="GET", body=None, headers=None):
        address = ROOT + urllib.parse.quote(path, safe="/?&=$(),'@:;*!%+-._~")
        return self.gateway.request(method, address, body, headers or {})

    def test_reading(self):
        outcomes = {"answered": 0, "refused": 0, "501": 0}
        for name, kind, address in self.places():
            bare = self.ask(address(None))
            self.assertIn(bare.status, (200, 204), (name, bare))
            for option, value in {**COMMON, **OF[kind]}.items():
                with self.subTest(f"{option} at {name}"):
                    answer = self.ask(address(f"{option}={value}"))
                    if answer.status >= 400:
                        self.assertIn(answer.status, (400, 404, 415, 501), answer)
                        outcomes["501" if answer.status == 501 else "refused"] += 1
                        continue
                    outcomes["answered"] += 1
                    if "/$count" in name and option in OF_COUNT and not address("").endswith(")"):
                        continue
                    received = [self.received(answer)]
                    if option == "$orderby":
                        # The order without it is that of random keys: one of the two directions is another.
                        received.append(self.received(self.ask(address(f"{option}={value.removesuffix(' desc')}"))))
                    self.assertTrue(any(one != self.received(bare) for one in received), f"passed over: {answer}")
                if option in NAMED:
                    with self.subTest(f"an unknown name in {option} at {name}"):
                        wrong = self.ask(address(f"{option}={UNKNOWN[option]}"))
                        self.assertIn(wrong.status, (400, 404, 501), wrong)
        print(f"options of reads: {outcomes}")
        self.assertGreater(outcomes["answered"], 100)

    def test_writing(self):
        product = f"Products({self.key})"
        json_body = {"Content-Type": "application/json", "Prefer": "return=representation"}
        new = lambda: json.dumps({"Name": "Of options", "Price": 1, "Status": "InStock"})
        outcomes = {"answered": 0, "refused": 0, "501": 0}
        for method, path, body, headers in [
            ("POST", "Products", new, json_body), ("PATCH", product, lambda: '{"Rating":3}', json_body),
            ("PATCH", "Products", lambda: '{"@odata.context":"#$delta","value":[]}', json_body),
            ("PUT", f"{product}/Rating", lambda: '{"value":3}', json_body), ("DELETE", f"{product}/SerialNumber", lambda: None, {}),
            ("PUT", f"{product}/Photo", lambda: "x", {"Content-Type": "image/png"}),
            ("POST", f"{product}/RelatedProducts/$ref", lambda: json.dumps({"@odata.id": product}), json_body),
            ("PUT", f"{product}/Category/$ref", lambda: json.dumps({"@odata.id": f"Categories({self.category})"}), json_body),
            ("POST", f"{product}/ComplianceService.CalculateDiscount", lambda: '{"percentage":10}', json_body),
            ("POST", f"{product}/ComplianceService.ApplyDiscount", lambda: '{"percentage":0}', json_body),
            ("POST", "Process", lambda: '{"percentage":0}', json_body),
        ]:
            def write(query=""):
                return self.ask(path + query, method, body(), headers)

            def received(answer):
                kind, value = self.received(answer)
                if isinstance(value, dict):
                    for computed in ("ID", "Version", "CreatedAt", "@odata.id", "@odata.editLink"):
                        value.pop(computed, None)
                return kind, value

            bare = write()
            self.assertLess(bare.status, 300, (method, path, bare))
            for option, value in {**COMMON, **OF["Product"]}.items():
                with self.subTest(f"{option} at {method} {path}"):
                    answer = write(f"?{option}={value}")
                    if answer.status >= 400:
                        self.assertIn(answer.status, (400, 404, 415, 501), answer)
                        outcomes["501" if answer.status == 501 else "refused"] += 1
                        continue
                    outcomes["answered"] += 1
                    # An answer without a body has no form.
                    if option == "$format" and not answer.body:
                        continue
                    self.assertNotEqual(received(answer), received(bare), f"passed over: {answer}")
        print(f"options of writes: {outcomes}")

    def test_version_2(self):
        product = f"Products(guid'{self.key}')"
        outcomes = {"answered": 0, "refused": 0, "501": 0}
        for path in [
            "", "$metadata", "Products", "Products/$count", product, f"{product}/Name", f"{product}/Name/$value", f"{product}/Category",
            f"{product}/Descriptions", f"{product}/$links/Descriptions", f"{product}/$links/Category", f"{product}/ShippingAddress",
            "GetTopProducts", "Calculate?value=1d",
        ]:
            ask = lambda query: self.gateway.get(
                "/odata/v2/reference/" + urllib.parse.quote(path + (("&" if "?" in path else "?") + query if query else ""), safe="/?&=$(),'!"),
                "application/json")
            bare = ask("")
            self.assertEqual(bare.status, 200, (path, bare))
            of_type = {"Descriptions": "Description", "Category": "Category"}.get(path.split("/")[-1], "Product")
            for option, value in {
                **{name: value for name, value in OF[of_type].items() if name not in ("$compute", "$search", "$levels")},
                "$top": "1", "$skip": "1", "$inlinecount": "allpages", "$format": "atom", "$skiptoken": "nonsense", "!deltatoken": "nonsense",
            }.items():
                with self.subTest(f"{option} at version 2's {path}"):
                    answer = ask(f"{option}={value}")
                    if answer.status >= 400:
                        self.assertIn(answer.status, (400, 404, 406, 415, 501), answer)
                        outcomes["501" if answer.status == 501 else "refused"] += 1
                        continue
                    outcomes["answered"] += 1
                    if path.endswith("/$count") and option in OF_COUNT | {"$inlinecount"}:
                        continue
                    # Clients of version 2 send it with whatever they ask.
                    if option == "$format" and path.endswith(("$metadata", "$value")):
                        continue
                    self.assertNotEqual(answer.body, bare.body, f"passed over: {answer}")
        print(f"options of version 2: {outcomes}")


if __name__ == "__main__":
    unittest.main()
