"""zeep, a stock client of SOAP, against a live gateway: it reads the WSDL and calls what it finds there."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "EndToEnd"))

import requests
import zeep
import zeep.exceptions
import zeep.helpers
from harness import GatewayTest

PATH = "/sca/OrganizationInterfaceExport"
SEARCH = "/OrganizationInterfaceImplMobile/employeeSearch"
KEYS = {"firstName", "lastName", "division", "email", "phoneNumber"}
# The same prefix in every document that zeep writes for itself.
BINDING = "{http://iPhoneServices/OrganizationInterface}OrganizationInterface%sBinding"


class Zeep(GatewayTest):
    def client(self, root="", user="alice"):
        session = requests.Session()
        self.addCleanup(session.close)
        session.auth = (user, "portico-demo")
        address = f"http://127.0.0.1:{self.gateway.port}{root}{PATH}"
        return zeep.Client(address + "?wsdl", transport=zeep.Transport(session=session)), address

    def json(self, **criteria):
        return self.expect(self.gateway.send("POST", SEARCH, criteria, user="alice"), 200).json()

    def test_a_search_finds_the_employees_of_the_json_call(self):
        criteria = {"fullName": "John Doe", "order": "ASC", "rowsPerPage": 10, "pageIndex": 0}
        for root in ["", "/iPhoneServicesModuleWeb"]:
            client, _ = self.client(root)
            page = zeep.helpers.serialize_object(client.service.employeeSearch(criteria), dict)
            self.assertEqual(page, self.json(**criteria))
            self.assertGreaterEqual(len(page["employees"]), 2)
            self.assertEqual(set(page["employees"][0]), KEYS)

    def test_both_versions_of_soap_answer_the_same(self):
        client, address = self.client()
        answers = [
            zeep.helpers.serialize_object(
                client.create_service(BINDING % version, address).employeeSearch({"fullName": "mar", "rowsPerPage": 50}), dict)
            for version in ["SOAP", "SOAP12"]
        ]
        self.assertEqual(answers[0], answers[1])
        self.assertEqual(answers[0], self.json(fullName="mar", rowsPerPage=50))

    def test_names_with_accents_and_markup_come_as_they_are(self):
        client, _ = self.client()
        for name in ["Amélie", "O'Brien", "<&\">"]:
            page = zeep.helpers.serialize_object(client.service.employeeSearch({"fullName": name, "rowsPerPage": 20}), dict)
            self.assertEqual(page, self.json(fullName=name, rowsPerPage=20), name)

    def test_a_page_past_the_end_is_empty(self):
        client, _ = self.client()
        page = client.service.employeeSearch({"fullName": "John Doe", "rowsPerPage": 10, "pageIndex": 1000})
        self.assertEqual(page.employees, [])

    def test_what_is_wrong_is_a_fault_with_the_contracts_code(self):
        client, address = self.client()
        wrong = [{"rowsPerPage": 0}, {"pageIndex": -1}, {"order": "SIDEWAYS"}, {"fullName": "x" * 201}]
        for criteria in wrong:
            for version in ["SOAP", "SOAP12"]:
                service = client.create_service(BINDING % version, address)
                with self.assertRaises(zeep.exceptions.Fault, msg=criteria) as caught:
                    service.employeeSearch(criteria)
                detail = "".join(element.text or "" for element in caught.exception.detail.iter())
                self.assertIn("request.invalid", detail, criteria)

    def test_without_credentials_the_fault_says_so(self):
        client, address = self.client()
        client.transport.session.auth = None
        with self.assertRaises(zeep.exceptions.Fault) as caught:
            client.service.employeeSearch({"fullName": "John"})
        self.assertEqual(caught.exception.code.split(":")[-1], "Client")


if __name__ == "__main__":
    unittest.main()
