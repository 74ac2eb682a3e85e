"""porticoctl backup, restore and sync compact against a gateway that serves meanwhile."""

import hashlib
import json
import os
import pathlib
import shutil
import tempfile
import time
import unittest

from harness import Gateway, run_portico


def damage(file):
    """Another first byte, whatever it was."""
    content = file.read_bytes()
    file.write_bytes(bytes([content[0] ^ 1]) + content[1:])


class Backup(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.data = self.folder / "data"
        self.data.mkdir()
        self.start()

    def start(self):
        self.gateway = Gateway(data=str(self.data))
        self.addCleanup(self.gateway.remove)

    def control(self, *arguments, fails=None):
        done = run_portico(*arguments, "--data", str(self.data), "--output", "json", program="porticoctl")
        if fails:
            self.assertEqual(done.returncode, 1, done)
            self.assertIn(fails, done.stderr)
            return None
        self.assertEqual(done.returncode, 0, done)
        return json.loads(done.stdout)

    def note(self, title):
        answer = self.gateway.send("POST", "/api/v1/notes/notes", {"title": title}, user="alice")
        self.assertEqual(answer.status, 201, answer)

    def titles(self):
        notes = self.gateway.get("/api/v1/notes/notes?limit=1000", user="alice").json()
        return {record["title"] for record in notes["items"]}

    def test_a_restored_gateway_has_what_the_backup_had_and_another_epoch(self):
        self.note("before")
        backup = str(self.folder / "backup")
        summary = self.control("backup", backup)
        epoch = self.control("status")["store"]["epoch"]
        self.assertEqual(summary["epoch"], epoch)
        self.note("after")
        self.control("backup", backup, fails="already")
        self.assertIs(self.control("status")["store"]["restoresAtNextStart"], False)
        restored = self.control("restore", backup, "--yes")
        self.assertEqual(restored["position"], summary["position"])
        self.assertIs(self.control("status")["store"]["restoresAtNextStart"], True)
        self.assertIn("after", self.titles())
        self.gateway.stop()
        self.start()
        self.assertIn("before", self.titles())
        self.assertNotIn("after", self.titles())
        self.assertNotEqual(self.control("status")["store"]["epoch"], epoch)
        kinds = [entry["kind"] for entry in self.control("audit", "list")["entries"]]
        self.assertEqual(kinds.count("store.restored"), 1)
        self.gateway.stop()
        self.start()
        kinds = [entry["kind"] for entry in self.control("audit", "list")["entries"]]
        self.assertEqual(kinds.count("store.restored"), 1)
        self.assertIs(self.control("status")["store"]["restoresAtNextStart"], False)

    def attach(self, data):
        """Uploads it, and names it in a note."""
        digest = hashlib.sha256(data).hexdigest()
        answer = self.gateway.request("PUT", f"/sync/v1/attachments/{digest}", body=data, user="alice")
        self.assertEqual(answer.status, 201, answer)
        note = self.gateway.send("POST", "/api/v1/notes/notes", {"title": "t", "attachments": [digest]}, user="alice")
        self.assertEqual(note.status, 201, note)
        return f"/sync/v1/attachments/{digest}", note.json()["id"]

    def test_attachments_are_in_the_backup_and_come_back(self):
        data = os.urandom(100_000)
        path, _ = self.attach(data)
        backup = self.folder / "backup"
        summary = self.control("backup", str(backup))
        self.assertEqual(summary["attachments"], {"count": 1, "bytes": len(data), "damaged": []})
        self.gateway.stop()
        shutil.rmtree(self.data)
        self.data.mkdir()
        self.assertEqual(self.control("restore", str(backup), "--yes")["attachments"]["count"], 1)
        self.start()
        self.assertEqual(self.gateway.get(path, user="alice").body, data)

    def test_a_damaged_attachment_is_reported_and_left_out(self):
        path, _ = self.attach(os.urandom(5000))
        digest = path.rsplit("/", 1)[1]
        file = self.data / "attachments" / "complete" / digest[:2] / digest
        damage(file)
        backup = self.folder / "backup"
        self.assertEqual(self.control("backup", str(backup))["attachments"]["damaged"], [digest])
        self.assertEqual(self.control("restore", str(backup), "--yes")["attachments"]["count"], 0)

    def test_a_restore_that_is_refused_leaves_none_of_the_attachments_that_it_copied(self):
        self.attach(os.urandom(5000))
        damaged, _ = self.attach(os.urandom(5000))
        digest, backup = damaged.rsplit("/", 1)[1], self.folder / "backup"
        self.control("backup", str(backup))
        file = backup / "attachments" / digest[:2] / digest
        damage(file)
        files = lambda: sorted(str(path) for path in (self.data / "attachments").rglob("*"))
        before = files()
        done = run_portico("restore", str(backup), "--yes", "--data", str(self.data), program="porticoctl")
        self.assertEqual(done.returncode, 1, done)
        self.assertIn(digest, done.stderr)
        self.assertEqual(files(), before)

    def test_a_sweep_removes_what_no_record_names_for_the_window(self):
        kept, _ = self.attach(b"kept" * 100)
        gone, note = self.attach(b"gone" * 100)
        partial = hashlib.sha256(b"never").hexdigest()
        headers = {"Content-Range": "bytes 0-3/100"}
        path = f"/sync/v1/attachments/{partial}"
        self.assertEqual(self.gateway.request("PUT", path, body=b"part", headers=headers, user="alice").status, 202)
        self.assertEqual(self.gateway.request("DELETE", f"/api/v1/notes/notes/{note}", user="alice").status, 204)
        self.assertEqual(self.control("sync", "sweep", "--yes"), {"attachments": 0, "uploads": 0, "bytes": 0})
        self.age(7 * 86_400 + 10)
        self.assertEqual(self.control("sync", "sweep", "--yes"), {"attachments": 1, "uploads": 1, "bytes": 404})
        self.assertEqual(self.gateway.get(kept, user="alice").status, 200)
        again = self.gateway.request("PUT", gone, body=b"gone" * 100, user="alice")
        self.assertEqual(again.status, 201, again)

    def age(self, seconds):
        """As if so long had passed since anybody used an attachment."""
        for file in (self.data / "attachments").rglob("*"):
            if file.is_file():
                os.utime(file, (time.time() - seconds,) * 2)

    def test_what_is_no_backup_is_refused(self):
        self.control("restore", str(self.folder), "--yes", fails="no backup")

    def test_a_dry_run_of_compaction_removes_nothing(self):
        self.note("one")
        planned = self.control("sync", "compact", "--dry-run")
        self.assertEqual(planned, {"dryRun": True, "floor": 0, "entries": 0, "outcomes": 0, "keptCopies": 0})
        self.assertEqual(self.control("sync", "compact", "--yes")["entries"], 0)


if __name__ == "__main__":
    unittest.main()
