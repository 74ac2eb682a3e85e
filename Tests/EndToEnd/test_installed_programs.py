"""Installed, `porticoctl` is another name of the gateway's program (Deploy/install-tree): it has to be the same command line."""

import pathlib
import subprocess
import tempfile
import unittest

from harness import BUILD, ROOT

QUICK = True


class Names(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.name = self.folder / "porticoctl"
        self.name.symlink_to(BUILD / "portico")

    def run_as(self, program, *arguments):
        done = subprocess.run([program, *arguments], capture_output=True, text=True, timeout=60, check=False, stdin=subprocess.DEVNULL)
        return done.returncode, done.stdout, done.stderr

    def test_the_operators_commands_are_in_the_gateways_program_under_their_name(self):
        for arguments in [["--version"], ["--help"], ["accounts", "--help"], ["sttaus"], ["status", "--data", self.folder], ["serve"]]:
            with self.subTest(arguments=arguments):
                self.assertEqual(self.run_as(self.name, *arguments), self.run_as(BUILD / "porticoctl", *arguments))

    def test_under_its_own_name_it_is_the_gateway(self):
        status, output, _ = self.run_as(BUILD / "portico", "--help")
        self.assertEqual(status, 0)
        self.assertIn("USAGE: portico <subcommand>", output)

    def test_an_installed_tree_has_the_name(self):
        self.assertIn('ln -sf portico "$prefix/bin/porticoctl"', (ROOT / "Deploy/install-tree").read_text())


if __name__ == "__main__":
    unittest.main()
