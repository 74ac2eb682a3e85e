"""`porticoctl audit verify` finds entries of the audit log that were changed in the database."""

import contextlib
import json
import pathlib
import sqlite3
import tempfile
import unittest

from harness import Gateway, run_portico

QUICK = True


class ChangedBehindItsBack(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.data = folder.name
        gateway = Gateway(data=cls.data)
        for title in "abcd":
            run_portico("keys", "create", "alice", "--title", title, "--data", cls.data, program="porticoctl")
        cls.head = cls.verify(gateway)[1]["head"]
        gateway.stop()
        gateway.remove()
        cls.file = pathlib.Path(cls.data, "portico.sqlite")
        with contextlib.closing(sqlite3.connect(cls.file)) as database:
            database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            cls.table = next(
                name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
                if "auditentries" in name.lower())
        cls.whole = cls.file.read_bytes()

    @staticmethod
    def verify(gateway, *arguments):
        done = run_portico(
            "audit", "verify", *arguments, "--data", gateway.data, "--output", "json", program="porticoctl")
        return done.returncode, json.loads(done.stdout)

    def after(self, statement, *arguments):
        """The verdict of a gateway that starts on a database changed by `statement`."""
        for rest in ("-wal", "-shm"):
            pathlib.Path(f"{self.file}{rest}").unlink(missing_ok=True)
        self.file.write_bytes(self.whole)
        with contextlib.closing(sqlite3.connect(self.file)) as database:
            changed = database.execute(statement.format(table=f'"{self.table}"')).rowcount
            database.commit()
        self.assertGreaterEqual(changed, 1, statement)
        # The change has emptied and removed the write-ahead log: the next start refuses until it is confirmed.
        gateway = Gateway("--accept-store", data=self.data)
        try:
            return self.verify(gateway, *arguments)
        finally:
            gateway.remove()

    def test_a_changed_field_is_found_at_its_entry(self):
        status, verdict = self.after("UPDATE {table} SET actor = 'somebody' WHERE rowid IN (SELECT rowid FROM {table} ORDER BY id LIMIT 1 OFFSET 5)")
        self.assertEqual((status, verdict["intact"], verdict["entry"], verdict["fault"]), (1, False, 6, "altered"))

    def test_a_deleted_entry_is_found(self):
        status, verdict = self.after("DELETE FROM {table} WHERE rowid IN (SELECT rowid FROM {table} ORDER BY id LIMIT 1 OFFSET 5)")
        self.assertEqual((status, verdict["intact"], verdict["entry"], verdict["fault"]), (1, False, 6, "missing"))

    def test_a_cut_end_is_found(self):
        status, verdict = self.after("DELETE FROM {table} WHERE rowid IN (SELECT rowid FROM {table} ORDER BY id DESC LIMIT 2)")
        self.assertEqual((status, verdict["intact"], verdict["fault"]), (1, False, "missing"))


if __name__ == "__main__":
    unittest.main()
