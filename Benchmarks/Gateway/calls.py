"""The calls that are measured, as each server is asked them, and how many times each peer's requests per second are
asked of the gateway: (floor, goal), or None where nothing is."""

import json
from dataclasses import dataclass, field


@dataclass(frozen=True, eq=False)
class Call:
    name: str
    method: str
    path: str
    of_nginx: tuple
    headers: dict = field(default_factory=dict)
    body: str = ""
    needs_login: bool = False
    is_kept: bool = True  # asked of a gateway that keeps answers, as it does unless it is told otherwise
    revalidates: bool = False  # sends the ETag of an answer before it, and expects 304
    of_fastapi: tuple = (4, 8)  # of answers under 10 KB; larger ones are bound by copying


# The protected answer: a record that its owner alone may read, about 300 bytes of JSON.
NOTE = {
    "id": "benchmark", "title": "Shall I compare thee to a summer's day",
    "text": "Thou art more lovely and more temperate: rough winds do shake the darling buds of May, and summer's lease "
            "hath all too short a date."}

_SEARCH = {"fullName": "", "division": "", "order": "ASC", "rowsPerPage": 10, "pageIndex": 3}

_EMPLOYEES = dict(
    method="POST", path="/OrganizationInterfaceImplMobile/employeeSearch",
    headers={"Content-Type": "application/json", "Accept": "application/json"}, body=json.dumps(_SEARCH),
    needs_login=True)

CALLS = [
    Call("health", "GET", "/health/live", of_nginx=(0.6, 0.6)),
    Call("feed, 200", "GET", "/plists/sonnets", of_nginx=(0.6, 0.6)),
    Call("feed, 304", "GET", "/plists/sonnets", of_nginx=(0.6, 0.6), revalidates=True),
    Call("employee page of 10", **_EMPLOYEES, of_nginx=(0.15, 0.4)),
    Call("the same, not kept", **_EMPLOYEES, of_nginx=(0.15, 0.15), of_fastapi=None, is_kept=False),
    Call("a user", "GET", "/v2/101", of_nginx=None, needs_login=True),
    Call(
        "protected answer", "GET", f"/api/v1/notes/notes/{NOTE['id']}", of_nginx=(0.4, 0.4),
        headers={"Accept": "application/json"}, needs_login=True),
]
