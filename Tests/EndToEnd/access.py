"""Who may do what, by the gateway's own declarations, and a call for every route.

The description says who may call (`security`, with roles), what a call does (`x-portico-effect`) and to which adapter it
belongs; `porticoctl adapters show` says which rows. From these the walk of test_authorization_matrix.py computes what must happen. A route
for which no valid call can be made up raises ``UncoveredRoute``: a new route needs a sample here.
"""

import hashlib
import http.client
import itertools
import json
import string
import urllib.parse
import uuid

import harness
from routes import SAMPLES

PASSWORD = "portico-demo"
ANYBODY_IN = "signed in"


class UncoveredRoute(AssertionError):
    """There is no valid call of a route, so nobody knows whether it is guarded."""


class Caller:
    """An account with roles, and its credentials; without a name, nobody."""

    def __init__(self, gateway, name=None, roles=()):
        self.gateway, self.name, self.roles = gateway, name, frozenset(roles)
        self.token = self.refresh_token = self.cookie = None
        if name:
            self.sign_in()

    def sign_in(self):
        answer = self.gateway.login(self.name)
        self.token, self.refresh_token = (answer.json()[member] for member in ("accessToken", "refreshToken"))
        self.cookie = answer.headers["set-cookie"].split(";")[0]

    @property
    def headers(self):
        return {"Authorization": f"Bearer {self.token}"} if self.token else {}

    def __repr__(self):
        return f"{self.name or 'nobody'}{sorted(self.roles)}"


def verdict(route, caller):
    """What the declaration promises this caller: `allowed`, or the status and code of the refusal. What is not described, nobody
    may do: no route."""
    if route is None:
        return (403, "access.denied") if caller.name else (401, "auth.required")
    requirements = route.operation["security"]
    if {} in requirements:
        return "allowed"
    if not caller.name:
        return 401, "auth.required"
    needed = [set(roles) for requirement in requirements for roles in requirement.values()]
    return "allowed" if any(roles <= caller.roles for roles in needed) else (403, "access.denied")


def roles_named(routes):
    """Every role that any route asks for."""
    return {role for route in routes for needed in route.operation["security"] for roles in needed.values() for role in roles}


def writes(route):
    return route.operation["x-portico-effect"] == "writes"


def adapter(route):
    return route.operation.get("x-portico-adapter")


def is_record(route):
    """A route of one record of an entity: what becomes of it is the rows' matter."""
    parts = route.template.split("/")
    return parts[1:3] == ["api", "v1"] and len(parts) == 6 and parts[5] == "{id}"


def is_collection(route):
    parts = route.template.split("/")
    return parts[1:3] == ["api", "v1"] and len(parts) == 5


def is_stream(route):
    answers = [route.resolved(answer) for answer in route.operation["responses"].values()]
    return any("text/event-stream" in answer.get("content", {}) for answer in answers)


_numbers = itertools.count(700_001)


def example(schema, route, name=""):
    """A value that the schema takes; where it takes several, a plain one."""
    schema = route.resolved(schema)
    if "anyOf" in schema:
        return example(schema["anyOf"][0], route, name)
    kinds = schema.get("type", "string")
    kind = next(kind for kind in ([kinds] if isinstance(kinds, str) else kinds) if kind != "null")
    if "enum" in schema:
        return schema["enum"][0]
    if kind == "object":
        wanted = schema.get("required", [])
        return {key: example(schema["properties"][key], route, key) for key in wanted}
    if kind == "array":
        return []
    if kind in ("integer", "number"):
        return min(max(next(_numbers), schema.get("minimum", 0)), schema.get("maximum", 10**9))
    if kind == "boolean":
        return False
    if schema.get("format") == "date-time":
        return "2026-01-01T00:00:00Z"
    return "eA==" if "contentEncoding" in schema else f"walk{next(_numbers)}"[: schema.get("maxLength", 99)]


# What the schema does not say. A function gets the caller.
BODIES = {
    "POST /auth/login": lambda caller: {"username": caller.name or "carol", "password": PASSWORD},
    "POST /irj/portal": lambda caller: {"j_user": caller.name or "carol", "j_password": PASSWORD},
    "POST /auth/password": {"old": PASSWORD, "new": PASSWORD},
    "POST /auth/keys": {"title": "walked"},
    "POST /batch": {"calls": []},
    "POST /chat": {"function": "getusers"},
    "POST /api/v1/notes/operations/share": lambda caller: {"id": _note(caller), "with": ["bob"]},
    "POST /iPhoneServicesModuleWeb/OrganizationInterfaceImplMobile/employeeSearch": {
        "fullName": "", "division": "", "order": "ASC", "rowsPerPage": 1, "pageIndex": 1},
}
BODIES["POST /OrganizationInterfaceImplMobile/employeeSearch"] = BODIES[
    "POST /iPhoneServicesModuleWeb/OrganizationInterfaceImplMobile/employeeSearch"]
# A password's hash is dear, so one caller makes the whole call and the others one that is refused for what it says: who
# may call at all gets that far.
DEAR = {
    "POST /auth/login": 400, "POST /irj/portal": 400, "POST /auth/password": 400, "POST /auth/logout": 400,
    "DELETE /auth/sessions/{id}": 404}
WRONG = {"everywhere": {}}
# Where the demo has nothing to be found: no identity provider, and no record that refers to an attachment.
ABSENT = {
    "GET /auth/oidc/{provider}/login", "GET /auth/oidc/{provider}/callback", "GET /sync/v1/attachments/{sha256}"}
# Bytes that are no value, sent as they are.
BYTES = b"walked"
# A message of SOAP.
MESSAGE = (
    b'<e:Envelope xmlns:e="http://schemas.xmlsoap.org/soap/envelope/"><e:Body>'
    b'<employeeSearch xmlns="http://iPhoneServices/OrganizationInterface"><input1/></employeeSearch></e:Body></e:Envelope>')
RAW = {
    "PUT /sync/v1/attachments/{sha256}": BYTES, "POST /sca/OrganizationInterfaceExport": MESSAGE,
    "POST /iPhoneServicesModuleWeb/sca/OrganizationInterfaceExport": MESSAGE}
# Records whose fields the schema does not tell enough of, by their caller; others are made up from it.
RECORDS = {
    "notes/notes": lambda caller: {"title": "walked", "sharedWith": []},
    "chat/rooms": lambda caller: {"name": "walked", "members": [caller.name or "x"]},
    "chat/messages": lambda caller: {"room": _create_room(caller), "text": "walked"},
    "employees/employees": lambda caller: {
        "id": f"W{next(_numbers)}", "firstName": "A", "lastName": "B", "division": "Sales", "email": "a@example.com",
        "phoneNumber": "+1 916 555 0100"},
    "users/users": lambda caller: {"UserId": next(_numbers), "UserName": "Walker", "ShoeSize": "9"},
    # A model's types beyond what a schema says: GUIDs, dates, keys of two letters (small ones are no state's), keys of
    # several parts, and pairs.
    "odata/admissions-States": lambda caller: {"StateCode": next(_letters), "Name": "walked"},
    "odata/admissions-Schools": lambda caller: {"SchoolID": next(_numbers), "Name": "walked", "StateCode": "CT"},
    "odata/admissions-Students": lambda caller: {
        "StudentID": next(_numbers), "FirstName": "A", "LastName": "B", "SchoolID": 1, "GPA": 3.25,
        "BirthDate": "2008-02-29"},
    "odata/admissions-Visits": lambda caller: {
        "VisitID": next(_numbers), "StudentID": 1, "VisitedAt": "2026-01-01T00:00:00Z"},
    "odata/admissions-Appointments": lambda caller: {
        "AppointmentID": next(_numbers), "StudentID": 1, "StartsAt": "2026-01-01T00:00:00Z"},
    "odata/reference-Categories": lambda caller: {"ID": _guid(), "Name": f"walked {next(_numbers)}"},
    "odata/reference-Company": lambda caller: {
        "key__": f"walked-{next(_numbers)}", "ID": _guid(), "Name": "walked", "CEO": "A",
        "UpdatedAt": "2026-01-01T00:00:00Z"},
    "odata/reference-DecimalSamples": lambda caller: {"ID": _guid(), "Name": "walked", "Amount": 1.5},
    "odata/reference-MediaItems": lambda caller: {
        "ID": _guid(), "Name": "walked", "ContentType": "text/plain", "Size": 1, "CreatedAt": "2026-01-01T00:00:00Z",
        "ModifiedAt": "2026-01-01T00:00:00Z", "media_content": "eA==", "media_mediaType": "text/plain"},
    "odata/reference-ProductDescriptions": lambda caller: _description(_product(caller)),
    "odata/reference-Products": lambda caller: {
        "ID": _guid(), "Name": "walked", "Price": 1.5, "ReleaseDate": "2026-01-01", "CreatedAt": "2026-01-01T00:00:00Z"},
    "odata/reference-Products-RelatedProducts": lambda caller: _pair(_product(caller), _product(caller)),
    "odata/reference-ReadOnlyItems": lambda caller: {"ID": _guid(), "Name": "walked"},
}
_letters = ("".join(pair) for pair in itertools.product(string.ascii_lowercase, repeat=2))


def _guid():
    return str(uuid.uuid4())


def _product(caller):
    """References lead to what is there."""
    made = _made(caller, "/api/v1/odata/reference-Products", {"Name": "walked", "Price": 1})
    return made["ID"]


def _description(product):
    return {"key__": f"{product},EN", "ProductID": product, "LanguageKey": "EN", "Description": "walked"}


def _pair(near, far):
    return {"pair": f"{len(near)}:{near}{far}", "fromKey": near, "toKey": far}


def _made(caller, path, body):
    """What a call made; nothing where the caller may not make it."""
    return caller.gateway.send("POST", path, body, headers=caller.headers).json()


def _note(caller):
    return _made(caller, "/api/v1/notes/notes", {"title": "walked"}).get("id", "none")


def _create_room(caller):
    made = _made(caller, "/chat/v1/rooms", {"name": "walked", "members": ["bob"], "isPublic": True})
    return made.get("room", {}).get("id", "none")


def _read_room(caller):
    """A room with a message, which the body then names."""
    room = _create_room(caller)
    made = _made(caller, f"/chat/v1/rooms/{room}/messages", {"text": "walked"})
    caller.message = made.get("message", {}).get("id", "none")
    return room


def _message(caller):
    made = _made(caller, f"/chat/v1/rooms/{_create_room(caller)}/messages", {"text": "walked"})
    return made.get("message", {}).get("id", "none")


def _refresh(caller):
    if not caller.name:
        return {"refreshToken": caller.gateway.login("carol").json()["refreshToken"]}
    return {"refreshToken": caller.refresh_token}


def _session(caller):
    """One's own; it is over then."""
    listed = caller.gateway.get("/auth/sessions", headers=caller.headers).json()["sessions"]
    return next(session["id"] for session in listed if session["current"])


def settle(route, caller, answer):
    """Keeps the caller signed in after a call that gave new tokens or ended the sign-in."""
    if f"{route}" == "POST /auth/refresh" and caller.name:
        caller.token, caller.refresh_token = answer.json()["accessToken"], answer.json()["refreshToken"]
    elif f"{route}" in ENDING and caller.name:
        caller.sign_in()


def _key(caller):
    return caller.gateway.send("POST", "/auth/keys", {"title": "k"}, headers=caller.headers).json()["id"]


BODIES["POST /auth/refresh"] = _refresh
BODIES["POST /chat/v1/rooms/{room}/read"] = lambda caller: {"message": getattr(caller, "message", "none")}
ENDING = {"POST /auth/logout", "DELETE /auth/sessions/{id}"}
PATHS = {
    "DELETE /auth/sessions/{id}": {"id": _session}, "DELETE /auth/keys/{id}": {"id": _key},
    "POST /chat/v1/rooms/{room}/read": {"room": _read_room}}
# Created for the caller, for each path that names one.
MADE = {
    "room": _create_room, "message": _message, "member": lambda caller: "bob", "provider": lambda caller: "none",
    "sha256": lambda caller: hashlib.sha256(BYTES).hexdigest()}


def path_of(route, caller):
    """A path that leads somewhere for this caller, with the query that it needs."""
    values, query = dict(SAMPLES), {}
    makers = MADE | PATHS.get(f"{route}", {})
    for parameter in route.operation.get("parameters", []):
        name = parameter["name"]
        if parameter["in"] == "query" and parameter.get("required"):
            query[name] = example(parameter["schema"], route, name)
        if parameter["in"] == "path" and name in makers:
            values[name] = makers[name](caller) if caller.name else "x"
        elif parameter["in"] == "path" and name not in values and not is_record(route) and caller.name:
            raise UncoveredRoute(f"{route}: access.py has no sample for {name}")
    return route.path_with(values) + ("?" + urllib.parse.urlencode(query) if query else "")


def body_of(route, caller):
    """A value that the route takes, or bytes; None where it takes none."""
    if f"{route}" in RAW:
        return RAW[f"{route}"]
    if not route.body_types:
        return None
    if is_collection(route) or is_record(route):
        return record_body(route, caller)
    body = BODIES.get(f"{route}")
    if body is None:
        body = example(route.schema, route)
    return body(caller) if callable(body) else body


def record_body(route, caller):
    entity = "/".join(route.template.split("/")[3:5])
    if entity in RECORDS:
        return RECORDS[entity](caller)
    return {name: example(member, route, name) for name, member in route.schema["properties"].items()}


def call(gateway, method, path, body=None, headers=None):
    """An answer; of a stream no more than its head."""
    headers = {"Accept": f"{harness.JSON}, */*;q=0.5", **(headers or {})}
    data = None
    if isinstance(body, bytes):
        data = body
        headers.setdefault("Content-Type", "text/xml" if body is MESSAGE else "application/octet-stream")
    elif body is not None:
        data = json.dumps(body)
        headers.setdefault("Content-Type", harness.JSON)
    connection = http.client.HTTPConnection("127.0.0.1", gateway.port, timeout=60)
    try:
        connection.request(method, path, body=data, headers=headers)
        response = connection.getresponse()
        fields = {name.lower(): value for name, value in response.getheaders()}
        is_live = fields.get("content-type", "").startswith("text/event-stream")
        return harness.Answer(response.status, fields, b"" if is_live else response.read())
    finally:
        connection.close()


class Rows:
    """A row rule as `porticoctl adapters show` writes it, asked about a record. `others` are the adapter's records by
    entity and key, for rules that look at another record."""

    def __init__(self, rule, others=None):
        self.rule, self.others = rule, others or {}

    @property
    def is_public(self):
        return self.rule == "everyone"

    def admits(self, caller, record):
        return self._admits(self.rule, caller, record)

    def _admits(self, rule, caller, record):
        if isinstance(rule, str):
            return {"everyone": True, "nobody": False, "signedIn": bool(caller.name)}[rule]
        (name, value), = rule.items()
        match name:
            case "owner":
                return bool(caller.name) and record.get(value) == caller.name
            case "sharedWith":
                return caller.name in (record.get(value) or [])
            case "memberOf":
                group = self.others.get(value["entity"], {}).get(str(record.get(value["through"])), {})
                return caller.name in (group.get(value["members"]) or [])
            case "hasRole":
                return value in caller.roles
            case "fieldIsOneOf":
                return record.get(value["field"]) in value["values"]
            case "not":
                return not self._admits(value, caller, record)
            case "any" | "all":
                return {"any": any, "all": all}[name](self._admits(inner, caller, record) for inner in value)
        raise UncoveredRoute(f"access.py does not know the row rule {name}")
