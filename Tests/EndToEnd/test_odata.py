"""OData 4.01 over the demonstration's admissions service, checked from outside."""

import json
import unittest
import urllib.parse
import xml.etree.ElementTree as ElementTree

from harness import GatewayTest, run_portico

QUICK = True

ROOT = "/odata/v4/admissions/"


class ODataTest(GatewayTest):
    def get(self, path, status=200, user="alice", **headers):
        return self.expect(self.gateway.request("GET", ROOT + self.quoted(path), user=user, headers=headers), status)

    def send(self, method, path, body=None, status=None, user="alice", **headers):
        headers = {"Content-Type": "application/json", **{name.replace("_", "-"): value for name, value in headers.items()}}
        text = None if body is None else json.dumps(body)
        answer = self.gateway.request(method, ROOT + self.quoted(path), text, headers, user=user)
        return self.expect(answer, status) if status else answer

    @staticmethod
    def quoted(path):
        return path.replace(" ", "%20").replace("'", "%27")

    def values(self, path):
        return self.get(path).json()["value"]


class TheService(ODataTest):
    def test_the_service_document_lists_the_sets(self):
        document = self.get("").json()
        self.assertIn("$metadata", document["@odata.context"])
        names = {item["name"] for item in document["value"]}
        self.assertEqual(names, {"States", "Schools", "Students", "Counselors", "Visits", "Appointments"})

    def test_the_model_is_given_as_xml_and_as_json(self):
        answer = self.get("$metadata")
        self.assertTrue(answer.headers["content-type"].startswith("application/xml"))
        ElementTree.fromstring(answer.body)
        model = self.get("$metadata?$format=json").json()
        self.assertEqual(model["$EntityContainer"], "ADMISSIONSCOUNSELOR.Container")
        self.assertEqual(model["ADMISSIONSCOUNSELOR"]["Student"]["$Kind"], "EntityType")

    def test_a_missing_login_is_reported_in_odatas_shape(self):
        answer = self.get("Students", status=401, user=None)
        self.assertEqual(answer.json()["error"]["code"], "auth.required")
        self.assertIn(answer.headers["odata-version"], ("4.0", "4.01"))

    def test_what_is_not_there_is_404_in_odatas_shape(self):
        for path in ["Nothing", "Students(999999)", "States('ZZ')/Schools", "Students(1)/Nothing"]:
            self.assertIn("message", self.get(path, status=404).json()["error"])

    def test_a_syntax_error_names_its_position(self):
        error = self.get("Students?$filter=GPA gt", status=400).json()["error"]
        self.assertIn("position", error["message"])

    def test_an_unknown_version_is_refused(self):
        self.send("POST", "Students", {"FirstName": "A"}, 400, OData_Version="9.0")
        self.assertEqual(self.get("States", **{"OData-MaxVersion": "4.0"}).headers["odata-version"], "4.0")


class Reading(ODataTest):
    def test_the_states_are_the_fifty_and_one(self):
        page = self.get("States?$count=true").json()
        self.assertEqual(page["@odata.count"], 51)
        self.assertEqual({"StateCode", "Name"}, {key for key in page["value"][0] if "@" not in key})

    def test_a_filter_an_order_and_a_page(self):
        found = self.values("Students?$filter=GPA ge 3.5 and Status eq 'Applied'&$orderby=GPA desc,LastName&$top=7")
        self.assertTrue(0 < len(found) <= 7)
        self.assertTrue(all(float(s["GPA"]) >= 3.5 and s["Status"] == "Applied" for s in found))
        self.assertEqual([s["GPA"] for s in found], sorted((s["GPA"] for s in found), reverse=True))

    def test_links_lead_through_every_page_once(self):
        seen, link = [], ROOT + "Students?$select=StudentID&$orderby=GPA%20desc"
        while link:
            page = self.expect(self.gateway.request("GET", link, user="alice"), 200).json()
            seen += [row["StudentID"] for row in page["value"]]
            link = page.get("@odata.nextLink")
            if link:
                parts = urllib.parse.urlsplit(link)
                link = f"{parts.path}?{parts.query}"
        self.assertEqual(len(seen), len(set(seen)))
        self.assertEqual(len(seen), int(self.get("Students/$count").body))

    def test_an_expansion_brings_related_entities_within_their_own_options(self):
        school = self.values("Schools?$top=1&$expand=Students($select=LastName;$orderby=LastName;$top=2),State")[0]
        self.assertLessEqual(len(school["Students"]), 2)
        self.assertEqual(school["State"]["StateCode"], school["StateCode"])

    def test_a_property_its_raw_value_and_a_way_through_navigation(self):
        self.assertEqual(self.get("States('MS')/Name").json()["value"], "Mississippi")
        self.assertEqual(self.get("States('MS')/Name/$value").body, b"Mississippi")
        student = self.get("Students(1)").json()
        school = self.get("Students(1)/School").json()
        self.assertEqual(school["SchoolID"], student["SchoolID"])
        self.assertIn(1, [s["StudentID"] for s in self.values(f"Schools({school['SchoolID']})/Students?$select=StudentID")])

    def test_an_answer_that_the_caller_has_is_not_sent_again(self):
        tag = self.get("Students(1)").headers["etag"]
        self.assertEqual(self.get("Students(1)", status=304, **{"If-None-Match": tag}).body, b"")

    def test_metadata_full_names_ids_and_none_names_nothing(self):
        full = self.get("States('MS')", Accept="application/json;odata.metadata=full").json()
        self.assertTrue(full["@odata.id"].endswith("States('MS')") or full["@odata.id"].endswith("States(%27MS%27)"))
        none = self.get("States('MS')", Accept="application/json;odata.metadata=none").json()
        self.assertFalse([key for key in none if "@" in key])

    def test_groups_are_counted(self):
        rows = self.values("Students?$apply=groupby((Status),aggregate($count as N))")
        self.assertEqual(sum(row["N"] for row in rows), int(self.get("Students/$count").body))


class Writing(ODataTest):
    def create(self, **properties):
        answer = self.send("POST", "Students", {"FirstName": "Test", "LastName": "Person", **properties}, 201)
        return answer, answer.json()

    def test_an_entity_is_created_changed_and_deleted(self):
        answer, student = self.create(GPA=3.25)
        path = f"Students({student['StudentID']})"
        self.assertTrue(answer.headers["location"].endswith(path))
        self.assertEqual(student["Status"], "Prospect")
        self.send("PATCH", path, {"GPA": 3.5}, 204)
        self.assertEqual(self.get(path).json()["GPA"], 3.5)
        self.send("DELETE", path, status=204)
        self.get(path, status=404)

    def test_a_deep_insert_creates_what_belongs_to_it(self):
        visits = [{"VisitID": 900001, "VisitedAt": "2026-03-01T10:00:00Z", "Kind": "Campus tour"}]
        _, student = self.create(Visits=visits, **{"Counselor@odata.bind": "Counselors(1)"})
        self.assertEqual(student["CounselorID"], 1)
        found = self.values(f"Students({student['StudentID']})/Visits")
        self.assertEqual([v["VisitID"] for v in found], [900001])
        self.send("DELETE", f"Students({student['StudentID']})", status=204)
        self.get("Visits(900001)", status=404)

    def test_a_change_over_another_state_is_refused(self):
        answer, student = self.create()
        path, tag = f"Students({student['StudentID']})", answer.headers["etag"]
        self.send("PATCH", path, {"GPA": 2}, 204, If_Match=tag)
        self.send("PATCH", path, {"GPA": 3}, 412, If_Match=tag)
        self.send("PATCH", path, {"GPA": 3}, 204, If_Match="*")

    def test_wrong_values_are_refused_with_their_target(self):
        for body, target in [
            ({"FirstName": "A"}, "LastName"), ({"FirstName": "A", "LastName": "B", "GPA": "x"}, "GPA"),
            ({"FirstName": "A", "LastName": "B", "Nope": 1}, "Nope"),
            ({"FirstName": "A", "LastName": "B", "SchoolID": 999999}, "School"),
        ]:
            error = self.send("POST", "Students", body, 400).json()["error"]
            self.assertEqual(error["target"], target)

    def test_a_reference_is_set_and_removed(self):
        _, student = self.create()
        path = f"Students({student['StudentID']})"
        self.send("PUT", f"{path}/School/$ref", {"@odata.id": "Schools(2)"}, 204)
        self.assertEqual(self.get(f"{path}/School").json()["SchoolID"], 2)
        self.send("DELETE", f"{path}/School/$ref", status=204)
        self.get(f"{path}/School", status=204)

    def test_a_property_is_set_and_cleared_by_itself(self):
        _, student = self.create()
        path = f"Students({student['StudentID']})/Email"
        self.send("PUT", path, {"value": "a@b.example"}, 204)
        self.assertEqual(self.get(path + "/$value").body, b"a@b.example")
        self.send("DELETE", path, status=204)
        self.get(path, status=204)

    def test_the_answer_is_what_the_caller_prefers(self):
        answer = self.send("POST", "Students", {"FirstName": "A", "LastName": "B"}, 204, Prefer="return=minimal")
        self.assertEqual(answer.headers["preference-applied"], "return=minimal")
        self.assertIn("odata-entityid", answer.headers)

    def test_the_same_entity_is_a_record_of_the_gateway(self):
        _, student = self.create(GPA=2.75)
        answer = self.gateway.request("GET", f"/api/v1/odata/admissions-Students/{student['StudentID']}", user="alice")
        record = self.expect(answer, 200).json()
        self.assertEqual(record["LastName"], "Person")


class Importing(ODataTest):
    def load(self, file):
        return run_portico(
            "odata", "import", "admissions", "Schools", file, "--data", self.gateway.data, "--output", "json",
            program="porticoctl")

    def test_an_operator_loads_a_file_and_learns_which_row_is_bad(self):
        folder = self.gateway.data
        good = folder / "schools.csv"
        good.write_text("SchoolID,Name,City,StateCode\n70001,Loaded High,Oxford,MS\n70002,Loaded Too,,MS\n")
        done = self.load(good)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(done.stdout)["created"], 2)
        self.assertEqual(self.get("Schools(70001)").json()["City"], "Oxford")
        bad = folder / "bad.json"
        bad.write_text(json.dumps([{"SchoolID": 70003, "Name": "Fine"}, {"SchoolID": "x", "Name": "Not"}]))
        done = self.load(bad)
        self.assertEqual(done.returncode, 1)
        self.assertIn("row 2", done.stderr)
        self.get("Schools(70003)", status=404)


if __name__ == "__main__":
    unittest.main()
