"""The operator's view of offline sync: the log, and why an account has a record."""

import unittest
import uuid

from sync_device import Device
from harness import GatewayTest, run_portico

QUICK = True


class Explaining(GatewayTest):
    def run_tool(self, *arguments):
        done = run_portico("sync", *arguments, "--data", self.gateway.data, program="porticoctl")
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_an_operator_sees_changes_and_why_an_account_has_a_record(self):
        device = Device(self.gateway, "alice")
        note = str(uuid.uuid4())
        device.change("create", note, {"title": "t", "sharedWith": ["bob"]})
        self.assertIn(note, self.run_tool("changes"))
        self.assertIn("epoch", self.run_tool("status"))
        for user, verdict in (("alice", "has"), ("bob", "has"), ("carol", "hidden")):
            self.assertIn(f"verdict: {verdict}", self.run_tool("explain", user, f"notes/{note}"))
        device.change("delete", note)
        self.assertIn("verdict: deleted", self.run_tool("explain", "alice", f"notes/{note}"))
        self.assertIn("verdict: unknown", self.run_tool("explain", "alice", "notes/never"))


if __name__ == "__main__":
    unittest.main()
