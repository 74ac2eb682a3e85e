"""Rights are asked before anything changes: to write all that changes, and to read what the answer shows. A right to write
shows nothing of what its holder may not read."""

import hashlib
import json
import pathlib
import re
import shutil
import tempfile
import unittest

from harness import JSON, ROOT, Gateway, run_portico
from sync_device import Device

QUICK = True

ACCOUNTS = [
    {"name": "alice", "password": "portico-demo", "roles": ["member"]},
    {"name": "admin", "password": "portico-demo", "roles": ["member", "admin"]},
]
EMPLOYEES = "/api/v1/employees/employees"
EMPLOYEE = {"firstName": "A", "lastName": "B", "division": "Sales", "email": "a@example.com", "phoneNumber": "+1 916 555 0100"}
OPEN = {"read": "login", "write": "login"}


def configuration(**adapters):
    # JSON is YAML.
    return json.dumps({"identity": {"basic": {"enabled": True}, "demoAccounts": ACCOUNTS}, "adapters": adapters})


def reference(access, **sets):
    folder = ROOT / "Config/odata"
    return {
        "odata-reference": {"seed": str(folder / "reference.seed.json")},
        "odata": {"services": {"reference": {
            "model": str(folder / "reference.csdl.xml"), "seed": str(folder / "reference.seed.json"), "access": access,
            "discriminators": ["Products/ProductType"], "sets": {name: {"access": given} for name, given in sets.items()}}}},
    }


class RightsTest(unittest.TestCase):
    def start(self, **adapters):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="portico-before-"))
        self.addCleanup(shutil.rmtree, folder, True)
        self.path = folder / "portico.yaml"
        self.path.write_text(configuration(**adapters))
        self.gateway = Gateway(
            "--set", "identity.passwords.cost=10", "--set", "store.sampleData=false", config=str(self.path))
        self.addCleanup(self.gateway.remove)

    def send(self, method, path, body=None, user="alice", status=None, **headers):
        headers = {"Content-Type": JSON, "Accept": JSON, **{name.replace("_", "-"): value for name, value in headers.items()}}
        answer = self.gateway.request(
            method, path, body=None if body is None else json.dumps(body), headers=headers, user=user)
        if status is not None:
            self.assertEqual(answer.status, status, answer)
        return answer


class WritersWhoMayNotRead(RightsTest):
    """`employees` are for anybody's changes and for the admin's eyes."""

    def setUp(self):
        self.start(employees={"access": {"read": {"roles": ["admin"]}, "write": "login"}})

    def test_the_resource_answers_them_nothing_of_the_record(self):
        self.send("POST", EMPLOYEES, {"id": "e1", **EMPLOYEE}, "admin", 201)
        place = f"{EMPLOYEES}/e1"
        for method, body in (("PATCH", {}), ("PATCH", {"division": "IT"}), ("PUT", EMPLOYEE)):
            answer = self.send(method, place, body, status=204)
            self.assertEqual(answer.body, b"")
        tag = answer.headers["etag"]
        made = self.send("POST", EMPLOYEES, {"id": "e2", **EMPLOYEE}, status=204)
        self.assertEqual(made.headers["location"], f"{EMPLOYEES}/e2")
        self.send("PUT", f"{EMPLOYEES}/e3", EMPLOYEE, status=204)
        taken = self.send("POST", EMPLOYEES, {"id": "e1", **EMPLOYEE}, status=409)
        self.assertNotIn("916", taken.text())
        self.send("GET", place, status=403)
        self.send("PATCH", place, {"division": "HR"}, status=204, If_Match=tag)
        self.send("PATCH", place, {"division": "QA"}, status=412, If_Match=tag)
        self.assertEqual(self.send("GET", place, user="admin", status=200).json()["division"], "HR")
        call = {"id": "1", "method": "PATCH", "path": place, "body": {}}
        answer, = self.send("POST", "/batch", {"calls": [call]}, status=200).json()["answers"]
        self.assertEqual((answer["status"], answer.get("body")), (204, None), answer)
        self.send("DELETE", place, status=204)
        described = self.gateway.get("/openapi.json").json()["paths"][f"{EMPLOYEES}/{{id}}"]["patch"]["responses"]
        self.assertIn("204", described)

    def test_a_push_answers_them_nothing_of_the_record(self):
        self.send("POST", EMPLOYEES, {"id": "e1", **EMPLOYEE}, "admin", 201)
        device = Device(self.gateway, "alice")
        taken = device.change("create", "e1", EMPLOYEE, collection="employees")
        self.assertEqual((taken["outcome"], taken.get("record")), ("conflict", None), taken)
        # Were it told, whether the guess is right could be read off.
        guess = device.change("update", "e1", {"division": "Sales"}, base=1, collection="employees")
        self.assertEqual((guess["outcome"], guess.get("record")), ("conflict", None), guess)
        self.assertEqual(device.change("update", "e1", {"division": "IT"}, collection="employees")["outcome"], "applied")
        device.pull()
        self.assertEqual(device.ids("employees"), set())

    def test_a_check_of_the_configuration_warns_of_them(self):
        checked = run_portico("check", "--config", self.path)
        self.assertEqual(checked.returncode, 0, checked)
        self.assertIn("some who may write employees may not read it", checked.stdout + checked.stderr)
        self.path.write_text(configuration(employees={"access": {"read": "login", "write": {"roles": ["admin"]}}}))
        checked = run_portico("check", "--config", self.path)
        self.assertNotIn("may not read it", checked.stdout + checked.stderr)


class Services(RightsTest):
    """OData, whose answers may show more than one set."""

    root = "/odata/v4/reference"

    def count(self, name, user="admin"):
        return int(self.send("GET", f"{self.root}/{name}/$count", user=user, status=200).text())

    def test_nothing_is_made_that_could_not_be_answered(self):
        self.start(**reference(OPEN, Categories={"read": {"roles": ["admin"]}, "write": "login"}))
        before = self.count("Categories"), self.count("Products")
        body = {"Name": "Games"}
        self.send("POST", f"{self.root}/Categories", body, status=403)
        fetched = self.send("GET", "/odata/v2/reference/Products?$top=1", X_CSRF_Token="Fetch")
        token = fetched.headers["x-csrf-token"]
        self.send("POST", "/odata/v2/reference/Categories", body, status=403, X_CSRF_Token=token)
        self.send("POST", f"{self.root}/Products?$expand=Category", {"Name": "Kite", "Price": 1}, status=403)
        group = [
            {"id": "1", "atomicityGroup": "g", "method": "POST", "url": "Products", "body": {"Name": "Kite", "Price": 1}},
            {"id": "2", "atomicityGroup": "g", "method": "POST", "url": "Categories", "body": body}]
        answers = self.send("POST", f"{self.root}/$batch", {"requests": group}, status=200).json()["responses"]
        self.assertEqual([answer["status"] for answer in answers], [424, 403])
        made = "\r\n".join([
            "--b", "Content-Type: multipart/mixed; boundary=c", "", "--c", "Content-Type: application/http",
            "Content-Transfer-Encoding: binary", "Content-ID: 1", "", "POST Categories HTTP/1.1",
            "Content-Type: application/json", "", json.dumps(body), "--c--", "--b--", ""])
        answer = self.gateway.request(
            "POST", f"{self.root}/$batch", body=made, headers={"Content-Type": "multipart/mixed; boundary=b"}, user="alice")
        self.assertIn("403 ", answer.text())
        self.assertEqual((self.count("Categories"), self.count("Products")), before)
        # An answer without it needs no right to read it.
        self.send("POST", f"{self.root}/Categories", body, status=204, Prefer="return=minimal")
        self.assertEqual(self.count("Categories"), before[0] + 1)
        self.send("POST", f"{self.root}/Products", {"Name": "Kite", "Price": 1}, status=201)

    def test_an_action_changes_no_set_that_its_caller_may_not_write(self):
        self.start(**reference(OPEN, Categories={"write": {"roles": ["admin"]}}))
        self.send("POST", f"{self.root}/Categories", {"Name": "Games"}, "admin", 201)
        before = self.count("Categories")
        self.send("POST", f"{self.root}/Reseed", {}, status=403)
        self.assertEqual(self.count("Categories"), before)
        self.send("POST", f"{self.root}/Reseed", {}, "admin", 200)
        self.assertEqual(self.count("Categories"), before - 1)

    def test_a_set_named_by_its_entity_is_held_to_the_same(self):
        adapters = reference(OPEN)
        adapters["odata"]["entities"] = {"reference-Categories": {"access": {"write": {"roles": ["admin"]}}}}
        self.start(**adapters)
        self.send("POST", f"{self.root}/Reseed", {}, status=403)

    def test_a_deletion_takes_and_clears_no_rows_that_its_caller_may_not_write(self):
        closed = {"write": {"roles": ["admin"]}}
        self.start(**reference(OPEN, Products=closed, ProductDescriptions=closed))
        products = self.send("GET", f"{self.root}/Products?$filter=CategoryID ne null".replace(" ", "%20")).json()["value"]
        category = products[0]["CategoryID"]
        before = self.count(f"Categories({category})/Products")
        fetched = self.send("GET", "/odata/v2/reference/Products?$top=1", X_CSRF_Token="Fetch")
        self.send("DELETE", f"{self.root}/Categories({category})", status=403)
        self.send(
            "DELETE", f"/odata/v2/reference/Categories(guid'{category}')", status=403,
            X_CSRF_Token=fetched.headers["x-csrf-token"])
        self.send("DELETE", f"/api/v1/odata/reference-Categories/{category}", status=403)
        outcome = Device(self.gateway, "alice").change("delete", category, collection="reference-Categories")
        self.assertEqual((outcome["outcome"], outcome.get("reason")), ("rejected", "access.denied"))
        self.assertEqual(self.count(f"Categories({category})/Products"), before)
        self.send("DELETE", f"{self.root}/Categories({category})", user="admin", status=204)
        empty = self.send("POST", f"{self.root}/Categories", {"Name": "Nothing in it"}, status=201).json()
        self.send("DELETE", f"{self.root}/Categories({empty['ID']})", status=204)


class References(RightsTest):
    """alice writes products, and may neither read nor write categories: no answer tells her which categories there are."""

    root = "/odata/v4/reference"
    absent = "00000000-0000-4000-8000-000000000000"

    def setUp(self):
        self.start(**reference(OPEN, Categories={"read": {"roles": ["admin"]}, "write": {"roles": ["admin"]}}))
        listed = self.send("GET", f"{self.root}/Categories", user="admin", status=200).json()["value"]
        self.category = listed[0]["ID"]
        path = f"{self.root}/Products?$filter=CategoryID eq {self.category}&$top=1".replace(" ", "%20")
        self.product = self.send("GET", path, status=200).json()["value"][0]["ID"]
        self.token = self.send("GET", "/odata/v2/reference/Products?$top=1", X_CSRF_Token="Fetch").headers["x-csrf-token"]
        self.device = Device(self.gateway, "alice")

    def ways(self, category):
        """What each interface answers to a reference to this category, as far as it may differ."""
        product, new = {"Name": "Kite", "Price": 1}, {"CategoryID": category}
        at = f"Products({self.product})"
        atom = {"X_CSRF_Token": self.token}
        sent = [
            self.send("POST", f"{self.root}/Products", {**product, **new}),
            self.send("PATCH", f"{self.root}/{at}", new),
            self.send("POST", f"{self.root}/Products", {**product, "Category@odata.bind": f"Categories({category})"}),
            self.send("PUT", f"{self.root}/{at}/Category/$ref", {"@odata.id": f"Categories({category})"}),
            self.send("PATCH", f"/odata/v2/reference/Products(guid'{self.product}')", new, **atom),
            self.send("POST", "/api/v1/odata/reference-Products", {**product, **new}),
            self.send("PATCH", f"/api/v1/odata/reference-Products/{self.product}", new),
            self.send("POST", "/batch", {"calls": [{
                "id": "1", "method": "PATCH", "path": f"/api/v1/odata/reference-Products/{self.product}", "body": new}]}),
        ]
        pushed = self.device.change("update", self.product, new, collection="reference-Products")
        told = [(answer.status, self.words(answer.text(), category)) for answer in sent]
        return [*told, (pushed["outcome"], pushed.get("reason"), pushed.get("message"))]

    def words(self, text, category):
        return re.sub('"(requestId|transactionid|x-request-id)" ?: ?"[^"]*"', "", text).replace(category, "CATEGORY")

    def test_a_reference_to_what_may_not_be_read_is_answered_as_one_to_nothing(self):
        taken = self.send("GET", f"{self.root}/Categories", user="admin", status=200).json()["value"][1]["ID"]
        absent, unreadable = self.ways(self.absent), self.ways(taken)
        for one, other in zip(absent, unreadable, strict=True):
            self.assertEqual(one, other)
        self.assertEqual([answer[0] for answer in absent], [400, 400, 403, 403, 400, 400, 400, 200, "rejected"])

    def test_a_reference_that_is_kept_or_made_along_is_taken(self):
        at = f"{self.root}/Products({self.product})"
        self.send("PATCH", at, {"Name": "Renamed"}, status=204)
        self.send("PATCH", at, {"Name": "Again", "CategoryID": self.category}, status=204)
        self.send("PATCH", at, {"CategoryID": None}, status=204)
        self.send("PATCH", at, {"CategoryID": self.category}, status=400)
        self.send("PATCH", at, {"CategoryID": self.category}, "admin", 204)

    def test_who_may_change_the_other_set_may_refer_to_it(self):
        """By a change of it they find out anyway what is there."""
        self.start(**reference(OPEN, Categories={"read": {"roles": ["admin"]}, "write": "login"}))
        category = self.send("GET", f"{self.root}/Categories", user="admin", status=200).json()["value"][0]["ID"]
        for more in ({"CategoryID": category}, {"Category@odata.bind": f"Categories({category})"}):
            self.send("POST", f"{self.root}/Products", {"Name": "Kite", "Price": 1, **more}, status=201)
        body = {"Name": "Kite", "Price": 1, "Category": {"Name": "Toys"}}
        self.send("POST", f"{self.root}/Products", body, status=204, Prefer="return=minimal")


class Chats(RightsTest):
    def test_closed_messages_leave_rooms_open_but_those_that_hold_some(self):
        self.start(chat={"entities": {"messages": {"access": {"write": {"roles": ["admin"]}}}}})
        for post in (
                lambda name: self.send("POST", "/chat/v1/rooms", {"name": name, "members": ["admin"]}, status=200).json()["room"],
                lambda name: self.send("POST", "/chat", {
                    "function": "createchatroom", "name": name, "members": ["admin"]}, status=200).json()["room"]):
            room = post("lobby")["id"]
            place = f"/chat/v1/rooms/{room}/messages"
            self.send("POST", place, {"text": "no"}, status=403)
            self.send("POST", "/chat", {"function": "postmessage", "room": room, "text": "no"}, status=403)
            self.send("POST", place, {"text": "yes"}, "admin", 200)
            self.send("DELETE", f"/api/v1/chat/rooms/{room}", status=403)
            self.assertEqual(len(self.send("GET", place, status=200).json()["messages"]), 1)
            empty = post("empty")["id"]
            self.send("DELETE", f"/api/v1/chat/rooms/{empty}", status=204)

    def test_closed_rooms_are_not_joined_on_the_chats_own_authority(self):
        self.start(chat={"entities": {"rooms": {"access": {"write": {"roles": ["admin"]}}}}})
        room = self.send("POST", "/chat/v1/rooms", {"name": "lobby", "isPublic": True}, "admin", 200).json()["room"]["id"]
        self.send("POST", f"/chat/v1/rooms/{room}/join", {}, status=403)
        self.send("POST", "/chat", {"function": "joinchatroom", "room": room}, status=403)


class Keys(RightsTest):
    def setUp(self):
        self.start(chat={}, employees={"access": OPEN})
        self.token = self.gateway.login("alice").json()["accessToken"]

    def key(self, **wanted):
        return self.gateway.send("POST", "/auth/keys", {"title": "k", **wanted}, token=self.token)

    def test_a_key_has_no_role_that_its_account_lacks(self):
        for roles in (["admin"], ["member", "admin"]):
            refused = self.key(roles=roles)
            self.assertEqual((refused.status, refused.json()["error"]["code"]), (403, "access.denied"), refused)
            self.assertIn("admin", refused.json()["error"]["message"])
        self.assertEqual(self.gateway.get("/auth/keys", token=self.token).json()["keys"], [])
        self.assertEqual(self.key(roles=["member"]).status, 201)

    def test_attachments_are_uploaded_by_those_who_may_write_what_names_them(self):
        bytes_ = b"attached"
        path = f"/sync/v1/attachments/{hashlib.sha256(bytes_).hexdigest()}"
        for wanted in ({"adapters": []}, {"adapters": ["employees"]}, {"adapters": ["chat"], "readOnly": True}):
            key = self.key(**wanted).json()["key"]
            answer = self.gateway.request("PUT", path, body=bytes_, token=key)
            self.assertEqual(answer.status, 403, (wanted, answer))
        key = self.key(adapters=["chat"]).json()["key"]
        self.assertEqual(self.gateway.request("PUT", path, body=bytes_, token=key).status, 201)


if __name__ == "__main__":
    unittest.main()
