"""Questions of OData 2.0 that are asked again and again: they are remembered as they were read, and mean what they mean
each time, in each format."""

import re
import unittest

from test_odata_v2 import ROOT, SAP, Version2Test

QUESTIONS = [
    "Schools?$top=7&$orderby=Name",
    "Schools?$top=3&$select=Name,Students/LastName&$expand=Students",
    "Students?$top=5&$filter=GPA ge 3.5M&$select=FirstName,GPA,BirthDate",
    "Students?search=Darby&$top=4",
    "Students(1)?$expand=School",
    "Students(1)/School",
    "Students/$count?$filter=Status eq 'Applied'",
]
JSON, ATOM = "application/json", "application/atom+xml"


def lasting(body):
    """Without the time at which it was written."""
    return re.sub(rb"<updated>[^<]*</updated>", b"", body)


class Repeated(Version2Test):
    # Fewer than are asked, so that they are forgotten and read anew.
    settings = (
        "--set", "adapters.odata.limits.knownQuestions=4", "--set", "adapters.odata.services.admissions.pageSize=20")

    def answers(self, questions):
        return [lasting(self.ask(question, Accept=form).body) for question in questions for form in (JSON, ATOM, JSON)]

    def test_what_is_asked_again_is_answered_alike(self):
        first = self.answers(QUESTIONS)
        for _ in range(3):
            self.assertEqual(self.answers(QUESTIONS), first)

    def test_each_root_has_its_own_addresses(self):
        for root in (ROOT, SAP, ROOT):
            student = self.d("Students?$top=1", root)["results"][0]
            self.assertIn(root + "Students(", student["__metadata"]["uri"])
            self.assertIn(root + "Students(", student["School"]["__deferred"]["uri"])

    def pages(self, path):
        """All rows of a question, and where its changes can be asked for."""
        rows, delta = [], None
        while path:
            page = self.d(path)
            rows += page["results"]
            path, delta = page.get("__next", "").partition(ROOT)[2], page.get("__delta", "").partition(ROOT)[2]
            if path:
                self.assertIn("!deltatoken=", path)
        return rows, delta

    def test_pages_go_on_where_they_end(self):
        for _ in range(2):
            rows, _ = self.pages("Visits?$orderby=VisitID desc&$select=VisitID")
            found = [visit["VisitID"] for visit in rows]
            self.assertGreater(len(found), 40)
            self.assertEqual(found, sorted(set(found), reverse=True))

    def test_changes_are_followed_from_the_first_page_on(self):
        for number in (660001, 660002):
            _, delta = self.pages("Visits?$select=VisitID")
            self.send("POST", "Visits", {"VisitID": number, "StudentID": 1, "Kind": "Interview", "Interest": 3}, 201)
            self.assertEqual([visit["VisitID"] for visit in self.rows(delta)], [number])

    def test_tokens_in_another_order_or_twice_are_refused_as_before(self):
        for _ in range(2):
            self.rows("Schools?$select=Name")
            self.failure("Schools?$select=Name&$skiptoken=abc&$skiptoken=def", 400)
            self.failure("Schools?$select=Name&$skiptoken=abc&$deltatoken=def", 400)
            self.failure("Schools?$select=Name&$skiptoken=abc", 400)

    def test_what_has_changed_is_seen(self):
        question = "Visits?$filter=VisitID eq 777777"
        self.assertEqual(self.rows(question), [])
        self.send("POST", "Visits", {"VisitID": 777777, "StudentID": 1, "Kind": "Interview", "Interest": 3}, 201)
        self.assertEqual([visit["Kind"] for visit in self.rows(question)], ["Interview"])

    def test_another_version_of_the_same_text_is_another_question(self):
        for _ in range(2):
            self.assertIn("results", self.d("Schools?$top=2"))
            answer = self.gateway.request(
                "GET", "/odata/v4/admissions/Schools?$top=2", headers={"Accept": JSON}, user="alice")
            self.assertEqual(len(answer.json()["value"]), 2)


if __name__ == "__main__":
    unittest.main()
