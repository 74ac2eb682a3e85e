"""The employee search contract, checked from outside (SOAP apart)."""

import plistlib
import unittest
import xml.etree.ElementTree as ElementTree

from harness import BPLIST, JSON, PLIST, XML, GatewayTest

QUICK = True

PATH = "/OrganizationInterfaceImplMobile/employeeSearch"
KEYS = {"firstName", "lastName", "division", "email", "phoneNumber"}


class EmployeeSearchContract(GatewayTest):
    def search(self, status=200, path=PATH, accept=None, **criteria):
        headers = {"Accept": accept} if accept else {}
        answer = self.gateway.send("POST", path, criteria, headers=headers, user="alice")
        return self.expect(answer, status)

    def names(self, **criteria):
        return [
            (e["firstName"], e["lastName"], e["email"], e["division"]) for e in self.search(**criteria).json()["employees"]
        ]

    def test_two_people_called_john_doe_are_found_with_the_five_keys(self):
        page = self.search(fullName="John Doe", order="ASC", rowsPerPage=10, pageIndex=0).json()
        self.assertGreaterEqual(len(page["employees"]), 2)
        for employee in page["employees"]:
            self.assertLessEqual(KEYS, set(employee))
        self.assertEqual(page["totalRows"], len(page["employees"]))

    def test_the_context_root_may_stand_in_front(self):
        criteria = dict(fullName="John Doe", order="ASC", rowsPerPage=10, pageIndex=0)
        plain = self.search(**criteria).json()
        self.assertEqual(self.search(path="/iPhoneServicesModuleWeb" + PATH, **criteria).json(), plain)

    def test_numbers_may_come_as_text(self):
        plain = self.search(fullName="John Doe", order="ASC", rowsPerPage=10, pageIndex=0).json()
        self.assertEqual(self.search(fullName="John Doe", order="ASC", rowsPerPage="10", pageIndex="0").json(), plain)

    def test_what_is_no_number_is_an_error_in_the_contracts_shape(self):
        for wrong in ["ten", True, 1.5, None, [], "1.5"]:
            body = self.search(status=400, fullName="John", order="ASC", rowsPerPage=wrong, pageIndex=0).json()
            self.assertIn("errorCode", body)
            self.assertIn("errorMessage", body)

    def test_pages_are_distinct_and_end_empty(self):
        pages = [self.names(fullName="John Doe", order="ASC", rowsPerPage=1, pageIndex=n) for n in (0, 1)]
        self.assertEqual([len(page) for page in pages], [1, 1])
        self.assertNotEqual(pages[0], pages[1])
        self.assertEqual(self.names(fullName="John Doe", order="ASC", rowsPerPage=10, pageIndex=1000), [])

    def test_descending_reverses_ascending(self):
        everything = dict(fullName="mar", rowsPerPage=500, pageIndex=0)
        ascending = [row[3] for row in self.names(order="ASC", **everything)]
        descending = [row[3] for row in self.names(order="DESC", **everything)]
        self.assertEqual(ascending, sorted(ascending))
        self.assertEqual(descending, list(reversed(ascending)))

    def test_a_division_filters(self):
        division = self.names(fullName="John Doe", order="ASC", rowsPerPage=1, pageIndex=0)[0][3]
        rows = self.names(division=division, fullName="", order="ASC", rowsPerPage=50, pageIndex=0)
        self.assertEqual({row[3] for row in rows}, {division})

    def test_case_and_accents_do_not_matter_and_words_are_prefixes(self):
        found = self.names(fullName="jöh DO", order="ASC", rowsPerPage=100, pageIndex=0)
        self.assertIn(("John", "Doe"), {row[:2] for row in found})

    def test_every_wire_format_comes_in_and_goes_out(self):
        criteria = {"fullName": "John Doe", "order": "ASC", "rowsPerPage": 10, "pageIndex": 0}
        expected = self.search(**criteria).json()
        bodies = [
            (PLIST, plistlib.dumps(criteria)),
            (BPLIST, plistlib.dumps(criteria, fmt=plistlib.FMT_BINARY)),
            (XML, "<criteria>" + "".join(f"<{k}>{v}</{k}>" for k, v in criteria.items()) + "</criteria>"),
            ("application/x-www-form-urlencoded", "fullName=John+Doe&order=ASC&rowsPerPage=10&pageIndex=0"),
        ]
        for content_type, body in bodies:
            answer = self.gateway.request(
                "POST", PATH, body, {"Content-Type": content_type, "Accept": PLIST}, user="alice")
            self.assertEqual(self.expect(answer, 200).plist(), expected, content_type)

    def test_get_is_405_with_allow(self):
        answer = self.expect(self.gateway.get(PATH, user="alice"), 405)
        self.assertIn("POST", answer.headers["allow"])

    def test_without_a_login_the_error_has_the_contracts_shape(self):
        answer = self.expect(self.gateway.send("POST", PATH, {}), 401)
        self.assertIn("errorCode", answer.json())

    def test_the_searched_name_is_in_no_log(self):
        answer = self.search(fullName="Zaphodbeeblebrox", order="ASC", rowsPerPage=1, pageIndex=0)
        self.assertNotIn("Zaphodbeeblebrox", self.gateway.log_with(answer))


if __name__ == "__main__":
    unittest.main()
