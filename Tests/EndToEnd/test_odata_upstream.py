"""OData services of other systems behind ours: an SAP gateway (2.0) and a supplier's service (4.0), both played by the stand-in."""

import http.server
import json
import pathlib
import shutil
import tempfile
import threading
import time
import unittest
import urllib.parse

from harness import JSON, Gateway, run_portico
from stand_in import StandIn
from sync_device import Device

SAP, SUPPLIER = "/sap/opu/odata/sap/ADMISSIONSCOUNSELOR/", "/odata/v4/admissions/"
CONFIGURATION = """
http: {{ host: 127.0.0.1 }}
store: {{ sampleData: true }}
identity:
  basic: {{ enabled: true }}
  demoAccounts:
    - {{ name: alice, password: portico-demo, roles: [member] }}
    - {{ name: admin, password: portico-demo, roles: [admin] }}
upstreams:
  back:
    url: '{url}/'
    networks: [127.0.0.1/32]
    deadline: 20s
    limits: {{ connect: 500ms, firstByte: 10s, tries: 1, failures: 1000 }}
adapters:
  users: {{ access: login }}
  odata:
    services:
      sap: {{ model: sap.edmx, upstream: back, path: {sap_path}, access: {access}, {sap} }}
      supplier: {{ model: supplier.xml, upstream: back, path: {supplier_path}, sapName: SUPPLIER, access: {access}, {supplier} }}
      # A real model that nobody has rows for yet.
      local: {{ model: sap.edmx, sapName: LOCAL, access: public-read }}
"""
ACCESS = "{ read: public, write: { roles: [admin] } }"
STUDENTS = 2_300
READY = "freshFor: 1h, waitFor: 60s"
ASKING = "freshFor: 1ms, waitFor: 10s"


class UpstreamServices(unittest.TestCase):
    """Stand-ins and gateways, which end with the test."""

    def stand_in(self, *arguments):
        system = StandIn("--students", STUDENTS, *arguments)
        self.addCleanup(system.stop)
        return system

    def folder(self):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="portico-odata-upstream-"))
        self.addCleanup(shutil.rmtree, folder, True)
        return folder

    def fetch(self, *arguments, status=0):
        done = run_portico("odata", "fetch", *arguments, "--output", "json", program="porticoctl")
        self.assertEqual(done.returncode, status, done)
        return json.loads(done.stdout) if status == 0 else done

    def configure(self, system, sap=READY, supplier=READY):
        folder = self.folder()
        self.fetch(system.address + SAP, folder / "sap.edmx")
        self.fetch(system.address + SUPPLIER, folder / "supplier.xml")
        config = folder / "portico.yaml"
        config.write_text(CONFIGURATION.format(
            url=system.address, sap=sap, supplier=supplier, sap_path=SAP[1:], supplier_path=SUPPLIER[1:], access=ACCESS))
        return str(config)

    def start(self, system, **settings):
        gateway = Gateway(config=self.configure(system, **settings))
        self.addCleanup(gateway.remove)
        return gateway

    def get(self, gateway, path, status=200, **fields):
        answer = gateway.request("GET", path, headers={"Accept": JSON, **fields})
        self.assertEqual(answer.status, status, answer)
        return answer

    def values(self, gateway, path):
        """All pages of a set, as version 4 has them."""
        values, place = [], path
        while place:
            page = self.get(gateway, place).json()
            values += page["value"]
            place = page.get("@odata.nextLink")
            if place:
                parts = urllib.parse.urlsplit(urllib.parse.urljoin(f"http://gateway{path}", place))
                place = f"{parts.path}?{parts.query}"
        return values

    def control(self, gateway, *arguments):
        done = run_portico(*arguments, "--data", gateway.data, "--output", "json", program="porticoctl")
        return done, json.loads(done.stdout) if done.stdout.strip() else None


class FetchTest(UpstreamServices):
    def test_a_real_model_of_the_demonstrations_name_starts_with_sample_data(self):
        gateway = self.start(self.stand_in())
        self.assertEqual(self.get(gateway, "/health/ready").status, 200)
        self.assertEqual(self.get(gateway, "/odata/v4/local/StudentCollection/$count").text(), "0")
        self.assertIn("loading sample records", gateway.log())
        self.assertNotIn("StudentCollection 1", gateway.log())

    def test_rows_of_another_system_do_not_keep_the_demonstrations_model_from_its_samples(self):
        system, folder = self.stand_in(), self.folder()
        config = pathlib.Path(self.configure(system))
        (folder / "data").mkdir()
        first = Gateway(config=str(config), data=folder / "data")
        self.addCleanup(first.remove)
        self.get(first, "/odata/v4/sap/StudentCollection/$count")
        first.stop()
        demonstration = pathlib.Path(__file__).parents[2] / "Config/odata/admissions.csdl.xml"
        config.write_text(config.read_text() + f"""
      admissions: {{ model: {demonstration}, sapName: DEMONSTRATION, samples: 80, access: public-read }}
""")
        second = Gateway(config=str(config), data=folder / "data")
        self.addCleanup(second.remove)
        self.assertEqual(self.get(second, "/odata/v4/admissions/Students/$count").text(), "80")
        self.assertEqual(self.get(second, "/odata/v4/sap/StudentCollection/$count").text(), str(STUDENTS))

    def test_the_metadata_is_written_with_what_is_served_of_it(self):
        system, folder = self.stand_in(), self.folder()
        told = self.fetch(system.address + SAP, folder / "sap.edmx")
        self.assertEqual(told["version"], "2.0")
        self.assertEqual(told["sets"], ["StateCollection", "SchoolCollection", "StudentCollection", "TopicCollection"])
        self.assertEqual(told["leftOut"], ["Deactivate: actions of other systems are not called"])
        told = self.fetch(system.address + SUPPLIER + "$metadata", folder / "supplier.xml")
        self.assertEqual((told["version"], told["sets"]), ("4.0", ["States", "Schools", "Students", "Topics"]))
        failed = self.fetch(system.address + "/nothing/", folder / "x.xml", status=1)
        self.assertIn("404", failed.stderr)
        self.assertFalse((folder / "x.xml").exists())

    def test_an_upstream_is_asked_before_the_model_is_there(self):
        system = self.stand_in()
        folder = self.folder()
        config = folder / "portico.yaml"
        config.write_text(CONFIGURATION.format(
            url=system.address, sap=READY, supplier=READY, sap_path=SAP[1:], supplier_path=SUPPLIER[1:], access=ACCESS))
        told = self.fetch(SAP[1:], folder / "sap.edmx", "--upstream", "back", "--config", config)
        self.assertEqual(told["version"], "2.0")
        elsewhere = self.fetch("http://127.0.0.1:1/x/", folder / "y", "--upstream", "back", "--config", config, status=1)
        self.assertIn("no address at the server of the upstream back", elsewhere.stderr)
        self.fetch(SAP[1:], folder / "y", "--upstream", "nobody", "--config", config, status=1)

    def test_schemas_of_other_documents_are_gathered_into_one(self):
        folder = self.folder()
        documents = {
            "/s/$metadata": """<edmx:Edmx xmlns:edmx="http://docs.oasis-open.org/odata/ns/edmx" Version="4.0">
              <edmx:Reference Uri="../shared/common.xml"><edmx:Include Namespace="Common" Alias="C"/></edmx:Reference>
              <edmx:Reference Uri="http://127.0.0.1:1/far.xml"><edmx:Include Namespace="Far"/></edmx:Reference>
              <edmx:Reference Uri="gone.xml"><edmx:Include Namespace="Gone"/></edmx:Reference>
              <edmx:Reference Uri="broken.xml"><edmx:Include Namespace="Broken"/></edmx:Reference>
              <edmx:DataServices><Schema xmlns="http://docs.oasis-open.org/odata/ns/edm" Namespace="Own">
              <EntityType Name="Thing"><Key><PropertyRef Name="ID"/></Key><Property Name="ID" Type="Edm.Int32" Nullable="false"/>
              <Property Name="Place" Type="Common.Place"/><Property Name="Other" Type="Far.Other"/><Property Name="Lost" Type="Gone.Lost"/></EntityType>
              <EntityContainer Name="C"><EntitySet Name="Things" EntityType="Own.Thing"/></EntityContainer>
              </Schema></edmx:DataServices></edmx:Edmx>""",
            # What it refers to is beside it, not beside the first document.
            "/shared/common.xml": """<edmx:Edmx xmlns:edmx="http://docs.oasis-open.org/odata/ns/edmx" Version="4.0">
              <edmx:Reference Uri="cities.xml"><edmx:Include Namespace="Cities"/></edmx:Reference>
              <edmx:Reference Uri="../s/$metadata"><edmx:Include Namespace="Own"/></edmx:Reference>
              <edmx:DataServices><Schema xmlns="http://docs.oasis-open.org/odata/ns/edm" Namespace="Common">
              <ComplexType Name="Place"><Property Name="City" Type="Cities.City"/></ComplexType>
              </Schema></edmx:DataServices></edmx:Edmx>""",
            "/shared/cities.xml": """<edmx:Edmx xmlns:edmx="http://docs.oasis-open.org/odata/ns/edmx" Version="4.0">
              <edmx:DataServices><Schema xmlns="http://docs.oasis-open.org/odata/ns/edm" Namespace="Cities">
              <TypeDefinition Name="City" UnderlyingType="Edm.String"/></Schema></edmx:DataServices></edmx:Edmx>""",
            "/s/broken.xml": "<html><p>Not here</html>",
        }

        asked = []

        class Site(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                asked.append(self.path)
                body = documents.get(self.path, "").encode()
                self.send_response(200 if body else 404)
                self.send_header("Content-Type", "application/xml")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *arguments):
                pass

        site = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site)
        self.addCleanup(site.server_close)
        self.addCleanup(site.shutdown)
        threading.Thread(target=site.serve_forever, daemon=True).start()
        root = f"http://127.0.0.1:{site.server_port}/s/"
        told = self.fetch(root, folder / "model.xml")
        for name in ("Common", "Cities"):
            self.assertIn(f"Namespace=\"{name}\"", (folder / "model.xml").read_text())
        self.assertEqual(sorted(asked), ["/s/$metadata", "/s/broken.xml", "/s/gone.xml", "/shared/cities.xml", "/shared/common.xml"])
        far, gone, broken, *properties = told["leftOut"]
        self.assertEqual(far, "http://127.0.0.1:1/far.xml: the document is at another server and was not fetched")
        self.assertEqual(gone, f"{root}gone.xml: the document could not be fetched: {root}gone.xml answered 404.")
        self.assertIn(f"{root}broken.xml: the document cannot be read: ", broken)
        self.assertEqual(properties, ["Things/Lost: there is no type Gone.Lost", "Things/Other: there is no type Far.Other"])

    def test_check_names_what_cannot_be_served_and_serves_the_rest(self):
        system = self.stand_in()
        config = self.configure(system)
        model = pathlib.Path(config).parent / "supplier.xml"
        model.write_text(model.read_text().replace(
            "<Property Name=\"Title\"", "<Property Name=\"Logo\" Type=\"Edm.Stream\"/><Property Name=\"Title\""))
        checked = run_portico("check", "--config", config)
        self.assertEqual(checked.returncode, 0, checked)
        self.assertIn("warning: the OData service supplier leaves out Topics/Logo: the bytes of streams are not fetched", checked.stderr)
        text = pathlib.Path(config).read_text()
        for given, said in [("seed: x.json", "has no effect"),
                            ("sets: {Nobody: {enabled: false}}", "The model has no set Nobody: it has States")]:
            pathlib.Path(config).write_text(text.replace("upstream: back, path: odata", f"{given}, upstream: back, path: odata"))
            refused = run_portico("check", "--config", config)
            self.assertEqual(refused.returncode, 1)
            self.assertIn(said, refused.stderr)


class MirrorTest(UpstreamServices):
    def test_the_entities_of_both_systems_are_served_exactly(self):
        system = self.stand_in()
        gateway = self.start(system)
        theirs = system.get(SUPPLIER + "Students?$top=1000").json()["value"]
        theirs += system.get(SUPPLIER + "Students?$skip=1000&$top=1000").json()["value"]
        theirs += system.get(SUPPLIER + "Students?$skip=2000&$top=1000").json()["value"]
        mirrored = self.values(gateway, "/odata/v4/supplier/Students?$orderby=StudentID")
        self.assertEqual(len(mirrored), STUDENTS)
        for one, other in zip(theirs, mirrored):
            for name in ("StudentID", "FirstName", "SchoolID", "GPA", "BirthDate", "ModifiedAt", "RecordID", "CallAt",
                         "Active", "Address", "Phones"):
                self.assertEqual(one[name], other[name], (name, one, other))
            self.assertEqual(one.get("FormerCollege"), other.get("FormerCollege"))
        # More digits than a double has.
        sap = {one["StudentID"]: one for one in self.values(gateway, "/odata/v4/sap/StudentCollection")}
        self.assertEqual(len(sap), STUDENTS)
        text = gateway.request("GET", "/odata/v4/sap/StudentCollection(7)/Balance/$value").text()
        self.assertEqual(text, system.get(SAP + "StudentCollection(7)", {"Accept": JSON}).json()["d"]["Balance"])
        for one in theirs:
            other = sap[one["StudentID"]]
            self.assertEqual(one["GPA"], other["GPA"])
            self.assertEqual(other["BirthDate"], f"{one['BirthDate']}T00:00:00Z")
            self.assertEqual((one["ModifiedAt"], one["CallAt"], one["Address"]), (other["ModifiedAt"], other["CallAt"], other["Address"]))

    def test_navigation_works_on_the_mirrored_rows(self):
        system = self.stand_in()
        gateway = self.start(system)
        student = 3
        theirs = system.get(SUPPLIER + f"Students({student})?$expand=Topics,School").json()
        for root, set_name in [("/odata/v4/sap/", "StudentCollection"), ("/odata/v4/supplier/", "Students")]:
            ours = self.get(gateway, f"{root}{set_name}({student})?$expand=Topics,School").json()
            self.assertEqual([one["TopicID"] for one in ours["Topics"]], [one["TopicID"] for one in theirs["Topics"]])
            self.assertTrue(ours["Topics"])
            self.assertEqual(ours["School"]["Name"], theirs["School"]["Name"])
            topics = self.get(gateway, f"{root}{set_name}({student})/Topics").json()["value"]
            self.assertEqual(len(topics), len(theirs["Topics"]))
            school = theirs["SchoolID"]
            schools = "SchoolCollection" if "sap" in root else "Schools"
            count = self.get(gateway, f"{root}{schools}({school})/Students/$count").text()
            self.assertEqual(count, system.get(SUPPLIER + f"Students/$count?$filter=SchoolID%20eq%20{school}").text())
        atom = gateway.request("GET", f"/odata/v2/supplier/Students({student})?$expand=Topics", headers={"Accept": "application/atom+xml"})
        self.assertEqual(atom.status, 200, atom)

    def test_what_changed_comes_by_a_delta_link_in_one_request(self):
        system = self.stand_in()
        gateway = self.start(system)
        for name, root, set_name in [("sap-StudentCollection", SAP, "StudentCollection"), ("supplier-Students", SUPPLIER, "Students")]:
            with self.subTest(name):
                path = f"/odata/v4/{name.split('-')[0]}/{set_name}"
                before = int(self.get(gateway, f"{path}/$count").text())
                system.order("change", 3, "--table", "students")
                system.order("change", 1, "--table", "students", "--add")
                system.order("change", 2, "--table", "students", "--delete")
                asked = system.order("status")["requests"]
                done, told = self.control(gateway, "mirrors", "refresh", f"odata/{name}")
                self.assertEqual(done.returncode, 0, done)
                self.assertEqual(system.order("status")["requests"], asked + 1)
                self.assertEqual((told["created"], told["deleted"]), (1, 2), told)
                self.assertEqual(told["updated"], 3, told)
                self.assertEqual(int(self.get(gateway, f"{path}/$count").text()), before - 1)
                again = self.control(gateway, "mirrors", "refresh", f"odata/{name}")[1]
                self.assertEqual((again["created"], again["updated"], again["deleted"]), (0, 0, 0))

    def test_an_outage_and_liars_leave_the_last_good_rows_with_their_age(self):
        system = self.stand_in()
        gateway = self.start(system, sap=ASKING, supplier=ASKING)
        paths = ["/odata/v4/sap/StudentCollection/$count", "/odata/v4/supplier/Students/$count"]
        for path in paths:
            self.assertEqual(self.get(gateway, path).text(), str(STUDENTS))
        for fault in (["login-page"], ["error", 500], ["error", 503], ["garbage"], ["truncate"], ["reset"], ["error", 401], ["huge"]):
            with self.subTest(fault[0]):
                system.order("fault", *fault)
                for path in paths:
                    answer = self.get(gateway, path)
                    self.assertEqual(answer.text(), str(STUDENTS), fault)
                    self.assertIn("portico; fwd=stale", answer.headers["cache-status"])
                    self.assertIn("age", answer.headers)
                system.order("fault", "none")
        self.assertEqual(self.get(gateway, "/health/ready").status, 200)
        version2 = self.get(gateway, "/odata/v2/sap/StudentCollection?$top=1&$inlinecount=allpages&$format=json").json()
        self.assertEqual(version2["d"]["__count"], str(STUDENTS))

    def test_a_device_gets_the_entities_and_what_changes(self):
        system = self.stand_in()
        gateway = self.start(system)
        self.get(gateway, "/odata/v4/sap/StudentCollection/$count")
        device = Device(gateway, "alice", collections=["sap-StudentCollection"], limit=1_000)
        self.assertEqual(device.pull(), [])
        self.assertEqual(device.ids("sap-StudentCollection"), {str(number) for number in range(1, STUDENTS + 1)})
        theirs = system.get(SUPPLIER + "Students(7)").json()
        ours = device.rows["sap-StudentCollection", "7"][1]
        self.assertEqual((ours["LastName"], ours["Address"]), (theirs["LastName"], theirs["Address"]))
        system.order("change", 3, "--table", "students")
        system.order("change", 2, "--table", "students", "--delete")
        before = dict(device.rows)
        self.assertEqual(self.control(gateway, "mirrors", "refresh", "odata/sap-StudentCollection")[0].returncode, 0)
        self.assertEqual(device.pull(), [])
        self.assertEqual(len(before.keys() - device.rows.keys()), 2)
        self.assertEqual(len([key for key in device.rows if device.rows[key] != before[key]]), 3)


class WriteTest(UpstreamServices):
    def setUp(self):
        self.system = self.stand_in()
        self.gateway = self.start(self.system, sap=f"{READY}, write: queued", supplier=f"{READY}, write: through")

    def send(self, method, path, value, status, **fields):
        answer = self.gateway.request(
            method, path, json.dumps(value) if value is not None else None, user="admin",
            headers={"Content-Type": JSON, "Accept": JSON, **fields})
        self.assertEqual(answer.status, status, answer)
        return answer

    def theirs(self, student):
        answer = self.system.get(SUPPLIER + f"Students({student})")
        return answer.json() if answer.status == 200 else None

    def until(self, holds, seconds=30):
        end = time.monotonic() + seconds
        while not holds():
            self.assertLess(time.monotonic(), end)
            time.sleep(0.05)

    def written(self):
        return [(one["method"], one["path"]) for one in self.system.get("/ledger").json()["writes"]]

    def test_a_change_through_is_made_there_first_and_stored_as_answered(self):
        root = "/odata/v4/supplier/"
        self.get(self.gateway, root + "Students/$count")
        self.send("PATCH", root + "Students(1)", {"LastName": "Through", "GPA": 3.25}, 204)
        self.assertEqual((self.theirs(1)["LastName"], self.theirs(1)["GPA"]), ("Through", 3.25))
        ours = self.get(self.gateway, root + "Students(1)").json()
        self.assertEqual((ours["LastName"], ours["ModifiedAt"]), ("Through", self.theirs(1)["ModifiedAt"]))
        made = self.send("POST", root + "Students", {"FirstName": "New", "LastName": "One", "Phones": ["1"]}, 201).json()
        self.assertEqual(made["StudentID"], STUDENTS + 1)
        self.assertEqual(self.theirs(STUDENTS + 1)["Phones"], ["1"])
        self.get(self.gateway, root + f"Students({STUDENTS + 1})")
        self.send("DELETE", root + "Students(2)", None, 204)
        self.assertIsNone(self.theirs(2))
        self.get(self.gateway, root + "Students(2)", status=404)
        self.send("PUT", root + "Students(3)", {"FirstName": "Whole", "LastName": "Row"}, 204)
        self.assertEqual((self.theirs(3)["FirstName"], self.theirs(3)["GPA"]), ("Whole", None))
        self.assertEqual([method for method, _ in self.written()], ["PATCH", "POST", "DELETE", "PUT"])

    def test_refusals_have_the_code_and_the_words_of_the_system(self):
        root = "/odata/v4/supplier/"
        self.get(self.gateway, root + "Students/$count")
        refused = self.send("PATCH", root + "Students(1)", {"LastName": ""}, 400)
        self.assertIn("ADM/001: LastName must not be initial", refused.json()["error"]["message"])
        self.assertEqual(self.written(), [])
        self.send("POST", root + "Schools", {"SchoolID": 1, "Name": "Again"}, 400)
        self.system.order("fault", "error", 500, "--path", SUPPLIER)
        self.send("PATCH", root + "Students(4)", {"LastName": "Lost"}, 502)

    def test_queued_changes_reach_sap_with_its_token_and_take_its_keys(self):
        root = "/odata/v4/sap/"
        self.get(self.gateway, root + "StudentCollection/$count")
        self.send("PATCH", root + "StudentCollection(1)", {"LastName": "Queued", "Balance": 12345678901234.5}, 204)
        self.until(lambda: self.theirs(1)["LastName"] == "Queued")
        made = self.send("POST", root + "StudentCollection", {
            "FirstName": "New", "LastName": "Student", "Address": {"Street": "1 Main Street"}}, 201).json()
        self.until(lambda: self.theirs(STUDENTS + 1))
        theirs = self.theirs(STUDENTS + 1)
        self.assertEqual((theirs["FirstName"], theirs["Address"]), ("New", {"Street": "1 Main Street", "City": None}))
        self.assertTrue(made["StudentID"])
        # Its sessions end, and with them the tokens.
        self.system.order("end-sessions")
        self.send("PATCH", root + "StudentCollection(3)", {"LastName": "Later"}, 204)
        self.send("DELETE", root + "StudentCollection(5)", None, 204)
        self.until(lambda: self.theirs(3)["LastName"] == "Later" and self.theirs(5) is None)
        self.assertEqual(sorted(method for method, _ in self.written()), ["DELETE", "POST", "POST", "POST"])
        done, told = self.control(self.gateway, "writes", "list")
        self.until(lambda: not self.control(self.gateway, "writes", "list")[1]["writes"])

    def test_a_change_waits_while_the_system_is_down_and_a_refusal_is_told_later(self):
        root = "/odata/v4/sap/"
        self.get(self.gateway, root + "StudentCollection/$count")
        self.system.order("fault", "error", 503)
        self.send("PATCH", root + "StudentCollection(1)", {"LastName": "Patient"}, 204)
        self.send("PATCH", root + "StudentCollection(2)", {"LastName": ""}, 204)
        self.assertEqual(self.get(self.gateway, root + "StudentCollection(1)").json()["LastName"], "Patient")
        self.system.order("fault", "none")
        self.until(lambda: self.theirs(1)["LastName"] == "Patient", 60)

        def refused():
            answer = self.gateway.request("GET", "/api/v1/portico/writes", user="admin", headers={"Accept": JSON}).json()
            return [one for one in answer.get("items", answer.get("records", [])) if one["state"] == "refused"]

        self.until(refused, 60)
        self.assertIn("ADM/001", refused()[0]["message"])
        self.assertEqual(self.get(self.gateway, root + "StudentCollection(2)").json()["LastName"], self.theirs(2)["LastName"])


OWN = """
http: {{ host: 127.0.0.1 }}
identity:
  basic: {{ enabled: true }}
  demoAccounts: [{{ name: admin, password: portico-demo, roles: [admin] }}]
upstreams:
  back:
    url: '{url}'
    networks: [127.0.0.1/32]
    credentials: {{ kind: basic, username: carol, password: {{ env: BACK_PASSWORD }} }}
adapters:
  odata:
    services:
      four: {{ model: four.xml, path: odata/v4/admissions/, sapName: FOUR, {rest} }}
      two: {{ model: two.xml, path: odata/v2/admissions/, sapName: TWO, {rest} }}
      reference: {{ model: reference.xml, path: odata/v4/reference/, sapName: REFERENCE, {rest} }}
"""


CALLED = "mode: call"


class CallTest(UpstreamServices):
    """Sets that the other system is asked for with each request, in both directions of versions."""

    @classmethod
    def setUpClass(cls):
        cls.system = StandIn("--students", STUDENTS, "--odata-page", 70)
        cls.addClassCleanup(cls.system.stop)
        maker = cls()
        cls.addClassCleanup(maker.doCleanups)
        cls.gateway = maker.start(cls.system, sap=CALLED, supplier=CALLED)
        cls.rows = []
        for start in range(0, STUDENTS, 70):
            cls.rows += cls.system.get(SUPPLIER + f"Students?$skip={start}&$top=70").json()["value"]

    def runTest(self):
        """For the instance that starts the class's gateway."""

    def requests(self):
        return self.system.order("status")["requests"]

    def ask(self, root, path, **options):
        """Entities of both roots of a service as version 4 has them: `v4/sap`, `v2/supplier`."""
        query = urllib.parse.urlencode({f"${name}": value for name, value in options.items()}, quote_via=urllib.parse.quote)
        return self.get(self.gateway, f"/odata/{root}/{path}?{query}", Accept=JSON)

    @staticmethod
    def set_name(root):
        return "StudentCollection" if root.endswith("sap") else "Students"

    def numbers(self, root, **options):
        """The keys of all pages."""
        version2 = root.startswith("v2")
        if version2:
            options["format"] = "json"
        page = self.ask(root, self.set_name(root), **options).json()
        found = []
        while True:
            content = page["d"] if version2 else page
            found += [int(one["StudentID"]) for one in content["results" if version2 else "value"]]
            place = content.get("__next") if version2 else content.get("@odata.nextLink", content.get("@nextLink"))
            if place is None:
                return found
            parts = urllib.parse.urlsplit(urllib.parse.urljoin(f"http://gateway/odata/{root}/", place))
            page = self.get(self.gateway, f"{parts.path}?{parts.query}").json()

    def test_an_entity_is_asked_for_by_its_key_and_is_exact(self):
        for root in ("v4/sap", "v4/supplier"):
            theirs = self.rows[6]
            ours = self.ask(root, f"{self.set_name(root)}(7)").json()
            for name in ("StudentID", "FirstName", "SchoolID", "GPA", "ModifiedAt", "RecordID", "CallAt", "Active", "Address"):
                self.assertEqual(theirs[name], ours[name], (root, name))
        text = self.gateway.request("GET", "/odata/v4/sap/StudentCollection(7)/Balance/$value").text()
        self.assertEqual(text, self.system.get(SAP + "StudentCollection(7)", {"Accept": JSON}).json()["d"]["Balance"])
        self.assertEqual(self.get(self.gateway, "/odata/v4/sap/StudentCollection(70001)", 404).json()["error"]["code"], "record.notFound")
        atom = self.gateway.request("GET", "/odata/v2/supplier/Students(7)", headers={"Accept": "application/atom+xml"})
        self.assertEqual(atom.status, 200, atom)
        self.assertIn("/odata/v2/supplier/", atom.text())
        self.assertNotIn(self.system.address, atom.text())

    def test_each_request_asks_the_system_and_nothing_is_kept(self):
        before = self.requests()
        for number in range(1, 4):
            self.ask("v4/sap", f"StudentCollection({number})")
        self.assertEqual(self.requests(), before + 3)
        self.assertEqual(self.gateway.request("GET", "/api/v1/odata/sap-StudentCollection").status, 404)

    def test_queries_of_both_versions_have_the_rows_that_SQL_has(self):
        ordered = sorted(self.rows, key=lambda row: row["StudentID"])
        last_names = sorted({row["LastName"] for row in ordered})
        name, part, school = last_names[3], last_names[5][1:4], next(row["SchoolID"] for row in ordered[10:] if row["SchoolID"])
        moment = ordered[1000]["ModifiedAt"]
        cases = [
            ("v4", f"LastName eq '{name}'", lambda row: row["LastName"] == name),
            ("v4", f"contains(LastName,'{part}')", lambda row: part in row["LastName"]),
            ("v2", f"substringof('{part}',LastName)", lambda row: part in row["LastName"]),
            ("v2", f"not startswith(FirstName,'A') and StudentID lt 900", lambda row: not row["FirstName"].startswith("A") and row["StudentID"] < 900),
            ("v4", "StudentID in (3,9,2000,99999)", lambda row: row["StudentID"] in (3, 9, 2000)),
            ("v4", f"SchoolID eq {school} or StudentID gt 2250", lambda row: row["SchoolID"] == school or row["StudentID"] > 2250),
            ("v4", f"ModifiedAt ge {moment} and endswith(FirstName,'a')", lambda row: row["ModifiedAt"] >= moment and row["FirstName"].endswith("a")),
            ("v2", f"ModifiedAt lt datetimeoffset'{moment}' and StudentID gt 700", lambda row: row["ModifiedAt"] < moment and row["StudentID"] > 700),
            ("v4", "GPA gt 3.5 and Active eq true", lambda row: row["GPA"] is not None and row["GPA"] > 3.5 and row["Active"] is True),
            ("v2", "GPA gt 3.5M and Active eq true", lambda row: row["GPA"] is not None and row["GPA"] > 3.5 and row["Active"] is True),
            ("v4", f"Address/City eq '{ordered[4]['Address']['City']}'", lambda row: row["Address"] and row["Address"]["City"] == ordered[4]["Address"]["City"]),
            ("v4", f"RecordID eq {ordered[8]['RecordID']}", lambda row: row["RecordID"] == ordered[8]["RecordID"]),
            ("v2", f"RecordID eq guid'{ordered[8]['RecordID']}'", lambda row: row["RecordID"] == ordered[8]["RecordID"]),
        ]
        for version, condition, holds in cases:
            wanted = [row["StudentID"] for row in ordered if holds(row)]
            for service in ("sap", "supplier"):
                with self.subTest(condition, version=version, service=service):
                    root = f"{version}/{service}"
                    self.assertEqual(self.numbers(root, filter=condition), wanted)
                    count = self.ask(root, f"{self.set_name(root)}/$count", filter=condition)
                    self.assertEqual(count.text(), str(len(wanted)))

    def test_pages_are_of_our_size_in_a_stable_order(self):
        for root, total in (("v4/sap", "count"), ("v2/supplier", "inlinecount")):
            ordered = sorted(self.rows, key=lambda row: (row["SchoolID"] or 0, row["StudentID"]))
            wanted = [row["StudentID"] for row in ordered][7:1207]
            self.assertEqual(self.numbers(root, orderby="SchoolID", skip=7, top=1200), wanted)
            options = {"top": 3, "orderby": "StudentID desc", total: "true" if total == "count" else "allpages"}
            if root.startswith("v2"):
                options["format"] = "json"
            page = self.ask(root, self.set_name(root), **options).json()
            content = page.get("d", page)
            self.assertEqual(int(content.get("__count", content.get("@odata.count", content.get("@count")))), STUDENTS)
            entities = content.get("results", content.get("value"))
            self.assertEqual([int(one["StudentID"]) for one in entities], [STUDENTS, STUDENTS - 1, STUDENTS - 2])

    def test_what_is_selected_and_expanded_comes_in_one_request(self):
        for root in ("v4/sap", "v4/supplier"):
            before = self.requests()
            page = self.ask(root, self.set_name(root), top=5, select="LastName", expand="School,Topics").json()
            self.assertEqual(self.requests(), before + 1)
            for one, other in zip(page["value"], self.rows):
                self.assertEqual({name for name in one if "@" not in name}, {"StudentID", "LastName", "School", "Topics"})
                self.assertEqual(one["LastName"], other["LastName"])
                self.assertEqual(one["School"] and one["School"]["SchoolID"], other["SchoolID"])
            theirs = self.system.get(SUPPLIER + "Students(3)?$expand=Topics").json()["Topics"]
            ours = self.ask(root, f"{self.set_name(root)}(3)", expand="Topics").json()["Topics"]
            self.assertEqual([one["TopicID"] for one in ours], [one["TopicID"] for one in theirs])

    def test_navigation_by_address_asks_where_it_leads(self):
        school = self.rows[0]["SchoolID"]
        wanted = [row["StudentID"] for row in self.rows if row["SchoolID"] == school]
        for root, schools in (("v4/sap", "SchoolCollection"), ("v4/supplier", "Schools")):
            self.assertEqual(self.ask(root, f"{schools}({school})/Students/$count").text(), str(len(wanted)))
            page = self.ask(root, f"{schools}({school})/Students", orderby="StudentID desc", top=2).json()["value"]
            self.assertEqual([one["StudentID"] for one in page], sorted(wanted, reverse=True)[:2])
            self.assertEqual(self.ask(root, f"{self.set_name(root)}(1)/School").json()["SchoolID"], school)
            self.assertTrue(self.ask(root, f"{self.set_name(root)}(1)/School/Name").json()["value"])

    def test_what_has_no_equal_in_the_other_system_is_501_and_names_the_part(self):
        before = self.requests()
        cases = [
            ("v4/sap", {"filter": "School/Name eq 'x'"}, "School"),
            ("v4/supplier", {"filter": "Topics/any(t:t/TopicID eq 1)"}, "any"),
            ("v4/supplier", {"apply": "aggregate($count as N)"}, "$apply"),
            ("v4/sap", {"expand": "Topics($filter=TopicID eq 1)"}, "$filter"),
            ("v4/sap", {"compute": "StudentID add 1 as Next"}, "$compute"),
            ("v2/supplier", {"filter": "replace(LastName,'a','b') eq 'x'"}, "replace"),
        ]
        for root, options, part in cases:
            with self.subTest(root=root, **options):
                query = urllib.parse.urlencode({f"${name}": value for name, value in options.items()}, quote_via=urllib.parse.quote)
                answer = self.gateway.request("GET", f"/odata/{root}/{self.set_name(root)}?{query}", headers={"Accept": JSON})
                self.assertEqual(answer.status, 501, answer)
                self.assertIn(part, answer.text())
        self.assertEqual(self.requests(), before)
        long = " or ".join(f"LastName eq 'name {number}'" for number in range(400))
        query = urllib.parse.urlencode({"$filter": long}, quote_via=urllib.parse.quote)
        answer = self.gateway.request(
            "POST", "/odata/v4/sap/StudentCollection/$query", query, headers={"Accept": JSON, "Content-Type": "text/plain"})
        self.assertEqual((answer.status, answer.json()["error"]["code"]), (400, "request.limitExceeded"))
        self.assertEqual(self.requests(), before)

    def test_a_called_set_is_read_only_and_says_so(self):
        answer = self.gateway.request(
            "PATCH", "/odata/v4/sap/StudentCollection(1)", '{"LastName":"New"}', user="admin",
            headers={"Content-Type": JSON, "Accept": JSON})
        self.assertEqual(answer.status, 405, answer)
        metadata = self.gateway.request("GET", "/odata/v4/sap/$metadata", headers={"Accept": "application/xml"}).text()
        self.assertIn("Updatable", metadata)

    def test_an_outage_and_liars_are_errors_of_the_system(self):
        for fault, status in ((["error", 500], 502), (["error", 503], 502), (["garbage"], 502), (["truncate"], 502),
                              (["reset"], 502), (["login-page"], 502), (["error", 401], 502), (["huge"], 502)):
            with self.subTest(fault[0]):
                self.system.order("fault", *fault)
                try:
                    for path in ("/odata/v4/sap/StudentCollection?$top=3", "/odata/v4/supplier/Students(3)", "/odata/v2/supplier/Students/$count"):
                        answer = self.gateway.request("GET", path, headers={"Accept": JSON})
                        self.assertEqual(answer.status, status, (fault, path, answer))
                finally:
                    self.system.order("fault", "none")
        self.assertEqual(len(self.ask("v4/sap", "StudentCollection", top=3).json()["value"]), 3)


class CalledWriteTest(UpstreamServices):
    def setUp(self):
        self.system = self.stand_in()
        self.gateway = self.start(
            self.system, sap=f"{CALLED}, write: through", supplier=f"{CALLED}, write: through")

    send, theirs, written = WriteTest.send, WriteTest.theirs, WriteTest.written

    def test_changes_of_both_versions_are_made_there_while_the_caller_waits(self):
        for root, name, fields in (("/odata/v4/supplier/", "Students", {}), ("/odata/v4/sap/", "StudentCollection", {})):
            with self.subTest(root):
                before = int(self.get(self.gateway, f"{root}{name}/$count").text())
                self.send("PATCH", f"{root}{name}(1)", {"LastName": name, "GPA": 3.25}, 204, **fields)
                self.assertEqual((self.theirs(1)["LastName"], self.theirs(1)["GPA"]), (name, 3.25))
                made = self.send("POST", root + name, {"FirstName": "New", "LastName": "One"}, 201)
                key = made.json()["StudentID"]
                self.assertEqual(self.theirs(key)["LastName"], "One")
                self.assertTrue(made.headers["location"].endswith(f"{name}({key})"), made)
                self.assertEqual(int(self.get(self.gateway, f"{root}{name}/$count").text()), before + 1)
                self.send("PUT", f"{root}{name}(3)", {"FirstName": "Whole", "LastName": "Row"}, 204)
                self.assertEqual((self.theirs(3)["FirstName"], self.theirs(3)["GPA"]), ("Whole", None))
                self.send("DELETE", f"{root}{name}({key})", None, 204)
                self.assertIsNone(self.theirs(key))
                self.get(self.gateway, f"{root}{name}({key})", status=404)
        fetched = self.gateway.request("GET", "/odata/v2/supplier/", user="admin", headers={"X-CSRF-Token": "Fetch"})
        self.send(
            "MERGE", "/odata/v2/supplier/Students(4)", {"LastName": "Merged"}, 204,
            **{"X-CSRF-Token": fetched.headers["x-csrf-token"], "Cookie": fetched.headers.get("set-cookie", "").split(";")[0]})
        self.assertEqual(self.theirs(4)["LastName"], "Merged")

    def test_conditions_and_refusals_are_the_systems(self):
        path = "/odata/v4/supplier/Students(1)"
        tag = self.get(self.gateway, path).headers["etag"]
        self.send("PATCH", path, {"LastName": "First"}, 204, **{"If-Match": tag})
        self.send("PATCH", path, {"LastName": "Second"}, 412, **{"If-Match": tag})
        self.assertEqual(self.theirs(1)["LastName"], "First")
        refused = self.send("PATCH", path, {"LastName": ""}, 400)
        self.assertIn("ADM/001: LastName must not be initial", refused.json()["error"]["message"])
        # Its sessions end, and with them the tokens.
        self.system.order("end-sessions")
        self.send("PATCH", "/odata/v4/sap/StudentCollection(3)", {"LastName": "Later"}, 204)
        self.system.order("fault", "error", 500, "--path", SUPPLIER)
        self.send("PATCH", "/odata/v4/supplier/Students(4)", {"LastName": "Lost"}, 502)
        self.system.order("fault", "none")
        answer = self.gateway.request("PATCH", path, '{"LastName":"No"}', headers={"Content-Type": JSON}, user="alice")
        self.assertEqual(answer.status, 403, answer)
        self.assertEqual(self.theirs(1)["LastName"], "First")

class MixedModesTest(UpstreamServices):
    def test_called_and_mirrored_sets_of_one_service(self):
        system = self.stand_in()
        gateway = self.start(
            system, sap=f"{READY}, sets: {{ StudentCollection: {{ mode: call }} }}", supplier=READY)
        listed = json.dumps(self.control(gateway, "mirrors", "list")[1])
        self.assertIn("sap-SchoolCollection", listed)
        self.assertNotIn("sap-StudentCollection", listed)
        school = self.get(gateway, "/odata/v4/sap/StudentCollection(1)?$expand=School").json()["School"]
        self.assertEqual(self.get(gateway, f"/odata/v4/sap/SchoolCollection({school['SchoolID']})").json()["Name"], school["Name"])
        count = self.get(gateway, f"/odata/v4/sap/SchoolCollection({school['SchoolID']})/Students/$count").text()
        self.assertEqual(count, system.get(SUPPLIER + f"Students/$count?$filter=SchoolID%20eq%20{school['SchoolID']}").text())
        for query in ("$expand=Students", "$filter=Students/any(s:s/StudentID%20eq%201)"):
            answer = gateway.request("GET", f"/odata/v4/sap/SchoolCollection?{query}", headers={"Accept": JSON})
            self.assertEqual(answer.status, 501, answer)
            self.assertIn("StudentCollection", answer.text())

    def test_keys_without_an_effect_are_errors(self):
        system = self.stand_in()
        for sap, words in ((f"{CALLED}, refresh: 1h", "every set is called"),
                           ("sets: { StudentCollection: { mode: call, refresh: 1h } }", "the set is called"),
                           ("sets: { StudentCollection: { mode: call, changes: ModifiedAt } }", "the set is called"),
                           (f"{CALLED}, write: queued", "`through` is the only way")):
            done = run_portico("check", "--config", self.configure(system, sap=sap))
            self.assertEqual(done.returncode, 1, done)
            self.assertIn(words, done.stderr)



class PortalTest(UpstreamServices):
    """A gateway of SAP's that is asked in the names of those who are signed in at its portal."""

    def start_behind_portal(self, system):
        folder = self.folder()
        open_system = self.stand_in()
        self.fetch(open_system.address + SAP, folder / "sap.edmx")
        config = folder / "portico.yaml"
        config.write_text(f"""
http: {{ host: 127.0.0.1 }}
upstreams:
  door: {{ url: '{system.address}/', networks: [127.0.0.1/32], deadline: 20s, limits: {{ tries: 1, failures: 1000 }} }}
  sap:
    url: '{system.address}/'
    networks: [127.0.0.1/32]
    credentials: {{ kind: portal, provider: corp }}
    deadline: 20s
    limits: {{ tries: 1, failures: 1000 }}
identity:
  providers:
    corp: {{ kind: portal, upstream: door, page: '{system.address}/irj/portal', form: '{system.address}/irj/portal', roles: [member] }}
adapters:
  odata:
    services:
      sap: {{ model: sap.edmx, upstream: sap, path: {SAP[1:]}, access: {{ read: login, write: login }}, write: through }}
""")
        gateway = Gateway(config=str(config))
        self.addCleanup(gateway.remove)
        return gateway, config

    def sign_in(self, gateway, name):
        form = urllib.parse.urlencode({"j_user": name, "j_password": "portico-demo"})
        answer = gateway.request("POST", "/irj/portal", form, headers={"Content-Type": "application/x-www-form-urlencoded"})
        self.assertEqual(answer.status, 200, answer)
        return {"Accept": JSON, "Cookie": answer.headers["set-cookie"].split(";")[0]}

    def test_each_request_asks_in_its_callers_name(self):
        system = self.stand_in("--portal")
        gateway, config = self.start_behind_portal(system)
        path = "/odata/v4/sap/StudentCollection(1)"
        self.assertEqual(gateway.request("GET", path, headers={"Accept": JSON}).status, 401)
        people = [self.sign_in(gateway, name) for name in ("jdoe", "mroe")]
        for person in people:
            answer = gateway.request("GET", path, headers=person)
            self.assertEqual((answer.status, answer.json().get("StudentID")), (200, 1), answer)
        # The portal's sessions end: each sign-in is renewed.
        system.order("end-sessions")
        for person in people:
            self.assertEqual(gateway.request("GET", path, headers=person).status, 200)
        token = gateway.request("GET", "/odata/v2/sap/", headers={**people[0], "X-CSRF-Token": "Fetch"}).headers["x-csrf-token"]
        changed = gateway.request(
            "PATCH", path, json.dumps({"LastName": "Theirs"}),
            headers={**people[0], "Content-Type": JSON, "X-CSRF-Token": token})
        self.assertEqual(changed.status, 204, changed)
        self.assertEqual(gateway.request("GET", path, headers=people[1]).json()["LastName"], "Theirs")
        # Who cannot be signed in again gets 401, in both versions, and no rows.
        system.order("fault", "login-page")
        for place in (path, "/odata/v2/sap/StudentCollection?$format=json", "/odata/v4/sap/StudentCollection/$count"):
            answer = gateway.request("GET", place, headers=people[0])
            self.assertEqual(answer.status, 401, answer)
        system.order("fault", "none")
        config.write_text(config.read_text().replace("write: through", "mode: mirror"))
        refused = run_portico("check", "--config", config)
        self.assertEqual(refused.returncode, 1, refused)
        self.assertIn("a mirror is fetched without a caller", refused.stderr)

class OwnServicesTest(UpstreamServices):
    """In front of the services of another gateway: 2.0, 4.01, and the reference model with derived types and a singleton."""

    @classmethod
    def setUpClass(cls):
        cls.back = Gateway()
        cls.addClassCleanup(cls.back.remove)

    def setUp(self):
        folder, environment = self.folder(), {"BACK_PASSWORD": "portico-demo"}
        config = folder / "portico.yaml"
        config.write_text(OWN.format(
            url=f"http://127.0.0.1:{self.back.port}/",
            rest=f"upstream: back, access: {ACCESS}, {READY}, write: through"))
        for name, path in [("four", "odata/v4/admissions/"), ("two", "odata/v2/admissions/"), ("reference", "odata/v4/reference/")]:
            done = run_portico(
                "odata", "fetch", path, folder / f"{name}.xml", "--upstream", "back", "--config", config,
                program="porticoctl", environment=environment)
            self.assertEqual(done.returncode, 0, done)
        self.gateway = Gateway(config=str(config), environment=environment)
        self.addCleanup(self.gateway.remove)

    def theirs(self, path):
        return self.back.request("GET", path, user="carol", headers={"Accept": JSON}).json()

    def test_every_set_is_mirrored_and_a_second_refresh_changes_nothing(self):
        for service, root in [("four", "admissions"), ("two", "admissions"), ("reference", "reference")]:
            for one in self.theirs(f"/odata/v4/{root}/")["value"]:
                if one["kind"] == "FunctionImport":
                    continue
                with self.subTest(f"{service}/{one['name']}"):
                    name = f"odata/{service}-{one['name']}"
                    count = 1 if one["kind"] == "Singleton" else int(
                        self.back.request("GET", f"/odata/v4/{root}/{one['name']}/$count", user="carol").text())
                    done, first = self.control(self.gateway, "mirrors", "refresh", name)
                    self.assertEqual((done.returncode, first["created"], first["refused"]), (0, count, 0), done)
                    done, again = self.control(self.gateway, "mirrors", "refresh", name)
                    self.assertEqual((done.returncode, again["created"], again["updated"], again["deleted"]), (0, 0, 0, 0), done)

    def test_entities_are_theirs_with_derived_types_and_changes_go_there(self):
        query = "?$orderby=StudentID&$top=40"
        theirs = self.theirs(f"/odata/v4/admissions/Students{query}")["value"]
        for service in ("four", "two"):
            ours = self.get(self.gateway, f"/odata/v4/{service}/Students{query}").json()["value"]
            for one, other in zip(theirs, ours, strict=True):
                day = one["BirthDate"] if service == "four" else f"{one['BirthDate']}T00:00:00Z"
                self.assertEqual(other["BirthDate"], day)
                for name in ("StudentID", "LastName", "GPA", "Registered", "CounselorID"):
                    self.assertEqual(one[name], other[name], (service, one, other))
        products = self.get(self.gateway, "/odata/v4/reference/Products?$orderby=ID").json()["value"]
        self.assertEqual(
            [(one["Name"], one.get("@odata.type"), one["Price"]) for one in products],
            [(one["Name"], one.get("@odata.type"), one["Price"]) for one in self.theirs("/odata/v4/reference/Products?$orderby=ID")["value"]])
        for service, student in [("four", 1), ("two", 2)]:
            name = f"Changed by {service}"
            answer = self.gateway.request(
                "PATCH", f"/odata/v4/{service}/Students({student})", json.dumps({"LastName": name}), user="admin",
                headers={"Content-Type": JSON})
            self.assertEqual(answer.status, 204, answer)
            self.assertEqual(self.theirs(f"/odata/v4/admissions/Students({student})")["LastName"], name)


if __name__ == "__main__":
    unittest.main()
