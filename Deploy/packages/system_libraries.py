"""The libraries of the system that the programs of a tree load, with the Debian packages they are from."""

import pathlib
import re
import shutil
import subprocess
from dataclasses import dataclass

from components import Component

# The C library and its loader belong together and to the kernel's machine: a tree takes the machine's.
C_LIBRARY = "libc6"
# A line of ldd. Paths may have spaces.
LOADED = re.compile(r"\s*(?P<name>\S+) => (?P<file>/.*) \(0x[0-9a-f]+\)$")


@dataclass(frozen=True)
class SystemLibraries:
    """Files by the name that programs load them by."""

    files: dict
    packages: list

    @staticmethod
    def used_by(tree):
        programs = [path for part in ["bin", "lib", "plugins"] for path in sorted((tree / part).rglob("*")) if path.is_file()]
        files, packages = {}, set()
        for line in subprocess.run(["ldd", *programs], check=True, capture_output=True, text=True).stdout.splitlines():
            found = LOADED.match(line)
            if not found or pathlib.Path(found["file"]).is_relative_to(tree):
                continue
            package = package_of(found["file"])
            if package != C_LIBRARY:
                files[found["name"]] = pathlib.Path(found["file"]).resolve()
                packages.add(package)
        return SystemLibraries(files, sorted(packages))

    def copy(self, folder):
        for name, file in self.files.items():
            shutil.copy(file, folder / name)
            (folder / name).chmod(0o755)
            subprocess.run(["patchelf", "--set-rpath", "$ORIGIN", folder / name], check=True)

    @property
    def components(self):
        return [debian_component(name) for name in self.packages]


def package_of(file):
    """Debian lists a library by its path before /lib became a link to /usr/lib, or by the one after."""
    path = str(pathlib.Path(file).resolve())
    for candidate in [path, path.removeprefix("/usr"), "/usr" + path]:
        done = subprocess.run(["dpkg-query", "--search", candidate], capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return done.stdout.split(":")[0]
    raise LookupError(f"{file} belongs to no Debian package")


def debian_component(name):
    done = subprocess.run(
        ["dpkg-query", "--show", "--showformat=${Version} ${Architecture}", name], check=True, capture_output=True, text=True)
    version, architecture = done.stdout.split()
    return Component(
        name=name, version=version, location=None, license=None,
        package_url=f"pkg:deb/debian/{name}@{version.replace('+', '%2B').replace(':', '%3A')}?arch={architecture}",
        notices=(("copyright", pathlib.Path("/usr/share/doc", name, "copyright").read_text(errors="replace")),))
