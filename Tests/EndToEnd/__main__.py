"""Runs every test module of this folder, or those named: `python3 Tests/EndToEnd [test_notes …]`.

Prints how long each took and, alone on the last line, `N passed, N failed`. The exit status is 1 where one failed or
none ran.
"""

import pathlib
import sys
import time
import unittest

FOLDER = pathlib.Path(__file__).resolve().parent


class Tally(unittest.TextTestResult):
    """Counts tests, not their parts; a broken set-up counts as a failed test."""

    def __init__(self, *arguments, **rest):
        super().__init__(*arguments, **rest)
        self.bad = set()

    def addFailure(self, test, error):
        super().addFailure(test, error)
        self.bad.add(test.id())

    def addError(self, test, error):
        super().addError(test, error)
        self.bad.add(test.id())

    def addSubTest(self, test, part, error):
        super().addSubTest(test, part, error)
        if error:
            self.bad.add(test.id())


def run(name):
    """How many tests of a module passed, and the names of those that did not."""
    suite = unittest.defaultTestLoader.loadTestsFromName(name)
    began = time.monotonic()
    result = unittest.TextTestRunner(stream=sys.stderr, resultclass=Tally, failfast=False).run(suite)
    passed = max(0, result.testsRun - len(result.bad) - len(result.skipped))
    skipped = f", {len(result.skipped)} skipped" if result.skipped else ""
    print(f"{name}: {passed} passed, {len(result.bad)} failed{skipped}, {time.monotonic() - began:.0f} s", flush=True)
    for test in sorted(result.bad):
        print(f"  failed: {test}", flush=True)
    return passed, len(result.bad)


def main(names):
    names = names or sorted(path.stem for path in FOLDER.glob("test_*.py"))
    results = [run(name) for name in names]
    passed, failed = (sum(column) for column in zip(*results)) if results else (0, 0)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
