"""Every package of the repository is listed in `.ci/packages`, so that `make test` runs its tests; those below
Benchmarks have none and are built by `make bench`."""

from finding import Finding


def check(repository):
    for package in repository.packages:
        if not package.is_benchmark and package.folder not in repository.listed_packages:
            yield Finding(
                package.manifest, 0, "packages",
                f"add `{package.folder}` to .ci/packages, or nothing tests it")
