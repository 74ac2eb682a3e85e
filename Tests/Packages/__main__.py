"""What `make package` wrote, on bare roots of Debian: installed and served by the commands of docs/operating.md.

    python3 -B Tests/Packages PACKAGES [OLDER]      # as root

OLDER is a Debian package of an earlier build. Without it the upgrade is from the same programs under a lower version.
"""

import hashlib
import json
import pathlib
import plistlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import unittest

from debian_root import ROOT, DebianRoot, enter_own_network
from served import Served

MOST_SECONDS = 300
PACKAGES, OLDER = None, None


def only(pattern):
    found = sorted(PACKAGES.glob(pattern))
    assert len(found) == 1, f"{pattern} in {PACKAGES}: {[path.name for path in found]}"
    return found[0]


def documented(section, page="docs/operating.md"):
    """The commands of a section of a page, each a line."""
    text = re.split(f"^##+ {section}\n", (ROOT / page).read_text(), flags=re.MULTILINE)[1].split("\n##")[0]
    blocks = re.findall(r"```sh\n(.*?)```", text, re.DOTALL)
    # Nobody answers apt's question here.
    said = {"sudo ": "", "apt-get install": "apt-get install --yes", "apt-get remove": "apt-get remove --yes"}
    return [[replaced(re.sub(r"\s+#.*", "", line), said) for line in block.splitlines()] for block in blocks]


def replaced(text, by):
    for one, other in by.items():
        text = text.replace(one, other)
    return text


def unit_command(root):
    """The command line and the user of the unit that is installed."""
    text = root.path("/usr/lib/systemd/system/portico.service").read_text()
    return re.search(r"^ExecStart=(.*)$", text, re.MULTILINE)[1], re.search(r"^User=(.*)$", text, re.MULTILINE)[1]


def older_package(folder):
    """The same programs under a lower version."""
    root = folder / "older"
    subprocess.run(["dpkg-deb", "--raw-extract", only("*.deb"), root], check=True)
    control = root / "DEBIAN/control"
    control.write_text(re.sub(r"^Version: .*$", "Version: 0.0.1", control.read_text(), flags=re.MULTILINE))
    file = folder / "portico_0.0.1_all.deb"
    subprocess.run(["dpkg-deb", "--root-owner-group", "-Znone", "--build", root, file], check=True, stdout=subprocess.DEVNULL)
    return file


class OnDebian(unittest.TestCase):
    suite = None

    def setUp(self):
        if self.suite is None:
            self.skipTest("for a suite of Debian")
        self.root = DebianRoot(self.suite)
        self.addCleanup(self.root.remove)
        self.root.run("apt-get update -qq", network=True)
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="portico-package-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def serve(self, command, user=None, folder="/home"):
        served = Served(self.root.command(f"exec {command}", user, folder))
        self.addCleanup(served.kill)
        return served

    def install(self, package):
        for old in self.root.path("/home").glob("*.deb"):
            old.unlink()
        shutil.copy(package, self.root.path("/home/portico_VERSION_ARCH.deb"))

    def password(self, output):
        return output.split("with the password ")[1].split(" ")[0]


class Package(OnDebian):
    def begin(self, package):
        """As documented: installed, an administrator made, the unit's command line run. The gateway and the password."""
        (installs, initializes, starts, asks), = documented("On Debian")
        self.install(package)
        self.root.run(installs, network=True)
        self.assertTrue(starts.startswith("systemctl enable --now portico"), starts)
        made = self.root.run(f"{initializes} --yes")
        served = self.serve(*unit_command(self.root))
        self.assertTrue(asks.startswith("curl http://127.0.0.1:8080/"), asks)
        self.assertEqual(served.get(asks.removeprefix("curl http://127.0.0.1:8080"))[0], 200)
        return served, self.password(made)

    def test_it_is_installed_and_serves_within_minutes(self):
        started = time.monotonic()
        served, password = self.begin(only("*.deb"))
        seconds = time.monotonic() - started
        print(f"{self.suite}: from the package to the first answer in {seconds:.0f} s", file=sys.stderr)
        self.assertLess(seconds, MOST_SECONDS)
        token = served.sign_in("admin", password)
        self.assertEqual(served.get("/api/v1/feeds/feeds", token)[0], 200)
        self.assertEqual(served.stop(), 0)
        self.check_what_is_where()

    def check_what_is_where(self):
        for path in ["/etc/portico/portico.yaml", "/opt/portico/share/portico/prometheus-rules.yaml",
                "/opt/portico/share/portico/grafana-dashboard.json", "/usr/lib/systemd/system/portico.socket",
                "/opt/portico/share/doc/portico/docs/operating.md", "/opt/portico/share/doc/portico/notices/swift-nio/LICENSE.txt"]:
            self.assertTrue(self.root.path(path).is_file(), path)
        self.assertEqual(self.root.run("stat -c '%U %a' /var/lib/portico").strip(), "portico 700")
        self.assertEqual(self.root.run("find /var/lib/portico ! -user portico").strip(), "")
        self.root.run("portico --version; porticoctl --version; test -r /usr/share/man/man1/portico.1; "
            "test -r /usr/share/bash-completion/completions/porticoctl")
        unwanted = [line for line in self.root.run("ldd /opt/portico/bin/* 2>&1").splitlines() if "not found" in line]
        self.assertEqual(unwanted, [])

    def test_an_upgrade_and_a_removal_keep_the_data(self):
        served, password = self.begin(OLDER or older_package(self.folder))
        self.assertEqual(served.stop(), 0)
        configuration = self.root.path("/etc/portico/portico.yaml")
        configuration.write_text(configuration.read_text() + "# edited\n")
        before = self.root.run("dpkg-query --show --showformat='${Version}' portico")

        (upgrades,), (removes,) = documented("Upgrading and removing")
        self.install(only("*.deb"))
        self.root.run(upgrades, network=True)
        self.assertNotEqual(self.root.run("dpkg-query --show --showformat='${Version}' portico"), before)
        self.assertIn("# edited", configuration.read_text())
        served = self.serve(*unit_command(self.root))
        served.sign_in("admin", password)
        self.assertEqual(served.stop(), 0)

        self.root.run(removes)
        self.assertFalse(self.root.path("/opt/portico/bin/portico").exists())
        self.assertTrue(self.root.path("/var/lib/portico/portico.sqlite").exists())
        self.assertIn("# edited", configuration.read_text())
        # Whoever installs it again goes on.
        self.root.run(upgrades, network=True)
        self.serve(*unit_command(self.root)).sign_in("admin", password)
        self.assertIn("/var/lib/portico", self.root.run("dpkg --purge portico"))
        self.assertTrue(self.root.path("/var/lib/portico/portico.sqlite").exists())


    def test_the_first_week(self):
        """As root: accounts, records, another adapter, backups, and what there is to look at."""
        served, _ = self.begin(only("*.deb"))
        (adds, publishes), (applies, imports), (makes, names, restarts, lists), looks = documented("The first week")
        shutil.copy(ROOT / "Config/samples/employees.csv", self.root.path("/home"))
        self.root.path("/home/news.plist").write_bytes(plistlib.dumps({"title": "News"}))
        self.root.run(f"echo a password of ada | {adds}")
        self.root.run(publishes)
        token = served.sign_in("ada", "a password of ada")
        self.assertEqual(served.get("/plists/news", token)[0], 200)

        configuration = self.root.path("/etc/portico/portico.yaml")
        configuration.write_text(configuration.read_text().replace("employees: { enabled: false }", "employees: { access: login }"))
        self.root.run(applies)
        self.root.run(imports)
        self.assertIn("firstName", served.get("/api/v1/employees/employees?limit=1", token)[1])

        self.root.run(makes)
        self.root.run(names)
        self.assertEqual(restarts, "systemctl restart portico")
        self.assertEqual(served.stop(), 0)
        self.serve(*unit_command(self.root))
        end = time.monotonic() + MOST_SECONDS
        while "yes" not in (listed := self.root.run(lists)):
            self.assertLess(time.monotonic(), end, listed)
            time.sleep(0.5)
        self.assertIn("/var/backups/portico", listed)
        for look in looks:
            self.root.run(look)


class PackageOnDebian12(Package):
    suite = "bookworm"


class PackageOnDebian13(Package):
    suite = "trixie"


class TarballOnDebian13(OnDebian):
    suite = "trixie"

    def test_it_runs_where_it_is_unpacked(self):
        (unpacks, initializes, serves), = documented("Elsewhere")
        shutil.copy(only("*-linux-*.tar.gz"), self.root.path("/home"))
        self.root.run(unpacks)
        unpacked = self.root.run("echo portico-*/").strip().rstrip("/")
        # It brings every library but the C library.
        for library in ["libsqlite3", "libz", "libstdc++", "libgcc_s"]:
            self.assertIn(f"/home/{unpacked}/bin/../lib/{library}.so", self.root.run(f"ldd {unpacked}/bin/portico"))
        made = self.root.run(f"{initializes} --yes")
        served = self.serve(serves)
        served.sign_in("admin", self.password(made))
        self.assertEqual(served.stop(), 0)


class Image(OnDebian):
    """Unpacked and run as an engine does it, in a root that has nothing but the image."""

    suite = "bookworm"

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="portico-image-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.layout, self.root = self.folder / "layout", DebianRoot.__new__(DebianRoot)
        self.root.folder = self.folder / "root"
        with tarfile.open(only("*-image.tar")) as tar:
            tar.extractall(self.layout, filter="fully_trusted")

    def blob(self, descriptor):
        algorithm, digest = descriptor["digest"].split(":")
        data = (self.layout / "blobs" / algorithm / digest).read_bytes()
        self.assertEqual((hashlib.new(algorithm, data).hexdigest(), len(data)), (digest, descriptor["size"]))
        return data

    def test_it_is_an_oci_layout_that_serves(self):
        self.assertEqual(json.loads((self.layout / "oci-layout").read_text()), {"imageLayoutVersion": "1.0.0"})
        manifest = json.loads(self.blob(json.loads((self.layout / "index.json").read_text())["manifests"][0]))
        configuration = json.loads(self.blob(manifest["config"]))
        for layer, content in zip(manifest["layers"], configuration["rootfs"]["diff_ids"], strict=True):
            file = self.folder / "layer"
            file.write_bytes(self.blob(layer))
            with subprocess.Popen(["gzip", "-dc", file], stdout=subprocess.PIPE) as plain:
                self.assertEqual(f"sha256:{hashlib.file_digest(plain.stdout, 'sha256').hexdigest()}", content)
            with tarfile.open(file) as tar:
                tar.extractall(self.root.folder, numeric_owner=True, filter="fully_trusted")
        settings = configuration["config"]
        (self.root.folder / "etc/portico/portico.yaml").write_text("adapters: { feeds: { access: login } }\n")
        user = settings["User"].split(":")[0]
        path = settings["Env"][0]
        program = [*settings["Entrypoint"], *settings["Cmd"]]
        # The image has no shell: the program is started from outside.
        served = Served(["unshare", "--mount", "--pid", "--fork", "--kill-child", "--propagation", "private", "sh", "-euc",
            f"mount -t proc proc {self.root.folder}/proc && mount --bind /dev {self.root.folder}/dev && "
            f"exec env -i {path} /usr/sbin/chroot --userspec={user}:{user} {self.root.folder} "
            f"/opt/portico/bin/{' '.join(program)}"])
        self.addCleanup(served.kill)
        self.assertEqual(served.get("/health/ready")[0], 200)
        # What an engine asks, in the namespaces of the gateway.
        kind, asked, *arguments = settings["Healthcheck"]["Test"]
        self.assertEqual(kind, "CMD")
        status = subprocess.run(
            ["nsenter", "--target", served.gateway, "--mount", "--pid", "chroot", f"--userspec={user}:{user}", self.root.folder,
                f"/opt/portico/bin/{asked}", *arguments], capture_output=True, text=True, check=False)
        self.assertEqual(status.returncode, 0, status)
        self.assertEqual(served.stop(), 0)


class Sums(unittest.TestCase):
    def test_every_file_has_its_checksum_and_what_is_inside(self):
        done = subprocess.run(["sha256sum", "--check", "--strict", "SHA256SUMS"], cwd=PACKAGES, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done)
        listed = {line.split()[1] for line in (PACKAGES / "SHA256SUMS").read_text().splitlines()}
        self.assertEqual(listed, {path.name for path in PACKAGES.iterdir()} - {"SHA256SUMS"})
        inside = json.loads(only("*.spdx.json").read_text())
        names = {package["name"] for package in inside["packages"]}
        self.assertLessEqual({"swift-nio", "grdb.swift", "swift-runtime", "BoringSSL", "libsqlite3-0", "libc6"}, names)
        files = {package["packageFileName"] for package in inside["packages"] if "packageFileName" in package}
        self.assertEqual(files, listed - {only("*.spdx.json").name})


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    enter_own_network()
    PACKAGES = pathlib.Path(sys.argv[1]).resolve()
    OLDER = pathlib.Path(sys.argv[2]).resolve() if len(sys.argv) == 3 else None
    unittest.main(argv=sys.argv[:1], verbosity=2)
