"""What is linked into the programs, by the lists that the linker was given: packages of Swift, the C libraries that some of
them carry, and the Swift runtime.
"""

import json
import pathlib
import re
import subprocess
from dataclasses import dataclass

MODULE = re.compile(r"/([^/]+)\.build/")
TARGET = re.compile(r"\.target\(\s*name: \"(\w+)\"")
DERIVED = re.compile(r"derived from (\w+) cloned from (\S+) at revision (\w+)")
# C libraries whose sources a package carries, by the module that holds them; where their version is found, if anywhere.
CARRIED = {
    "CNIOLLHTTP": ("llhttp", "MIT", re.compile(r"LLHTTP_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)")),
    "CYaml": ("libyaml", "MIT", None),
    "CXKCP": ("XKCP", None, None),
}


@dataclass(frozen=True)
class Component:
    """Something of others that is inside. `location` and `license` (SPDX) are None where they are not known; `notices` are
    files by name that have to go with it."""

    name: str
    version: str | None
    location: str | None
    license: str | None
    package_url: str | None
    notices: tuple = ()

    @property
    def file_name(self):
        return self.name if not self.version or not self.name.startswith("BoringSSL") else f"{self.name}-{self.version[:12]}"


def linked(root):
    """Throws where a module that was linked is neither this repository's nor a resolved package's."""
    build = root / ".build/release"
    modules = set()
    for products in [build, *sorted((root / "Plugins").glob("*/.build/release"))]:
        for linked_objects in products.glob("*.product/Objects.LinkFileList"):
            if linked_objects.parent.stem in programs(root):
                modules |= set(MODULE.findall(linked_objects.read_text()))
    if not modules:
        raise LookupError(f"{build} has no list of linked objects; build the release first")
    pins = json.loads((root / "Package.resolved").read_text())["pins"]
    found, known = [], set()
    for pin in sorted(pins, key=lambda one: one["identity"]):
        folder = checkout(root, pin)
        # Sources/Module as a rule; GRDB has its module at the top, and some modules have folders of other names.
        here = {path.name: path for path in [*folder.glob("*/"), *folder.glob("Sources/*/")] if path.name in modules}
        here = {name: folder for name in TARGET.findall((folder / "Package.swift").read_text()) if name in modules} | here
        if not here:
            continue
        known |= set(here)
        found.append(swift_package(pin, folder))
        for name, path in sorted(here.items()):
            found += carried(name, path)
    own = "".join(path.read_text() for path in [root / "Package.swift", *root.glob("Sources/*/Package.swift"), *root.glob("Plugins/*/Package.swift")])
    strangers = sorted(name for name in modules - known if f'"{name}"' not in own)
    if strangers:
        raise LookupError(f"of no package: {', '.join(strangers)}")
    return [*dict.fromkeys(found), swift_runtime()]


def programs(root):
    """The products that a tree has: the gateway and the programs of adapters, by their names in this package and in their own."""
    names = [path.name for path in (root / "Plugins").glob("*/")]
    return {"portico", *(f"{name}Worker" for name in names), *(f"{name.lower()}-worker" for name in names)}


def checkout(root, pin):
    folders = {path.name.lower(): path for path in (root / ".build/checkouts").iterdir()}
    return folders[pin["location"].removesuffix(".git").rsplit("/", 1)[1].lower()]


def swift_package(pin, folder):
    location, state = pin["location"].removesuffix(".git"), pin["state"]
    notices = tuple(
        (path.name, path.read_text()) for path in sorted(folder.iterdir())
        if path.is_file() and re.match(r"LICEN[SC]E|NOTICE", path.name, re.IGNORECASE))
    text = next(text for name, text in notices if name.upper().startswith("LICEN"))
    return Component(
        name=pin["identity"], version=state.get("version", state["revision"]), location=f"git+{location}@{state['revision']}",
        license=license_of(text), package_url=f"pkg:swift/{location.split('://')[1]}@{state.get('version', state['revision'])}",
        notices=notices)


def license_of(text):
    if "Apache License" in text:
        return "Apache-2.0 WITH Swift-exception" if "Runtime Library Exception" in text else "Apache-2.0"
    return "MIT" if "Permission is hereby granted, free of charge" in text else None


def carried(module, folder):
    derived = DERIVED.search((folder / "hash.txt").read_text()) if (folder / "hash.txt").exists() else None
    if derived:
        return [Component(derived[1], derived[3], f"git+{derived[2]}@{derived[3]}", None, None)]
    if module not in CARRIED:
        return []
    name, license_name, pattern = CARRIED[module]
    texts = "".join(path.read_text(errors="replace") for path in sorted(folder.rglob("*.h")))
    version = ".".join(pattern.findall(texts)[:3]) if pattern else ""
    return [Component(name, version or None, None, license_name, None)]


def swift_runtime():
    """The libraries of Swift in lib/, with ICU in them."""
    line = subprocess.run(["swift", "--version"], check=True, capture_output=True, text=True).stdout
    version = re.search(r"swift-([\d.]+)-RELEASE|Swift version ([\d.]+)", line)
    info = json.loads(subprocess.run(["swift", "-print-target-info"], check=True, capture_output=True, text=True).stdout)
    share = pathlib.Path(info["paths"]["runtimeResourcePath"]).parents[1] / "share/swift/LICENSE.txt"
    return Component(
        name="swift-runtime", version=version[1] or version[2], location="https://www.swift.org",
        license="Apache-2.0 WITH Swift-exception", package_url=None,
        notices=(("LICENSE.txt", share.read_text()),) if share.exists() else ())
