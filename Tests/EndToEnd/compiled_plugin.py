"""Compiles an adapter of Tests/EndToEnd/plugins/ against the build that is tested, as a library or as a program."""

import atexit
import functools
import pathlib
import shutil
import subprocess
import tempfile

from harness import BUILD, ROOT

STAMP = """
import CAdapterKitStamp
@c(adapterkit_stamp) public func stamp() -> UnsafePointer<AdapterKitStamp> {{ adapterKitStamp() }}
@c(adapterkit_module) public func module() -> UnsafeMutableRawPointer {{ adapterModuleBox({name}Module.self) }}
"""
PROGRAM = """
import AdapterWorker
@main struct Program {{ static func main() {{ AdapterWorkerProgram.run({name}Module.self) }} }}
"""


@functools.cache
def compiled(name, mode):
    """The path of what NAME.swift.txt is compiled to for the mode, `inProcess` or `worker`."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix=f"portico-{name.lower()}-"))
    atexit.register(shutil.rmtree, folder, True)
    # Not `.swift` in the tree: it belongs to no target.
    shutil.copy(ROOT / f"Tests/EndToEnd/plugins/{name}.swift.txt", folder / f"{name}.swift")
    sources, kind, product = [f"{name}.swift"], ["-emit-library"], f"lib{name}.so"
    if mode == "worker":
        (folder / "Program.swift").write_text(PROGRAM.format(name=name))
        objects = [path for module in ("AdapterWorker", "AdapterProtocol") for path in (BUILD / f"{module}.build").rglob("*.o")]
        sources, kind = [*sources, "Program.swift", *objects], ["-Xlinker", "-rpath", "-Xlinker", "$ORIGIN"]
        product = f"{name.lower()}-worker"
        shutil.copy(BUILD / "libAdapterKit.so", folder)
    else:
        with (folder / f"{name}.swift").open("a") as file:
            file.write(STAMP.format(name=name))
    done = subprocess.run(
        ["swiftc", *kind, "-parse-as-library", "-module-name", name, "-swift-version", "6",
         "-I", BUILD / "Modules", "-I", ROOT / "Sources/AdapterKit/CAdapterKitStamp", "-L", BUILD, "-lAdapterKit",
         "-o", product, *sources],
        cwd=folder, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder / product
