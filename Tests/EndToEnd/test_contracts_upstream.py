"""The black-box checks of the contracts in front of other systems: one table of contracts, each in front of the stand-in, in
front of another gateway, and from a recording of the stand-in without any system."""

import pathlib
import shutil
import tempfile
import unittest

import test_chat
import test_employees
import test_feeds
import test_odata_v2
import test_soap
import test_users
from harness import JSON, ROOT, Gateway, run_portico
from stand_in import PROGRAM, StandIn

# Every read asks the other system, and waits as long as that takes at the most.
ASKING = "freshFor: 1ms, waitFor: 10s"
# Thousands of rows are fetched once: in a debug build that takes seconds.
ONCE = "freshFor: 1h, waitFor: 60s"
CONFIGURATION = """
http: {{ host: 127.0.0.1, limits: {{ body: {body} }} }}
store: {{ sampleData: {samples} }}
identity:
  basic: {{ enabled: true }}
  session: {{ cookie: {{ name: {cookie} }} }}
  demoAccounts:
    - {{ name: alice, password: portico-demo, roles: [member] }}
    - {{ name: bob, password: portico-demo, roles: [member] }}
    - {{ name: carol, password: portico-demo, roles: [member] }}
    - {{ name: admin, password: portico-demo, roles: [admin, member] }}
upstreams:
  back:
    url: '{url}'
    networks: [127.0.0.1/32]
    deadline: {deadline}
    limits: {{ tries: 1, failures: 1000 }}
    credentials: {{ kind: basic, username: carol, password: {{ env: BACK_PASSWORD }} }}
    {rehearsal}
adapters:
  users: {{ {users} }}
  employees: {{ {employees} }}
  feeds: {{ sonnets: {{ access: public-read, {feed} }} }}
  chat: {{ echo: true, {chat} }}
  odata: {{ {odata} }}
"""
# A gateway takes users through the entity's own resource, not at the contract's paths: there is no writing through it.
WRITES = ["test_a_name_with_markup_and_accents_round_trips", "test_an_xml_document_creates_a_user",
          "test_a_doctype_an_entity_and_a_bomb_are_refused_at_once"]
# These start gateways of their own, without an upstream.
OTHERS = ["test_6_browsers_of_allowed_origins_may_call", "test_the_echo_can_be_switched_off"]
SOAP = "protocol: soap, wsdl: hr.wsdl"
WRITING = "write: through, access: { read: login, write: { roles: [admin] } }"
# Where a service is, of version 2 and of version 4: the stand-in's, and another gateway's.
STAND_IN = {"two": "sap/opu/odata/sap/ADMISSIONSCOUNSELOR/", "four": "odata/v4/admissions/"}
GATEWAY = {"two": "odata/v2/admissions/", "four": "odata/v4/admissions/"}
CALLED = "mode: call"
RIGHTS = "access: { read: login, write: login }"
LOCAL = "services: { admissions: { model: '%s', samples: 400, %s } }" % (ROOT / "Config/odata/admissions.csdl.xml", RIGHTS)


def odata(version, mode):
    """A service of another system at the contract's paths, whose path is put in place of the version's name."""
    service = f"model: '{version}.xml', path: '{version.upper()}', upstream: back, write: through, {RIGHTS}, {mode}"
    return {
        "cookie": "MYSAPSSO2", "odata": "services: { admissions: { %s } }" % service,
        "deadline": "3s" if mode == CALLED else "10s"}


class ODataContract(test_odata_v2.TheContract):
    """The checks, and what the contract says of a system that is too slow."""

    parts, system, states = {}, None, 7
    # With the instant that must have a value: what stands in for one that is not sent is another in each run, and so would be the
    # recorded change.
    student = {**test_odata_v2.TheContract.student, "ModifiedAt": "/Date(1767225600000)/"}

    @classmethod
    def tearDownClass(cls):
        """The gateway ends with the class's clean-up."""

    def test_a_system_slower_than_its_deadline_holds_up_nobody_else(self):
        if self.system is None:
            self.skipTest("no system that is slow by order")
        self.system.order("fault", "hang")
        try:
            answer = self.gateway.get(test_odata_v2.ROOT + "StudentCollection(1)", accept=JSON, user="alice")
            is_called = CALLED in self.parts["odata"]
            self.assertEqual(answer.status, 504 if is_called else 200, answer)
            if is_called:
                self.assertIn("back", answer.json()["error"]["message"]["value"])
            self.expect(self.gateway.get("/v2/list", user="alice"), 200)
        finally:
            self.system.order("fault", "none")
        self.ask("StudentCollection(1)")


# By name: the checks, what the adapters are configured with, and the checks that a gateway behind the gateway does not have.
CONTRACTS = {
    "Users": (test_users.UsersContract, {"users": f"upstream: back, {WRITING}, {ASKING}"}, WRITES),
    "Feeds": (test_feeds.FeedsContract, {"feed": f"upstream: back, path: plists/sonnets, {ASKING}"}, []),
    "Chat": (test_chat.Contract, {"chat": "upstream: back, rooms: [r1], refresh: 100ms"}, []),
    "Employees": (test_employees.EmployeeSearchContract, {"employees": f"upstream: back, {ONCE}"}, []),
    "EmployeesCalled": (
        test_employees.EmployeeSearchContract, {"employees": f"upstream: back, mode: call, {ASKING}"}, []),
    "EmployeesOfSOAP": (
        test_employees.EmployeeSearchContract, {"employees": f"upstream: back, {SOAP}, {ONCE}"}, []),
    "EmployeesOfSOAPCalled": (
        test_employees.EmployeeSearchContract, {"employees": f"upstream: back, {SOAP}, mode: call, {ASKING}"}, []),
    # With the limit that the check has where it is served.
    "SOAP": (test_soap.Served, {"body": "64KiB", "employees": f"upstream: back, {SOAP}, {ONCE}"}, []),
    "SOAPCalled": (test_soap.Served, {"body": "64KiB", "employees": f"upstream: back, {SOAP}, mode: call, {ASKING}"}, []),
    "OData2": (ODataContract, odata("two", ONCE), []),
    "OData2Called": (ODataContract, odata("two", CALLED), []),
    "OData4": (ODataContract, odata("four", ONCE), []),
    "OData4Called": (ODataContract, odata("four", CALLED), []),
}


class Front:
    """Before the checks: a gateway in front of another system, in `gateway`."""

    parts = {}

    @classmethod
    def folder(cls):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="portico-contracts-"))
        cls.addClassCleanup(shutil.rmtree, folder, True)
        return folder

    @classmethod
    def start(cls, folder, url="http://127.0.0.1:1/", rehearsal="", samples="false", parts=None):
        """A gateway whose files are in `folder`, ended with the class."""
        parts = {
            "body": "1MiB", "users": "enabled: true", "employees": "enabled: true", "feed": "", "chat": "", "odata": "",
            "cookie": "portico_session", "deadline": "10s", **(parts or {})}
        config = folder / "portico.yaml"
        config.write_text(CONFIGURATION.format(url=url, rehearsal=rehearsal, samples=samples, **parts))
        gateway = Gateway(config=str(config), environment={"BACK_PASSWORD": "portico-demo"})
        cls.addClassCleanup(gateway.remove)
        # The first fetch may take longer than a check waits.
        for path in ["/plists/sonnets", "/v2/list"]:
            gateway.get(path, user="alice")
        return gateway

    @classmethod
    def fetch_wsdl(cls, address, folder):
        path = "/iPhoneServicesModuleWeb/sca/OrganizationInterfaceExport?wsdl"
        done = run_portico(
            "soap", "fetch", address + path, folder / "hr.wsdl", "--user", "carol", program="porticoctl", stdin="portico-demo\n")
        assert done.returncode == 0, done

    @classmethod
    def fetch_models(cls, address, places, folder):
        """The metadata of both versions; the parts of the configuration with the places of the services."""
        parts = dict(cls.parts)
        if "odata" in parts:
            for name, place in places.items():
                done = run_portico(
                    "odata", "fetch", f"{address}/{place}", folder / f"{name}.xml", "--user", "carol", program="porticoctl",
                    stdin="portico-demo\n")
                assert done.returncode == 0, done
                parts["odata"] = parts["odata"].replace(f"'{name.upper()}'", place)
        return parts

    @classmethod
    def stand_in(cls):
        system = StandIn("--employees", 1200)
        cls.addClassCleanup(system.stop)
        return system


class BeforeAStandIn(Front):
    @classmethod
    def setUpClass(cls):
        cls.system, folder = cls.stand_in(), cls.folder()
        cls.fetch_wsdl(cls.system.address, folder)
        parts = cls.fetch_models(cls.system.address, STAND_IN, folder)
        cls.gateway = cls.start(folder, cls.system.address + "/", parts=parts)


class BeforeAGateway(Front):
    states, student = 51, test_odata_v2.TheContract.student

    @classmethod
    def setUpClass(cls):
        behind = {"odata": LOCAL} if "odata" in cls.parts else None
        back, folder = cls.start(cls.folder(), samples="true", parts=behind), cls.folder()
        cls.fetch_wsdl(f"http://127.0.0.1:{back.port}", folder)
        parts = cls.fetch_models(f"http://127.0.0.1:{back.port}", GATEWAY, folder)
        parts = {name: value.replace(f"{WRITING}, ", "") for name, value in parts.items()}
        cls.gateway = cls.start(folder, f"http://127.0.0.1:{back.port}/", parts=parts)


class FromARecording(Front):
    """The checks run once and are recorded; then they run without the system, which is gone."""

    @classmethod
    def setUpClass(cls):
        system, folder = cls.stand_in(), cls.folder()
        cls.fetch_wsdl(system.address, folder)
        parts = cls.fetch_models(system.address, STAND_IN, folder)
        recorder = cls.start(folder, system.address + "/", "record: answers", parts=parts)
        recorded = type("Recorded" + cls.__name__, (cls.checks,), {**cls.left_out, "setUpClass": classmethod(lambda _: None)})
        recorded.gateway = recorder
        result = unittest.TestResult()
        recorded.tearDownClass = classmethod(lambda _: None)
        unittest.defaultTestLoader.loadTestsFromTestCase(recorded).run(result)
        assert result.wasSuccessful() and result.testsRun > 3, result.failures + result.errors
        recorder.remove()
        system.stop()
        cls.gateway = cls.start(folder, system.address + "/", "replay: answers", parts=parts)


def load_tests(loader, _, pattern):
    suite = unittest.TestSuite()
    for name, (checks, parts, not_behind_a_gateway) in CONTRACTS.items():
        for mode in [BeforeAStandIn, BeforeAGateway, FromARecording]:
            if mode is not BeforeAGateway and not PROGRAM.exists():
                continue
            left_out = dict.fromkeys(OTHERS + (not_behind_a_gateway if mode is BeforeAGateway else []))
            left_out = {test: None for test in left_out if hasattr(checks, test)}
            case = type(name + mode.__name__, (mode, checks), {
                "parts": parts, "checks": checks, "left_out": left_out, **left_out, "__module__": __name__})
            suite.addTests(loader.loadTestsFromTestCase(case))
    return suite


if __name__ == "__main__":
    unittest.main()
