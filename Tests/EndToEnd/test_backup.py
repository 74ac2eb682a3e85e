"""porticoctl backup, restore and sync compact against a gateway that serves meanwhile."""

import json
import pathlib
import tempfile
import unittest

from harness import Gateway, run_portico


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
        restored = self.control("restore", backup)
        self.assertEqual(restored["position"], summary["position"])
        self.assertIn("after", self.titles())
        self.gateway.stop()
        self.start()
        self.assertIn("before", self.titles())
        self.assertNotIn("after", self.titles())
        self.assertNotEqual(self.control("status")["store"]["epoch"], epoch)

    def test_what_is_no_backup_is_refused(self):
        self.control("restore", str(self.folder), fails="no backup")

    def test_a_dry_run_of_compaction_removes_nothing(self):
        self.note("one")
        planned = self.control("sync", "compact", "--dry-run")
        self.assertEqual(planned, {"dryRun": True, "floor": 0, "entries": 0, "outcomes": 0})
        self.assertEqual(self.control("sync", "compact")["entries"], 0)


if __name__ == "__main__":
    unittest.main()
