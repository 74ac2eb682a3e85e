"""The tutorials: each step of the client library's compiles; that of adapters, followed step by step, does what it says."""

import shutil
import subprocess
import unittest

from generated_adapter import GeneratedAdapter
from harness import BUILD, ROOT

CLIENT = ROOT / "Sources" / "Client"
STEPS = CLIENT / "Client.docc" / "Resources"
MODULES = BUILD / "Modules"


@unittest.skipUnless((MODULES / "Client.swiftmodule").exists(), "the client library is not built")
class Tutorial(unittest.TestCase):
    def test_every_step_compiles(self):
        programs = sorted(path for path in STEPS.glob("*.swift") if "package" not in path.name)
        self.assertGreaterEqual(len(programs), 6)
        for program in programs:
            done = subprocess.run(
                ["swiftc", "-typecheck", "-swift-version", "6", *includes(), str(program)], capture_output=True,
                text=True, timeout=300)
            self.assertEqual(done.returncode, 0, f"{program.name}\n{done.stderr}")


def includes():
    """Where the modules are, and the maps of the C libraries that they name."""
    checkouts = ROOT / ".build" / "checkouts"
    maps = [path.parent for depth in ("*", "*/include") for path in sorted(checkouts.glob(f"*/Sources/{depth}/module.modulemap"))]
    return [part for path in [MODULES, *maps] for part in ("-I", str(path))]


class AdapterTutorial(GeneratedAdapter):
    steps = ROOT / "Sources" / "AdapterKit" / "AdapterKit.docc" / "Resources"

    def test_the_page_has_the_steps_as_they_are(self):
        page = (ROOT / "docs/adapter-tutorial.md").read_text()
        self.assertEqual([step.name for step in self.steps.glob("0*") if step.read_text().rstrip() not in page], [])

    def test_the_steps_make_an_adapter_that_passes_its_tests_and_serves(self):
        folder = self.generate("tasks", "entity")
        sources = folder / "Sources" / "TasksAdapter"
        for step, place in (
            ("02-item.swift", sources / "Item.swift"), ("03-finish.swift", sources / "Finish.swift"),
            ("04-module.swift", sources / "TasksModule.swift"),
            ("05-tests.swift", folder / "Tests" / "TasksAdapterTests" / "TasksTests.swift"),
        ):
            shutil.copy(self.steps / step, place)
        self.check_and_build(folder, 2)
        gateway = self.serve(folder)
        item = {"id": "carol", "title": "Call Carol", "sharedWith": ["bob"]}
        self.assertEqual(gateway.send("POST", "/api/v1/tasks/items", item, user="alice").status, 201)
        finish = "/api/v1/tasks/operations/finish"
        self.assertEqual(gateway.send("POST", finish, {"id": "carol"}, user="bob").json(), {"id": "carol", "isDone": True})


del GeneratedAdapter


if __name__ == "__main__":
    unittest.main()
