"""The mix: a thousand requests that differ, as the apps of two hundred accounts make them."""

import json
import random
from dataclasses import dataclass

ACCOUNTS = [f"caller-{number:03}" for number in range(200)]
REQUESTS = 1000
WRITES = 10  # every tenth, where there are writes
# Bytes that the generator replaces by hexadecimal digits that differ with each sending (requests.h).
FRESH = "@" * 32
TRACE = f"00-{FRESH}-00f067aa0ba902b7-01"
_APP = {"User-Agent": "Company/4.2 CFNetwork/1568.200.51 Darwin/24.1.0", "Accept-Language": "en-GB,en;q=0.9"}
_JSON = {"Content-Type": "application/json", "Accept": "application/json"}
FEED = "/plists/sonnets"
SEARCH = "/OrganizationInterfaceImplMobile/employeeSearch"
_NAMES = ["", "", "", "an", "jo", "ma", "ka", "li", "sa", "pe"]


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    headers: dict
    body: str = ""
    status: int = 200

    @property
    def is_write(self):
        return self.method == "PATCH"


def requests(divisions, feed_tag, tokens, with_writes=False):
    """Half are users by id, a quarter employee pages, an eighth the feed and an eighth the same with its validator. In
    one order for all servers, which each connection shuffles."""
    chance = random.Random(20)
    kinds = ["user"] * 4 + ["page"] * 2 + ["feed", "feed, 304"]
    made = []
    for number in range(REQUESTS):
        kind = "write" if with_writes and number % WRITES == 0 else kinds[number % len(kinds)]
        token = tokens[chance.randrange(len(tokens))] if kind != "write" else tokens[_writer(number)]
        headers = {**_APP, "Authorization": f"Bearer {token}", "traceparent": TRACE}
        made.append(_request(kind, number, headers, divisions, feed_tag, chance))
    return made


def note_of(account):
    return f"of-{account}"


def _writer(number):
    return number // WRITES % len(ACCOUNTS)


def _request(kind, number, headers, divisions, feed_tag, chance):
    match kind:
        case "user":
            return Request("GET", f"/v2/{100 + number // 2}", {**headers, "Accept": "application/xml"})
        case "page":
            criteria = {
                "fullName": chance.choice(_NAMES), "division": chance.choice(["", *divisions]),
                "order": chance.choice(["ASC", "DESC"]), "rowsPerPage": chance.choice([10, 20]),
                "pageIndex": chance.randrange(4)}
            return _with_body("POST", SEARCH, headers, criteria)
        case "feed":
            return Request("GET", FEED, {**headers, "Accept": "*/*"})
        case "feed, 304":
            return Request("GET", FEED, {**headers, "Accept": "*/*", "If-None-Match": feed_tag}, status=304)
        case "write":
            path = f"/api/v1/notes/notes/{note_of(ACCOUNTS[_writer(number)])}"
            return _with_body("PATCH", path, headers, {"text": f"So long lives this {FRESH}"})


def _with_body(method, path, headers, value):
    body = json.dumps(value)
    return Request(method, path, {**headers, **_JSON, "Content-Length": str(len(body))}, body)


def write_file(file, requests, answers, is_numbered=False):
    """For the generator. `is_numbered`: the peers that answer from memory find each answer by its number."""
    with open(file, "wb") as output:
        for number, (request, answer) in enumerate(zip(requests, answers, strict=True)):
            path = numbered(request.path, number) if is_numbered else request.path
            expected = None if request.is_write else answer.body
            length = -1 if expected is None else len(expected)
            line = f"{request.method} {path} {len(request.headers)} {len(request.body)} {request.status} {length}\n"
            fields = "".join(f"{name}: {value}\n" for name, value in request.headers.items())
            output.write((line + fields + request.body).encode() + (expected or b"") + b"\n")


def numbered(path, number):
    return f"{path}?n={number}"


def notes():
    """One for each account, which that account writes."""
    return [{"id": note_of(account), "title": "Of the benchmark", "text": "", "owner": account} for account in ACCOUNTS]
