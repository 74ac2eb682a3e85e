"""The tutorial of the client library: each of its steps is a program that compiles as it stands."""

import subprocess
import unittest

from harness import ROOT

STEPS = ROOT / "Sources" / "Client" / "Client.docc" / "Resources"
MODULES = ROOT / "Sources" / "Client" / ".build" / "debug" / "Modules"


@unittest.skipUnless(MODULES.exists(), "the client library is not built")
class Tutorial(unittest.TestCase):
    def test_every_step_compiles(self):
        programs = sorted(path for path in STEPS.glob("*.swift") if "package" not in path.name)
        self.assertGreaterEqual(len(programs), 6)
        for program in programs:
            # A module map for each C library that the client's modules name.
            maps = ["-I", str(ROOT / "Sources" / "AdapterKit" / "CAdapterKitStamp")] + [
                part for path in sorted((ROOT / "Sources" / "Client" / ".build").glob("checkouts/*/Sources/*/include"))
                    for part in ("-I", str(path))]
            done = subprocess.run(
                ["swiftc", "-typecheck", "-swift-version", "6", "-I", str(MODULES), *maps, str(program)], capture_output=True, text=True, timeout=300)
            self.assertEqual(done.returncode, 0, f"{program.name}\n{done.stderr}")


if __name__ == "__main__":
    unittest.main()
