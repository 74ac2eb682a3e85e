"""Mutation testing: does the smallest test that could find a fault find it?

    python3 -B Tests/Mutants MODULE … [--count 50] [--seed 1] [--tree DIR] [--mutant N …] [--survivors] [--quick] [--list]

Copies the package to DIR (.build/mutants/tree), writes about fifty mutants into the sources of each module there, chosen
at run time by the environment variable MUTANT, and builds the tests once. Then runs the tests that modules.json names for a
module: once without a mutant, which must pass, and once with each, until a test fails or the time limit passes. The same
seed chooses the same mutants, as long as their lines stay as they are. survivors.json says of surviving mutants why they
survive. --survivors runs only those that the last run of the module left. Ends with 1 where fewer than 85 % of the mutants
of a module that change behaviour are caught.
"""

import argparse
import json
import os
import re
import resource
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
# Of a test process: a mutant may turn a loop into one that never ends.
MOST_MEMORY = 6 << 30
# What did not compile in an earlier run is not written again.
REFUSED = ROOT / ".build/mutants/refused.json"
SELECTOR = """
// Written by Tests/Mutants.
#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif
@usableFromInline let activeMutant: Int = {
    guard let chosen = getenv("MUTANT").map({ String(cString: $0) }), chosen.hasPrefix("MODULE:") else { return 0 }
    return Int(chosen.dropFirst("MODULE:".count)) ?? 0
}()
@usableFromInline func isMutant(_ number: Int) -> Bool { activeMutant == number }
"""


def run(*command, cwd, **options):
    return subprocess.run(command, cwd=cwd, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options)


def copy_package(tree, modules):
    """Makes the tree's files those of the repository, those of the modules with their mutants. What is as it should be keeps
    its time, so that the build stays warm."""
    written = {name: text for module in modules for name, text in module.mutated().items()}
    listed = run("git", "ls-files", "-co", "--exclude-standard", cwd=ROOT).stdout.splitlines()
    for name in listed:
        source, target = ROOT / name, tree / name
        if not source.is_file() or name.startswith("Tests/Mutants") or name in written:
            continue
        if target.is_file() and target.read_bytes() == source.read_bytes():
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, target)
        os.utime(target)
    for name, text in written.items():
        if not (tree / name).is_file() or (tree / name).read_text() != text:
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            (tree / name).write_text(text)
    kept = {*listed, *written}
    for target in [*tree.glob("Sources/**/*.swift"), *tree.glob("Tests/**/*.swift")]:
        if str(target.relative_to(tree)) not in kept and ".build" not in target.parts:
            target.unlink()


def refused():
    return {tuple(one) for one in json.loads(REFUSED.read_text())} if REFUSED.is_file() else set()


def key(mutant):
    return mutant.file, mutant.rule, mutant.original, mutant.mutated


def build(tree, modules):
    """Builds the tests with the mutants of all modules. Leaves out what does not compile."""
    while True:
        copy_package(tree, modules)
        builds = {module.build for module in modules}
        done = next((one for one in (run(*command, cwd=tree) for command in builds) if one.returncode != 0), None)
        if done is None:
            return
        mutants = [mutant for module in modules for mutant in module.mutants]
        wrong = set()
        for path, line in set(re.findall(r"^(/\S+\.swift):(\d+):\d+: error:", done.stdout, re.M)):
            near = [m for m in mutants if m.file == os.path.relpath(path, tree)]
            if near:
                hit = [m for m in near if m.line <= int(line) <= m.last_line]
                wrong |= set(hit or [min(near, key=lambda m: abs(m.line - int(line)))])
        if not wrong:
            # A build goes on after an error, so its end may say nothing of it.
            sys.exit("\n".join(line for line in done.stdout.splitlines() if "error:" in line) or done.stdout[-4000:])
        print(f"{len(wrong)} of {len(mutants)} mutants do not compile", flush=True)
        REFUSED.parent.mkdir(parents=True, exist_ok=True)
        REFUSED.write_text(json.dumps(sorted(refused() | {key(mutant) for mutant in wrong})))
        for module in modules:
            module.mutants = [mutant for mutant in module.mutants if mutant not in wrong]


class Module:
    def __init__(self, name, tree, isQuick):
        table = json.loads((HERE / "modules.json").read_text())["modules"]
        if name not in table:
            sys.exit(f"no module {name}; there are {', '.join(table)}")
        self.name, self.tree = name, tree
        self.folder = table[name]["sources"]
        self.filter = "^(" + "|".join(table[name]["tests"]) + r")\."
        self.slow, self.isQuick = table[name].get("slow", []), isQuick
        self.without = {ROOT / self.folder / name for name in table[name].get("without", [])}
        self.build = ("swift", "build", "-j", "2", "--product", "PorticoPackageTests")
        self.program = tree / ".build/debug/PorticoPackageTests.xctest"
        if package := table[name].get("package"):
            self.build = ("swift", "build", "-j", "2", "--package-path", package, "-c", "release", "--build-tests")
            self.program = tree / package / f".build/release/{Path(package).name}PackageTests.xctest"

    def sources(self):
        for path in sorted((ROOT / self.folder).rglob("*.swift")):
            isOurs = not {".build", "Tests", "Drivers"} & set(path.relative_to(ROOT / self.folder).parts)
            if isOurs and not self.without & {path, *path.parents}:
                yield str(path.relative_to(ROOT)), path.read_text()

    def choose(self, count, seed):
        known = refused()
        wanted = chosen(dict(self.sources()), int(count * SPARE), seed)
        self.mutants = [mutant for mutant in wanted if key(mutant) not in known]

    def mutated(self):
        texts = {name: rewritten(text, [m for m in self.mutants if m.file == name]) for name, text in self.sources()}
        return {**texts, f"{self.folder}/MutantSelector.swift": SELECTOR.replace("MODULE", self.name)}

    def test(self, number, limit):
        """'passed', 'failed' or 'late', the test that failed first, and the seconds that it took. Slow tests come last."""
        if not self.slow:
            return self.run(number, limit, "--filter", self.filter)
        slow = "|".join(self.slow)
        result, first, seconds = self.run(number, limit, "--filter", self.filter, "--skip", slow)
        if result == "passed" and not self.isQuick:
            result, first, more = self.run(number, limit - seconds, "--filter", f"{self.filter}.*({slow})")
            seconds += more
        return result, first, seconds

    def run(self, number, limit, *selection):
        environment = dict(
            os.environ, MUTANT=f"{self.name}:{number}", SWIFT_BACKTRACE="enable=no", TEST_SECONDS="1",
            SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH="8")
        command = [str(self.program), "--testing-library", "swift-testing", *selection]
        start = time.monotonic()
        process = subprocess.Popen(
            command, cwd=self.tree, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            errors="replace", start_new_session=True,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (MOST_MEMORY, MOST_MEMORY)))
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
            sys.exit(f"no test of {' '.join(selection)} ran")
        return result, first, time.monotonic() - start


def classes(module):
    """Why a mutant survives: `equivalent` (nothing can tell), `unimportant` (nobody would miss it), `missing` (a test is)."""
    listed = json.loads((HERE / "survivors.json").read_text())
    return {(one["file"], one["original"], one["mutated"]): one for one in listed if one["module"] == module}


def main():
    parser = argparse.ArgumentParser(prog="Tests/Mutants", description=__doc__.split("\n")[0])
    parser.add_argument("modules", nargs="+", metavar="module")
    parser.add_argument("--count", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tree", type=Path, default=ROOT / ".build/mutants/tree")
    parser.add_argument("--mutant", type=int, nargs="*", help="these alone, by number")
    parser.add_argument("--survivors", action="store_true", help="those alone that the last run left")
    parser.add_argument("--quick", action="store_true", help="leave slow tests out: what survives may be caught by those")
    parser.add_argument("--list", action="store_true", help="show the chosen mutants, build nothing")
    options = parser.parse_args()
    tree = options.tree.resolve()
    modules = [Module(name, tree, options.quick) for name in options.modules]
    for module in modules:
        module.choose(options.count, options.seed)
        if options.list:
            print("\n".join(map(str, module.mutants)))
    if options.list:
        return
    tree.mkdir(parents=True, exist_ok=True)
    build(tree, modules)
    # All of them are run, so that none of them ends the others.
    if not all([measure(module, options) for module in modules]):
        sys.exit(1)


def measure(module, options):
    """Whether enough of a module's mutants are caught."""
    result, first, seconds = module.test(0, 600)
    if result != "passed":
        print(f"{module.name}: without a mutant, the tests fail: {first}")
        return False
    limit = 4 * seconds + 20
    out = ROOT / f".build/mutants/{module.name}.json"
    before = {tuple(one[name] for name in ("file", "rule", "original", "mutated")): one for one in (
        json.loads(out.read_text()) if out.is_file() else [])}
    mutants = module.mutants[: options.count]
    print(f"{len(mutants)} mutants of {module.name}; its tests take {seconds:.1f} s, the limit is {limit:.0f} s", flush=True)
    known, results = classes(module.name), []
    for mutant in mutants:
        reason = known.get((mutant.file, mutant.original, mutant.mutated))
        earlier = before.get(key(mutant))
        isWanted = options.mutant is None or mutant.number in options.mutant
        if earlier and (not isWanted or options.survivors and earlier["outcome"] == "caught"):
            results.append(earlier)
            continue
        if not isWanted:
            continue
        outcome, first, seconds = module.test(mutant.number, limit)
        kind = {"failed": "caught", "late": "caught"}.get(outcome) or (reason["class"] if reason else "survived")
        results.append({**mutant.as_dict(), "outcome": kind, "by": first or outcome, "seconds": round(seconds, 1)})
        print(f"{kind:11} {mutant}" + (f"\n            by {first or outcome}" if kind == "caught" else ""), flush=True)
    equivalent = sum(one["outcome"] == "equivalent" for one in results)
    caught = sum(one["outcome"] == "caught" for one in results)
    share = 100 * caught / max(1, len(results) - equivalent)
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(results, indent=1))
    print(f"{module.name}: {caught} of {len(results) - equivalent} caught, {share:.0f} %; {equivalent} equivalent", flush=True)
    return share >= GOAL


if __name__ == "__main__":
    main()
