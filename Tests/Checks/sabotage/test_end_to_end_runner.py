"""The report of the end-to-end runner for modules that pass, fail and end early."""

import shutil
import unittest

from script_sandbox import REPOSITORY, ScriptSandbox

HARNESS = """import pathlib
ROOT = pathlib.Path(__file__).resolve().parents[2]
def started_data():
    return "/nowhere"
"""
MODULE = """import os
import time
import unittest
{marks}
class Case(unittest.TestCase):
    def test_one(self):
        {one}
    def test_other(self):
        pass
"""
RUNNER = "Tests/EndToEnd"


class Runner(unittest.TestCase):
    def setUp(self):
        self.sandbox = self.enterContext(ScriptSandbox())
        folder = self.sandbox.root / RUNNER
        folder.mkdir(parents=True)
        shutil.copy(REPOSITORY / RUNNER / "__main__.py", folder)
        (folder / "harness.py").write_text(HARNESS)
        self.module("fine", marks="QUICK = True")

    def module(self, name, one="pass", marks=""):
        (self.sandbox.root / RUNNER / f"test_{name}.py").write_text(MODULE.format(one=one, marks=marks))

    def run_with(self, *arguments):
        return self.sandbox.run("python3", "-B", RUNNER, *arguments)

    def last_line(self, *arguments):
        code, output = self.run_with(*arguments)
        return code, output.splitlines()[-1]

    def test_tests_of_all_modules_are_counted(self):
        self.module("more")
        self.assertEqual((0, "4 passed, 0 failed"), self.last_line())

    def test_a_failure_is_shown_with_its_module_and_counted(self):
        self.module("broken", one="self.fail('said by the test')")
        code, output = self.run_with()
        self.assertEqual(1, code)
        self.assertIn("AssertionError: said by the test", output)
        self.assertIn("failed: test_broken.Case.test_one", output)
        self.assertEqual("3 passed, 1 failed", output.splitlines()[-1])

    def test_a_module_that_ends_before_its_tests_do_counts_as_a_failure(self):
        self.module("crash", one="os._exit(0)")
        code, output = self.run_with()
        self.assertEqual(1, code)
        self.assertIn("test_crash ended with status 0 before its tests did", output)
        self.assertEqual("2 passed, 1 failed", output.splitlines()[-1])

    def test_a_module_that_cannot_be_imported_counts_as_a_failure(self):
        self.module("unknown", marks="import no_such_module")
        self.assertEqual((1, "2 passed, 1 failed"), self.last_line())

    def test_modules_run_side_by_side_except_those_marked_alone(self):
        """Two wait for each other's beginning; the module that runs alone starts after both have ended."""
        for name, other in [("one", "two"), ("two", "one")]:
            self.module(name, one=f"""open("{name}", "w").close()
        while not os.path.exists("{other}"): time.sleep(0.01)
        open("{name}-ended", "w").close()""")
        ended = 'self.assertTrue(os.path.exists("one-ended") and os.path.exists("two-ended"))'
        self.module("alone", one=ended, marks="ALONE = True")
        self.assertEqual((0, "8 passed, 0 failed"), self.last_line("--jobs", "3"))

    def test_the_quick_loop_takes_the_modules_marked_quick(self):
        self.module("slow")
        self.assertEqual((0, "2 passed, 0 failed"), self.last_line("--quick"))

    def test_a_filter_takes_tests_by_name(self):
        self.module("more")
        self.assertEqual((0, "2 passed, 0 failed"), self.last_line("--filter", "test_other$"))
        self.assertEqual((0, "0 passed, 0 failed"), self.last_line("--filter", "nothing"))
        self.assertEqual((0, "test_more"), self.last_line("--filter", "more", "--list"))
