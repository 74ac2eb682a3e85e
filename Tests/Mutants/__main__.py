"""Mutation testing: does the smallest test that could find a fault find it?

    python3 -B Tests/Mutants MODULE [--count 50] [--seed 1] [--tree DIR] [--mutant N …] [--list]

Copies the package to DIR (.build/mutants/tree), writes about fifty mutants into the module's sources there, chosen at run
time by the environment variable MUTANT, and builds the tests once. Then runs the tests that modules.json names for the
module: once without a mutant, which must pass, and once with each, until a test fails or the time limit passes. The same
seed chooses the same mutants, as long as their lines stay as they are. survivors.json says of surviving mutants why they
survive. Ends with 1 where fewer than 85 % of the mutants that change behaviour are caught.
"""

import argparse
import json
import os
import re
import selectors
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

from mutations import Mutant, chosen, rewritten

ROOT = Path(__file__).resolve().parent.parent.parent
HERE = Path(__file__).resolve().parent
GOAL = 85
# Chosen beyond what is wanted, since some do not compile.
SPARE = 1.5
SELECTOR = """
// Written by Tests/Mutants.
#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif
@usableFromInline let activeMutant: Int = getenv("MUTANT").flatMap { Int(String(cString: $0)) } ?? 0
@usableFromInline func isMutant(_ number: Int) -> Bool { activeMutant == number }
"""


def run(*command, cwd, **options):
    return subprocess.run(command, cwd=cwd, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options)


def copy_package(tree):
    """Makes the tree's files those of the repository; unchanged ones keep their times, so that the build stays warm."""
    listed = run("git", "ls-files", "-co", "--exclude-standard", cwd=ROOT).stdout.splitlines()
    for name in listed:
        source, target = ROOT / name, tree / name
        if not source.is_file() or name.startswith("Tests/Mutants"):
            continue
        if target.is_file() and target.read_bytes() == source.read_bytes():
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, target)
        os.utime(target)
    for name in run("git", "ls-files", "-o", "--exclude-standard", cwd=tree).stdout.splitlines():
        if name.endswith("MutantSelector.swift"):
            (tree / name).unlink()
    for left in tree.glob("Sources/**/MutantSelector.swift"):
        left.unlink()


class Module:
    def __init__(self, name, tree):
        table = json.loads((HERE / "modules.json").read_text())["modules"]
        if name not in table:
            sys.exit(f"no module {name}; there are {', '.join(table)}")
        self.name, self.tree = name, tree
        self.folder = table[name]["sources"]
        self.filter = "^(" + "|".join(table[name]["tests"]) + r")\."

    def sources(self):
        for path in sorted((ROOT / self.folder).rglob("*.swift")):
            if not {".build", "Tests", "Drivers"} & set(path.relative_to(ROOT / self.folder).parts):
                yield str(path.relative_to(ROOT)), path.read_text()

    def write(self, mutants):
        for name, text in self.sources():
            new = rewritten(text, [m for m in mutants if m.file == name])
            target = self.tree / name
            if target.read_text() != new:
                target.write_text(new)
        (self.tree / self.folder / "MutantSelector.swift").write_text(SELECTOR)

    def build(self, mutants):
        """Leaves out what does not compile. The mutants that are left."""
        while True:
            self.write(mutants)
            done = run("swift", "build", "-j", "2", "--target", self.name, cwd=self.tree)
            if done.returncode == 0:
                break
            errors = set(re.findall(r"^(/\S+\.swift):(\d+):\d+: error:", done.stdout, re.M))
            wrong = set()
            for path, line in errors:
                name = os.path.relpath(path, self.tree)
                near = [m for m in mutants if m.file == name]
                if near:
                    hit = [m for m in near if m.line <= int(line) <= m.last_line]
                    wrong |= set(hit or [min(near, key=lambda m: abs(m.line - int(line)))])
            if not wrong:
                sys.exit(done.stdout[-4000:])
            print(f"{len(wrong)} of {len(mutants)} mutants do not compile", flush=True)
            mutants = [m for m in mutants if m not in wrong]
        done = run("swift", "build", "-j", "2", "--product", "PorticoPackageTests", cwd=self.tree)
        if done.returncode != 0:
            sys.exit(done.stdout[-4000:])
        return mutants

    def test(self, number, limit):
        """'passed', 'failed' or 'late', the test that failed first, and the seconds that it took."""
        environment = dict(
            os.environ, MUTANT=str(number), SWIFT_BACKTRACE="enable=no", TEST_SECONDS="1",
            SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH="8")
        command = [
            str(self.tree / ".build/debug/PorticoPackageTests.xctest"), "--testing-library", "swift-testing", "--filter",
            self.filter]
        start = time.monotonic()
        process = subprocess.Popen(
            command, cwd=self.tree, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            errors="replace", start_new_session=True)
        result, first, ran = "passed", "", 0
        with selectors.DefaultSelector() as selector:
            os.set_blocking(process.stdout.fileno(), False)
            selector.register(process.stdout, selectors.EVENT_READ)
            buffer = ""
            while result == "passed":
                if not selector.select(timeout=max(0, start + limit - time.monotonic())):
                    result = "late"
                    break
                piece = process.stdout.read()
                if not piece:
                    break
                buffer += piece
                *lines, buffer = buffer.split("\n")
                for line in lines:
                    if m := re.search(r"Test run with (\d+) test", line):
                        ran = int(m[1])
                    if "✘" in line and "recorded an issue" in line and "known issue" not in line:
                        result, first = "failed", re.sub(r"\x1b\[\d*m", "", line.split("✘", 1)[1]).strip()[:150]
                        break
        if result != "passed":
            os.killpg(process.pid, signal.SIGKILL)
        code = process.wait()
        process.stdout.close()
        if result == "passed" and code != 0:
            result, first = "failed", f"the process ended with {code}"
        if result == "passed" and ran == 0:
            sys.exit(f"no test of {self.filter} ran")
        return result, first, time.monotonic() - start


def classes(module):
    """Why a mutant survives: `equivalent` (nothing can tell), `unimportant` (nobody would miss it), `missing` (a test is)."""
    listed = json.loads((HERE / "survivors.json").read_text())
    return {(one["file"], one["original"], one["mutated"]): one for one in listed if one["module"] == module}


def main():
    parser = argparse.ArgumentParser(prog="Tests/Mutants", description=__doc__.split("\n")[0])
    parser.add_argument("module")
    parser.add_argument("--count", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tree", type=Path, default=ROOT / ".build/mutants/tree")
    parser.add_argument("--mutant", type=int, nargs="*", help="these alone, by number")
    parser.add_argument("--list", action="store_true", help="show the chosen mutants, build nothing")
    options = parser.parse_args()
    tree = options.tree.resolve()
    module = Module(options.module, tree)
    wanted = chosen(dict(module.sources()), int(options.count * SPARE), options.seed)
    if options.list:
        for mutant in wanted:
            print(mutant)
        return
    tree.mkdir(parents=True, exist_ok=True)
    copy_package(tree)
    mutants = module.build(wanted)[: options.count]
    result, first, seconds = module.test(0, 600)
    if result != "passed":
        sys.exit(f"without a mutant, the tests fail: {first}")
    limit = 4 * seconds + 20
    print(f"{len(mutants)} mutants of {module.name}; its tests take {seconds:.1f} s, the limit is {limit:.0f} s", flush=True)
    known, results = classes(module.name), []
    for mutant in mutants:
        if options.mutant is not None and mutant.number not in options.mutant:
            continue
        outcome, first, seconds = module.test(mutant.number, limit)
        reason = known.get((mutant.file, mutant.original, mutant.mutated))
        kind = {"failed": "caught", "late": "caught"}.get(outcome) or (reason["class"] if reason else "survived")
        results.append({**mutant.as_dict(), "outcome": kind, "by": first or outcome, "seconds": round(seconds, 1)})
        print(f"{kind:11} {mutant}" + (f"\n            by {first or outcome}" if kind == "caught" else ""), flush=True)
    report(module.name, results, tree)


def report(name, results, tree):
    equivalent = sum(one["outcome"] == "equivalent" for one in results)
    caught = sum(one["outcome"] == "caught" for one in results)
    share = 100 * caught / max(1, len(results) - equivalent)
    out = ROOT / ".build/mutants"
    out.mkdir(parents=True, exist_ok=True)
    (out / f"{name}.json").write_text(json.dumps(results, indent=1))
    print(f"{name}: {caught} of {len(results) - equivalent} caught, {share:.0f} %; {equivalent} equivalent")
    if share < GOAL:
        sys.exit(1)


if __name__ == "__main__":
    main()
