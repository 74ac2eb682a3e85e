"""Repeated OData queries are answered from the query plan cache with the same results."""

import time
import unittest

from test_odata import ROOT, ODataTest

QUESTIONS = [
    "Schools?$top=7&$orderby=Name",
    "Schools?$top=3&$select=Name&$expand=Students($top=2;$select=LastName;$count=true;$expand=School($select=Name))",
    "Students?$top=5&$filter=GPA ge 3.5&$select=FirstName,GPA,BirthDate",
    "Students?$apply=groupby((Status),aggregate($count as N))&$orderby=Status",
    "Students(1)?$expand=School",
    "Students/$count?$filter=Status eq 'Applied'",
]


def plain(value):
    """Without control information."""
    if isinstance(value, dict):
        return {key: plain(inner) for key, inner in value.items() if "@" not in key}
    return [plain(item) for item in value] if isinstance(value, list) else value


class Repeated(ODataTest):
    # Fewer than are asked, so that they are forgotten and read anew.
    settings = ("--set", "adapters.odata.limits.knownQuestions=4")

    def test_what_is_asked_again_is_answered_alike(self):
        first = [self.get(question).body for question in QUESTIONS]
        for _ in range(3):
            self.assertEqual([self.get(question).body for question in QUESTIONS], first)
            self.assertEqual([self.get(question).body for question in reversed(QUESTIONS)], first[::-1])

    def test_rows_say_the_same_with_and_without_metadata(self):
        for question in QUESTIONS[:-1]:
            answers = {
                form: self.get(question, Accept=f"application/json;odata.metadata={form}").json()
                for form in ("none", "full", "minimal")
            }
            self.assertEqual(plain(answers["none"]), plain(answers["full"]), question)
            self.assertEqual(plain(answers["minimal"]), plain(answers["full"]), question)

    def test_each_caller_gets_the_form_that_is_asked_for(self):
        for form, received in [("minimal", True), ("none", False), ("minimal", True)]:
            page = self.get(QUESTIONS[0], Accept=f"application/json;odata.metadata={form}").json()
            self.assertEqual("@odata.context" in page, received)
        number = "Students?$top=1&$select=GPA"
        self.assertIsInstance(self.get(number).json()["value"][0]["GPA"], float)
        exact = self.get(number, Accept="application/json;IEEE754Compatible=true").json()
        self.assertIsInstance(exact["value"][0]["GPA"], str)

    def test_pages_of_one_question_go_on_where_they_end(self):
        whole = [school["SchoolID"] for school in self.values("Schools?$orderby=Name desc&$select=SchoolID")]
        for _ in range(2):
            found, path = [], "Schools?$orderby=Name desc&$select=SchoolID"
            while path:
                page = self.get(path, Prefer="maxpagesize=9").json()
                found += [school["SchoolID"] for school in page["value"]]
                path = page.get("@odata.nextLink", "").partition(ROOT)[2]
            self.assertEqual(found, whole)

    def test_a_page_of_another_question_is_refused_as_before(self):
        for _ in range(2):
            self.get("Schools?$orderby=Name,SchoolID&$skiptoken=abc", status=400)
            self.get("Students(1)?$select=LastName")
            self.get("Students(1)?$select=LastName&$skiptoken=abc", status=400)
            self.get("Schools?$skiptoken=abc&$skiptoken=def", status=400)
            self.get("Schools?$fil&$skiptoken=abc", status=400)

    def test_the_time_is_that_of_the_request(self):
        question = "Students?$top=1&$select=StudentID,T&$compute=now() as T"
        first = self.values(question)[0]["T"]
        time.sleep(0.01)
        self.assertGreater(self.values(question)[0]["T"], first)

    def test_what_has_changed_is_seen(self):
        question = "Visits?$filter=VisitID eq 777777"
        self.assertEqual(self.values(question), [])
        self.send("POST", "Visits", {"VisitID": 777777, "StudentID": 1, "Kind": "Interview", "Interest": 3}, status=201)
        self.assertEqual([visit["Kind"] for visit in self.values(question)], ["Interview"])

    def test_the_version_decides_how_the_same_question_is_answered(self):
        question = "Schools?top=2"
        self.assertEqual(len(self.values(question)), 2)
        for version in ["4.0", "4.01"]:
            answer = self.get(question, **{"OData-MaxVersion": version})
            self.assertEqual((answer.headers["odata-version"], len(answer.json()["value"])), (version, 2))


if __name__ == "__main__":
    unittest.main()
