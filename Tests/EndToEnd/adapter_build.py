"""Builds packages of adapters, as their authors do, in one build folder that they share: AdapterKit is compiled once."""

import subprocess

from harness import ROOT

SCRATCH = ROOT / ".build" / "adapters"
LONGEST_SECONDS = 1100


def swift(command, folder, *arguments):
    """`swift build` or `swift test` of the package in a folder: its exit status and all that it said."""
    # A plan that is kept in the build folder may be another package's.
    return subprocess.run(
        ["swift", command, "--package-path", str(folder), "--scratch-path", str(SCRATCH),
         "--disable-build-manifest-caching", "-j", "2", *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=LONGEST_SECONDS)


def plugin(name, mode):
    """The path of what Plugins/NAME builds for the mode, `inProcess` or `worker`."""
    product, file = {"inProcess": (name, f"lib{name}.so"), "worker": (f"{name.lower()}-worker",) * 2}[mode]
    built = swift("build", ROOT / "Plugins" / name, "--product", product)
    assert built.returncode == 0, built.stdout[-4000:]
    return SCRATCH / "debug" / file
