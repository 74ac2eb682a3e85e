"""docs/first-call.md: its commands, run as they stand against the demonstration, show what it says."""

import shutil
import tempfile
import unittest

from documented_session import blocks, unshown
from harness import GatewayTest

QUICK = True


class FirstCall(GatewayTest):
    def test_its_commands_show_what_they_say(self):
        (session,) = blocks("docs/first-call.md", "# A first call")
        folder = tempfile.mkdtemp(prefix="portico-first-call-")
        self.addCleanup(shutil.rmtree, folder)
        self.assertEqual(unshown(session, {"127.0.0.1:8080": f"127.0.0.1:{self.gateway.port}"}, 0, folder), [])


if __name__ == "__main__":
    unittest.main()
