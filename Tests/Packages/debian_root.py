"""A bare root of Debian, and commands in it. For root alone: it mounts, and it changes the root folder."""

import fcntl
import os
import pathlib
import shutil
import socket
import struct
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
KEPT = ROOT / ".build/package-test"
OUTER_NETWORK = "PORTICO_TEST_NETWORK"


def enter_own_network():
    """From here on the loopback interface is this process's own, so that port 8080 is free. What needs the machine's network
    is run by ``on_the_network``."""
    if OUTER_NETWORK not in os.environ:
        network = os.open("/proc/self/ns/net", os.O_RDONLY)
        os.set_inheritable(network, True)
        os.environ[OUTER_NETWORK] = str(network)
        os.execvp("unshare", ["unshare", "--net", "--mount", "--propagation", "private", sys.executable, "-B", *sys.argv])
    with socket.socket() as any_socket:
        fcntl.ioctl(any_socket, 0x8914, struct.pack("16sh", b"lo", 0x1 | 0x40))  # SIOCSIFFLAGS: up and running


def on_the_network(command):
    network = os.environ[OUTER_NETWORK]
    return ["nsenter", f"--net=/proc/self/fd/{network}", *command], (int(network),)


def mirror():
    """Where this machine's apt takes Debian from."""
    listed = subprocess.run(
        ["apt-get", "indextargets", "--format", "$(SITE) $(LABEL) $(COMPONENT)", "Created-By: Packages"],
        check=True, capture_output=True, text=True).stdout
    sites = [line.split()[0] for line in listed.splitlines() if line.split()[1:] == ["Debian", "main"]]
    if not sites:
        raise LookupError("apt of this machine has no archive of Debian")
    return sites[0]


class DebianRoot:
    """A copy of what debootstrap makes of a suite, which is kept for the next time."""

    def __init__(self, suite):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix=f"portico-{suite}-"))
        kept = KEPT / f"{suite}.tar"
        if not kept.exists():
            KEPT.mkdir(parents=True, exist_ok=True)
            fresh = self.folder / "fresh"
            self._run(*on_the_network(["debootstrap", "--variant=minbase", suite, fresh, mirror()]))
            subprocess.run(["tar", "-C", fresh, "-cf", f"{kept}.new", "."], check=True)
            shutil.rmtree(fresh)
            os.rename(f"{kept}.new", kept)
        subprocess.run(["tar", "-C", self.folder, "-xf", kept], check=True)
        shutil.copy("/etc/resolv.conf", self.folder / "etc/resolv.conf")
        # Services of packages are not started here.
        policy = self.folder / "usr/sbin/policy-rc.d"
        policy.write_text("#!/bin/sh\nexit 101\n")
        policy.chmod(0o755)

    def path(self, text):
        return self.folder / text.lstrip("/")

    def command(self, script, user=None, folder="/home"):
        """What runs a shell's script in this root, with processes of its own."""
        if user:
            script = f"exec setpriv --reuid={user} --regid={user} --clear-groups sh -euc {quoted(script)}"
        inner = (
            f"mount -t proc proc {self.folder}/proc && mount --bind /dev {self.folder}/dev && "
            f"exec chroot {self.folder} sh -euc {quoted(f'cd {folder}; {script}')}")
        return ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--propagation", "private", "sh", "-euc", inner]

    def run(self, script, user=None, folder="/home", network=False, check=True):
        """The output of a script, errors with it."""
        command, descriptors = self.command(script, user, folder), ()
        if network:
            command, descriptors = on_the_network(command)
        return self._run(command, descriptors, check)

    @staticmethod
    def _run(command, descriptors=(), check=True):
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=900,
            check=False, pass_fds=descriptors, env=environment())
        if check and done.returncode != 0:
            raise AssertionError(f"{command[-1]}\nends with {done.returncode}:\n{done.stdout}")
        return done.stdout

    def remove(self):
        shutil.rmtree(self.folder)


def environment():
    return {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8", "HOME": "/home",
        "DEBIAN_FRONTEND": "noninteractive"}


def quoted(text):
    return "'" + text.replace("'", "'\\''") + "'"
