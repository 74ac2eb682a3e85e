"""Callers without a right to write, and each way by which servers have let such callers write: other addresses of the same path,
methods in header fields, other formats, batches within batches, change sets, properties, references, operators' paths. What stands in
the store afterwards is what stood there before."""

import base64
import itertools
import json
import unittest
import urllib.parse

from harness import run_portico
from test_access_rights import ConfiguredGateways

WRITTEN = "written by nobody"
# By entity: a record that is there, and its key.
RECORDS = {
    "users/users": ("100", {"UserId": 100, "UserName": WRITTEN, "ShoeSize": "1"}),
    "employees/employees": ("E100000", {
        "id": "E100000", "firstName": WRITTEN, "lastName": "B", "division": "Sales", "email": "a@example.com",
        "phoneNumber": "+1 916 555 0100"}),
    "feeds/feeds": ("sonnets", {
        "name": "sonnets", "title": WRITTEN, "version": 2, "latestVersion": 2, "published": "2026-01-01T00:00:00Z", "content": {"a": 1}}),
    # No resource has these.
    "feeds/versions": ("a", {"id": "a"}), "chat/pushProgress": ("a", {"id": "a"}), "identity/accounts": ("a", {"name": "alice"}),
    "portico/writes": ("a", {"id": "a"}), "sync/keys": ("a", {"id": "a"}),
}
SETS = {
    "States": ("'CA'", {"StateCode": "CA", "Name": WRITTEN}), "Schools": ("1", {"Name": WRITTEN}),
    "Students": ("1", {"FirstName": WRITTEN, "LastName": "B"}),
}
ROOTS = ["/odata/v4", "/odata/v2", "/sap/opu/odata/sap", "/sap/opu/sdata/sap"]
XML = {"Content-Type": "application/xml"}
NOTHING = {}


def resources(entity):
    key, record = RECORDS[entity]
    base = f"/api/v1/{entity}"
    for method, path in [("POST", base), *((method, f"{base}/{key}") for method in ("PUT", "PATCH", "DELETE"))]:
        body = None if method == "DELETE" else record
        for headers in (NOTHING, {"If-Match": "*"}, {"X-HTTP-Method-Override": "GET"}):
            yield method, path, body, headers
        for field in ("X-HTTP-Method-Override", "X-HTTP-Method"):
            yield "POST", path, record, {field: method}
        yield "GET", f"{path}?_method={method}", None, NOTHING
        for other in (
            path + "/", "/" + path, path.replace("/api", "/api/"), path.replace("/api/v1", "/API/V1"), path.replace("/v1/", "/v1/./"),
            path.replace("/v1/", "/v1/%2e%2e/v1/"), path.replace("users", "%75sers"), path + "?format=json", "http://127.0.0.1" + path,
        ):
            yield method, other, body, NOTHING
        yield method, path, f"<r><UserId>100</UserId><UserName>{WRITTEN}</UserName></r>", XML
        yield method, path, urllib.parse.urlencode({"UserId": 100, "UserName": WRITTEN}), {
            "Content-Type": "application/x-www-form-urlencoded"}
        call = {"id": "1", "method": method, "path": path, **({} if body is None else {"body": body})}
        yield "POST", "/batch", {"calls": [call]}, NOTHING
        yield "POST", "/batch", {"calls": [{"id": "1", "method": "POST", "path": "/batch", "body": {"calls": [call]}}]}, NOTHING
    adapter, name = entity.split("/")
    yield "POST", f"/api/v1/{adapter}/mirrors/{name}/refresh", None, NOTHING


def pushes(entity):
    key, record = RECORDS[entity]
    for collection, operation in itertools.product((entity, entity.split("/")[1]), ("create", "update", "delete")):
        fields = {} if operation == "delete" else {"fields": record}
        yield "POST", "/sync/v1/push", {
            "clientId": f"attempt-{collection.replace('/', '.')}-{operation}",
            "mutations": [{"sequence": 1, "operation": operation, "collection": collection, "id": key, **fields}]}, NOTHING


def contracts():
    user = f'<user xmlns="http://captechventures.com/schema"><UserId>100</UserId><UserName>{WRITTEN}</UserName><ShoeSize>1</ShoeSize></user>'
    for path, method in itertools.product(
            ("/v2/user/100", "/v1/user/100", "/v2/100", "/v2/list", "/v1/list"), ("PUT", "POST", "PATCH", "DELETE")):
        yield method, path, user, XML
        yield method, path, RECORDS["users/users"][1], NOTHING
    for path, method in itertools.product(("/plists/sonnets", "/plists/other"), ("PUT", "POST", "PATCH", "DELETE")):
        yield method, path, {"title": WRITTEN}, NOTHING
    for adapter, operation in itertools.product(
            ("users", "employees", "feeds", "odata", "identity", "portico", "sync", "admin"),
            ("import", "user", "publish", "rollback", "set", "delete")):
        yield "POST", f"/api/v1/{adapter}/operations/{operation}", {"records": [], "mode": "replace", "id": "100"}, NOTHING
    for operation in ("import", "create", "delete"):
        yield "POST", "/sca/OrganizationInterfaceExport", (
            '<e:Envelope xmlns:e="http://schemas.xmlsoap.org/soap/envelope/"><e:Body>'
            f'<{operation} xmlns="http://iPhoneServices/OrganizationInterface"/></e:Body></e:Envelope>'), {"Content-Type": "text/xml"}
    for path in ("accounts", "accounts/alice/roles", "configuration/apply", "records/users/users/set", "feeds/sonnets"):
        for method in ("POST", "PUT", "DELETE"):
            yield method, f"/admin/v1/{path}", {"name": "other", "roles": ["admin"]}, NOTHING


def odata(root, name):
    key, record = SETS[name]
    service = f"{root}/admissions"
    place = f"{service}/{name}({key})"
    ways = [
        ("POST", f"{service}/{name}"), ("PUT", place), ("PATCH", place), ("MERGE", place), ("DELETE", place), ("POST", place),
        ("PUT", place + "/Name"), ("PUT", place + "/Name/$value"), ("DELETE", place + "/Name"), ("POST", place + "/Students"),
        ("POST", place + "/Students/$ref"), ("DELETE", place + "/Students/$ref?$id=Students(1)"), ("PATCH", f"{service}/{name}"),
        ("DELETE", f"{service}/{name}")]
    for headers in (NOTHING, {"If-Match": "*"}, {"Prefer": "respond-async"}, {"X-Requested-With": "XMLHttpRequest"},
                    *({"X-HTTP-Method": method} for method in ("MERGE", "PATCH", "DELETE"))):
        for method, path in ways:
            yield method, path, None if method == "DELETE" else record, headers
    requests = [
        {"id": method, "method": method, "url": name if method == "POST" else f"{name}({key})", "body": record}
        for method in ("POST", "PATCH", "DELETE")]
    yield "POST", f"{service}/$batch", {"requests": requests}, NOTHING
    yield "POST", f"{service}/$batch", {"requests": [{**one, "atomicityGroup": "all"} for one in requests]}, NOTHING
    for method in ("POST", "PATCH", "MERGE", "DELETE"):
        text = json.dumps(record)
        url = name if method == "POST" else f"{name}({key})"
        yield "POST", f"{service}/$batch", "\r\n".join([
            "--b", "Content-Type: multipart/mixed; boundary=c", "", "--c", "Content-Type: application/http",
            "Content-Transfer-Encoding: binary", "Content-ID: 1", "", f"{method} {url} HTTP/1.1", "Content-Type: application/json",
            f"Content-Length: {len(text)}", "", text, "--c--", "--b--", ""]), {"Content-Type": "multipart/mixed; boundary=b"}


def attempts():
    for entity in RECORDS:
        yield from resources(entity)
        yield from pushes(entity)
    yield from contracts()
    for root, name in itertools.product(ROOTS, SETS):
        yield from odata(root, name)


class WriteAttempts(ConfiguredGateways):
    def test_no_way_writes_what_the_configuration_gives_nobody(self):
        for kind in ("default", "deploy"):
            gateway = self.gateway(kind)
            before = self.standing(gateway)
            callers = self.credentials(gateway)
            for caller, (method, path, body, headers) in itertools.product(callers, attempts()):
                text = json.dumps(body) if isinstance(body, (dict, list)) else body
                kind_of_body = {"Content-Type": "application/json"} if text is not None else {}
                answer = gateway.request(method, path, body=text, headers={**kind_of_body, **headers, **callers[caller]})
                with self.subTest(kind=kind, caller=caller, method=method, path=path):
                    self.assertLess(answer.status, 500 if "sca/" not in path else 501, answer)
            self.assertEqual(self.standing(gateway), before, kind)

    def standing(self, gateway):
        """Of every collection the number of records, and the checksum over their revisions."""
        accounts = run_portico("accounts", "list", "--data", gateway.data, "--output", "json", program="porticoctl")
        shown = gateway.send("POST", "/sync/v1/pull", {"limit": 10_000}, user="admin").json()
        while "complete" not in shown:
            shown = gateway.send("POST", "/sync/v1/pull", {"limit": 10_000, "checkpoint": shown["next"]}, user="admin").json()
        return json.loads(accounts.stdout), shown["complete"]["scopes"]

    def credentials(self, gateway):
        """Of a member, each kind; and none."""
        signed_in = gateway.login("alice")
        cookie = signed_in.headers["set-cookie"].split(";")[0]
        key = run_portico(
            "keys", "create", "alice", "--title", "all", "--data", gateway.data, "--output", "json", program="porticoctl")
        basic = base64.b64encode(b"alice:portico-demo").decode()
        return {
            "nobody": {}, "basic": {"Authorization": f"Basic {basic}"},
            "token": {"Authorization": f"Bearer {signed_in.json()['accessToken']}"},
            "key": {"Authorization": f"Bearer {json.loads(key.stdout)['key']}"},
            "cookie": {"Cookie": cookie}, "cookie of a script": {"Cookie": cookie, "X-Requested-With": "XMLHttpRequest"}}


if __name__ == "__main__":
    unittest.main()
