"""Makes the packages of a release out of an installed tree, with their checksums and the list of what is inside.

    python3 -B Deploy/packages TREE SYMBOLS OUTPUT

TREE and SYMBOLS are what `Deploy/install-tree TREE SYMBOLS` wrote. OUTPUT gets the Debian package, the tarball, the image, the
debug symbols, the SPDX document and SHA256SUMS; what is there is replaced. The same tree of the same commit gives the same
bytes: names are sorted, owners are 0, and every time is that of the commit.
"""

import hashlib
import pathlib
import shutil
import subprocess
import sys
import tempfile

import archive
import components
import debian
import image
import spdx
from release import Release
from system_libraries import SystemLibraries

ROOT = pathlib.Path(__file__).resolve().parents[2]
MOST_PACKED, MOST_INSTALLED = 30_000_000, 100_000_000


def configuration(tree, work):
    """What `portico init` writes where nobody chooses anything."""
    folder = work / "configuration"
    subprocess.run(
        [tree / "bin/portico", "init", folder, "--yes", "--data", work / "data"], check=True, stdout=subprocess.DEVNULL)
    return (folder / "portico.yaml").read_text()


def write_notices(inside, tree):
    folder = tree / "share/doc/portico/notices"
    for component in inside:
        for name, text in component.notices:
            target = folder / component.file_name / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)


def digest(file):
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def make(tree, symbols, output, work):
    release = Release.of(ROOT, tree)
    staged = work / "tree"
    shutil.copytree(tree, staged, symlinks=True)
    inside = components.linked(ROOT)
    write_notices(inside, staged)
    files = {}

    package, installed = debian.write(release, staged, configuration(tree, work), output, work)
    files[package] = inside
    symbols_file = output / f"portico-{release.version}-linux-{release.machine}-symbols.tar.xz"
    archive.write(symbols, symbols_file, release.epoch)
    files[symbols_file] = []

    # From here on with the libraries that the Debian package takes from the system.
    libraries = SystemLibraries.used_by(staged)
    libraries.copy(staged / "lib")
    bundled = [*inside, *libraries.components]
    write_notices(libraries.components, staged)
    tarball = output / f"portico-{release.version}-linux-{release.machine}.tar.gz"
    archive.write(staged, tarball, release.epoch, prefix=f"portico-{release.version}")
    files[tarball] = bundled
    image_file, base = image.write(release, staged, output, work)
    files[image_file] = [*bundled, *base]

    document = output / f"portico-{release.version}.spdx.json"
    document.write_text(spdx.document(release, {file: (digest(file), parts) for file, parts in files.items()}))
    sums = "".join(f"{digest(file)}  {file.name}\n" for file in sorted([*files, document]))
    (output / "SHA256SUMS").write_text(sums)
    for file in [*files, document]:
        print(f"{file.stat().st_size / 1e6:8.1f} MB  {file.name}")
    print(f"{installed / 1e6:8.1f} MB  installed")
    if package.stat().st_size > MOST_PACKED or installed > MOST_INSTALLED:
        sys.exit(f"{package.name} is larger than {MOST_PACKED // 10**6} MB, or than {MOST_INSTALLED // 10**6} MB installed")


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    tree, symbols, output = (pathlib.Path(argument).resolve() for argument in sys.argv[1:])
    output.mkdir(parents=True, exist_ok=True)
    for old in output.glob("portico[-_]*"):
        old.unlink()
    with tempfile.TemporaryDirectory(dir=output) as work:
        make(tree, symbols, output, pathlib.Path(work))


if __name__ == "__main__":
    main()
