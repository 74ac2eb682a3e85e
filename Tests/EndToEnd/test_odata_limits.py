"""Every limit of OData is a configuration key, is enforced, and is named by its error."""

import json
import unittest
import urllib.parse

from harness import GatewayTest, run_portico

QUICK = True

ROOT = "/odata/v4/reference/"
VERSION_2 = "/odata/v2/reference/"
LIMITS = {
    "urlLength": 2_000, "depth": 12, "nodes": 40, "listMembers": 3, "expandDepth": 2, "expansions": 3, "expandedRows": 5,
    "orderCriteria": 2, "skip": 10, "batchRequests": 2, "insertDepth": 2, "insertEntities": 3, "deletedWith": 2,
    "importRows": 2, "batchPart": 2_000, "batchPartHead": 400, "batchPartFields": 4, "batchBoundary": 20,
    "wholeBytes": 2_000, "writtenRows": 18,
}


class Limits(GatewayTest):
    settings = tuple(part for key, value in LIMITS.items() for part in ("--set", f"adapters.odata.limits.{key}={value}"))

    def get(self, path):
        return self.gateway.get(ROOT + urllib.parse.quote(path, safe="/?$&=(),;:@!*'"))

    def send(self, method, path, body=None):
        headers = {"Content-Type": "application/json"}
        return self.gateway.request(method, ROOT + path, None if body is None else json.dumps(body), headers)

    def check(self, within, beyond):
        self.assertLess(self.get(within).status, 300, within)
        self.expect(self.get(beyond), 400, "request.limitExceeded")

    def test_an_answer_names_its_status(self):
        with self.gateway.connect() as connection:
            connection.sendall(f"GET {ROOT}Nothing HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".encode())
            self.assertEqual(connection.makefile("rb").readline(), b"HTTP/1.1 404 Not Found\r\n")

    def test_the_length_of_an_address(self):
        query = "Products?$filter=Name eq '{}'"
        self.check(query.format("x" * 500), query.format("x" * 2_000))

    def test_how_deep_expressions_are(self):
        nested = lambda depth: f"Products?$filter={'(' * depth}Price gt 1{')' * depth}"
        self.check(nested(4), nested(13))

    def test_how_many_parts_a_request_has(self):
        many = lambda count: "Products?$filter=" + " or ".join(["Price eq 1"] * count)
        self.check(many(4), many(100))

    def test_how_long_a_list_is(self):
        values = lambda count: f"Products?$filter=Price in ({','.join(['1'] * count)})"
        self.check(values(3), values(4))

    def test_how_deep_an_expansion_goes_by_itself_and_by_levels(self):
        self.check(
            "Categories?$top=1&$expand=Products($top=1;$expand=Category)",
            "Categories?$top=1&$expand=Products($top=1;$expand=Category($expand=Products($top=1)))")
        self.check(
            "Products?$top=1&$expand=RelatedProducts($levels=2)", "Products?$top=1&$expand=RelatedProducts($levels=3)")
        self.assertEqual(self.get("Products?$top=1&$expand=RelatedProducts($levels=max)").status, 200)

    def test_how_much_is_expanded(self):
        self.check(
            "Products?$top=1&$expand=Category,Descriptions,RelatedProducts",
            "Products?$top=1&$expand=Category($expand=Products($top=0)),Descriptions,RelatedProducts")
        full = self.send("POST", "Categories", {"Name": "Full"}).json()["ID"]
        for number in range(6):
            self.expect(self.send("POST", "Products", {"Name": f"Full {number}", "Price": 1, "CategoryID": full}), 201)
        self.check(f"Categories({full})?$expand=Products($top=5)", f"Categories({full})?$expand=Products")
        self.check(f"Categories?$filter=ID ne {full}&$expand=Products", "Categories?$expand=Products")

    def test_what_expansions_multiply_to(self):
        one = self.send("POST", "Categories", {"Name": "Multiplied"}).json()["ID"]
        for number in range(4):
            self.expect(self.send("POST", "Products", {"Name": f"M {number}", "Price": 1, "CategoryID": one}), 201)
        few = f"Categories?$filter=ID eq {one}&$expand=Products($top=4;$select=Name)"
        self.assertEqual(self.get(few).status, 200)
        # Five entities in memory at each level, and five times as many in the text.
        products = f"Products?$filter=CategoryID eq {one}&$select=Name&$expand=Category($select=Name;$expand=Products"
        self.check(f"{products}($top=3;$select=Name))", f"{products}($top=4;$select=Name))&$top=100&$count=true&$orderby=Name")

    def test_how_many_criteria_an_order_has(self):
        self.check("Products?$orderby=Price,Name", "Products?$orderby=Price,Name,Version")

    def test_how_much_is_skipped(self):
        self.check("Products?$skip=10", "Products?$skip=11")

    def test_how_large_a_batch_is_in_both_forms(self):
        for count, status in [(2, 200), (3, 400)]:
            requests = [{"id": str(number), "method": "GET", "url": "Company"} for number in range(count)]
            self.expect(self.send("POST", "$batch", {"requests": requests}), status)
            part = "--b\r\nContent-Type: application/http\r\n\r\nGET Company HTTP/1.1\r\n\r\n\r\n"
            answer = self.gateway.request(
                "POST", ROOT + "$batch", part * count + "--b--\r\n", {"Content-Type": "multipart/mixed;boundary=b"})
            self.expect(answer, status)

    def batches(self, headers, body=""):
        """One request in each form of a batch: alone, in a change set, in JSON; and what version 2 takes."""
        request = "PATCH Company HTTP/1.1\r\n" + "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        part = "Content-Type: application/http\r\n\r\n" + request + "\r\n" + body + "\r\n"
        change_set = "Content-Type: multipart/mixed;boundary=c\r\n\r\n--c\r\n" + part + "--c--\r\n"
        answers = []
        for content in (part, change_set):
            answers.append(self.parts("--b\r\n" + content + "--b--\r\n"))
            answers.append(self.parts("--b\r\n" + content + "--b--\r\n", root=VERSION_2))
        call = {"id": "1", "method": "PATCH", "url": "Company", "headers": headers}
        answers.append(self.send("POST", "$batch", {"requests": [call | ({"body": body} if body else {})]}))
        return answers

    def parts(self, body, boundary="b", root=ROOT):
        headers = {"Content-Type": f"multipart/mixed;boundary={boundary}", "Accept": "application/json", "X-Requested-With": "X"}
        return self.gateway.request("POST", root + "$batch", body, headers, user="alice")

    def check_batches(self, within, beyond, reason):
        """What is within goes to the request itself, whatever that says to it."""
        for answer in self.batches(*within):
            self.assertIn(answer.status, (200, 202), answer)
        for answer in self.batches(*beyond):
            self.expect(answer, 400, "request.limitExceeded")
            self.assertIn(reason, answer.text())

    def test_how_many_header_fields_a_request_of_a_batch_has(self):
        fields = lambda count: {f"X-{number}": "1" for number in range(count)}
        self.check_batches([fields(4)], [fields(5)], "at most 4 header fields")

    def test_how_long_the_header_fields_of_a_request_of_a_batch_are(self):
        self.check_batches([{"X": "y" * 300}], [{"X": "y" * 400}], "at most 400 bytes")
        self.expect(self.parts("--b\r\nX: " + "y" * 400 + "\r\n\r\n--b--\r\n"), 400, "request.limitExceeded")

    def test_how_long_a_request_of_a_batch_is(self):
        text = {"Content-Type": "text/plain"}
        self.check_batches([text, "x" * 1_000], [text, "x" * 2_001], "at most 2000 bytes")

    def test_how_long_a_boundary_is(self):
        for boundary, status in [("b" * 20, 200), ("b" * 21, 400), ('"' + "b" * 21 + '"', 400)]:
            mark = boundary.strip('"')
            part = f"--{mark}\r\nContent-Type: application/http\r\n\r\nGET Company HTTP/1.1\r\n\r\n\r\n--{mark}--\r\n"
            self.expect(self.parts(part, boundary), status, None if status == 200 else "request.limitExceeded")

    def test_how_deep_a_batch_is_and_how_much_a_change_set_holds(self):
        request = "Content-Type: application/http\r\n\r\nGET Company HTTP/1.1\r\n\r\n\r\n"
        group = lambda mark, content: f"Content-Type: multipart/mixed;boundary={mark}\r\n\r\n{content}--{mark}--\r\n"
        nested = "--b\r\n" + group("c", "--c\r\n" + group("d", "--d\r\n" + request)) + "--b--\r\n"
        for root in (ROOT, VERSION_2):
            self.expect(self.parts(nested, root=root), 400, "request.malformed")
            for parts in (group("c", ("--c\r\n" + request) * 3), "\r\n--b\r\n".join([group("c", "")] * 3)):
                self.expect(self.parts("--b\r\n" + parts + "--b--\r\n", root=root), 400, "request.limitExceeded")

    def test_how_much_is_nested_in_a_new_entity(self):
        product = lambda **more: {"Name": "Limits", "Price": 1, **more}
        texts = lambda count: [{"LanguageKey": f"L{number}", "Description": "d"} for number in range(count)]
        self.expect(self.send("POST", "Products", product(Descriptions=texts(2))), 201)
        self.expect(self.send("POST", "Products", product(Descriptions=texts(3))), 400, "request.limitExceeded")
        deep = {"Name": "Deep", "Products": [product(Descriptions=texts(1))]}
        self.expect(self.send("POST", "Categories", deep), 400, "request.limitExceeded")

    def test_how_much_goes_with_a_deleted_entity(self):
        made = self.send("POST", "Products", {"Name": "Goes", "Price": 1}).json()["ID"]
        for number in range(3):
            text = {"ProductID": made, "LanguageKey": f"L{number}", "Description": "d"}
            self.expect(self.send("POST", "ProductDescriptions", text), 201)
        self.expect(self.send("DELETE", f"Products({made})"), 400, "request.limitExceeded")
        self.expect(self.send("DELETE", f"ProductDescriptions(ProductID={made},LanguageKey='L0')"), 204)
        self.expect(self.send("DELETE", f"Products({made})"), 204)

    def test_how_long_an_answer_is_that_is_made_before_it_is_sent(self):
        self.assertIn("content-length", self.get("Categories?$select=Name").headers)
        self.assertNotIn("content-length", self.get("Products").headers)

    def test_how_large_an_import_is(self):
        for count, status in [(2, 0), (3, 1)]:
            file = self.gateway.data / "rows.json"
            file.write_text(json.dumps([{"StateCode": f"{count}{number}", "Name": "x"} for number in range(count)]))
            done = run_portico(
                "odata", "import", "admissions", "States", file, "--data", self.gateway.data, program="porticoctl")
            self.assertEqual(done.returncode, status, done.stderr)


class Reference(unittest.TestCase):
    def test_no_limit_is_without_its_bounds(self):
        for setting in ("adapters.odata.limits.depth=0", "adapters.odata.limits.depth=100000",
                        "adapters.odata.limits.dept=5"):
            done = run_portico("check", "--config", "Config/demo.yaml", "--set", setting)
            self.assertEqual(done.returncode, 1, setting)
            self.assertIn("adapters.odata.limits", done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
