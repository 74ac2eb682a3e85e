"""Builds packages of adapters, as their authors do, in one build folder that they share: AdapterKit is compiled once.

What was built is copied out of it before it is used, because the next build may write over libraries that are mapped.
"""

import atexit
import contextlib
import fcntl
import os
import pathlib
import shutil
import subprocess
import tempfile

from harness import ROOT

SCRATCH = ROOT / ".build" / "adapters"
LONGEST_SECONDS = 1100
# The tree of an earlier revision, whose adapters are used instead of this one's (.ci/test-older-workers).
OLDER = pathlib.Path(os.environ["PORTICO_OLDER_PLUGINS"]) if "PORTICO_OLDER_PLUGINS" in os.environ else None
PLUGINS = (OLDER or ROOT) / "Plugins"


@contextlib.contextmanager
def build_folder():
    """The folder, while no other test builds in it."""
    SCRATCH.mkdir(parents=True, exist_ok=True)
    with open(SCRATCH / "tests.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield SCRATCH


def swift(command, folder, *arguments):
    """`swift build` or `swift test` of the package in a folder: its exit status and all that it said."""
    # A plan that is kept in the build folder may be another package's.
    return subprocess.run(
        ["swift", command, "--package-path", str(folder), "--scratch-path", str(SCRATCH),
         "--disable-build-manifest-caching", "-j", "2", *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=LONGEST_SECONDS)


def copy_products(destination, *names):
    """Those of the programs that were built."""
    destination.mkdir(parents=True, exist_ok=True)
    for name in names:
        shutil.copy2(SCRATCH / "debug" / name, destination / name)


def plugin(name):
    """The path of the program of Plugins/NAME."""
    program = f"{name.lower()}-worker"
    if OLDER:
        return OLDER / "programs" / name / program
    folder = pathlib.Path(tempfile.mkdtemp(prefix="portico-plugin-"))
    atexit.register(shutil.rmtree, folder, True)
    with build_folder():
        built = swift("build", ROOT / "Plugins" / name, "--product", program)
        assert built.returncode == 0, built.stdout[-4000:]
        copy_products(folder, program)
    return folder / program
