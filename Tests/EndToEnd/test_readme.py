"""The README's session in front of another system: its commands, run as they stand, show what it says."""

import os
import pathlib
import re
import shlex
import shutil
import subprocess
import tempfile
import unittest

from harness import BUILD, ROOT, Gateway
from stand_in import PROGRAM, StandIn

SECTION = "## In front of another system"
START = re.compile(r"^(portico-stand-in|portico serve) (.*)$", re.MULTILINE)
SHOWS = re.compile(r"^(.*?)\s+# shows: (.*)$")


def blocks():
    section = (ROOT / "README.md").read_text().split(SECTION)[1].split("\n## ")[0]
    return re.findall(r"```sh\n(.*?)```", section, re.DOTALL)


@unittest.skipUnless(PROGRAM.exists(), "the stand-in is not built")
class Session(unittest.TestCase):
    def test_the_commands_show_what_they_say(self):
        start, session = blocks()
        started = {name: shlex.split(arguments) for name, arguments in START.findall(start)}
        system = StandIn(*started["portico-stand-in"])
        self.addCleanup(system.stop)
        options = started["portico serve"]
        config, data = options[options.index("--config") + 1], options[options.index("--data") + 1]
        folder = pathlib.Path(tempfile.mkdtemp(prefix="portico-readme-"))
        self.addCleanup(shutil.rmtree, folder, True)
        gateway = Gateway("--set", f"upstreams.hr.url={system.address}/", config=config, data=folder)
        self.addCleanup(gateway.remove)
        self.assertEqual(self.outputs(session, {
            "127.0.0.1:8080": f"127.0.0.1:{gateway.port}", data: str(folder),
        }, system.port), [])

    def outputs(self, session, replaced, port):
        """The commands whose output lacks what the README says, with the output."""
        for text, other in replaced.items():
            self.assertIn(text, session)
            session = session.replace(text, other)
        lines, expected = [f'portico-stand-in() {{ command portico-stand-in "$@" --port {port}; }}'], []
        for line in session.splitlines():
            found = SHOWS.match(line)
            lines.append(f"{{ {found[1]}; }} 2>&1; echo '<{len(expected)}>'" if found else line)
            if found:
                expected.append((found[1], found[2]))
        self.assertGreater(len(expected), 8)
        done = subprocess.run(
            ["bash", "-c", "\n".join(lines)], env={**os.environ, "PATH": f"{BUILD}:{os.environ['PATH']}"}, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300, check=False)
        parts = re.split(r"<\d+>\n", done.stdout)
        self.assertEqual(len(parts), len(expected) + 1, done.stdout)
        return [(command, words, part) for (command, words), part in zip(expected, parts) if words not in part]


if __name__ == "__main__":
    unittest.main()
