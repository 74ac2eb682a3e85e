"""The Debian package: the tree in /opt/portico, and what Debian looks for elsewhere."""

import os
import pathlib
import shutil
import subprocess
import textwrap

SCRIPTS = pathlib.Path(__file__).resolve().parents[1] / "debian"
# Found at run time, so no library names them: certificates of authorities, time zones, useradd.
ALSO_NEEDED = ["ca-certificates", "passwd", "tzdata"]
LINKS = {
    "usr/bin/portico": "bin/portico",
    "usr/bin/porticoctl": "bin/porticoctl",
    "usr/share/doc/portico/documents": "share/doc/portico",
    "usr/share/man/man1/portico.1": "share/man/man1/portico.1",
    "usr/share/man/man1/porticoctl.1": "share/man/man1/porticoctl.1",
    "usr/share/bash-completion/completions/portico": "share/bash-completion/completions/portico",
    "usr/share/bash-completion/completions/porticoctl": "share/bash-completion/completions/porticoctl",
    "usr/share/zsh/vendor-completions/_portico": "share/zsh/site-functions/_portico",
    "usr/share/zsh/vendor-completions/_porticoctl": "share/zsh/site-functions/_porticoctl",
    "usr/share/fish/vendor_completions.d/portico.fish": "share/fish/vendor_completions.d/portico.fish",
    "usr/share/fish/vendor_completions.d/porticoctl.fish": "share/fish/vendor_completions.d/porticoctl.fish",
}


def write(release, tree, configuration, output, work):
    """The file, and how many bytes it takes when it is installed."""
    root = work / "debian"
    shutil.copytree(tree, root / "opt/portico", symlinks=True)
    for unit in ["portico.service", "portico.socket"]:
        place(root / "usr/lib/systemd/system" / unit, (tree / "share/portico" / unit).read_text())
    place(root / "etc/portico/portico.yaml", configuration)
    place(root / "usr/share/doc/portico/copyright", copyright_of(tree))
    for link, target in LINKS.items():
        if not (tree / target).exists():
            raise FileNotFoundError(tree / target)
        (root / link).parent.mkdir(parents=True, exist_ok=True)
        (root / link).symlink_to(f"/opt/portico/{target}")
    installed = sum(path.lstat().st_size for path in root.rglob("*") if path.is_file() and not path.is_symlink())
    place(root / "DEBIAN/control", control(release, dependencies(tree, work), installed))
    place(root / "DEBIAN/conffiles", "/etc/portico/portico.yaml\n")
    for script in ["postinst", "prerm", "postrm"]:
        shutil.copy(SCRIPTS / script, root / "DEBIAN" / script)
    for path in [root, *root.rglob("*")]:
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() or os.access(path, os.X_OK) else 0o644)
        os.utime(path, (release.epoch, release.epoch), follow_symlinks=False)
    for script in ["postinst", "prerm", "postrm"]:
        (root / "DEBIAN" / script).chmod(0o755)
    file = output / f"portico_{release.debian_version}_{release.debian_architecture}.deb"
    # One thread, because the number of processors decides about the blocks otherwise.
    subprocess.run(
        ["dpkg-deb", "--root-owner-group", "-Zxz", "-z9", "--threads-max=1", "--build", root, file],
        check=True, stdout=subprocess.DEVNULL, env={**os.environ, "SOURCE_DATE_EPOCH": str(release.epoch)})
    return file, installed


def place(file, text):
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def control(release, needed, installed):
    return textwrap.dedent(f"""\
        Package: portico
        Version: {release.debian_version}
        Architecture: {release.debian_architecture}
        Maintainer: The Portico developers <portico@localhost>
        Installed-Size: {-(-installed // 1024)}
        Depends: {needed}
        Section: net
        Priority: optional
        Description: one backend for a company's mobile apps
         Portico stands in front of the systems that a company has, keeps copies of
         their records in an embedded store, and syncs them to devices that go offline.
         An app signs in once and then uses every system in the format that it likes.
         .
         Built from commit {release.commit}.
        """)


def dependencies(tree, work):
    """The packages of the libraries that the programs load, in the versions that have the symbols they use."""
    folder = work / "dependencies"
    place(folder / "debian/control", "Source: portico\n\nPackage: portico\nArchitecture: any\n")
    files = [path for part in ["bin", "lib", "plugins"] for path in sorted((tree / part).rglob("*")) if path.is_file()]
    found = subprocess.run(
        ["dpkg-shlibdeps", "-O", "--ignore-missing-info", f"-l{tree / 'lib'}", *[f"-e{file}" for file in files]],
        cwd=folder, check=True, capture_output=True, text=True).stdout
    libraries = found.split("shlibs:Depends=", 1)[1].strip().split(", ")
    return ", ".join(sorted([*libraries, *ALSO_NEEDED]))


def copyright_of(tree):
    return (
        "Portico is licensed under the Apache License 2.0, which is in /usr/share/common-licenses/Apache-2.0.\n"
        "The notices of what is linked into its programs, and of the Swift runtime in /opt/portico/lib, are in\n"
        "/opt/portico/share/doc/portico/notices:\n\n"
        + "".join(f"  {path.name}\n" for path in sorted((tree / "share/doc/portico/notices").iterdir())))
