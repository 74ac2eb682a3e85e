"""The notes plugin: the generic resource, row rules, conditions, paging."""

import json
import plistlib
import unittest
import urllib.parse
import uuid

from harness import BPLIST, JSON, PLIST, XML, GatewayTest

QUICK = True

NOTES = "/api/v1/notes/notes"


class NotesResource(GatewayTest):
    def create(self, user="alice", **fields):
        return self.expect(self.gateway.send("POST", NOTES, {"title": "t", **fields}, user=user), 201)

    def list(self, user="alice", **parameters):
        return self.expect(self.gateway.get(f"{NOTES}?{urllib.parse.urlencode(parameters)}", user=user), 200).json()

    def test_a_note_is_created_read_changed_and_deleted(self):
        created = self.create(title="first", text="body")
        note = created.json()
        self.assertEqual((note["owner"], note["title"]), ("alice", "first"))
        path = created.headers["location"]
        self.assertEqual(self.gateway.get(path, user="alice").json(), note)
        changed = self.expect(self.gateway.send("PATCH", path, {"text": "new"}, user="alice"), 200).json()
        self.assertEqual((changed["title"], changed["text"]), ("first", "new"))
        replaced = self.expect(self.gateway.send("PUT", path, {"title": "only"}, user="alice"), 200).json()
        self.assertEqual((replaced["title"], replaced.get("text")), ("only", ""))
        self.assertEqual(self.gateway.request("DELETE", path, user="alice").status, 204)
        self.expect(self.gateway.get(path, user="alice"), 404, "record.notFound")

    def test_the_client_may_choose_the_id(self):
        chosen = str(uuid.uuid4())
        self.assertEqual(self.create(id=chosen).json()["id"], chosen)
        self.expect(self.gateway.send("POST", NOTES, {"id": chosen, "title": "again"}, user="alice"), 409, "record.exists")
        put = f"{NOTES}/{uuid.uuid4()}"
        self.expect(self.gateway.send("PUT", put, {"title": "x"}, user="alice"), 201)

    def test_a_note_is_its_owners_and_theirs_it_is_shared_with(self):
        path = self.create(title="private").headers["location"]
        for _ in range(2):  # the second answer is a kept one, and alice's alone
            self.expect(self.gateway.get(path, user="alice"), 200)
        self.expect(self.gateway.get(path, user="bob"), 404)
        self.expect(self.gateway.send("PATCH", path, {"title": "stolen"}, user="bob"), 404)
        self.expect(self.gateway.request("DELETE", path, user="bob"), 404)
        self.expect(self.gateway.send("PATCH", path, {"sharedWith": ["bob"]}, user="alice"), 200)
        self.expect(self.gateway.get(path, user="bob"), 200)
        self.expect(self.gateway.get(path, user="carol"), 404)
        self.expect(self.gateway.send("PATCH", path, {"title": "stolen"}, user="bob"), 403, "access.denied")
        self.assertNotIn(path.rsplit("/")[-1], [n["id"] for n in self.list("carol", limit=1000)["items"]])

    def test_a_note_cannot_be_created_for_another_owner(self):
        note = self.create(owner="bob").json()
        self.assertEqual(note["owner"], "alice")

    def test_etags_guard_changes(self):
        created = self.create()
        path, tag = created.headers["location"], created.headers["etag"]
        self.assertEqual(self.gateway.get(path, user="alice", headers={"If-None-Match": tag}).status, 304)
        self.expect(self.gateway.send("PATCH", path, {"text": "1"}, user="alice", headers={"If-Match": tag}), 200)
        answer = self.gateway.send("PATCH", path, {"text": "2"}, user="alice", headers={"If-Match": tag})
        self.expect(answer, 412, "record.preconditionFailed")
        as_plist = self.gateway.get(path, PLIST, user="alice")
        headers = {"If-Match": as_plist.headers["etag"]}
        self.expect(self.gateway.send("PATCH", path, {"text": "3"}, user="alice", headers=headers), 200)

    def test_lists_are_filtered_ordered_selected_and_paged(self):
        mark = uuid.uuid4().hex
        for number in range(7):
            self.create(title=f"{mark} {number}")
        parameters = {"filter": f"startsWith(title, '{mark}')", "order": "-title", "select": "title", "limit": 3, "count": "true"}
        titles, page = [], self.list(**parameters)
        self.assertEqual(page["total"], 7)
        while True:
            titles += [item["title"] for item in page["items"]]
            self.assertEqual(set(page["items"][0]), {"title"})
            if "next" not in page:
                break
            page = self.list(**parameters, cursor=page["next"])
        self.assertEqual(titles, [f"{mark} {n}" for n in reversed(range(7))])

    def test_bad_parameters_name_themselves(self):
        for parameter, value in [("filter", "title eq"), ("filter", "nothing eq 1"), ("order", "nothing"), ("limit", "0"), ("cursor", "x"), ("colour", "red"), ("select", "nothing"), ("count", "maybe")]:
            answer = self.gateway.get(f"{NOTES}?{urllib.parse.urlencode({parameter: value})}", user="alice")
            self.assertEqual(answer.status, 400, (parameter, value, answer))
            self.assertEqual(answer.json()["error"]["target"], parameter)

    def test_a_filter_is_bound_and_never_executed(self):
        self.create(title="x' OR '1'='1")
        found = self.list(filter="title eq 'x'' OR ''1''=''1'")["items"]
        self.assertEqual([note["title"] for note in found], ["x' OR '1'='1"])

    def test_every_format_writes_and_reads_a_note(self):
        fields = {"title": "é ‹&>", "text": "line\nline", "sharedWith": ["bob"]}
        for content_type, body in [(PLIST, plistlib.dumps(fields)), (BPLIST, plistlib.dumps(fields, fmt=plistlib.FMT_BINARY))]:
            answer = self.gateway.request("POST", NOTES, body, {"Content-Type": content_type, "Accept": content_type}, user="alice")
            note = self.expect(answer, 201).plist()
            self.assertEqual({name: note[name] for name in fields}, fields)
        as_xml = self.gateway.get(f"{NOTES}/{note['id']}", XML, user="alice").body
        back = self.gateway.request("PUT", f"{NOTES}/{note['id']}", as_xml, {"Content-Type": XML, "Accept": JSON}, user="alice")
        again = self.expect(back, 200).json()
        self.assertEqual({name: again[name] for name in fields}, fields)

    def test_wrong_fields_are_named(self):
        answer = self.expect(self.gateway.send("POST", NOTES, {"title": 5}, user="alice"), 400, "request.invalid")
        self.assertEqual(answer.json()["error"]["target"], "title")
        answer = self.expect(self.gateway.send("POST", NOTES, {"title": "t", "colour": 1}, user="alice"), 400)
        self.assertEqual(answer.json()["error"]["target"], "colour")

    def test_without_a_login_nothing_is_there(self):
        self.expect(self.gateway.get(NOTES), 401, "auth.required")


if __name__ == "__main__":
    unittest.main()
