"""The measured queries, in OData and as hand-written SQL for the same result."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Question:
    name: str
    path: str
    # What peer.c is to do.
    peer: str


def questions(visits):
    return [
        Question(
            "filter, order, page",
            "Students?$filter=GPA%20ge%203.5%20and%20Status%20eq%20%27Applied%27&$orderby=GPA%20desc,LastName,StudentID&$top=100"
            "&$select=StudentID,FirstName,LastName,GPA,Status", "filter"),
        Question("count", "Visits/$count?$filter=Kind%20eq%20%27Campus%20tour%27", "count"),
        Question(
            "expand two levels",
            "Schools?$top=20&$orderby=SchoolID&$select=SchoolID,Name&$expand=Students($select=StudentID,LastName;$top=5;"
            "$orderby=StudentID;$expand=Visits($select=VisitID,Kind;$top=3;$orderby=VisitID))", "expand"),
        Question(
            "groupby", "Visits?$apply=groupby((Kind),aggregate($count%20as%20N,Interest%20with%20sum%20as%20S))&$orderby=Kind",
            "groups"),
        Question("keyset page 10,000", f"Visits?$select=VisitID,StudentID,Kind&$orderby=VisitID&$skip={visits - 200}", "page"),
    ]
