"""The black-box checks of the contracts in front of other systems: one table of contracts, each in front of the stand-in, in
front of another gateway, and from a recording of the stand-in without any system."""

import pathlib
import shutil
import tempfile
import unittest

import test_chat
import test_employees
import test_feeds
import test_soap
import test_users
from harness import Gateway, run_portico
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
  demoAccounts:
    - {{ name: alice, password: portico-demo, roles: [member] }}
    - {{ name: bob, password: portico-demo, roles: [member] }}
    - {{ name: carol, password: portico-demo, roles: [member] }}
    - {{ name: admin, password: portico-demo, roles: [admin, member] }}
upstreams:
  back:
    url: '{url}'
    networks: [127.0.0.1/32]
    deadline: 10s
    limits: {{ tries: 1, failures: 1000 }}
    credentials: {{ kind: basic, username: carol, password: {{ env: BACK_PASSWORD }} }}
    {rehearsal}
adapters:
  users: {{ {users} }}
  employees: {{ {employees} }}
  feeds: {{ sonnets: {{ access: public-read, {feed} }} }}
  chat: {{ echo: true, {chat} }}
"""
# A gateway takes users through the entity's own resource, not at the contract's paths: there is no writing through it.
WRITES = ["test_a_name_with_markup_and_accents_round_trips", "test_an_xml_document_creates_a_user",
          "test_a_doctype_an_entity_and_a_bomb_are_refused_at_once"]
# These start gateways of their own, without an upstream.
OTHERS = ["test_6_browsers_of_allowed_origins_may_call", "test_the_echo_can_be_switched_off"]
SOAP = "protocol: soap, wsdl: hr.wsdl"
WRITING = "write: through, access: { read: login, write: { roles: [admin] } }"
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
        parts = {"body": "1MiB", "users": "enabled: true", "employees": "enabled: true", "feed": "", "chat": "", **(parts or {})}
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
    def stand_in(cls):
        system = StandIn("--employees", 1200)
        cls.addClassCleanup(system.stop)
        return system


class BeforeAStandIn(Front):
    @classmethod
    def setUpClass(cls):
        system, folder = cls.stand_in(), cls.folder()
        cls.fetch_wsdl(system.address, folder)
        cls.gateway = cls.start(folder, system.address + "/", parts=cls.parts)


class BeforeAGateway(Front):
    @classmethod
    def setUpClass(cls):
        back, folder = cls.start(cls.folder(), samples="true"), cls.folder()
        cls.fetch_wsdl(f"http://127.0.0.1:{back.port}", folder)
        parts = {name: value.replace(f"{WRITING}, ", "") for name, value in cls.parts.items()}
        cls.gateway = cls.start(folder, f"http://127.0.0.1:{back.port}/", parts=parts)


class FromARecording(Front):
    """The checks run once and are recorded; then they run without the system, which is gone."""

    @classmethod
    def setUpClass(cls):
        system, folder = cls.stand_in(), cls.folder()
        cls.fetch_wsdl(system.address, folder)
        recorder = cls.start(folder, system.address + "/", "record: answers", parts=cls.parts)
        recorded = type("Recorded" + cls.__name__, (cls.checks,), {**cls.left_out, "setUpClass": classmethod(lambda _: None)})
        recorded.gateway = recorder
        result = unittest.TestResult()
        recorded.tearDownClass = classmethod(lambda _: None)
        unittest.defaultTestLoader.loadTestsFromTestCase(recorded).run(result)
        assert result.wasSuccessful() and result.testsRun > 3, result.failures + result.errors
        recorder.remove()
        system.stop()
        cls.gateway = cls.start(folder, system.address + "/", "replay: answers", parts=cls.parts)


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
