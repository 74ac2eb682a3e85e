"""Databases that earlier code wrote (Tests/EndToEnd/stored) open with this one: it reads them, goes on with their devices
and writes."""

import hashlib
import json
import pathlib
import shutil
import sys
import tempfile
import unittest

from harness import Gateway, run_portico
from sync_device import Device

FOLDER = pathlib.Path(__file__).resolve().parent / "stored"
sys.path.append(str(FOLDER))
from write import ATTACHMENT, BRANCHES, COMPANY, FEED, NOTES  # noqa: E402

QUICK = True


class Database202611(unittest.TestCase):
    folder = FOLDER / "2026-11"

    @classmethod
    def setUpClass(cls):
        data = tempfile.mkdtemp(prefix="portico-stored-")
        cls.addClassCleanup(shutil.rmtree, data, True)
        shutil.copytree(cls.folder / "data", data, dirs_exist_ok=True)
        cls.state = json.loads((cls.folder / "state.json").read_text())
        cls.gateway = Gateway(config=str(cls.folder / "gateway.yaml"), data=data)
        cls.addClassCleanup(cls.gateway.remove)

    def get(self, path, user="alice"):
        answer = self.gateway.get(path, user=user)
        self.assertEqual(answer.status, 200, answer)
        return answer

    def send(self, method, path, value, status, user="alice"):
        answer = self.gateway.send(method, path, value, user=user)
        self.assertEqual(answer.status, status, answer)
        return answer

    def device(self):
        """The device that wrote the notes, with what it had before its last edits."""
        device = Device(self.gateway, "alice", collections=["notes"])
        device.client, device.sequence = self.state["client"], self.state["stale"]["sequence"]
        device.checkpoint = self.state["early"]["checkpoint"]
        device.rows = {("notes", identifier): (rev, None) for identifier, rev in self.state["early"]["revs"].items()}
        return device

    def test_records_are_read_by_the_rules_of_their_rows(self):
        note = self.get(f"{NOTES}/note-3").json()
        self.assertEqual((note["title"], note["text"], note["owner"]), ("note 3", "ä\U0001F600\n" * 3, "alice"))
        self.assertEqual(self.get(f"{NOTES}/note-2").json()["title"], "changed")
        self.assertEqual(self.gateway.get(f"{NOTES}/note-5", user="alice").status, 404)
        self.assertEqual(self.get(f"{NOTES}/note-3", user="bob").json(), note)
        self.assertEqual(self.gateway.get(f"{NOTES}/note-4", user="bob").status, 404)

    def test_entities_of_odata_are_found_by_filter_search_and_navigation(self):
        found = self.get(f"{COMPANY}/Sales?$filter=Amount%20gt%2032&$orderby=Amount&$expand=Branch").json()["value"]
        self.assertEqual([(sale["Amount"], sale["Branch"]["Name"]) for sale in found],
                         [(32.25, "The North"), (1234567.89, "The Island")])
        found = self.get(f"{COMPANY}/Branches?$search=europe&$expand=Sales").json()["value"]
        self.assertEqual([(branch["ID"], len(branch["Sales"])) for branch in found], [("Europe", 1)])
        self.assertEqual(self.get(f"{COMPANY}/Branches/$count").text().lstrip("\ufeff"), str(len(BRANCHES)))

    def test_a_chat_a_feed_and_an_attachment_are_as_they_were(self):
        messages = self.get(f"/chat/v1/rooms/{self.state['room']}/messages", user="bob").json()["messages"]
        self.assertEqual([message["text"] for message in messages], [f"message {number} ✓" for number in range(3)])
        self.assertEqual(self.get("/plists/kept").plist(), FEED)
        attachment = self.get(f"/sync/v1/attachments/{self.state['digest']}").body
        self.assertEqual(attachment, ATTACHMENT)
        self.assertEqual(hashlib.sha256(attachment).hexdigest(), self.state["digest"])

    def test_accounts_sign_in_and_the_audit_log_is_whole(self):
        self.send("POST", "/auth/login", {"username": "dora", "password": "a long password"}, 200, user=None)
        self.send("POST", "/auth/login", {"username": "dora", "password": "another"}, 401, user=None)
        verified = run_portico("audit", "verify", "--data", self.gateway.data, program="porticoctl")
        self.assertEqual(verified.returncode, 0, verified)

    def test_a_device_goes_on_from_its_checkpoint(self):
        device = self.device()
        page = device.ask(device.checkpoint)
        self.assertNotIn("reset", page)
        changes = {(operation["id"], operation["operation"]) for operation in page["operations"]}
        self.assertLessEqual({("note-2", "put"), ("note-5", "remove")}, changes)
        self.assertEqual(device.pull(), [])

    def test_what_was_pushed_is_answered_as_it_was_then(self):
        device = self.device()
        self.assertEqual(device.push(self.state["last"])["outcomes"], [self.state["outcome"]])
        self.assertEqual(device.push(self.state["stale"])["outcomes"][0]["outcome"], "conflict")

    def test_it_is_written(self):
        device = self.device()
        outcome = device.change("create", "note-new", {"title": "new"})
        self.assertEqual(outcome["outcome"], "applied", outcome)
        self.assertGreater(outcome["rev"], self.state["outcome"]["rev"])
        self.send("PATCH", f"{NOTES}/note-1", {"title": "written"}, 200)
        self.send("POST", f"{COMPANY}/Sales", {"ID": 99, "Amount": 0.01, "BranchID": "North"}, 201)
        posted = self.send("POST", f"/chat/v1/rooms/{self.state['room']}/messages", {"text": "later"}, 200, user="bob")
        posted = posted.json()["message"]
        last = self.get(f"/chat/v1/rooms/{self.state['room']}/messages").json()["messages"][-1]
        self.assertEqual((last["id"], last["text"]), (posted["id"], "later"))
        self.assertEqual(device.pull(), [])
        self.assertIn("note-new", device.ids())
        removed = self.gateway.request("DELETE", f"/api/v1/chat/messages/{posted['id']}", user="bob")
        self.assertIn(removed.status, (200, 204), removed)
        self.assertEqual(self.gateway.request("DELETE", f"{COMPANY}/Sales(99)", user="alice").status, 204)
