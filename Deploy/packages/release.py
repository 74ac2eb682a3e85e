"""Which release a tree is of: its version, commit, time and machine."""

import datetime
import platform
import subprocess
from dataclasses import dataclass

_DEBIAN = {"x86_64": "amd64", "aarch64": "arm64"}


@dataclass(frozen=True)
class Release:
    """`version` is a semantic version; `epoch` the commit's time in seconds, which every file of a package gets."""

    version: str
    commit: str
    epoch: int
    machine: str

    @staticmethod
    def of(root, tree):
        """The version is the program's where its tag is at the commit; else one that comes before it, in the order of commits."""
        def git(*arguments):
            return subprocess.run(["git", "-C", root, *arguments], check=True, capture_output=True, text=True).stdout.strip()

        commit, epoch = git("show", "-s", "--format=%H %ct", "HEAD").split()
        # The first line; what is compiled in follows.
        version = subprocess.run(
            [tree / "bin/portico", "--version"], check=True, capture_output=True, text=True).stdout.splitlines()[0]
        if f"v{version}" not in git("tag", "--points-at", "HEAD").split():
            time = datetime.datetime.fromtimestamp(int(epoch), datetime.timezone.utc)
            changed = ".changed" if git("status", "--porcelain", "--untracked-files=no") else ""
            version += f"-dev.{time:%Y%m%d%H%M%S}.g{commit[:8]}{changed}"
        return Release(version, commit, int(epoch), platform.machine())

    @property
    def debian_version(self):
        """A tilde sorts before the end of a version, as a hyphen does in a semantic one."""
        return self.version.replace("-", "~", 1)

    @property
    def debian_architecture(self):
        return _DEBIAN[self.machine]

    @property
    def time(self):
        return f"{datetime.datetime.fromtimestamp(self.epoch, datetime.timezone.utc):%Y-%m-%dT%H:%M:%SZ}"
