"""The tutorial of the client library: each step is a program that compiles."""

import subprocess
import unittest

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
    return [part for path in [MODULES, ROOT / "Sources" / "AdapterKit" / "CAdapterKitStamp", *maps] for part in ("-I", str(path))]


if __name__ == "__main__":
    unittest.main()
