"""Addresses made by OData's grammar, right and half right, asked of a live service: whatever it is asked, it answers, and
nothing that it is asked changes anything.

`PORTICO_ODATA_FUZZ` says how many (default 2,000); a fixed seed makes each run the same.
"""

import http.client
import os
import random
import unittest
import urllib.parse

from harness import GatewayTest

COUNT = int(os.environ.get("PORTICO_ODATA_FUZZ", "2000"))
ROOT = "/odata/v4/reference/"
TEXTS, NUMBERS = ["Name", "Description", "ProductType", "SerialNumber"], ["Price", "Rating", "Quantity", "Weight", "Version"]
TIMES, PLACES = ["CreatedAt", "now()"], ["Location"]


class Grammar:
    def __init__(self, seed):
        self.random = random.Random(seed)

    def one(self, *choices):
        choice = self.random.choice(choices)
        return choice() if callable(choice) else choice

    def text(self, depth=0):
        return self.one(
            *TEXTS, "Category/Name", "'Laptop'", "'it''s %'", "'\u00e9\U0001f600'", "ShippingAddress/City", "null",
            *([] if depth > 3 else [
                lambda: f"concat({self.text(depth + 1)},{self.text(depth + 1)})", lambda: f"tolower({self.text(depth + 1)})",
                lambda: f"substring({self.text(depth + 1)},{self.number(depth + 1)})", lambda: f"trim({self.text(depth + 1)})",
                lambda: f"cast({self.number(depth + 1)},Edm.String)"]))

    def number(self, depth=0):
        return self.one(
            *NUMBERS, "0", "-1", "1.5e3", "9223372036854775808", "0.1", "INF", "Descriptions/$count", "null",
            *([] if depth > 3 else [
                lambda: f"({self.number(depth + 1)} {self.one('add', 'sub', 'mul', 'div', 'divby', 'mod')} {self.number(depth + 1)})",
                lambda: f"length({self.text(depth + 1)})", lambda: f"round({self.number(depth + 1)})",
                lambda: f"{self.one('year', 'month', 'hour')}({self.one(*TIMES)})", lambda: f"-{self.number(depth + 1)}",
                lambda: f"indexof({self.text(depth + 1)},{self.text(depth + 1)})",
                lambda: f"case({self.condition(depth + 1)}:{self.number(depth + 1)},true:0)"]))

    def condition(self, depth=0):
        compare = lambda: self.one("eq", "ne", "lt", "le", "gt", "ge")
        return self.one(
            "true", "false", "null", lambda: f"{self.text(depth)} {compare()} {self.text(depth)}",
            lambda: f"{self.number(depth)} {compare()} {self.number(depth)}",
            lambda: f"Status has ComplianceService.ProductStatus'{self.one('InStock', 'OnSale,Featured', 'Nothing', '99')}'",
            lambda: f"{self.text(depth)} in ({','.join(self.one(chr(39) + 'a' + chr(39), 'null', chr(39) * 2) for _ in range(3))})",
            lambda: f"CreatedAt {compare()} 20{self.random.randint(0, 99):02}-02-{self.random.randint(0, 33):02}T00:00:00Z",
            lambda: f"OpenTime {compare()} 09:30", lambda: f"ShippingTime {compare()} duration'P1DT2H'",
            *([] if depth > 3 else [
                lambda: f"({self.condition(depth + 1)}) {self.one('and', 'or')} ({self.condition(depth + 1)})",
                lambda: f"not ({self.condition(depth + 1)})",
                lambda: f"{self.one('contains', 'startswith', 'endswith', 'matchesPattern')}({self.text(depth + 1)},{self.text(depth + 1)})",
                lambda: f"Descriptions/{self.one('any', 'all')}(d:d/LanguageKey {compare()} {self.text(depth + 1)})",
                lambda: f"isof(ComplianceService.SpecialProduct)",
                lambda: "geo.distance(Location,geography'SRID=4326;Point(1 2)') lt 1e6"]))

    def option(self, depth=0):
        names = lambda: ",".join(self.one(*TEXTS, *NUMBERS, "*", "ShippingAddress/City", "Nope") for _ in range(self.random.randint(1, 3)))
        return self.one(
            lambda: f"$filter={self.condition()}", lambda: f"$select={names()}", lambda: f"$top={self.one('0', '3', '99999999999999999999')}",
            lambda: f"$orderby={self.one(self.text, self.number, self.condition)} {self.one('asc', 'desc')}", lambda: "$skip=2",
            lambda: f"$count={self.one('true', 'false')}", lambda: f"$search={self.one('Laptop', 'NOT pro', '(a OR b) c', 'AND')}",
            lambda: f"$compute={self.number()} as N", lambda: f"$apply={self.steps()}",
            *([] if depth > 2 else [lambda: f"$expand={self.expansion(depth)}"]))

    def expansion(self, depth):
        inner = ";".join(self.option(depth + 1) for _ in range(self.random.randint(0, 2)))
        return self.one("Category", "Descriptions", "RelatedProducts", "*") + (f"({inner})" if inner else "")

    def steps(self, depth=0):
        inner = lambda: self.steps(depth + 1)
        within = [] if depth > 1 else [
            lambda: f"addnested({self.one('RelatedProducts', 'Descriptions', 'Category')},{inner()} as X{depth})",
            lambda: f"nest({inner()} as X{depth},{inner()} as Y{depth})", lambda: f"concat({inner()},{inner()})",
            lambda: f"{self.one('join', 'outerjoin')}({self.one('RelatedProducts', 'Descriptions')} as J{depth},{inner()})"]
        step = lambda: self.one(
            lambda: f"filter({self.condition()})", "groupby((CategoryID),aggregate(Price with sum as S,$count as C))", "identity",
            lambda: f"aggregate({self.number()} with {self.one('sum', 'min', 'max', 'average', 'countdistinct')} as A)",
            "groupby((Category/Name))", "topcount(2,Price)", "orderby(Price desc)/skip(1)/top(2)", lambda: f"compute({self.number()} as N)", *within)
        return "/".join(step() for _ in range(self.random.randint(1, 3)))

    def address(self):
        path = self.one(
            "Products", "Products", "Products/$count", "Categories", "Products/ComplianceService.SpecialProduct", "Company",
            "Products(00000000-0000-0000-0000-000000000000)", "GetTopProducts(count=3)", "Calculate(a=1,b=2)", "Nothing",
            lambda: f"Products/$filter({self.condition()})", "$metadata", "$crossjoin(Products,Categories)", "$all")
        options = "&".join(self.option() for _ in range(self.random.randint(0, 3)))
        return self.damaged(path + ("?" + options if options else ""))

    def damaged(self, text):
        if self.random.random() < 0.7:
            return text
        place = self.random.randrange(len(text))
        return text[:place] + self.one("", "'", "(", ")", "%", "/", "$", ",", "\u00fc", ";", "0") + text[place + self.random.randint(0, 2):]


class AddressesByTheGrammar(GatewayTest):
    def test_every_address_is_answered_and_changes_nothing(self):
        before = self.gateway.get(ROOT + "Products?$orderby=Name").body
        connection = http.client.HTTPConnection("127.0.0.1", self.gateway.port, timeout=60)
        grammar, statuses = Grammar(4012), {}
        for _ in range(COUNT):
            address = grammar.address()
            connection.request("GET", ROOT + urllib.parse.quote(address, safe="/?$&=(),;:@!*'"))
            answer = connection.getresponse()
            body = answer.read()
            statuses[answer.status] = statuses.get(answer.status, 0) + 1
            # 501 is an answer too: what OData has and this service says that it has not.
            self.assertTrue(answer.status < 500 or answer.status == 501, f"{answer.status} for {address}: {body[:300]}")
        connection.close()
        print(f"{COUNT} addresses: {dict(sorted(statuses.items()))}")
        self.assertGreater(statuses.get(200, 0), COUNT / 20)
        self.assertEqual(self.gateway.get(ROOT + "Products?$orderby=Name").body, before)


if __name__ == "__main__":
    unittest.main()
