"""spyne, a server of SOAP that others wrote, with a gateway in front of it: its WSDL is fetched, its rows are mirrored."""

import pathlib
import shutil
import sys
import tempfile
import threading
import unittest
import wsgiref.simple_server

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "EndToEnd"))

from spyne import Application, Array, ComplexModel, Fault, Integer, ServiceBase, Unicode, rpc
from spyne.protocol.soap import Soap11, Soap12
from spyne.server.wsgi import WsgiApplication

from harness import Gateway, run_portico

SEARCH = "/OrganizationInterfaceImplMobile/employeeSearch"
DIVISIONS = ["Design", "Legal", "Sales"]
CONFIGURATION = """
http: {{ host: 127.0.0.1 }}
identity:
  basic: {{ enabled: true }}
  demoAccounts:
    - {{ name: alice, password: portico-demo, roles: [member] }}
upstreams:
  hr: {{ url: 'http://127.0.0.1:{port}/', networks: [127.0.0.1/32], deadline: 10s }}
adapters:
  employees: {{ upstream: hr, protocol: soap, wsdl: hr.wsdl, operation: find_people, {keys},
    names: {{ fullName: name, firstName: given, lastName: family, phoneNumber: phone, totalRows: total }} }}
"""


class Person(ComplexModel):
    __namespace__ = "urn:people:types"
    given = Unicode
    family = Unicode
    division = Unicode
    email = Unicode
    phone = Unicode


class Result(ComplexModel):
    __namespace__ = "urn:people:types"
    hits = Array(Person)
    total = Integer


PEOPLE = [
    Person(given="Zoë" if n % 2 else "Jean-Luc", family=f"O'Brien {n} & Co", division=DIVISIONS[n % 3], email=f"p{n}@example.com")
    for n in range(1_234)
]


class People(ServiceBase):
    @rpc(Unicode, Unicode, Unicode(values=["ASC", "DESC"]), Integer, Integer, _returns=Result)
    def find_people(ctx, name, division, order, rowsPerPage, pageIndex):
        if name == "Broken":
            raise Fault("Server", "broken")
        words = (name or "").lower().split()
        found = [
            person for person in PEOPLE
            if not division or person.division == division
            if all(any(part.lower().startswith(word) for part in f"{person.given} {person.family}".split()) for word in words)
        ]
        found.sort(key=lambda person: person.division, reverse=order == "DESC")
        start = pageIndex * rowsPerPage
        return Result(hits=found[start:start + rowsPerPage], total=len(found))


class Quiet(wsgiref.simple_server.WSGIRequestHandler):
    def log_message(self, *_):
        pass


class Spyne(unittest.TestCase):
    PROTOCOLS = {"1.1": Soap11, "1.2": Soap12}

    def start(self, version, keys):
        protocol = self.PROTOCOLS[version]
        application = Application(
            [People], tns="urn:people", name="People", in_protocol=protocol(validator="lxml"), out_protocol=protocol())
        server = wsgiref.simple_server.make_server("127.0.0.1", 0, WsgiApplication(application), handler_class=Quiet)
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        folder = pathlib.Path(tempfile.mkdtemp(prefix="portico-spyne-"))
        self.addCleanup(shutil.rmtree, folder, True)
        fetched = run_portico(
            "soap", "fetch", f"http://127.0.0.1:{server.server_port}/?wsdl", folder / "hr.wsdl", program="porticoctl")
        self.assertEqual(fetched.returncode, 0, fetched)
        config = folder / "portico.yaml"
        config.write_text(CONFIGURATION.format(port=server.server_port, keys=keys))
        self.gateway = Gateway(config=str(config))
        self.addCleanup(self.gateway.remove)

    def search(self, status=200, **criteria):
        answer = self.gateway.send("POST", SEARCH, criteria, user="alice")
        self.assertEqual(answer.status, status, answer)
        return answer.json()

    def test_its_rows_are_mirrored_in_either_version(self):
        for version in self.PROTOCOLS:
            with self.subTest(version=version):
                self.start(version, "freshFor: 1h, waitFor: 30s")
                page = self.search(fullName="zoe brien", rowsPerPage=5, division="Sales")
                expected = [p for n, p in enumerate(PEOPLE) if n % 2 and p.division == "Sales"]
                self.assertEqual(page["totalRows"], len(expected))
                first = page["employees"][0]
                self.assertIn((first["firstName"], first["lastName"]), {(p.given, p.family) for p in expected})
                self.assertEqual(first["phoneNumber"], "")
                self.assertEqual(self.search(fullName="")["totalRows"], len(PEOPLE))

    def test_it_is_called_each_time_in_either_version(self):
        for version in self.PROTOCOLS:
            with self.subTest(version=version):
                self.start(version, "mode: call, waitFor: 30s")
                criteria = dict(fullName="Zoë", division="Legal", order="ASC", rowsPerPage=3, pageIndex=1)
                page = self.search(**criteria)
                expected = [p for n, p in enumerate(PEOPLE) if n % 2 and p.division == "Legal"]
                self.assertEqual([e["email"] for e in page["employees"]], [p.email for p in expected[3:6]])
                self.assertEqual(page["totalRows"], len(expected))
                self.assertEqual(self.search(fullName="nobody")["employees"], [])
                self.assertIn("errorCode", self.search(503, fullName="Broken"))


if __name__ == "__main__":
    unittest.main()
