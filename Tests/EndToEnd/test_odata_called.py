"""Called OData services beyond single queries: functions, ages and kept answers, changes in callers' names, faults."""

import json
import time
import unittest
import urllib.parse

from harness import JSON, Gateway, run_portico
from odata_front import Front
from stand_in import StandIn
from test_odata_upstream import SAP, SUPPLIER, UpstreamServices

CALLED = "mode: call"
LOGIN = "{ read: login, write: login }"


class CalledServices(UpstreamServices):
    """Both services of a stand-in behind a front, with settings of the test."""

    CREDENTIALS = ""
    LIMITS = "limits: { connect: 500ms, tries: 1, failures: 1000 }"
    ACCESS = "{ read: public, write: { roles: [admin] } }"

    def begin(self, *arguments, deadline="20s", limits=None, **services):
        """`services`: of each its settings, by name; the names say which model they have."""
        self.system = self.stand_in(*arguments)
        self.front = Front(self.system)
        self.addCleanup(self.front.stop)
        folder = self.folder()
        self.fetch(self.system.address + SAP, folder / "sap.edmx")
        self.fetch(self.system.address + SUPPLIER, folder / "supplier.xml")
        lines = []
        for name, settings in services.items():
            model, path = ("sap.edmx", SAP) if name.startswith("sap") else ("supplier.xml", SUPPLIER)
            lines.append(f"      {name}: {{ model: {model}, upstream: back, path: {path[1:]}, sapName: {name.upper()}, {settings} }}")
        self.config = folder / "portico.yaml"
        self.config.write_text(f"""
http: {{ host: 127.0.0.1 }}
identity:
  basic: {{ enabled: true }}
  demoAccounts:
    - {{ name: alice, password: portico-demo, roles: [member] }}
    - {{ name: bob, password: portico-demo, roles: [member] }}
    - {{ name: admin, password: portico-demo, roles: [admin] }}
upstreams:
  back:
    url: '{self.front.address}/'
    networks: [127.0.0.1/32]
    deadline: {deadline}
    {limits or self.LIMITS}
{self.CREDENTIALS.format(url=self.front.address)}
adapters:
  odata:
    access: {self.ACCESS}
    services:
""" + "\n".join(lines) + "\n")
        self.gateway = Gateway(config=str(self.config), environment={"BACK_SECRET": "secret"})
        self.addCleanup(self.gateway.remove)

    def ask(self, path, status=200, user=None, **fields):
        answer = self.gateway.request("GET", path, headers={"Accept": JSON, **fields}, user=user)
        self.assertEqual(answer.status, status, answer)
        return answer

    def options(self, **options):
        return urllib.parse.urlencode({f"${name}": value for name, value in options.items()}, quote_via=urllib.parse.quote)

    def theirs(self, key):
        answer = self.system.get(f"{SUPPLIER}Students({key})")
        return answer.json() if answer.status == 200 else None


class FunctionTest(CalledServices):
    """What functions answer is SQL over the stand-in's rows; here it is compared with what its sets say."""

    @classmethod
    def setUpClass(cls):
        cls.maker = maker = cls("runTest")
        cls.addClassCleanup(maker.doCleanups)
        maker.begin("--odata-page", 70, sap=CALLED, supplier=CALLED, sapmirror="freshFor: 1h, waitFor: 60s")
        cls.shared = {name: getattr(maker, name) for name in ("system", "front", "gateway")}
        rows, schools = [], []
        for start in range(0, 2_300, 70):
            rows += maker.system.get(SUPPLIER + f"Students?$skip={start}&$top=70").json()["value"]
        schools = maker.system.get(SUPPLIER + "Schools").json()["value"]
        cls.rows, cls.schools = rows, schools

    def setUp(self):
        for name, value in self.shared.items():
            setattr(self, name, value)

    def runTest(self):
        """For the instance that starts what all share."""

    def of_state(self, code):
        schools = {school["SchoolID"] for school in self.schools if school["StateCode"] == code}
        return sorted(row["StudentID"] for row in self.rows if row["SchoolID"] in schools)

    def keys(self, answer):
        content = answer.json()
        content = content["d"]["results"] if "d" in content else content["value"]
        return sorted(int(one["StudentID"]) for one in content)

    def test_collections_of_entities_come_whole_in_every_notation(self):
        wanted = self.of_state("MS")
        self.assertGreater(len(wanted), 70)
        for path in ("/odata/v4/supplier/StudentsOfState(StateCode='MS')", "/odata/v4/supplier/StudentsOfState(StateCode=@s)?@s='MS'",
                     "/odata/v4/supplier/StudentsOfState?StateCode='MS'", "/odata/v4/sap/StudentsOfState(StateCode='MS')",
                     "/odata/v2/supplier/StudentsOfState?StateCode='MS'&$format=json", "/odata/v2/sap/StudentsOfState?StateCode='MS'&$format=json",
                     "/odata/v4/sapmirror/StudentsOfState(StateCode='MS')"):
            with self.subTest(path):
                answer = self.ask(path.replace("'", "%27"))
                self.assertEqual(self.keys(answer), wanted)
                self.assertNotIn(self.front.address, answer.text())
                self.assertEqual(answer.headers["age"], "0")
        atom = self.gateway.request(
            "GET", "/odata/v2/supplier/StudentsOfState?StateCode=%27MS%27", headers={"Accept": "application/atom+xml"})
        self.assertEqual((atom.status, atom.text().count("<entry")), (200, len(wanted)), atom)

    def test_values_and_complex_values_come_in_the_callers_version(self):
        grades = [float(row["GPA"]) for row in self.rows if row["SchoolID"] == 3 and row["GPA"] is not None]
        mean = sum(grades) / len(grades)
        for service in ("sap", "supplier"):
            self.assertAlmostEqual(float(self.ask(f"/odata/v4/{service}/AverageGPA(SchoolID=3)").json()["value"]), mean, delta=0.006)
            self.assertAlmostEqual(
                float(self.ask(f"/odata/v2/{service}/AverageGPA?SchoolID=3&$format=json").json()["d"]["AverageGPA"]), mean, delta=0.006)
            self.assertEqual(self.ask(f"/odata/v4/{service}/AverageGPA(SchoolID=99999)", 204).text(), "")
            cities = sorted({row["Address"]["City"] for row in self.rows if (row["Address"]["City"] or "").startswith("O")})
            self.assertEqual(self.ask(f"/odata/v4/{service}/Cities(Prefix=%27O%27)").json()["value"], cities)
            self.assertEqual(self.ask(f"/odata/v4/{service}/Cities(Prefix=%27No%2F%27%27such%27)").json()["value"], [])
            answer = self.gateway.request("GET", f"/odata/v4/{service}/Cities(Prefix=%27O%27)/$count")
            self.assertEqual(answer.text(), str(len(cities)))
        address = self.rows[4]["Address"]
        for path in ("/odata/v4/sap/Residence(StudentID=5)", "/odata/v4/supplier/Students(5)/ADMISSIONSCOUNSELOR.Residence()"):
            answer = self.ask(path).json()
            self.assertEqual({name: answer[name] for name in ("Street", "City")}, {name: address[name] for name in ("Street", "City")})
        old = self.ask("/odata/v2/sap/Residence?StudentID=5&$format=json").json()["d"]["Residence"]
        self.assertEqual(old["Street"], address["Street"])

    def test_bound_functions_ask_at_what_they_are_bound_to(self):
        student = next(row for row in self.rows if row["SchoolID"])
        wanted = sorted(row["StudentID"] for row in self.rows
                        if row["SchoolID"] == student["SchoolID"] and row["StudentID"] != student["StudentID"])
        path = f"/odata/v4/supplier/Students({student['StudentID']})/ADMISSIONSCOUNSELOR.Classmates()"
        self.assertEqual(self.keys(self.ask(path)), wanted)
        self.assertEqual(self.gateway.request("GET", path + "/$count").text(), str(len(wanted)))
        page = self.ask(f"{path}?$top=3&$skip=2&$count=true&$select=LastName").json()
        self.assertEqual([one["StudentID"] for one in page["value"]], wanted[2:5])
        self.assertEqual(page.get("@odata.count", page.get("@count")), len(wanted))
        self.assertEqual({name for name in page["value"][0] if "@" not in name}, {"StudentID", "LastName"})
        self.ask("/odata/v4/supplier/Students(70001)/ADMISSIONSCOUNSELOR.Classmates()", 404)
        sizes = {school["SchoolID"]: sum(row["SchoolID"] == school["SchoolID"] for row in self.rows) for school in self.schools}
        largest = self.ask("/odata/v4/supplier/Schools/ADMISSIONSCOUNSELOR.LargestSchool()").json()
        self.assertEqual(sizes[largest["SchoolID"]], max(sizes.values()))
        self.assertEqual(self.ask("/odata/v4/sap/LargestSchool()").json()["SchoolID"], largest["SchoolID"])
        entry = self.gateway.request("GET", "/odata/v2/sap/LargestSchool", headers={"Accept": "application/atom+xml"})
        self.assertIn(f"<d:SchoolID m:type=\"Edm.Int32\">{largest['SchoolID']}</d:SchoolID>", entry.text())

    def test_what_can_be_composed_there_is_and_everything_else_is_501(self):
        root = "/odata/v4/supplier/StudentsOfState(StateCode=%27MS%27)"
        by_key = {row["StudentID"]: row for row in self.rows}
        wanted = [key for key in self.of_state("MS") if "a" in by_key[key]["FirstName"]]
        query = self.options(filter="contains(FirstName,'a')", orderby="StudentID desc", top=4, skip=1, count="true", expand="School")
        page = self.ask(f"{root}?{query}").json()
        self.assertEqual([one["StudentID"] for one in page["value"]], sorted(wanted, reverse=True)[1:5])
        self.assertEqual(page.get("@odata.count", page.get("@count")), len(wanted))
        self.assertTrue(all(one["School"]["StateCode"] == "MS" for one in page["value"]))
        count = self.gateway.request("GET", f"{root}/$count?" + self.options(filter="contains(FirstName,'a')"))
        self.assertEqual(count.text(), str(len(wanted)))
        before = len(self.front.asked())
        for path, part in (("/odata/v4/sap/StudentsOfState(StateCode=%27MS%27)?$filter=StudentID%20eq%201", "$filter"),
                           ("/odata/v4/supplier/Students(1)/ADMISSIONSCOUNSELOR.Classmates()?$orderby=LastName", "$orderby"),
                           ("/odata/v2/sap/StudentsOfState?StateCode=%27MS%27&$expand=School", "$expand"),
                           (f"{root}?$filter=Topics/any(t:t/TopicID%20eq%201)", "any")):
            answer = self.ask(path, 501)
            self.assertIn(part, answer.text())
        action = self.gateway.request("POST", "/odata/v4/sap/Deactivate", '{"StudentID":1}', user="admin",
                                      headers={"Content-Type": JSON, "Accept": JSON})
        self.assertEqual(action.status, 501, action)
        self.assertIn("action", action.text())
        self.assertEqual(len(self.front.asked()), before)

    def test_refusals_have_the_systems_words_and_outages_are_its_failures(self):
        for root in ("v4/sap", "v4/supplier"):
            refused = self.ask(f"/odata/{root}/StudentsOfState(StateCode=%27ZZ%27)", 400)
            self.assertIn("ADM/004: There is no such state", refused.json()["error"]["message"])
        self.ask("/odata/v4/supplier/AverageGPA(SchoolID=%27x%27)", 400)
        self.system.order("fault", "garbage")
        try:
            for path in ("/odata/v4/sap/AverageGPA(SchoolID=3)", "/odata/v4/supplier/StudentsOfState(StateCode=%27MS%27)"):
                self.assertEqual(self.ask(path, 502).json()["error"]["code"], "upstream.failed")
        finally:
            self.system.order("fault", "none")


class AgeTest(CalledServices):
    KEPT = f"{CALLED}, write: through, freshFor: 1ms, staleFor: 1h, waitFor: 1s"

    def test_ages_are_told_and_nothing_is_kept_unless_it_is_said(self):
        self.begin(sap=CALLED, supplier=CALLED)
        for path in ("/odata/v4/sap/StudentCollection(1)", "/odata/v2/supplier/Students?$format=json", "/odata/v4/supplier/Students/$count"):
            answer = self.gateway.request("GET", path)
            self.assertEqual((answer.status, answer.headers.get("age"), answer.headers.get("cache-status")),
                             (200, "0", "portico; fwd=miss"), answer)
        self.assertIn("@Portico.asOf", self.ask("/odata/v4/sap/StudentCollection?$top=2").json())

        def older(request):
            if "Students(2)" not in request.path:
                return None
            theirs = self.system.get(request.path)
            return 200, {"Content-Type": JSON, "Age": "120"}, theirs.body

        self.front.intervene = older
        for path, age in (("Students(2)", "120"), ("Students(5)", "0")):
            answer = self.gateway.request("GET", f"/odata/v4/supplier/{path}")
            self.assertEqual((answer.status, answer.headers["age"]), (200, age), answer)
        self.system.order("fault", "error", 503)
        self.ask("/odata/v4/sap/StudentCollection(1)", 502)

    def test_fresh_answers_are_used_again_until_something_is_changed(self):
        self.begin(supplier=f"{CALLED}, write: through, freshFor: 1h")
        path = "/odata/v4/supplier/Students(1)"
        first = self.ask(path)
        self.assertEqual(first.headers["cache-status"], "portico; fwd=miss; stored")
        before = len(self.front.asked())
        again = self.ask(path)
        self.assertEqual((again.headers["cache-status"], again.json()["LastName"]), ("portico; hit", first.json()["LastName"]))
        self.assertEqual(self.ask("/odata/v2/supplier/Students(1)?$format=json").json()["d"]["LastName"], first.json()["LastName"])
        self.assertEqual(len(self.front.asked()), before)
        changed = self.gateway.request("PATCH", path, '{"LastName":"Changed"}', user="admin", headers={"Content-Type": JSON})
        self.assertEqual(changed.status, 204, changed)
        self.assertEqual(self.ask(path).json()["LastName"], "Changed")

    def test_the_last_good_answer_is_served_while_the_system_fails(self):
        self.begin(sap=self.KEPT, supplier=self.KEPT, supplier2=f"{CALLED}, staleFor: 1s, freshFor: 1ms")
        paths = ("/odata/v4/sap/StudentCollection?$top=3&$orderby=LastName", "/odata/v4/supplier/Students(3)?$expand=Topics",
                 "/odata/v2/sap/StudentCollection(7)?$format=json", "/odata/v4/supplier/Students/$count",
                 "/odata/v4/supplier/AverageGPA(SchoolID=3)")
        good = {path: self.gateway.request("GET", path).json() for path in paths}
        self.ask("/odata/v4/supplier2/Students(3)")
        time.sleep(1.1)
        self.system.order("fault", "error", 500)
        for path in paths:
            answer = self.gateway.request("GET", path)
            self.assertEqual((answer.status, answer.headers["cache-status"]), (200, "portico; fwd=stale; detail=upstream-failed"), answer)
            self.assertGreaterEqual(int(answer.headers["age"]), 1)
            kept, served = good[path], answer.json()
            for one in (kept, served):
                if isinstance(one, dict):
                    one.pop("@Portico.asOf", None)
            self.assertEqual(served, kept)
        # What was never asked, and what is too old, is an error.
        self.ask("/odata/v4/supplier/Students(4)", 502)
        time.sleep(0.2)
        self.ask("/odata/v4/supplier2/Students(3)", 502)
        self.system.order("fault", "none")
        self.assertEqual(self.ask(paths[0]).headers["cache-status"], "portico; fwd=stale; stored")

    def test_settings_without_an_effect_are_errors(self):
        self.begin(supplier=CALLED)
        text = self.config.read_text()
        for settings, words in ((f"{CALLED}, refresh: 1h", "every set is called"),
                                (f"{CALLED}, freshFor: 2h, staleFor: 1h", "`freshFor` is longer")):
            self.config.write_text(text.replace(CALLED, settings))
            done = run_portico("check", "--config", self.config)
            self.assertEqual(done.returncode, 1, done)
            self.assertIn(words, done.stderr)


class ExchangeTest(CalledServices):
    """A service that is asked with a token in each caller's name."""

    ACCESS = LOGIN
    CREDENTIALS = """    credentials:
      kind: exchange
      tokenURL: '{url}/token'
      clientID: portico
      clientSecret: {{ env: BACK_SECRET }}
      audience: back
"""

    def sign_in(self, name):
        return self.gateway.login(name).json()["accessToken"]

    def send(self, method, path, body, status, token):
        answer = self.gateway.request(
            method, path, None if body is None else json.dumps(body), headers={"Content-Type": JSON, "Accept": JSON}, token=token)
        self.assertEqual(answer.status, status, answer)
        return answer

    def test_every_change_has_the_pair_of_its_own_caller(self):
        self.begin(sap="write: through", supplier="write: through")
        tokens = {name: self.sign_in(name) for name in ("alice", "bob")}
        for number, (name, token) in enumerate(tokens.items()):
            for root in ("/odata/v4/sap/StudentCollection", "/odata/v4/supplier/Students"):
                key = 10 + number
                self.send("PATCH", f"{root}({key})", {"LastName": f"{name} one"}, 204, token)
                self.assertEqual(self.theirs(key)["LastName"], f"{name} one")
                self.send("PUT", f"{root}({key})", {"FirstName": "Whole", "LastName": f"{name} two"}, 204, token)
                self.assertEqual(self.theirs(key)["LastName"], f"{name} two")
                made = self.send("POST", root, {"FirstName": "New", "LastName": name}, 201, token).json()["StudentID"]
                self.assertEqual(self.theirs(made)["LastName"], name)
                self.send("DELETE", f"{root}({made})", None, 204, token)
                self.assertIsNone(self.theirs(made))
        pairs = {}
        for method, path, fields in self.front.asked():
            self.assertTrue(fields["Authorization"].startswith("Bearer of-"), fields)
            if method != "GET" and path.startswith(SAP) and "Cookie" in fields:
                pairs.setdefault(fields["Authorization"], set()).add((fields["Cookie"], fields["X-CSRF-Token"]))
        self.assertEqual([len(found) for found in pairs.values()], [1, 1])
        self.assertNotEqual(*pairs.values())
        # Its sessions end, and with them the tokens.
        self.system.order("end-sessions")
        self.send("PATCH", "/odata/v4/sap/StudentCollection(10)", {"LastName": "Later"}, 204, tokens["alice"])
        self.assertEqual(self.theirs(10)["LastName"], "Later")

    def test_who_is_not_taken_there_signs_in_again_and_gets_nothing_of_others(self):
        self.begin(sap="write: through, staleFor: 1h, freshFor: 1ms")
        alice, bob = self.sign_in("alice"), self.sign_in("bob")
        path = "/odata/v4/sap/StudentCollection(1)"
        self.send("GET", path, None, 200, alice)
        self.system.order("fault", "error", 500)
        time.sleep(0.01)
        self.assertIn("fwd=stale", self.send("GET", path, None, 200, alice).headers["cache-status"])
        self.send("GET", path, None, 502, bob)
        self.send("GET", path, None, 502, self.sign_in("alice"))
        self.system.order("fault", "error", 401)
        for token in (alice, bob):
            self.send("GET", path, None, 401, token)
            self.send("PATCH", path, {"LastName": "No"}, 401, token)
        # What was kept for the sign-in went with that.
        self.system.order("fault", "error", 500)
        self.send("GET", path, None, 502, alice)
        self.system.order("fault", "login-page")
        for token in (alice, bob):
            self.send("GET", path, None, 401, token)
            self.send("PATCH", path, {"LastName": "No"}, 401, token)
        self.system.order("fault", "none")
        self.send("GET", path, None, 200, bob)
        self.assertNotEqual(self.theirs(1)["LastName"], "No")


class NullTest(CalledServices):
    """Null in conditions, in a mirrored and a called service of both versions, as URL Conventions 4.01 have it (5.1.1)."""

    def test_both_modes_and_the_system_say_the_same(self):
        self.begin(sap=CALLED, supplier=CALLED, sapmirror="freshFor: 1h, waitFor: 60s", suppliermirror="freshFor: 1h, waitFor: 60s")
        rows = []
        for start in range(0, 2_300, 1_000):
            rows += self.system.get(SUPPLIER + f"Students?$skip={start}&$top=1000").json()["value"]

        def city(row):
            return row["Address"]["City"]

        cases = [
            ("Address/City eq null", lambda row: city(row) is None),
            ("Address/City ne null", lambda row: city(row) is not None),
            ("Address/City ne 'Oxford'", lambda row: city(row) != "Oxford"),
            ("not (Address/City eq 'Oxford')", lambda row: city(row) != "Oxford"),
            ("not startswith(Address/City,'O')", lambda row: city(row) is not None and not city(row).startswith("O")),
            ("not endswith(Address/City,'z')", lambda row: city(row) is not None),
            ("startswith(Address/City,'O') eq false", lambda row: False),
            ("not (GPA gt 2.5)", lambda row: row["GPA"] is None or row["GPA"] <= 2.5),
            ("not startswith(Address/City,'X') or GPA eq null", lambda row: city(row) is not None or row["GPA"] is None),
            ("not (startswith(Address/City,'X') and Active eq true)", lambda row: city(row) is not None or not row["Active"]),
            ("SchoolID eq null or GPA lt 2", lambda row: row["SchoolID"] is None or row["GPA"] is not None and row["GPA"] < 2),
        ]
        both = [("not contains(Address/City,'x')", "not substringof('x',Address/City)",
                 lambda row: city(row) is not None and "x" not in city(row)),
                ("Address/City in ('Oxford',null)", None, lambda row: city(row) in ("Oxford", None)),
                ("not (SchoolID in (1,null))", None, lambda row: row["SchoolID"] not in (1, None)),
                ("not (SchoolID in (1,2))", None, lambda row: row["SchoolID"] not in (1, 2))]
        for version4, version2, holds in [(text, text, holds) for text, holds in cases] + both:
            wanted = str(sum(map(holds, rows)))
            for service, name in (("sap", "StudentCollection"), ("sapmirror", "StudentCollection"),
                                  ("supplier", "Students"), ("suppliermirror", "Students")):
                for version, text in (("v4", version4), ("v2", version2)):
                    if text is None:
                        continue
                    with self.subTest(text, version=version, service=service):
                        answer = self.gateway.request("GET", f"/odata/{version}/{service}/{name}/$count?{self.options(filter=text)}")
                        self.assertEqual((answer.status, answer.text()), (200, wanted))


class FaultTest(CalledServices):
    """Twelve faults over mirrored, called and kept services: nothing is wiped, and a caller gets rows with an age or one error."""

    FIELDS = {"Content-Type": "text/html; charset=utf-8"}

    @staticmethod
    def rows_only(intervention):
        return lambda request: intervention if "Collection" in request.path or "Students" in request.path else None

    def faults(self):
        for fault in (["hang"], ["drip"], ["slow", "30s"], ["login-page"], ["error", "500"], ["truncate"], ["garbage"], ["huge"], ["reset"]):
            yield " ".join(fault), lambda fault=fault: self.system.order("fault", *fault)
        for name, answer in (
                ("a redirect to the form", (302, {"Location": "/irj/portal", **self.FIELDS}, b"")),
                ("a redirect elsewhere", (302, {"Location": "http://127.0.0.1:1/elsewhere", **self.FIELDS}, b"")),
                ("another content type", (200, {"Content-Type": "text/css"}, b"{}"))):
            yield name, lambda answer=answer: setattr(self.front, "intervene", self.rows_only(answer))

    def end_faults(self):
        self.front.intervene = lambda request: None
        self.system.order("fault", "none")

    def recover(self):
        self.end_faults()
        for name in ("sapmirror-StudentCollection", "suppliermirror-Students"):
            end = time.monotonic() + 120
            while self.control(self.gateway, "mirrors", "refresh", f"odata/{name}")[0].returncode:
                self.assertLess(time.monotonic(), end, "the mirror does not recover")
                time.sleep(0.2)

    def test_twelve_faults_over_each_mode(self):
        kept = f"{CALLED}, freshFor: 1ms, staleFor: 1h, waitFor: 500ms"
        self.begin(
            "--students", 300, deadline="2s",
            limits="limits: { connect: 500ms, tries: 1, failures: 1000, rest: 1s, longDeadline: 2s, answer: 1MiB }",
            sapcalled=CALLED, suppliercalled=CALLED, sapkept=kept, supplierkept=kept,
            sapmirror="freshFor: 1ms, waitFor: 4s", suppliermirror="freshFor: 1ms, waitFor: 4s")
        sets = {"sap": "StudentCollection", "supplier": "Students"}
        page = "?$top=20&$orderby=StudentID%20desc"
        wanted = [one["StudentID"] for one in self.ask(f"/odata/v4/suppliercalled/Students{page}").json()["value"]]
        for name, begin in self.faults():
            with self.subTest(name):
                self.recover()
                for model, set_name in sets.items():
                    self.ask(f"/odata/v4/{model}kept/{set_name}{page}")
                begin()
                for model, set_name in sets.items():
                    for mode in ("mirror", "kept"):
                        answer = self.ask(f"/odata/v4/{model}{mode}/{set_name}{page}")
                        self.assertEqual([one["StudentID"] for one in answer.json()["value"]], wanted, (model, mode))
                        self.assertRegex(answer.headers["cache-status"], "^portico; fwd=stale; detail=[a-z-]+$")
                        self.assertIn("@Portico.asOf", answer.json())
                    for version in ("v4", "v2"):
                        answer = self.gateway.request(
                            "GET", f"/odata/{version}/{model}called/{set_name}?$top=20", headers={"Accept": JSON})
                        self.assertIn(answer.status, (502, 504), answer)
                        self.assertIn(answer.json()["error"]["code"], ("upstream.failed", "upstream.timeout"))
                        self.assertNotIn(self.front.address, answer.text())
        self.recover()
        for model, set_name in sets.items():
            for mode in ("mirror", "kept", "called"):
                answer = self.gateway.request("GET", f"/odata/v4/{model}{mode}/{set_name}/$count")
                self.assertEqual((answer.status, answer.text()), (200, "300"))

    def test_an_expired_token_costs_no_change(self):
        self.begin("--students", 50, sapcalled=f"{CALLED}, write: through", sapmirror="freshFor: 1h, waitFor: 60s, write: through")
        self.ask("/odata/v4/sapmirror/StudentCollection/$count")
        for name in ("sapcalled", "sapmirror"):
            for text in ("First", "Second"):
                self.system.order("end-sessions")
                answer = self.gateway.request(
                    "PATCH", f"/odata/v4/{name}/StudentCollection(3)", json.dumps({"LastName": f"{name} {text}"}), user="admin",
                    headers={"Content-Type": JSON})
                self.assertEqual(answer.status, 204, answer)
                self.assertEqual(self.theirs(3)["LastName"], f"{name} {text}")


class KeptPortalTest(CalledServices):
    """Answers and rows that are kept of a portal's callers, and a portal that ends all sessions."""

    def begin_behind_portal(self):
        self.system = StandIn("--students", 50, "--employees", 40, "--portal")
        self.addCleanup(self.system.stop)
        folder, open_system = self.folder(), self.stand_in()
        self.fetch(open_system.address + SAP, folder / "sap.edmx")
        config = folder / "portico.yaml"
        address = self.system.address
        config.write_text(f"""
http: {{ host: 127.0.0.1 }}
upstreams:
  door: {{ url: '{address}/', networks: [127.0.0.1/32], limits: {{ tries: 1, failures: 1000 }} }}
  sap: {{ url: '{address}/', networks: [127.0.0.1/32], credentials: {{ kind: portal, provider: corp }}, limits: {{ tries: 1, failures: 1000 }} }}
identity:
  providers:
    corp: {{ kind: portal, upstream: door, page: '{address}/irj/portal', form: '{address}/irj/portal', roles: [member] }}
adapters:
  employees: {{ upstream: sap, protocol: json, access: {{ read: login }}, freshFor: 1ms, staleFor: 1h, waitFor: 10s }}
  odata:
    services:
      sap: {{ model: sap.edmx, upstream: sap, path: {SAP[1:]}, access: {LOGIN}, freshFor: 1ms, staleFor: 1h }}
""")
        self.gateway = Gateway(config=str(config))
        self.addCleanup(self.gateway.remove)

    def sign_in(self, name):
        form = urllib.parse.urlencode({"j_user": name, "j_password": "portico-demo"})
        answer = self.gateway.request("POST", "/irj/portal", form, headers={"Content-Type": "application/x-www-form-urlencoded"})
        self.assertEqual(answer.status, 200, answer)
        return {"Accept": JSON, "Cookie": answer.headers["set-cookie"].split(";")[0]}

    def test_a_portal_that_ends_all_sessions_shows_nobody_anothers_rows(self):
        self.begin_behind_portal()
        path = "/odata/v4/sap/StudentCollection(1)"
        first, second = self.sign_in("jdoe"), self.sign_in("mroe")

        def get(person):
            answer = self.gateway.request("GET", path, headers=person)
            return answer.status, answer.headers.get("cache-status", "")

        self.assertEqual(get(first), (200, "portico; fwd=miss; stored"))
        self.system.order("fault", "error", 500, "--path", SAP)
        time.sleep(0.01)
        self.assertEqual(get(first), (200, "portico; fwd=stale; detail=upstream-failed"))
        self.assertEqual(get(second)[0], 502)
        # The sessions end, and nobody can be signed in again: each is asked to, and what was kept is gone.
        self.system.order("fault", "none")
        self.system.order("end-sessions")
        self.system.order("fault", "login-page")
        for person in (first, second):
            self.assertEqual(get(person)[0], 401)
        self.system.order("fault", "none")
        self.system.order("fault", "error", 500, "--path", SAP)
        again = self.sign_in("jdoe")
        self.assertEqual(get(again)[0], 502)
        self.system.order("fault", "none")
        self.assertEqual(get(again)[0], 200)

    def test_mirrored_rows_of_callers_are_kept_for_their_own_sign_in_alone(self):
        self.begin_behind_portal()
        people = [self.sign_in(name) for name in ("jdoe", "mroe")]

        def rows(person, status=200):
            answer = self.gateway.request("GET", "/api/v1/employees/employees?limit=100", headers=person)
            self.assertEqual(answer.status, status, answer)
            return {one["porticoID"] for one in answer.json()["items"]} if status == 200 else set()

        first, second = map(rows, people)
        self.assertEqual((len(first), len(second), first & second), (40, 40, set()))
        self.system.order("fault", "error", 500, "--path", "/OrganizationInterfaceImplMobile")
        self.assertEqual([rows(person) for person in people], [first, second])
        self.system.order("fault", "none")
        self.system.order("end-sessions")
        self.system.order("fault", "login-page")
        for person in people:
            rows(person, 401)
        self.system.order("fault", "none")
        again = rows(self.sign_in("mroe"))
        self.assertEqual((len(again), again & (first | second)), (40, set()))
        rows(people[0], 401)


if __name__ == "__main__":
    unittest.main()
