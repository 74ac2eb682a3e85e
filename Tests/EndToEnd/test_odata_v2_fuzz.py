"""Addresses of OData 2.0, right and half right, asked of a live service in both formats: whatever it is asked, it answers
in that format, and nothing changes.

`PORTICO_ODATA_FUZZ` says how many (default 2,000); a fixed seed makes each run the same.
"""

import http.client
import json
import unittest
import urllib.parse
import xml.etree.ElementTree as ElementTree

from harness import JSON, GatewayTest
from test_odata_fuzz import COUNT, NUMBERS, TEXTS, Grammar

ROOT = "/odata/v2/reference/"
ABSENT = "guid'00000000-0000-0000-0000-000000000000'"


class Version2Grammar(Grammar):
    def text(self, depth=0):
        return self.one(
            *TEXTS, "Category/Name", "'Laptop'", "'it''s %'", "'\u00e9\U0001f600'", "ShippingAddress/City", "null",
            *([] if depth > 3 else [
                lambda: f"concat({self.text(depth + 1)},{self.text(depth + 1)})", lambda: f"tolower({self.text(depth + 1)})",
                lambda: f"substring({self.text(depth + 1)},{self.number(depth + 1)})", lambda: f"trim({self.text(depth + 1)})",
                lambda: f"replace({self.text(depth + 1)},{self.text(depth + 1)},{self.text(depth + 1)})"]))

    def number(self, depth=0):
        return self.one(
            *NUMBERS, "0", "-1L", "1.5M", "1.5e3d", "9223372036854775808", "0.1f", "INF", "null",
            *([] if depth > 3 else [
                lambda: f"({self.number(depth + 1)} {self.one('add', 'sub', 'mul', 'div', 'mod')} {self.number(depth + 1)})",
                lambda: f"length({self.text(depth + 1)})", lambda: f"round({self.number(depth + 1)})",
                lambda: f"{self.one('year', 'month', 'hour')}(CreatedAt)", lambda: f"-{self.number(depth + 1)}",
                lambda: f"indexof({self.text(depth + 1)},{self.text(depth + 1)})"]))

    def condition(self, depth=0):
        compare = lambda: self.one("eq", "ne", "lt", "le", "gt", "ge")
        return self.one(
            "true", lambda: f"{self.text(depth)} {compare()} {self.text(depth)}",
            lambda: f"{self.number(depth)} {compare()} {self.number(depth)}", lambda: f"ID eq {ABSENT}",
            lambda: f"CreatedAt {compare()} datetimeoffset'20{self.random.randint(0, 99):02}-02-{self.random.randint(0, 33):02}T00:00:00Z'",
            lambda: f"ReleaseDate {compare()} datetime'2024-01-15T{self.one('00', '12', '25')}:00'",
            lambda: f"OpenTime {compare()} time'PT{self.random.randint(0, 30)}H'", lambda: f"Data {compare()} X'0{self.one('A', '')}'",
            lambda: f"Status {compare()} '{self.one('InStock', 'Nothing')}'",
            *([] if depth > 3 else [
                lambda: f"({self.condition(depth + 1)}) {self.one('and', 'or')} ({self.condition(depth + 1)})",
                lambda: f"not ({self.condition(depth + 1)})",
                lambda: f"{self.one('substringof', 'startswith', 'endswith')}({self.text(depth + 1)},{self.text(depth + 1)}){self.one('', ' eq true')}"]))

    def option(self, depth=0):
        several = lambda *names: ",".join(self.one(*names) for _ in range(self.random.randint(1, 3)))
        return self.one(
            lambda: f"$filter={self.condition()}", lambda: f"$top={self.one('0', '3', '99999999999999999999')}", "$skip=2",
            lambda: f"$select={several(*TEXTS, *NUMBERS, '*', 'ShippingAddress/City', 'Category/Name', 'Category', 'Nope')}",
            lambda: f"$orderby={self.one(self.text, self.number)} {self.one('asc', 'desc')}",
            lambda: f"$inlinecount={self.one('allpages', 'none', 'some')}", "sap-client=100", "$skiptoken=x",
            lambda: f"$expand={several('Category', 'Descriptions', 'RelatedProducts', 'RelatedProducts/Category', 'Nope')}")

    def address(self):
        path = self.one(
            "Products", "Products", "Products/$count", "Categories", "ProductCollection", f"Products({ABSENT})/Name/$value",
            f"Products({ABSENT})/$links/Category", "GetTopProducts?count=3", "Calculate?a=1M&b=2d", "Nothing", "$metadata", "?$format=json")
        options = "&".join(self.option() for _ in range(self.random.randint(0, 3)))
        return self.damaged(path + (("&" if "?" in path else "?") + options if options else ""))


class AddressesOfVersion2(GatewayTest):
    def test_every_address_is_answered_in_its_format_and_changes_nothing(self):
        before = self.gateway.get(ROOT + "Products?$orderby=Name", accept=JSON).body
        connection = http.client.HTTPConnection("127.0.0.1", self.gateway.port, timeout=60)
        grammar, statuses = Version2Grammar(2012), {}
        for number in range(COUNT):
            address = grammar.address()
            accept = {"Accept": JSON} if number % 2 else {}
            connection.request("GET", ROOT + urllib.parse.quote(address, safe="/?$&=(),;:@!*'"), headers=accept)
            answer = connection.getresponse()
            body = answer.read()
            statuses[answer.status] = statuses.get(answer.status, 0) + 1
            self.assertTrue(answer.status < 500 or answer.status == 501, f"{answer.status} for {address}: {body[:300]}")
            self.readable(answer.getheader("Content-Type") or "", body, address)
        connection.close()
        print(f"{COUNT} addresses: {dict(sorted(statuses.items()))}")
        self.assertGreater(statuses.get(200, 0), COUNT / 10)
        self.assertEqual(self.gateway.get(ROOT + "Products?$orderby=Name", accept=JSON).body, before)

    def readable(self, kind, body, address):
        if kind.startswith(JSON):
            self.assertTrue({"d", "error"} & set(json.loads(body)), address)
        elif "xml" in kind:
            ElementTree.fromstring(body)


if __name__ == "__main__":
    unittest.main()
