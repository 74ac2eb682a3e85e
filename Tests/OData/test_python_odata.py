"""python-odata, which builds its classes from `$metadata` and writes its own queries, against a live gateway, and in front of another
one."""

import decimal
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "EndToEnd"))

import requests
from harness import GatewayTest
from odata_fronts import variants
from odata import ODataService
from odata.exceptions import ODataError


class PythonOData(GatewayTest):
    @classmethod
    def start(cls):
        GatewayTest.setUpClass.__func__(cls)
        return cls.gateway

    @classmethod
    def setUpClass(cls):
        cls.gateway = cls.start()
        session = requests.Session()
        session.headers["Authorization"] = "Bearer " + cls.gateway.login("alice").json()["accessToken"]
        cls.url = f"http://127.0.0.1:{cls.gateway.port}/odata/v4/admissions/"
        cls.service = ODataService(cls.url, session=session, reflect_entities=True, quiet_progress=True)

    def entity(self, name):
        return self.service.entities[name]

    def query(self, name):
        return self.service.query(self.entity(name))

    def student(self, key, name="Client"):
        """The client sends a null for whatever is left out, so what cannot be null is said; other entities' keys it does not
        send, but binds the entities."""
        student = self.entity("Students")()
        student.StudentID, student.FirstName, student.LastName = key, "Python", name
        student.Status, student.School = "Applied", self.query("Schools").get(1)
        return student

    def test_the_model_becomes_classes(self):
        self.assertLessEqual(
            {"States", "Schools", "Students", "Counselors", "Visits", "Appointments"}, set(self.service.entities))
        student = self.entity("Students")
        self.assertEqual(student.StudentID.primary_key, True)
        for name in ("LastName", "GPA", "Status", "School", "Visits"):
            self.assertTrue(hasattr(student, name), name)

    def test_the_model_too_needs_a_login(self):
        self.assertEqual(requests.get(self.url + "$metadata").status_code, 401)

    def test_the_states_come_whole(self):
        states = {state.StateCode: state.Name for state in self.query("States").all()}
        self.assertEqual((len(states), states["MS"]), (51, "Mississippi"))

    def test_students_filtered_ordered_and_cut(self):
        student = self.entity("Students")
        found = list(
            self.query("Students").filter(student.GPA >= 3).filter(student.Status == "Applied")
            .order_by(student.GPA.desc(), student.LastName.asc()).limit(5))
        self.assertTrue(0 < len(found) <= 5)
        self.assertTrue(all(one.GPA >= 3 and one.Status == "Applied" for one in found))
        self.assertEqual([one.GPA for one in found], sorted((one.GPA for one in found), reverse=True))

    def test_text_functions_and_a_way_over_navigation(self):
        school = self.entity("Schools")
        named = list(self.query("Schools").filter(school.Name.contains("High")).limit(10))
        self.assertTrue(named and all("High" in one.Name for one in named))
        state = named[0].StateCode
        over = list(self.query("Schools").filter(school.State.StateCode == state).limit(3))
        self.assertTrue(over and all(one.StateCode == state for one in over))

    def test_an_expansion_brings_related_entities(self):
        student = self.entity("Students")
        one = self.query("Students").filter(student.StudentID == 1).expand(student.School).first()
        self.assertEqual(one.School.SchoolID, one.SchoolID)

    def test_an_entity_by_its_key(self):
        self.assertEqual(self.query("States").get("MS").Name, "Mississippi")

    def test_every_page_is_followed(self):
        ids = [one.StudentID for one in self.query("Students")]
        count = requests.get(self.url + "Students/$count", headers=self.service.default_context.connection.session.headers)
        self.assertEqual(len(ids), int(count.text))
        self.assertEqual(len(ids), len(set(ids)))

    def test_an_entity_is_created_changed_and_deleted(self):
        student = self.student(870_001)
        student.GPA = decimal.Decimal("3.25")
        self.service.save(student)
        self.assertEqual((student.StudentID, student.Status, student.SchoolID), (870_001, "Applied", 1))
        student.GPA = decimal.Decimal("3.75")
        self.service.save(student)
        again = self.query("Students").get(student.StudentID)
        self.assertEqual(float(again.GPA), 3.75)
        self.service.delete(again)
        gone = self.entity("Students").StudentID == student.StudentID
        self.assertEqual(list(self.query("Students").filter(gone)), [])

    def test_what_the_model_refuses_is_an_error_with_its_reason(self):
        student = self.student(870_002, "x" * 61)
        with self.assertRaises(ODataError) as refused:
            self.service.save(student)
        self.assertIn("LastName has at most 60 characters", str(refused.exception))


# What a filter says of a related entity cannot be asked of another system.
PATHS = ["test_text_functions_and_a_way_over_navigation"]


def load_tests(loader, suite, pattern):
    return variants(loader, suite, [PythonOData], {"Called": PATHS})
