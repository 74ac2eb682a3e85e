"""Compiles an adapter of Tests/EndToEnd/plugins/ to a program, against the build that is tested."""

import atexit
import functools
import pathlib
import shutil
import subprocess
import tempfile

from harness import BUILD, ROOT

PROGRAM = """
import AdapterWorker
@main struct Program {{ static func main() {{ AdapterWorkerProgram.run({name}Module.self) }} }}
"""
MODULES = ("ValueTree", "AdapterKit", "AdapterProtocol", "AdapterWorker")


@functools.cache
def compiled(name):
    """The path of the program that NAME.swift.txt is compiled to."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix=f"portico-{name.lower()}-"))
    atexit.register(shutil.rmtree, folder, True)
    # Not `.swift` in the tree: it belongs to no target.
    shutil.copy(ROOT / f"Tests/EndToEnd/plugins/{name}.swift.txt", folder / f"{name}.swift")
    (folder / "Program.swift").write_text(PROGRAM.format(name=name))
    objects = [path for module in MODULES for path in (BUILD / f"{module}.build").rglob("*.o")]
    done = subprocess.run(
        ["swiftc", "-parse-as-library", "-module-name", name, "-swift-version", "6", "-I", BUILD / "Modules",
         "-o", f"{name.lower()}-worker", f"{name}.swift", "Program.swift", *objects],
        cwd=folder, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder / f"{name.lower()}-worker"
