"""Plugins/python-tasks: an adapter in Python."""

import subprocess
import sys
import unittest

from harness import ROOT

QUICK = True

FOLDER = ROOT / "Plugins" / "python-tasks"


class UnitTests(unittest.TestCase):
    def test_the_adapters_own_tests_pass(self):
        ran = subprocess.run(
            [sys.executable, "-B", "-m", "unittest", "discover"], cwd=FOLDER, capture_output=True, text=True, timeout=120)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertRegex(ran.stderr, r"Ran 1\d tests")


if __name__ == "__main__":
    unittest.main()
