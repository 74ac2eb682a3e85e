"""A Swift package as its manifest declares it: targets, their sources, dependencies and settings.

`swift package describe` knows the sources, `swift package dump-package` the settings; neither resolves dependencies,
so both are quick and work offline.
"""

import json
import os
import subprocess
from dataclasses import dataclass


@dataclass(frozen=True)
class Target:
    name: str
    kind: str  # library, executable, test, plugin, macro, system-target
    language: str  # SwiftTarget, ClangTarget, ...
    sources: tuple  # relative to the repository's root
    targets: tuple  # names of targets of the same package
    products: tuple  # names of products of other packages
    settings: tuple  # (kind, value) pairs for the Swift compiler
    package: str  # the package's folder, relative to the root

    @property
    def is_test(self):
        return self.kind == "test"


@dataclass(frozen=True)
class Package:
    folder: str
    name: str
    targets: tuple
    products: dict  # product name -> names of its targets

    @property
    def is_benchmark(self):
        return self.folder.startswith("Benchmarks")

    @property
    def manifest(self):
        return os.path.normpath(os.path.join(self.folder, "Package.swift"))

    @classmethod
    def load(cls, root, folder):
        described = _swift_package(root, folder, "describe", "--type", "json")
        dumped = _swift_package(root, folder, "dump-package")
        settings = {target["name"]: _swift_settings(target) for target in dumped["targets"]}
        targets = tuple(_target(target, folder, settings) for target in described["targets"])
        products = {product["name"]: product["targets"] for product in described["products"]}
        return cls(folder, described["name"], targets, products)


def _swift_package(root, folder, *arguments):
    ran = subprocess.run(
        ["swift", "package", "--package-path", str(root / folder), *arguments], capture_output=True, text=True)
    if ran.returncode != 0:
        raise SystemExit(f"{folder}/Package.swift cannot be read:\n{ran.stderr.strip()}")
    return json.loads(ran.stdout)


def _target(target, folder, settings):
    sources = (os.path.join(folder, target["path"], source) for source in target.get("sources", []))
    return Target(
        name=target["name"], kind=target["type"], language=target["module_type"],
        sources=tuple(os.path.normpath(source) for source in sources),
        targets=tuple(target.get("target_dependencies", [])),
        products=tuple(target.get("product_dependencies", [])),
        settings=settings.get(target["name"], ()), package=folder)


def _swift_settings(target):
    return tuple(
        (kind, value.get("_0") if isinstance(value, dict) else value)
        for setting in target["settings"] if setting["tool"] == "swift"
        for kind, value in setting["kind"].items())
