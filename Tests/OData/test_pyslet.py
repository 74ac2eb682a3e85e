"""A service of OData 2.0 that other people wrote, pyslet's, behind ours, mirrored and called."""

import json
import pathlib
import socket
import subprocess
import sys
import unittest
import urllib.parse

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "EndToEnd"))

import requests
import test_contracts_upstream as contracts
from harness import JSON, run_portico
from pyslet_system import FIRST, SCHOOLS, STATES, STUDENTS

PROGRAM = pathlib.Path(__file__).resolve().parent / "pyslet_system.py"
SERVICE = "admissions.svc/"


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class BeforePyslet(contracts.Front):
    """Before the tests: pyslet's service at `address`, and a gateway in front of it."""

    states, mode = len(STATES), contracts.ONCE
    # It makes no keys.
    student = {"StudentID": 9_000, "FirstName": "To", "LastName": "Ken"}

    @classmethod
    def setUpClass(cls):
        port = free_port()
        cls.address = f"http://127.0.0.1:{port}/{SERVICE}"
        process = subprocess.Popen([sys.executable, "-B", PROGRAM, str(port)], stdout=subprocess.PIPE, text=True)
        cls.process = process
        cls.addClassCleanup(process.stdout.close)
        cls.addClassCleanup(process.wait)
        cls.addClassCleanup(process.kill)
        assert process.stdout.readline().strip() == "serving"
        folder = cls.folder()
        done = run_portico("odata", "fetch", cls.address, folder / "two.xml", "--output", "json", program="porticoctl")
        assert done.returncode == 0, done
        assert json.loads(done.stdout)["sets"] == ["States", "Schools", "Students"], done.stdout
        parts = contracts.odata("two", cls.mode)
        parts["odata"] = parts["odata"].replace("'TWO'", SERVICE)
        cls.parts = parts
        cls.gateway = cls.start(folder, f"http://127.0.0.1:{port}/", parts=parts)


class Called(BeforePyslet):
    mode = contracts.CALLED


class TheContractMirrored(BeforePyslet, contracts.ODataContract):
    pass


class TheContractCalled(Called, contracts.ODataContract):
    pass


class Entities:
    """What holds in both modes."""

    def theirs(self, path, **options):
        """Entities of theirs, of all pages."""
        # It knows an option by its bare `$`.
        query = "&".join(f"${name}={urllib.parse.quote(value)}" for name, value in options.items())
        found, address = [], f"{self.address}{path}?{query}"
        while address:
            answer = requests.get(address, headers={"Accept": JSON}, timeout=60)
            self.assertEqual(answer.status_code, 200, answer.text)
            content = answer.json()["d"]
            found += content["results"]
            address = content.get("__next", {}).get("uri")
        return found

    def ours(self, path, **options):
        found, place = [], f"/odata/v2/admissions/{path}?" + urllib.parse.urlencode(
            {"$format": "json", **{f"${name}": value for name, value in options.items()}}, quote_via=urllib.parse.quote)
        while place:
            answer = self.gateway.get(place, user="alice")
            self.assertEqual(answer.status, 200, answer)
            content = answer.json()["d"]
            found += content["results"]
            place = content.get("__next", "").replace(f"http://127.0.0.1:{self.gateway.port}", "")
        return found

    def same(self, path, **options):
        theirs, ours = self.theirs(path, **options), self.ours(path, **options)

        def plain(rows):
            return [{name: value for name, value in row.items() if not isinstance(value, dict)} for row in rows]

        self.assertEqual(plain(ours), plain(theirs), (path, options))
        return len(theirs)

    def send(self, method, path, value, status, root="/odata/v4/admissions/"):
        answer = self.gateway.request(
            method, root + path, json.dumps(value) if value is not None else None, user="alice",
            headers={"Content-Type": JSON, "Accept": JSON})
        self.assertEqual(answer.status, status, answer)
        return answer

    def their_student(self, key):
        answer = requests.get(f"{self.address}Students({key})", headers={"Accept": JSON}, timeout=60)
        return answer.json()["d"] if answer.status_code == 200 else None

    def test_every_entity_is_theirs(self):
        self.assertEqual(self.same("States", orderby="StateCode"), len(STATES))
        self.assertEqual(self.same("Schools", orderby="SchoolID"), SCHOOLS)
        self.assertEqual(self.same("Students", orderby="StudentID"), STUDENTS)

    def test_queries_have_their_answers(self):
        for options in (
                {"filter": "startswith(LastName,'S') and GPA gt 1.5M", "orderby": "GPA desc,StudentID"},
                {"filter": "LastName eq 'O''Brien' or Active eq true", "orderby": "LastName,StudentID", "top": "40", "skip": "7"},
                {"filter": "BirthDate ge datetime'2004-01-01T00:00:00'", "orderby": "StudentID desc"},
                {"filter": "substringof('rge',LastName)", "orderby": "StudentID"}):
            with self.subTest(**options):
                self.assertGreater(self.same("Students", **options), 10)

    def test_navigation_leads_where_theirs_does(self):
        for school in range(1, SCHOOLS + 1):
            self.assertGreater(self.same(f"Schools({school})/Students", orderby="StudentID"), 50)
        one = self.gateway.get("/odata/v4/admissions/Students(6)?$expand=School", accept=JSON, user="alice").json()
        self.assertEqual(one["School"]["SchoolID"], 6 % SCHOOLS + 1)

    def test_changes_are_made_there(self):
        self.send("POST", "Students", {"StudentID": 9_001, "FirstName": "New", "LastName": "One", "GPA": 3.25}, 201)
        self.assertEqual((self.their_student(9_001)["LastName"], self.their_student(9_001)["GPA"]), ("One", "3.25"))
        # Its PUT and MERGE lose the address's key under Python 3.
        self.send("DELETE", "Students(9001)", None, 204)
        self.assertIsNone(self.their_student(9_001))
        answer = self.gateway.request(
            "POST", "/odata/v4/admissions/Students", json.dumps({"StudentID": 1, "FirstName": "Taken", "LastName": "Key"}),
            user="alice", headers={"Content-Type": JSON})
        self.assertIn(answer.status, range(400, 500), answer)
        self.assertEqual(self.their_student(1)["FirstName"], FIRST[1])


class EntitiesMirrored(BeforePyslet, Entities, unittest.TestCase):
    def test_a_second_refresh_changes_nothing(self):
        for name in ("States", "Schools", "Students"):
            for _ in range(2):
                done = run_portico(
                    "mirrors", "refresh", f"odata/admissions-{name}", "--data", self.gateway.data, "--output", "json",
                    program="porticoctl")
                self.assertEqual(done.returncode, 0, done)
            told = json.loads(done.stdout)
            self.assertEqual((told["created"], told["updated"], told["deleted"], told["refused"]), (0, 0, 0, 0), told)


class EntitiesCalled(Called, Entities, unittest.TestCase):
    pass


if __name__ == "__main__":
    unittest.main()
