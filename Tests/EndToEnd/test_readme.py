"""The README's sessions: their commands, run as they stand, show what it says."""

import pathlib
import shlex
import shutil
import tempfile
import unittest

from documented_session import START, blocks, unshown
from harness import Gateway, GatewayTest
from stand_in import PROGRAM, StandIn


class FirstSession(GatewayTest):
    def test_the_commands_show_what_they_say(self):
        (session,) = blocks("README.md", "## A first session")
        folder = tempfile.mkdtemp(prefix="portico-readme-")
        self.addCleanup(shutil.rmtree, folder)
        self.assertEqual(unshown(session, {"127.0.0.1:8080": f"127.0.0.1:{self.gateway.port}"}, 0, folder), [])


@unittest.skipUnless(PROGRAM.exists(), "the stand-in is not built")
class Session(unittest.TestCase):
    def test_the_commands_show_what_they_say(self):
        start, session = blocks("README.md", "## In front of another system")
        started = {name: shlex.split(arguments, comments=True) for name, arguments in START.findall(start)}
        system = StandIn(*started["portico-stand-in"])
        self.addCleanup(system.stop)
        options = started["portico serve"]
        config, data = options[options.index("--config") + 1], options[options.index("--data") + 1]
        folder = pathlib.Path(tempfile.mkdtemp(prefix="portico-readme-"))
        self.addCleanup(shutil.rmtree, folder, True)
        gateway = Gateway("--set", f"upstreams.hr.url={system.address}/", config=config, data=folder)
        self.addCleanup(gateway.remove)
        self.assertEqual(unshown(session, {
            "127.0.0.1:8082": f"127.0.0.1:{gateway.port}", data: str(folder),
        }, system.port), [])


if __name__ == "__main__":
    unittest.main()
