"""Runs test modules of this folder: `python3 Tests/EndToEnd [--quick] [--filter EXPRESSION] [--jobs N] [test_notes …]`.

No name means all modules. One module runs in this process; several run side by side, each in a process of its own, and
only the output of those that fail is shown. All output is in `.build/logs/end-to-end`, with the gateways' logs of the
modules that failed.

A module says about itself, each on a line of its own:
`QUICK = True`: it belongs to `--quick`, the one pass of every adapter that `make test` runs.
`ALONE = True`: it runs while no other does, because it measures or fills the machine.

`--filter` takes the tests whose name `module.Class.test` the regular expression matches in some part.

The last line is `N passed, N failed`. The exit status is 1 where one failed or none ran, but for a filter that matches
no test.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time
import unittest

from harness import ROOT, started_data

FOLDER = pathlib.Path(__file__).resolve().parent
LOGS = ROOT / ".build" / "logs" / "end-to-end"
DURATIONS = LOGS / "durations.json"
# A module that takes longer hangs.
LONGEST_SECONDS = 1200


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


def tests_of(name, expression):
    """A module's tests that the expression matches. A module that cannot be imported is one test, which fails."""
    loader, found, waiting = unittest.TestLoader(), unittest.TestSuite(), []
    waiting.append(loader.loadTestsFromName(name))
    while waiting:
        test = waiting.pop(0)
        if isinstance(test, unittest.TestSuite):
            waiting[:0] = list(test)
        elif not expression or re.search(expression, test.id()):
            found.addTest(test)
    return found


def run(name, expression=None):
    """How many tests of a module passed, and how many did not."""
    began = time.monotonic()
    result = unittest.TextTestRunner(stream=sys.stderr, resultclass=Tally).run(tests_of(name, expression))
    passed = max(0, result.testsRun - len(result.bad) - len(result.skipped))
    skipped = f", {len(result.skipped)} skipped" if result.skipped else ""
    print(f"{name}: {passed} passed, {len(result.bad)} failed{skipped}, {time.monotonic() - began:.0f} s", flush=True)
    for test in sorted(result.bad):
        print(f"  failed: {test}", flush=True)
    return passed, len(result.bad)


def run_apart(name, expression):
    """The same in a process of its own; what it says is shown where a test failed."""
    logs = LOGS / name
    shutil.rmtree(logs, ignore_errors=True)
    logs.mkdir(parents=True)
    command = [sys.executable, "-B", str(FOLDER), name, *(["--filter", expression] if expression else [])]
    environment = {**os.environ, "PORTICO_TEST_DATA": started_data(), "PORTICO_TEST_LOGS": str(logs)}
    with open(logs / "output.log", "w+") as output:
        process = subprocess.Popen(
            command, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
            start_new_session=True)
        try:
            process.wait(LONGEST_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    said = (logs / "output.log").read_text(errors="replace")
    counts = re.search(r"^(\d+) passed, (\d+) failed\n\Z", said, re.M)
    passed, failed = map(int, counts.groups()) if counts else (0, 1)
    if failed:
        print(said, end="" if counts else f"\n{name} ended with status {process.returncode} before its tests did\n")
        print(f"the logs of its gateways: {logs}", flush=True)
    else:
        print(next(line for line in said.splitlines() if line.startswith(f"{name}: ")), flush=True)
        for log in logs.glob("gateway-*.log"):
            log.unlink()
    return passed, failed


def run_side_by_side(names, expression, jobs):
    """Those that take longest first, then those that run alone."""
    durations = json.loads(DURATIONS.read_text()) if DURATIONS.exists() else {}
    names = sorted(names, key=lambda name: -durations.get(name, LONGEST_SECONDS))
    alone = [name for name in names if says(name, "ALONE")]
    started_data()

    def timed(name):
        began = time.monotonic()
        result = run_apart(name, expression)
        durations[name] = round(time.monotonic() - began, 1)
        return result

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        results = list(pool.map(timed, [name for name in names if name not in alone]))
    results += map(timed, alone)
    DURATIONS.write_text(json.dumps(durations, indent=1, sort_keys=True))
    return results


def says(name, word):
    return re.search(rf"^{word} = True$", (FOLDER / f"{name}.py").read_text(), re.M) is not None


def main():
    parser = argparse.ArgumentParser(prog="Tests/EndToEnd", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="module")
    parser.add_argument("--quick", action="store_true", help="only modules that say QUICK")
    parser.add_argument("--filter", metavar="EXPRESSION", help="only tests whose name it matches")
    parser.add_argument("--list", action="store_true", help="print the modules that would run")
    parser.add_argument("--jobs", type=int, default=(os.cpu_count() or 1) + 1, help="processes side by side")
    options = parser.parse_args()
    # A shell without job control has what it runs in the background ignore it, and so would the programs under test.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if unknown := [name for name in options.names if not (FOLDER / f"{name}.py").exists()]:
        parser.error(f"there is no module {', '.join(unknown)}")
    names = options.names or sorted(path.stem for path in FOLDER.glob("test_*.py"))
    if options.quick:
        names = [name for name in names if says(name, "QUICK")]
    if options.filter:
        names = [name for name in names if tests_of(name, options.filter).countTestCases()]
    if options.list:
        print(*names, sep="\n")
        return 0
    if len(names) == 1:
        results = [run(names[0], options.filter)]
    else:
        results = run_side_by_side(names, options.filter, max(1, options.jobs))
    passed, failed = (sum(column) for column in zip(*results)) if results else (0, 0)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not (passed or options.filter) else 0


if __name__ == "__main__":
    sys.exit(main())
