"""OData's batches and the reference model's operations, checked from outside."""

import json
import unittest

from harness import GatewayTest

QUICK = True

ROOT = "/odata/v4/reference/"


class ReferenceTest(GatewayTest):
    def setUp(self):
        self.call("POST", "Reseed", status=200)

    def call(self, method, path, body=None, status=None, **headers):
        headers = {"Content-Type": "application/json", **{name.replace("_", "-"): text for name, text in headers.items()}}
        text = body if body is None or isinstance(body, str) else json.dumps(body)
        answer = self.gateway.request(method, ROOT + path.replace(" ", "%20").replace("'", "%27"), text, headers)
        return self.expect(answer, status) if status else answer

    def value(self, path):
        return self.call("GET", path, status=200).json()["value"]

    def product(self, name):
        return self.value(f"Products?$filter=Name eq '{name}'")[0]


class Operations(ReferenceTest):
    def test_functions_over_all_products(self):
        top = self.value("GetTopProducts()")
        self.assertEqual([p["Price"] for p in top], sorted((p["Price"] for p in top), reverse=True))
        self.assertEqual(len(self.value("GetTopProducts(count=3)")), 3)
        self.assertEqual(len(self.value("GetTopProducts(count=10,category='Electronics')")), 5)
        found = self.value("FindProducts(name='Laptop',maxPrice=5000)")
        self.assertTrue(found and all("Laptop" in p["Name"] for p in found))
        stats = self.call("GET", "GetProductStats()", status=200).json()
        self.assertEqual(stats["totalProducts"], 7)
        self.assertAlmostEqual(stats["averagePrice"], self.value("Products/GetAveragePrice()"))

    def test_overloads_are_distinguished_by_their_parameters(self):
        self.assertEqual(self.value("Calculate(value=21)"), 42)
        self.assertEqual(self.value("Calculate(a=3,b=4)"), 7)
        self.assertEqual(self.value("Convert(input='x')"), "String: x")
        self.assertEqual(self.value("Convert(number=5)"), "Number: 5")
        self.call("GET", "Calculate(a=3)", status=400)
        self.assertEqual(self.value("Calculate()?a=3&b=4"), 7)
        self.call("GET", "Convert()?input=x&number=5", status=400)
        self.assertEqual(len(self.value("GetTopProducts()?count=2")), 2)
        self.assertIn("in json format", self.value(f"Products({self.product('Laptop')['ID']})/GetInfo?format=json"))

    def test_functions_and_actions_of_one_product(self):
        laptop = self.product("Laptop")
        path, price = f"Products({laptop['ID']})", laptop["Price"]
        self.assertAlmostEqual(self.value(f"{path}/GetTotalPrice(taxRate=0.1)"), price * 1.1)
        self.assertAlmostEqual(self.value(f"{path}/CalculatePrice(discount=10,tax=20)"), price * 0.9 * 1.2)
        self.assertIn("in short format", self.value(f"{path}/GetInfo(format='short')"))
        self.assertNotIn(laptop["ID"], [p["ID"] for p in self.value(f"{path}/GetRelatedProducts()")])
        changed = self.call("POST", f"{path}/ApplyDiscount", {"percentage": 10}, status=200).json()
        self.assertAlmostEqual(changed["Price"], price * 0.9)
        self.assertEqual(changed["Version"], laptop["Version"] + 1)
        self.call("POST", f"{path}/IncreasePrice", {"amount": 5}, status=204)
        self.assertAlmostEqual(self.product("Laptop")["Price"], price * 0.9 + 5)
        self.call("POST", "ResetAllPrices", status=200)
        self.assertAlmostEqual(self.product("Laptop")["Price"], price)
        self.call("POST", f"{path}/ApplyDiscount", {}, status=400)
        self.call("POST", f"{path}/ApplyDiscount", {"percentage": "much"}, status=400)

    def test_reseeding_takes_everything_away_and_seeds_again(self):
        self.call("POST", "Products", {"Name": "Passing", "Price": 1}, status=201)
        self.assertEqual(len(self.value("Products")), 8)
        self.call("POST", "Reseed", status=200)
        self.assertEqual(len(self.value("Products")), 7)


class JSONBatches(ReferenceTest):
    def batch(self, *requests, **headers):
        answer = self.call("POST", "$batch", {"requests": requests}, status=200, **headers)
        return answer.json()["responses"]

    def test_each_request_has_its_answer_under_its_id(self):
        first, second = self.batch(
            {"id": "a", "method": "GET", "url": "Products?$top=1"}, {"id": "b", "method": "GET", "url": "Categories/$count"})
        self.assertEqual((first["id"], first["status"], len(first["body"]["value"])), ("a", 200, 1))
        self.assertEqual((second["id"], second["status"], second["body"]), ("b", 200, "3"))

    def test_what_depends_on_a_failure_is_not_made(self):
        answers = self.batch(
            {"id": "a", "method": "GET", "url": "Nothing"},
            {"id": "b", "method": "POST", "url": "Categories", "body": {"Name": "Never"}, "dependsOn": ["a"]},
            {"id": "c", "method": "GET", "url": "Categories"}, Prefer="continue-on-error")
        self.assertEqual([answer["status"] for answer in answers], [404, 424, 200])
        self.assertNotIn("Never", [category["Name"] for category in answers[2]["body"]["value"]])

    def test_it_continues_after_a_failure_by_default(self):
        requests = [{"id": "a", "method": "GET", "url": "Nothing"}, {"id": "b", "method": "GET", "url": "Categories"}]
        self.assertEqual([answer["status"] for answer in self.batch(*requests)], [404, 200])
        stopped = self.batch(*requests, Prefer="continue-on-error=false")
        self.assertEqual([answer["status"] for answer in stopped], [404, 424])

    def test_an_atomicity_group_is_atomic(self):
        answers = self.batch(
            {"id": "a", "atomicityGroup": "g", "method": "POST", "url": "Products", "body": {"Name": "Half", "Price": 1}},
            {"id": "b", "atomicityGroup": "g", "method": "DELETE", "url": "Products(00000000-0000-0000-0000-000000000000)"})
        self.assertEqual([answer["status"] for answer in answers], [424, 404])
        self.assertEqual(self.value("Products?$filter=Name eq 'Half'"), [])

    def test_a_request_can_speak_of_what_one_before_created(self):
        answers = self.batch(
            {"id": "a", "atomicityGroup": "g", "method": "POST", "url": "Categories", "body": {"Name": "Games"}},
            {"id": "b", "atomicityGroup": "g", "method": "POST", "url": "Products",
             "body": {"Name": "Chess", "Price": 20, "Category@odata.bind": "$a"}},
            {"id": "c", "atomicityGroup": "g", "method": "PATCH", "url": "$b", "body": {"Price": 25}})
        self.assertEqual([answer["status"] for answer in answers], [201, 201, 204])
        chess = self.value("Products?$filter=Name eq 'Chess'&$expand=Category")[0]
        self.assertEqual((chess["Price"], chess["Category"]["Name"]), (25, "Games"))

    def test_batches_that_make_no_sense_are_refused(self):
        self.assertEqual(self.batch(), [])
        for body in ["[", "{}", {"requests": [{"id": "a"}]}, {"requests": [{"id": "a", "method": "GET", "url": "x"}] * 2}]:
            self.call("POST", "$batch", body, status=400)
        self.call("POST", "$batch", {"requests": []}, status=400, OData_MaxVersion="4.0")
        self.call("GET", "$batch", status=405)


class MultipartBatches(ReferenceTest):
    def batch(self, body, status=200, **headers):
        return self.call("POST", "$batch", body, status=status, **{"Content_Type": "multipart/mixed; boundary=b", **headers})

    @staticmethod
    def part(request, boundary="b", extra=""):
        return f"--{boundary}\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n{extra}\r\n{request}\r\n"

    def test_requests_are_answered_in_their_order(self):
        body = self.part("GET Products?$top=1 HTTP/1.1\r\nAccept: application/json\r\n\r\n")
        body += self.part("GET Nothing HTTP/1.1\r\n\r\n") + self.part("GET Categories HTTP/1.1\r\n\r\n") + "--b--"
        text = self.batch(body, Prefer="odata.continue-on-error").text()
        self.assertLess(text.index("HTTP/1.1 200"), text.index("HTTP/1.1 404"))
        self.assertEqual(text.count("HTTP/1.1 200"), 2)
        self.assertEqual(self.batch(body).text().count("HTTP/1.1 200"), 1)

    def test_a_failure_is_reported_in_the_negotiated_version(self):
        text = self.batch(self.part("GET Nothing HTTP/1.1\r\n\r\n") + "--b--", OData_MaxVersion="4.0").text()
        self.assertIn("OData-Version: 4.0\r\n", text)
        self.assertIn("Content-Language: en\r\n", text)

    def test_lines_may_end_with_a_line_feed_alone(self):
        body = (self.part("GET Categories HTTP/1.1\r\n\r\n") + "--b--").replace("\r\n", "\n")
        self.assertIn("HTTP/1.1 200", self.batch(body).text())

    def test_a_change_set_is_a_transaction_with_references(self):
        def change_set(*parts):
            inner = "".join(self.part(request, "c", f"Content-ID: {index}\r\n") for index, request in enumerate(parts, 1))
            return f"--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n{inner}--c--\r\n--b--\r\n"

        create = 'POST Products HTTP/1.1\r\nContent-Type: application/json\r\n\r\n{"Name":"Kite","Price":9}'
        change = 'PATCH $1 HTTP/1.1\r\nContent-Type: application/json\r\n\r\n{"Price":8}'
        text = self.batch(change_set(create, change, "GET $1 HTTP/1.1\r\n\r\n")).text()
        self.assertIn("HTTP/1.1 201", text)
        self.assertIn("Content-ID: 2", text)
        self.assertEqual(self.product("Kite")["Price"], 8)
        failing = change_set(create.replace("Kite", "Lost"), change.replace("$1", "$99"))
        text = self.batch(failing).text()
        self.assertIn("HTTP/1.1 400", text)
        self.assertNotIn("HTTP/1.1 201", text)
        self.assertEqual(self.value("Products?$filter=Name eq 'Lost'"), [])
        twice = change_set(create.replace("Kite", "Lost"), create.replace("Kite", "Lost")).replace("Content-ID: 2", "Content-ID: 1")
        self.assertIn("HTTP/1.1 400", self.batch(twice).text())
        self.assertEqual(self.value("Products?$filter=Name eq 'Lost'"), [])

    def test_one_entity_is_changed_twice(self):
        key = self.product("Laptop")["ID"]
        parts = [
            self.part(f"PATCH Products({key}) HTTP/1.1\r\nContent-Type: application/json\r\n\r\n{body}", "c", f"Content-ID: {name}\r\n")
            for name, body in [("a", '{"Rating":7,"Quantity":1}'), ("b", '{"Quantity":2}')]
        ]
        text = self.batch(
            f"--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n{''.join(parts)}--c--\r\n--b--\r\n").text()
        self.assertEqual(text.count("HTTP/1.1 204"), 2, text)
        changed = self.product("Laptop")
        self.assertEqual((changed["Rating"], changed["Quantity"]), (7, 2))

    def test_broken_bodies_are_refused(self):
        for body in ["", "--b\r\nINVALID\r\n--b--", self.part("GET Categories HTTP/1.1\r\n\r\n"),
                     self.part("GET Categories HTTP/1.1\r\n\r\n", "other") + "--other--"]:
            self.batch(body, status=400)


if __name__ == "__main__":
    unittest.main()
