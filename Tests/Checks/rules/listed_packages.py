"""Every test of the repository is run by `make test`: a package is listed in `.ci/packages`, or the host's manifest
declares its test targets as well, of the same sources; those below Benchmarks have none and are built by `make bench`."""

from violation import Violation


def check(repository):
    host = {target.name: target for package in repository.packages if package.folder == "." for target in package.targets}
    for package in repository.packages:
        if package.is_benchmark or package.folder in repository.listed_packages:
            continue
        tests = [target for target in package.targets if target.is_test]
        if not tests or not all(_is_in(host, target) for target in tests):
            yield Violation(
                package.manifest, 0, "packages",
                f"add `{package.folder}` to .ci/packages, or its tests to the host's Package.swift by `packageTests`; "
                "else nothing runs them")


def _is_in(host, target):
    twin = host.get(target.name)
    return twin is not None and twin.is_test and twin.sources == target.sources
