"""Real requests of every kind, as seeds of the fuzzer."""

import datetime
import hashlib
import json
import urllib.parse

from harness import BPLIST, JSON, PLIST, XML
from routes import routes
from wire_values import CBOR, FORM

V4, V2 = "/odata/v4/admissions", "/odata/v2/admissions"
REFERENCE = "/odata/v4/reference"
SAMPLE = {"title": "t", "text": "x", "username": "alice", "password": "no", "fullName": "a", "rowsPerPage": 5, "pageIndex": 0}
DIGEST = hashlib.sha256(b"abc").hexdigest()

FILTERS = [
    "GPA gt 3.5 and startswith(LastName,'A')", "contains(tolower(LastName),'an') or year(BirthDate) eq 2006",
    "Registered gt 2020-01-01T00:00:00Z", "not (Status eq 'Prospect')", "StudentID in (1,2,3)", "length(FirstName) gt 3",
    "School/State/Name eq 'Ohio'", "Visits/any(v:v/Interest gt 3 and v/Kind eq 'x')", "GPA mul 2 sub 1 div 3 gt 1",
    "substring(LastName,1,2) eq 'bc'", "indexof(LastName,'a') eq 1", "matchesPattern(LastName,'^A.*(b|c){1,3}$')",
    "Registered add duration'P1DT2H' gt now()", "cast(StudentID,Edm.String) eq '1'", "round(GPA) eq 3", "GPA mod 2 eq 1",
    "totalseconds(duration'PT1M') gt 3", "Registered sub duration'P1D' lt 2024-01-01T00:00:00Z", "date(Registered) eq 2024-01-01", "fractionalseconds(Registered) lt 0.5",
]
APPLIES = [
    "groupby((Status),aggregate(GPA with average as A,$count as N))", "filter(GPA gt 2)/aggregate(GPA with max as M)",
    "compute(GPA mul 2 as D)/orderby(D desc)/skip(2)/top(3)", "topcount(3,GPA)", "bottompercent(10,GPA)",
    "concat(top(2),aggregate($count as N))", "groupby((rollup($all,Status)))", "expand(Visits,filter(Interest gt 1))",
]
OPTIONS = [
    "$top=3", "$skip=5", "$orderby=GPA desc,LastName", "$select=FirstName,GPA", "$expand=School($expand=State),Visits($top=2)",
    "$expand=Visits($filter=Interest gt 2;$orderby=VisitedAt;$levels=1)", "$count=true", "$search=Ann OR \"b c\"",
    "$compute=GPA mul 2 as D", "$format=json", "$skiptoken=AAAA", "$deltatoken=1.a.1.1.1", "$index=1", "@p=1",
]
HEADERS = [
    ("Accept", "application/json"), ("Accept", "application/json;odata.metadata=full;IEEE754Compatible=true"),
    ("Accept", "text/html, application/xml;q=0.9, */*;q=0.1"), ("Accept", PLIST), ("Accept", BPLIST), ("Accept", CBOR),
    ("Accept", "application/atom+xml"), ("Accept", "multipart/mixed"), ("Accept", "text/event-stream"),
    ("Accept-Encoding", "gzip, deflate;q=0.5, br"), ("Accept-Language", "de"), ("If-Match", '"1"'), ("If-Match", 'W/"1-json"'),
    ("If-None-Match", "*"), ("If-Modified-Since", "Sun, 06 Nov 1994 08:49:37 GMT"), ("Range", "bytes=0-1"),
    ("Range", "bytes=-5"), ("Content-Range", "bytes 0-2/3"), ("Prefer", "return=minimal, odata.maxpagesize=2"),
    ("Prefer", "respond-async,wait=1,odata.continue-on-error"), ("OData-Version", "4.01"), ("OData-MaxVersion", "4.0"),
    ("DataServiceVersion", "2.0"), ("X-HTTP-Method", "MERGE"), ("X-CSRF-Token", "Fetch"), ("Last-Event-ID", "1-1"),
    ("Cookie", "portico_session=a.b; x=y"), ("Authorization", "Basic YTpi"), ("Authorization", "Bearer a.b.c"),
    ("X-Forwarded-For", "1.2.3.4, 5.6.7.8"), ("Origin", "https://a.example"), ("Content-Encoding", "gzip"),
    ("X-Requested-With", "XMLHttpRequest"), ("Sec-Fetch-Site", "cross-site"), ("Content-ID", "1"), ("Slug", "a"),
    ("Expect", "100-continue"), ("Connection", "close"), ("Transfer-Encoding", "chunked"), ("Content-Length", "3"),
    ("Isolation", "snapshot"), ("OData-EntityId", "x"), ("X-Request-ID", "a"),
]


class Call:
    """A request; its body is bytes, or a value with the media type that it is written as."""

    def __init__(self, method, target, headers=(), body=None, kind=None):
        self.method, self.target, self.headers, self.body, self.kind = method, target, list(headers), body, kind

    def copy(self):
        return Call(self.method, self.target, self.headers, self.body, self.kind)


def quoted(text):
    return urllib.parse.quote(text, safe="/$?&=(),;:@!*'~")


def seeds(gateway):
    calls = [Call(route.method, route.path, body=sample(route), kind=JSON if route.body_types else None)
             for route in routes(gateway)]
    calls += [Call("GET", path) for path in [
        "/", "/openapi.json", "/health/ready", "/chat/", "/auth/login", "/plists/sonnets", "/v2/schema.xsd", V4 + "/",
        V4 + "/$metadata", V2 + "/$metadata", V4 + "/$all", V4 + "/Students(1)/School/Name/$value", V4 + "/Students(1)/$ref",
        V4 + "/Students(1)/Visits/$count", V4 + "/$crossjoin(Students,Schools)?$top=2", V4 + "/Students/$each",
        "/api/v1/notes/notes?filter=title eq 'a' and text in ('b','c')&order=-title&select=title&limit=5&search=a".replace(" ", "%20"),
        "/sync/v1/live?wait=0", "/chat/v1/live?wait=0", "/sync/v1/attachments/" + DIGEST, REFERENCE + "/GetTopProducts(count=3)",
        REFERENCE + "/Products?$filter=Name eq 'Laptop'".replace(" ", "%20"), REFERENCE + "/MediaItems(1)/$value",
        "/sca/OrganizationInterfaceExport?wsdl", "/nothing/here",
    ]]
    for root in (V4, V2):
        calls += [Call("GET", f"{root}/Students?$top=3&$filter={quoted(text)}") for text in FILTERS]
        calls += [Call("GET", f"{root}/Students?$top=3&{quoted(text)}") for text in OPTIONS]
    calls += [Call("GET", f"{V4}/Students?$apply={quoted(text)}") for text in APPLIES]
    calls += [Call("POST", f"{V4}/Students/$query", [("Content-Type", "text/plain")], ("$filter=" + text).encode()) for text in FILTERS]
    student = {"FirstName": "F", "LastName": "Z", "GPA": 3.25, "GraduationYear": 2027, "BirthDate": "2006-01-02",
               "Registered": "2024-01-02T03:04:05.678Z", "Visits": [{"VisitedAt": "2024-01-02T03:04:05Z", "Interest": 3}]}
    old = {**student, "GPA": "3.25", "BirthDate": "/Date(1136160000000)/", "Registered": "/Date(1704164645678+0060)/", "Visits": []}
    calls += [Call(method, root + path, body=body, kind=JSON) for root, body in ((V4, student), (V2, old))
              for method, path in (("POST", "/Students"), ("PATCH", "/Students(1)"), ("PUT", "/Students(2)"))]
    calls += [Call("POST", REFERENCE + "/Products", body={
        "Name": "P", "Price": 1.5, "Dimensions": {"Length": 1}, "Tags": ["a", None]}, kind=JSON)]
    calls += odata_batches(student)
    push = {"clientId": "fuzz-1", "mutations": [
        {"sequence": 1, "operation": "create", "collection": "notes", "id": "n1", "fields": {"title": "a", "sharedWith": ["bob"]}},
        {"sequence": 2, "operation": "update", "collection": "notes", "id": "n1", "baseRev": 1, "fields": {"text": "b"}}]}
    pull = {"collections": ["notes"], "limit": 5, "checkpoint": "AAAA"}
    employee = {"fullName": "a b", "rowsPerPage": 3, "pageIndex": 2, "order": "DESC"}
    for kind in (JSON, PLIST, BPLIST, CBOR, XML):
        calls += [Call("POST", path, body=body, kind=kind) for path, body in (
            ("/sync/v1/push", push), ("/sync/v1/pull", pull), ("/sync/v1/pull", {}),
            ("/OrganizationInterfaceImplMobile/employeeSearch", employee),
            ("/api/v1/notes/notes", {"title": "t", "text": "x", "sharedWith": ["bob"]}))]
    calls += [Call("POST", path, [("Content-Type", FORM)], body) for path, body in (
        ("/irj/portal", b"j_user=a&j_password=b"), ("/auth/login", b"username=a&password=b&csrf=c"),
        ("/chat", b"document=%7B%22function%22%3A%22listRooms%22%7D"))]
    calls += [Call("POST", "/chat", body={"function": name, "user": "alice", "room": "r", "text": "t"}, kind=JSON)
              for name in ("listRooms", "createRoom", "listMessages", "createMessage", "login")]
    calls += [Call("PUT", "/sync/v1/attachments/" + DIGEST, [("Content-Type", "application/octet-stream"), *more], b"abc")
              for more in ([], [("Content-Range", "bytes 0-2/3")], [("Content-Range", "bytes */3")])]
    # Its second is what the damage to binary property lists looks for.
    calls += [Call("POST", "/batch", kind=BPLIST, body={"calls": [
        {"id": "1", "method": "POST", "path": path, "body": {"at": datetime.datetime(2001, 1, 1, 0, 0, 1)}}]})
        for path in ("/auth/login", "/sync/v1/pull", V4 + "/Students")]
    calls.append(Call("POST", "/batch", kind=JSON, body={"calls": [
        {"id": "1", "method": "GET", "path": "/v2/101", "headers": {"Accept": PLIST}},
        {"id": "2", "method": "POST", "path": "/api/v1/notes/notes", "body": {"title": "b"}, "headers": {"If-None-Match": "*"}},
        {"id": "3", "method": "GET", "path": V4 + "/Students?$top=2"}]}))
    return calls


def sample(route):
    if not route.body_types:
        return None
    try:
        return {name: SAMPLE.get(name, "x") for name in route.members}
    except KeyError:
        return {}


def odata_batches(student):
    part = ("--b\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\nContent-ID: 1\r\n\r\n"
            "{line}\r\nAccept: application/json\r\nContent-Type: application/json\r\n\r\n{body}\r\n")
    get = part.format(line="GET Students?$top=1 HTTP/1.1", body="")
    inner = part.format(line="POST Students HTTP/1.1", body=json.dumps(student)).replace("--b", "--c")
    change = f"--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n{inner}--c--\r\n"
    text = (get + change + "--b--\r\n").encode()
    requests = {"requests": [
        {"id": "1", "method": "GET", "url": "Students?$top=1", "headers": {"accept": "application/json"}},
        {"id": "2", "method": "POST", "url": "Students", "atomicityGroup": "g", "headers": {"content-type": JSON}, "body": student},
        {"id": "3", "method": "GET", "url": "$2/School", "dependsOn": ["g"]}]}
    multipart = [("Content-Type", "multipart/mixed; boundary=b")]
    return [Call("POST", V4 + "/$batch", multipart, text), Call("POST", V2 + "/$batch", multipart, text),
            Call("POST", V4 + "/$batch", body=requests, kind=JSON)]
