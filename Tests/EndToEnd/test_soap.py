"""Employee search over SOAP: the service that is served, in front of a SOAP service, and what operators see of it."""

import json
import pathlib
import shutil
import tempfile
import time
import unittest
import xml.etree.ElementTree as ElementTree

from harness import Gateway, GatewayTest, run_portico
from stand_in import PROGRAM, StandIn

QUICK = True

PATH = "/iPhoneServicesModuleWeb/sca/OrganizationInterfaceExport"
SEARCH = "/OrganizationInterfaceImplMobile/employeeSearch"
TNS = "http://iPhoneServices/OrganizationInterface"
SOAP = {"1.1": "http://schemas.xmlsoap.org/soap/envelope/", "1.2": "http://www.w3.org/2003/05/soap-envelope"}
TYPES = {"1.1": "text/xml", "1.2": "application/soap+xml"}
KEYS = ["firstName", "lastName", "division", "email", "phoneNumber"]


def envelope(version="1.1", header="", **criteria):
    members = "".join(f"<{name}>{value}</{name}>" for name, value in criteria.items())
    return (
        f'<e:Envelope xmlns:e="{SOAP[version]}">{header}<e:Body><employeeSearch xmlns="{TNS}"><input1>{members}</input1>'
        "</employeeSearch></e:Body></e:Envelope>")


def page(answer, namespace=TNS):
    """An answer's page as the JSON binding has it."""
    found = ElementTree.fromstring(answer.body).find(f".//{{{namespace}}}output1")
    assert found is not None, answer
    text = {child.tag.split("}")[1]: child.text for child in found if not len(child)}
    employees = [
        {child.tag.split("}")[1]: child.text or "" for child in employee}
        for employee in found.iter(f"{{{namespace}}}employees")
    ]
    return {"employees": employees, **{name: int(value) for name, value in text.items()}}


def fault(answer):
    """The version, the code and the detail's code of a fault."""
    root = ElementTree.fromstring(answer.body)
    version = next(version for version, name in SOAP.items() if root.tag == f"{{{name}}}Envelope")
    code = root.find(f".//{{{SOAP['1.2']}}}Value") if version == "1.2" else root.find(".//faultcode")
    detail = root.find(f".//{{{TNS}}}errorCode")
    return version, code.text.split(":")[1], detail.text


class SOAPTest(GatewayTest):
    def call(self, body, version="1.1", user="alice", path=PATH, method="POST", **headers):
        headers = {"Content-Type": f"{TYPES[version]}; charset=utf-8", **headers}
        return self.gateway.request(method, path, body.encode(), headers, user=user)

    def expect_fault(self, answer, status, code, detail, version="1.1"):
        self.assertEqual(answer.status, status, answer)
        self.assertEqual(answer.headers["content-type"], f"{TYPES[version]}; charset=utf-8")
        self.assertEqual(fault(answer), (version, code, detail), answer)
        return answer


class Served(SOAPTest):
    settings = ("--set", "http.limits.body=64KiB")

    def test_a_search_answers_what_the_json_binding_does_in_both_versions(self):
        for criteria in [
            dict(fullName="John Doe", order="ASC", rowsPerPage=10, pageIndex=0), dict(fullName="mar", order="DESC"),
            dict(), dict(fullName="John Doe", rowsPerPage=10, pageIndex=1000),
        ]:
            json_answer = self.expect(self.gateway.send("POST", SEARCH, criteria, user="alice"), 200).json()
            for version in SOAP:
                answer = self.expect(self.call(envelope(version, **criteria), version), 200)
                self.assertEqual(answer.headers["content-type"], f"{TYPES[version]}; charset=utf-8")
                self.assertEqual(page(answer), json_answer, criteria)

    def test_the_context_root_may_be_left_out(self):
        short = PATH.removeprefix("/iPhoneServicesModuleWeb")
        self.assertEqual(
            page(self.call(envelope(fullName="John Doe"), path=short)), page(self.call(envelope(fullName="John Doe"))))

    def test_the_wsdl_names_the_address_by_which_it_was_asked(self):
        for query in ["?wsdl", "?WSDL", "?wsdl="]:
            answer = self.expect(self.gateway.get(PATH + query, user="alice"), 200)
            addresses = [
                element.attrib["location"] for element in ElementTree.fromstring(answer.body).iter()
                if element.tag.endswith("}address")
            ]
            self.assertEqual(addresses, [f"http://127.0.0.1:{self.gateway.port}{PATH}"] * 2)

    def test_what_is_wrong_with_a_message_is_a_fault_of_the_sender(self):
        for version, status, code in [("1.1", 500, "Client"), ("1.2", 400, "Sender")]:
            good = envelope(version, pageIndex=0)
            entity = '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]>'
            wrong = {
                "request.invalid": [
                    envelope(version, rowsPerPage="ten"), envelope(version, rowsPerPage=0),
                    envelope(version, order="up"), envelope(version, unknown="x"), envelope(version, fullName="x" * 201),
                    envelope(version, fullName="a</fullName><fullName>b"), good.replace("input1", "input2"),
                    good.replace("employeeSearch", "employeeHire"), good.replace(TNS, "urn:another"),
                ],
                "request.malformed": [
                    "", "{}", "<a/>", good[:-5], "<!DOCTYPE a>" + good, entity + envelope(version, fullName="&x;"),
                    envelope(version, fullName="<a>" * 100 + "</a>" * 100),
                ],
            }
            for detail, bodies in wrong.items():
                for body in bodies:
                    with self.subTest(version=version, body=body[:200]):
                        self.expect_fault(self.call(body, version), status, code, detail, version)

    def test_another_version_and_a_header_that_must_be_understood_have_codes_of_their_own(self):
        answer = self.call(envelope().replace(SOAP["1.1"], "urn:soap:3"))
        self.expect_fault(answer, 500, "VersionMismatch", "request.malformed")
        for version in SOAP:
            header = '<e:Header><t:token xmlns:t="urn:t" e:mustUnderstand="1"/></e:Header>'
            answer = self.call(envelope(version, header), version)
            self.expect_fault(answer, 500, "MustUnderstand", "request.malformed", version)
            understood = self.call(envelope(version, header.replace('"1"', '"0"')), version)
            self.expect(understood, 200)

    def test_what_the_specifications_forbid_is_refused_and_what_clients_do_is_not(self):
        for version, status, code in [("1.1", 500, "Client"), ("1.2", 400, "Sender")]:
            good = envelope(version, fullName="John Doe")
            body = good[good.index("<e:Body>"):good.index("</e:Envelope>")]
            operation = body[len("<e:Body>"):-len("</e:Body>")]
            header = '<e:Header><t:token xmlns:t="urn:t" e:mustUnderstand="{}"/></e:Header>'
            expected = page(self.expect(self.call(good, version), 200))
            refused = {
                "a header that says neither yes nor no": ("request.malformed", envelope(version, header.format("maybe"))),
                "a header behind the body": ("request.malformed", good.replace(body, body + header.format(0))),
                "something before the body": ("request.malformed", good.replace("<e:Body>", "<x/><e:Body>")),
                "two operations": ("request.invalid", good.replace(operation, operation * 2)),
                "an operation and something else": ("request.invalid", good.replace(operation, operation + "<x/>")),
                "no operation": ("request.invalid", good.replace(operation, "")),
                "a fault": ("request.invalid", good.replace(operation, "<e:Fault/>")),
                "two bodies": ("request.malformed", good.replace(body, body * 2)),
            }
            for name, (detail, message) in refused.items():
                with self.subTest(name, version=version):
                    self.expect_fault(self.call(message, version), status, code, detail, version)
            taken = {
                "a header that need not be understood": (envelope(version, header.format(" 0 "), fullName="John Doe"), {}),
                "false": (envelope(version, header.format("false"), fullName="John Doe"), {}),
                "no action": (good, {}), "an empty action": (good, {"SOAPAction": '""'}),
                "the operation's action": (good, {"SOAPAction": f'"{TNS}/employeeSearch"'}),
                "an action of the client's own": (good, {"SOAPAction": "urn:search"}),
                "another prefix": (good.replace("e:", "SOAP-ENV:").replace(":e=", ":SOAP-ENV="), {}),
                "a declaration and white space": ("<?xml version='1.0'?>\n" + good.replace("><", ">\n<"), {}),
                "any XML": (good, {"Content-Type": "application/xml"}),
            }
            for name, (message, headers) in taken.items():
                with self.subTest(name, version=version):
                    answer = self.expect(self.call(message, version, **headers), 200)
                    self.assertEqual(page(answer)["employees"], expected["employees"])
            other = "1.2" if version == "1.1" else "1.1"
            with self.subTest("the other version's type", version=version):
                answer = self.call(good, version, **{"Content-Type": TYPES[other]})
                self.assertEqual((answer.status, fault(answer)[2]), (415, "request.unsupportedMediaType"), answer)
                self.assertIn(TYPES[version], answer.text())

    def test_every_failure_of_the_gateway_has_the_shape_of_a_fault(self):
        for version, code in [("1.1", "Client"), ("1.2", "Sender")]:
            with self.subTest(version=version):
                anonymous = self.call(envelope(version), version, user=None)
                self.expect_fault(anonymous, 401, code, "auth.required", version)
                self.assertIn("www-authenticate", anonymous.headers)
                wrong = self.call(envelope(version), version, user="nobody")
                self.expect_fault(wrong, 401, code, "auth.invalid", version)
                below = self.call(envelope(version), version, path=PATH + "/below")
                self.expect_fault(below, 404, code, "route.notFound", version)
                method = self.call(envelope(version), version, method="PUT")
                self.expect_fault(method, 405, code, "route.methodNotAllowed", version)
                self.assertIn("POST", method.headers["allow"])
                large = self.call(envelope(version, fullName="x" * (80 << 10)), version)
                self.expect_fault(large, 413, code, "request.tooLarge", version)
        self.expect_fault(self.gateway.get(PATH, user="alice"), 404, "Client", "route.notFound")
        self.expect_fault(self.gateway.get(PATH + "?wsdl"), 401, "Client", "auth.required")
        answer = self.gateway.send("POST", PATH, {}, user="alice")
        self.expect_fault(answer, 415, "Client", "request.unsupportedMediaType")
        self.assertEqual(answer.headers["accept"], "text/xml, application/soap+xml")

    def test_the_searched_name_is_in_no_log(self):
        answer = self.call(envelope(fullName="Zaphodbeeblebrox"))
        self.assertNotIn("Zaphodbeeblebrox", self.gateway.log_with(answer))
        answer = self.call(envelope(fullName="Zaphodbeeblebrox", order="Zaphodbeeblebrox"))
        self.assertNotIn("Zaphodbeeblebrox", self.gateway.log_with(answer))


class Large(SOAPTest):
    def test_a_message_of_many_elements_is_too_large(self):
        for version in SOAP:
            answer = self.call(envelope(version, "<e:Header>" + "<x/>" * 100_000 + "</e:Header>"), version)
            self.assertEqual(answer.status, 413, answer)
            self.assertIn(b"100000 tags", answer.body)


class Limited(SOAPTest):
    settings = ("--set", "limits.requestsPerMinute=2")

    def test_too_many_requests_are_a_fault_with_429(self):
        answers = [self.call(envelope()) for _ in range(8)]
        refused = [answer for answer in answers if answer.status != 200]
        self.assertTrue(refused)
        self.expect_fault(refused[0], 429, "Client", "access.rateLimited")
        self.assertIn("retry-after", refused[0].headers)


CONFIGURATION = """
http: {{ host: 127.0.0.1 }}
identity:
  basic: {{ enabled: true }}
  demoAccounts:
    - {{ name: alice, password: portico-demo, roles: [member] }}
upstreams:
  hr:
    url: '{url}'
    networks: [127.0.0.1/32]
    deadline: 2s
    limits: {{ tries: 1, failures: 1000 }}
{upstream}
adapters:
  employees: {{ upstream: hr, protocol: soap, wsdl: hr.wsdl, {employees} }}
"""


@unittest.skipUnless(PROGRAM.exists(), "the stand-in is not built")
class InFront(SOAPTest):
    """A gateway in front of the stand-in's SOAP service, whose WSDL was fetched."""

    @classmethod
    def setUpClass(cls):
        cls.system = StandIn("--employees", 1200)
        cls.addClassCleanup(cls.system.stop)
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="portico-soap-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, True)
        cls.fetched = run_portico(
            "soap", "fetch", cls.system.address + "/sca/OrganizationInterfaceExport?wsdl", cls.folder / "hr.wsdl",
            "--output", "json", program="porticoctl")

    @classmethod
    def tearDownClass(cls):
        """Each test removes its own gateway."""

    def tearDown(self):
        self.system.order("fault", "none")

    def configuration(self, employees, upstream="", url=None, name="portico.yaml"):
        config = self.folder / name
        config.write_text(CONFIGURATION.format(url=url or self.system.address + "/", employees=employees, upstream=upstream))
        return str(config)

    def start(self, *arguments, **options):
        gateway = Gateway(config=self.configuration(*arguments), **options)
        self.addCleanup(gateway.remove)
        self.gateway = gateway
        return gateway

    def search(self, **criteria):
        return self.expect(self.gateway.send("POST", SEARCH, criteria, user="alice"), 200)

    def check(self, employees, wsdl=None):
        config = self.configuration(employees, name="check.yaml")
        if wsdl:
            (self.folder / "other.wsdl").write_text(wsdl)
            text = pathlib.Path(config).read_text().replace("wsdl: hr.wsdl", "wsdl: other.wsdl")
            pathlib.Path(config).write_text(text)
        done = run_portico("check", "--config", config)
        return done.returncode, done.stdout + done.stderr

    def test_fetch_says_what_can_be_called(self):
        self.assertEqual(self.fetched.returncode, 0, self.fetched)
        self.assertEqual(
            json.loads(self.fetched.stdout), {"files": ["hr.wsdl"], "operations": ["employeeSearch"], "notMapped": []})

    def test_its_rows_are_mirrored_page_by_page_and_answered_in_every_format(self):
        self.start("freshFor: 1h, waitFor: 10s")
        first = self.search(fullName="").json()
        self.assertEqual(first["totalRows"], 1200)
        expected = self.system.send(
            "POST", SEARCH, {"fullName": "John Doe", "rowsPerPage": 10, "pageIndex": 0}, {"Content-Type": "application/json"})
        found = self.search(fullName="John Doe", rowsPerPage=10, pageIndex=0).json()
        self.assertEqual(
            sorted(json.loads(expected.body)["employees"], key=str), sorted(found["employees"], key=str))
        self.assertEqual(page(self.expect(self.call(envelope(fullName="John Doe")), 200))["employees"], found["employees"])
        rows = self.expect(self.gateway.get("/api/v1/employees/employees?limit=1", user="alice"), 200)
        self.assertIn("age", rows.headers)

    def test_its_failures_leave_the_last_good_rows(self):
        gateway = self.start("freshFor: 300ms, waitFor: 3s")
        self.assertEqual(self.search(fullName="").json()["totalRows"], 1200)
        for order in [["error", "500"], ["error", "503"], ["garbage"], ["truncate"], ["login-page"], ["empty"]]:
            with self.subTest(fault=order):
                self.system.order("fault", *order)
                time.sleep(0.5)
                answer = self.expect(self.call(envelope(fullName="")), 200)
                self.assertEqual(page(answer)["totalRows"], 1200)
                self.assertRegex(answer.headers["cache-status"], "^portico; fwd=stale")
                self.system.order("fault", "none")
                end = time.monotonic() + 60
                while run_portico("mirrors", "refresh", "employees/employees", "--data", str(gateway.data), program="porticoctl").returncode:
                    self.assertLess(time.monotonic(), end)
                    time.sleep(0.2)

    def test_it_is_called_each_time_and_the_last_answer_stays(self):
        self.start("mode: call, freshFor: 1ms, waitFor: 3s")
        criteria = dict(fullName="John Doe", order="DESC", rowsPerPage=2, pageIndex=0)
        found = self.search(**criteria).json()
        self.assertEqual(len(found["employees"]), 2)
        self.assertEqual(list(found["employees"][0]), KEYS)
        self.assertEqual(page(self.call(envelope(**criteria))), found)
        self.system.order("fault", "error", "500")
        answer = self.expect(self.call(envelope(**criteria)), 200)
        self.assertEqual(page(answer), found)
        self.assertIn("fwd=stale", answer.headers["cache-status"])
        # Never asked before: there is nothing to answer.
        refused = self.call(envelope(fullName="Another"))
        self.assertEqual((refused.status, fault(refused)[1]), (503, "Server"), refused)
        self.system.order("fault", "none")

    def test_a_token_names_the_gateway(self):
        text = (self.folder / "hr.wsdl").read_text()
        for kind in ["text", "digest"]:
            employees = f"wsSecurity: {{ username: portico, password: {{ env: HR_TOKEN }}, kind: {kind} }}, freshFor: 1h, waitFor: 10s"
            self.assertIn("urn:portico:stand-in:organization", text)
            self.start(employees, environment={"HR_TOKEN": "s3cret"})
            # The stand-in does not know the header, which must be understood.
            self.assertIn(self.gateway.send("POST", SEARCH, {"fullName": ""}, user="alice").status, [502, 503])
            self.assertNotIn("s3cret", self.gateway.log())

    def test_the_wsdl_needs_no_answer_of_the_system(self):
        self.system.order("fault", "error", "503")
        self.start("freshFor: 1h, waitFor: 10s")
        self.expect(self.gateway.get(PATH + "?wsdl", user="alice"), 200)
        self.assertEqual(fault(self.call(envelope()))[:2], ("1.1", "Server"))

    def test_check_names_what_the_wsdl_lacks(self):
        good = (self.folder / "hr.wsdl").read_text()
        for wsdl, employees, message in [
            (None, "operation: findAll", "There is no operation findAll that can be called; there are employeeSearch."),
            (good.replace('name="lastName"', 'name="surname"'), "", "lack lastName and have firstName, surname, division"),
            (good.replace('name="fullName"', 'name="who"'), "mode: call", "lacks fullName, which `mode: call` passes on, and has division, order, rowsPerPage, pageIndex, who;"),
            (good.replace('"firstName"', '"a"').replace('"lastName"', '"b"').replace('"division"', '"c"')
                 .replace('"email"', '"d"').replace('"phoneNumber"', '"e"'), "", "it has totalRows, pageIndex, rowsPerPage, a, b"),
            (good.replace('name="pageIndex"', 'name="page"', 1), "", "has one of pageIndex and rowsPerPage alone"),
            (good.replace('style="document"', 'style="rpc"'), "", "has the style rpc"),
            ("<a/>", "", "other.wsdl:1: this is no WSDL 1.1"),
            (None, "names: { nickname: x }", "The contract has no such member"),
            (None, "wsSecurity: { username: x }", "The token needs a password"),
        ]:
            with self.subTest(message=message):
                status, output = self.check(employees, wsdl)
                self.assertEqual(status, 1, output)
                self.assertIn(message, output)
        self.assertEqual(self.check("")[0], 0)
        renamed = good.replace('name="lastName"', 'name="surname"')
        self.assertEqual(self.check("names: { lastName: surname }", renamed)[0], 0)

    def test_a_gateway_stands_in_front_of_a_gateway(self):
        self.start("freshFor: 1h, waitFor: 10s")
        inner = self.gateway
        fetched = run_portico(
            "soap", "fetch", f"http://127.0.0.1:{inner.port}{PATH}?wsdl", self.folder / "hr.wsdl", "--user", "alice",
            program="porticoctl", stdin="portico-demo\n")
        self.assertEqual(fetched.returncode, 0, fetched)
        try:
            upstream = "    credentials: { kind: basic, username: alice, password: { env: INNER } }"
            config = self.configuration("freshFor: 1h, waitFor: 10s", upstream, f"http://127.0.0.1:{inner.port}/")
            outer = Gateway(config=config, environment={"INNER": "portico-demo"})
            self.addCleanup(outer.remove)
            for criteria in [dict(fullName="John Doe"), dict(fullName="", rowsPerPage=500, pageIndex=1, order="DESC")]:
                answers = []
                for gateway in [inner, outer]:
                    self.gateway = gateway
                    answers.append(page(self.expect(self.call(envelope(**criteria)), 200)))
                self.assertEqual(answers[0]["totalRows"], answers[1]["totalRows"])
                self.assertEqual(*(sorted(map(str, answer["employees"])) for answer in answers))
        finally:
            run_portico(
                "soap", "fetch", self.system.address + "/sca/OrganizationInterfaceExport?wsdl", self.folder / "hr.wsdl",
                program="porticoctl")


if __name__ == "__main__":
    unittest.main()
