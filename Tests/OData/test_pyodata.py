"""pyodata, SAP's own client of OData 2.0, against a live gateway, and in front of another one: what other people's code makes of
ours."""

import datetime
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "EndToEnd"))

import pyodata
import requests
from pyodata.exceptions import HttpError
from harness import Gateway
from odata_fronts import variants
from pyodata.v2.model import Config

SERVICE = "/sap/opu/odata/sap/ADMISSIONSCOUNSELOR/"


class Clients(unittest.TestCase):
    @classmethod
    def start(cls):
        gateway = Gateway()
        cls.addClassCleanup(gateway.remove)
        return gateway

    @classmethod
    def setUpClass(cls):
        cls.gateway = cls.start()
        cls.root = f"http://127.0.0.1:{cls.gateway.port}"
        cls.session = requests.Session()
        form = {"j_user": "alice", "j_password": "portico-demo"}
        cls.session.post(cls.root + "/irj/portal", data=form).raise_for_status()
        cls.client = pyodata.Client(cls.root + SERVICE, cls.session, config=Config(retain_null=True))
        # As its documentation has it: a token for everything that the session changes.
        token = cls.session.head(cls.root + SERVICE, headers={"X-CSRF-Token": "Fetch"}).headers["X-CSRF-Token"]
        cls.session.headers["X-CSRF-Token"] = token
        cls.sets = cls.client.entity_sets

    @classmethod
    def tearDownClass(cls):
        cls.session.close()


class Model(Clients):
    def test_it_reads_the_model(self):
        schema = self.client.schema
        self.assertEqual(
            {s.name for s in schema.entity_sets}, {"States", "Schools", "Students", "Counselors", "Visits", "Appointments"})
        student = schema.entity_type("Student")
        self.assertEqual([key.name for key in student.key_proprties], ["StudentID"])
        self.assertEqual(student.proprty("GPA").typ.name, "Edm.Decimal")
        self.assertEqual(student.nav_proprty("School").to_role.entity_type_name, "School")
        self.assertTrue(student.nav_proprty("Visits").to_role.multiplicity == "*")
        self.assertTrue(schema.association_sets)
        for association in schema.association_sets:
            self.assertEqual(len(association.end_roles), 2)


class Reading(Clients):
    def test_it_reads_an_entity_with_its_types(self):
        student = self.sets.Students.get_entity(1).execute()
        self.assertEqual(student.StudentID, 1)
        self.assertIsInstance(student.BirthDate, datetime.datetime)
        self.assertEqual(student.Registered.tzinfo, datetime.timezone.utc)
        plain = self.session.get(self.root + "/odata/v4/admissions/Students(1)").json()
        # Where the other service is of version 2, a day is an instant.
        self.assertEqual(student.BirthDate.date().isoformat(), plain["BirthDate"][:10])
        self.assertEqual(float(student.GPA), float(plain["GPA"]))

    def test_it_filters_orders_counts_and_pages(self):
        states = self.sets.States.get_entities().count(inline=True).top(1).order_by("Name desc").execute()
        self.assertEqual((states.total_count, [s.Name for s in states]), (51, ["Wyoming"]))
        request = self.sets.Students.get_entities()
        found = request.filter(request.GraduationYear > 2000).filter("substringof('a',LastName)").top(7).execute()
        self.assertTrue(0 < len(found) <= 7 and all("a" in s.LastName for s in found))
        self.assertEqual(self.sets.States.get_entities().count().execute(), 51)
        seen, request = [], self.sets.Students.get_entities().select("StudentID")
        while request is not None:
            page = request.execute()
            seen += [s.StudentID for s in page]
            request = self.sets.Students.get_entities().next_url(page.next_url) if page.next_url else None
        self.assertEqual((len(seen), len(set(seen))), (400, 400))

    def test_it_filters_by_instants(self):
        request = self.sets.Students.get_entities()
        born = self.sets.Students.get_entity(1).execute().BirthDate
        found = request.filter(request.BirthDate == born).execute()
        self.assertIn(1, [s.StudentID for s in found])

    def test_it_follows_navigation_and_expands(self):
        student = self.sets.Students.get_entity(1).expand("School").execute()
        school = self.sets.Students.get_entity(1).nav("School").execute()
        self.assertEqual(student.School.SchoolID, school.SchoolID)
        students = self.sets.Schools.get_entity(school.SchoolID).nav("Students").get_entities().execute()
        self.assertIn(1, [s.StudentID for s in students])
        expanded = self.sets.Schools.get_entity(school.SchoolID).expand("Students").execute()
        self.assertEqual(len(expanded.Students), len(students))

    def test_what_is_not_there_is_an_error_with_its_message(self):
        with self.assertRaises(HttpError) as missing:
            self.sets.States.get_entity("XX").execute()
        self.assertEqual(missing.exception.response.status_code, 404)


class Writing(Clients):
    def create(self, **values):
        return self.sets.Students.create_entity().set(FirstName="Py", LastName="Odata", **values).execute()

    def test_it_creates_updates_and_deletes(self):
        born = datetime.datetime(2003, 2, 1, tzinfo=datetime.timezone.utc)
        created = self.create(GraduationYear=2027, BirthDate=born)
        self.assertEqual(created.BirthDate, born)
        for method, year in [("PATCH", 2028), ("MERGE", 2029)]:
            self.sets.Students.update_entity(created.StudentID, method=method).set(GraduationYear=year).execute()
            self.assertEqual(self.sets.Students.get_entity(created.StudentID).execute().GraduationYear, year)
        self.sets.Students.delete_entity(created.StudentID).execute()
        with self.assertRaises(HttpError):
            self.sets.Students.get_entity(created.StudentID).execute()

    def test_a_batch_reads_and_changes(self):
        batch, changes = self.client.create_batch(), self.client.create_changeset()
        one, two = self.create(), self.create()
        for student in (one, two):
            changes.add_request(self.sets.Students.update_entity(student.StudentID).set(GraduationYear=2030))
        changes.add_request(self.sets.Students.create_entity().set(FirstName="In", LastName="Batch"))
        batch.add_request(self.sets.States.get_entity("MS"))
        batch.add_request(changes)
        batch.add_request(self.sets.Students.get_entity(one.StudentID))
        state, changed, after = batch.execute()
        self.assertEqual((state.Name, after.GraduationYear), ("Mississippi", 2030))
        self.assertEqual(changed[2].LastName, "Batch")

    def test_a_failed_change_set_changes_nothing(self):
        student = self.create()
        batch, changes = self.client.create_batch(), self.client.create_changeset()
        changes.add_request(self.sets.Students.update_entity(student.StudentID).set(GraduationYear=2031))
        changes.add_request(self.sets.Students.create_entity().set(FirstName="Lacks a last name"))
        batch.add_request(changes)
        with self.assertRaises(HttpError):
            batch.execute()
        self.assertIsNone(self.sets.Students.get_entity(student.StudentID).execute().GraduationYear)


class Tokens(Clients):
    def change(self, session):
        change = self.client.create_changeset()
        change.add_request(self.sets.Students.create_entity().set(FirstName="With", LastName="Token"))
        batch = pyodata.Client(self.root + SERVICE, session).create_batch()
        batch.add_request(change)
        return batch.execute()

    def test_what_changes_something_needs_the_token_of_its_session(self):
        with requests.Session() as session:
            session.post(self.root + "/irj/portal", data={"j_user": "bob", "j_password": "portico-demo"})
            for token in (None, "nonsense", self.session.headers["X-CSRF-Token"]):
                session.headers["X-CSRF-Token"] = token
                with self.assertRaises(HttpError) as refused:
                    self.change(session)
                answer = refused.exception.response
                self.assertEqual((answer.status_code, answer.headers["X-CSRF-Token"]), (403, "Required"))
            fetched = session.get(self.root + SERVICE, headers={"X-CSRF-Token": "Fetch"}).headers["X-CSRF-Token"]
            session.headers["X-CSRF-Token"] = fetched
            self.assertEqual(self.change(session)[0][0].LastName, "Token")


# A change of another system is one request: there are no change sets.
CHANGE_SETS = [
    "test_a_batch_reads_and_changes", "test_a_failed_change_set_changes_nothing",
    "test_what_changes_something_needs_the_token_of_its_session"]


def load_tests(loader, suite, pattern):
    return variants(loader, suite, [Model, Reading, Writing], {"": CHANGE_SETS})


if __name__ == "__main__":
    unittest.main()
