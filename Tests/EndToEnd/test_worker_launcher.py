"""The launcher of workers, with programs of other languages and a host that is killed."""

import ctypes
import json
import os
import pathlib
import platform
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import unittest

from harness import BUILD

LAUNCHER = BUILD / "portico-worker-launcher"
QUICK = True

# What a worker in Python is likely to import and use.
SCRIPT = """#!/usr/bin/python3
import asyncio, datetime, json, os, pathlib, sqlite3, socket, sys, tempfile, threading, time, zoneinfo
host = socket.socket(fileno=3)
with tempfile.NamedTemporaryFile() as file:
    file.write(b"x")
database = sqlite3.connect("rows.sqlite")
database.execute("create table rows (id)")
database.commit()
asyncio.run(asyncio.sleep(0))
threads = [threading.Thread(target=time.sleep, args=(0.01,)) for _ in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
berlin = datetime.datetime(2026, 7, 1, tzinfo=zoneinfo.ZoneInfo("Europe/Berlin")).utcoffset().seconds
import beside
host.sendall(json.dumps({"berlin": berlin, "beside": beside.VALUE, "argument": sys.argv[1]}).encode())
"""
# Starts a worker that never ends, says its process id once it runs, and waits.
HOST = """
import os, socket, subprocess, sys, time
host, worker = socket.socketpair()
process = subprocess.Popen(
    [sys.argv[1], "--parent", str(os.getpid()), "--folder", sys.argv[2], "--", "/usr/bin/python3", "-c",
     "import socket, time; socket.socket(fileno=3).send(b'x'); time.sleep(600)"],
    stdin=subprocess.DEVNULL, preexec_fn=lambda: os.dup2(worker.fileno(), 3), close_fds=False)
host.recv(1)
print(process.pid, flush=True)
time.sleep(600)
"""
# Landlock's first call, and seccomp.
LANDLOCK, SECCOMP = 444, 277 if platform.machine() == "aarch64" else 317
NO_SUCH_CALL = 38


def without(call):
    """Has the kernel answer a system call as one that lacks it does. Source: seccomp(2), struct sock_filter."""
    code = b"".join(
        struct.pack("HBBI", *instruction)
        for instruction in [
            (0x20, 0, 0, 0),  # the call's number
            (0x15, 0, 1, call),
            (0x06, 0, 0, 0x00050000 | NO_SUCH_CALL),
            (0x06, 0, 0, 0x7FFF0000),
        ])
    instructions = ctypes.create_string_buffer(code)
    program = struct.pack("HxxxxxxP", len(code) // 8, ctypes.addressof(instructions))
    libc = ctypes.CDLL(None, use_errno=True)
    set_no_new_privileges, set_seccomp, filter_mode = 38, 22, 2
    assert libc.prctl(set_no_new_privileges, 1, 0, 0, 0) == 0
    assert libc.prctl(set_seccomp, filter_mode, program, 0, 0) == 0


class Launcher(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="portico-launcher-")).resolve()
        self.addCleanup(shutil.rmtree, self.folder, True)
        (self.folder / "own").mkdir()
        (self.folder / "program").mkdir()

    def test_a_script_in_python_runs_with_what_is_beside_it(self):
        script = self.folder / "program/adapter"
        script.write_text(SCRIPT)
        script.chmod(0o700)
        (self.folder / "program/beside.py").write_text("VALUE = 7\n")
        host, worker = socket.socketpair()
        with host, worker:
            ran = subprocess.run(
                [LAUNCHER, "--parent", str(os.getpid()), "--folder", self.folder / "own", "--read", script.parent,
                 "--memory", str(256 << 20), "--descriptors", "64", "--sandbox", "require", "--", script, "seven"],
                stdin=subprocess.DEVNULL, capture_output=True, timeout=60, close_fds=False,
                env={"PATH": "/usr/bin:/bin", "TMPDIR": str(self.folder / "own")},
                preexec_fn=lambda: os.dup2(worker.fileno(), 3))
            self.assertEqual((ran.returncode, ran.stderr.decode(), ran.stdout.decode()), (0, "", ""))
            self.assertEqual(json.loads(host.recv(4096)), {"berlin": 7200, "beside": 7, "argument": "seven"})
        self.assertTrue((self.folder / "own/rows.sqlite").exists())

    def test_a_worker_ends_with_a_host_that_is_killed(self):
        host = subprocess.Popen(
            [sys.executable, "-c", HOST, LAUNCHER, self.folder / "own"], stdout=subprocess.PIPE, text=True)
        try:
            worker = int(host.stdout.readline())
            self.assertTrue(self.runs(worker))
        finally:
            host.send_signal(signal.SIGKILL)
            host.wait()
            host.stdout.close()
        end = time.monotonic() + 30
        while self.runs(worker) and time.monotonic() < end:
            time.sleep(0.01)
        self.assertFalse(self.runs(worker))

    def test_a_kernel_without_landlock_or_seccomp_is_a_warning_or_a_refusal(self):
        for call, reason in [
            (LANDLOCK, "files are not restricted: the kernel has no Landlock"),
            (SECCOMP, "system calls are not restricted: the kernel has no seccomp listeners"),
        ]:
            for sandbox, status, line in [("require", 125, reason), ("warn", 7, f"warning: {reason}"), ("off", 7, None)]:
                with self.subTest(reason, sandbox=sandbox):
                    host, worker = socket.socketpair()

                    def prepare():
                        os.dup2(worker.fileno(), 3)
                        without(call)

                    with host, worker:
                        ran = subprocess.run(
                            [LAUNCHER, "--parent", str(os.getpid()), "--folder", self.folder / "own", "--sandbox", sandbox,
                             "--", "/usr/bin/python3", "-c", "raise SystemExit(7)"],
                            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, close_fds=False,
                            preexec_fn=prepare)
                    said = f"portico-worker-launcher: {line}\n" if line else ""
                    self.assertEqual((ran.returncode, ran.stderr), (status, said))

    def test_a_missing_interpreter_is_named(self):
        script = self.folder / "program/adapter"
        script.write_text("#!/usr/bin/no-such-runtime --fast\n")
        script.chmod(0o700)
        for sandbox in ["warn", "off"]:
            host, worker = socket.socketpair()
            with host, worker:
                ran = subprocess.run(
                    [LAUNCHER, "--parent", str(os.getpid()), "--folder", self.folder / "own", "--sandbox", sandbox, "--", script],
                    stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, close_fds=False,
                    preexec_fn=lambda: os.dup2(worker.fileno(), 3))
            self.assertEqual(ran.returncode, 127)
            self.assertIn(f"{script} cannot be executed by /usr/bin/no-such-runtime: No such file or directory", ran.stderr)

    def test_public_certificates_are_readable_and_private_keys_are_not(self):
        script = self.folder / "program/adapter"
        script.write_text(
            "#!/usr/bin/python3\nimport os, sys\nfor path in sys.argv[1:]:\n    try: os.listdir(path) if path.endswith('/') else open(path)\n"
            "    except OSError as error: print(path, error.strerror)\n")
        script.chmod(0o700)
        host, worker = socket.socketpair()
        with host, worker:
            ran = subprocess.run(
                [LAUNCHER, "--parent", str(os.getpid()), "--folder", self.folder / "own", "--sandbox", "require", "--", script,
                 "/etc/ssl/openssl.cnf", "/etc/ssl/certs/", "/usr/lib/ssl/openssl.cnf", "/etc/ssl/private/", "/etc/hosts"],
                stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, close_fds=False,
                preexec_fn=lambda: os.dup2(worker.fileno(), 3))
        self.assertEqual(ran.stdout.splitlines(), ["/etc/ssl/private/ Permission denied", "/etc/hosts Permission denied"], ran)

    def test_what_is_closed_is_not_readable_wherever_it_lies(self):
        program = self.folder / "program"
        for path in ["open/inner", "keys/deep"]:
            (program / path).mkdir(parents=True)
        files = [
            "adapter.so", "www.notion.so.key", "gateway.example.pl", "open/inner/module.py", "open/inner/secret.py", "keys/deep/key",
            "keys/other"]
        for name in files:
            (program / name).write_text("content")
        (self.folder / "outside").write_text("content")
        (program / "key-by-link").symlink_to("keys/deep/key")
        (program / "link-to-closed").symlink_to("gateway.example.pl")
        # Closed by a name that is a link itself, as a secret that is exchanged at once is.
        (self.folder / "current").symlink_to(program / "open/inner/secret.py")
        script = program / "adapter"
        script.write_text(
            "#!/usr/bin/python3\nimport os, sys\nfor path in sys.argv[1:]:\n    try:\n"
            "        print(path, 'list' if os.path.isdir(path) and os.listdir(path) is not None else open(path).read())\n"
            "    except OSError as error: print(path, error.strerror)\n")
        script.chmod(0o700)
        closed = [
            program / "www.notion.so.key", program / "gateway.example.pl", program / "keys/deep/key", self.folder / "current",
            program / "later/store.sqlite", self.folder / "own", "/usr/share/ca-certificates"]
        host, worker = socket.socketpair()
        asked = [*files, "key-by-link", "link-to-closed", "open/inner", "keys", "../outside"]
        with host, worker:
            ran = subprocess.run(
                [LAUNCHER, "--parent", str(os.getpid()), "--folder", self.folder / "own", "--read", program,
                 *(part for path in closed for part in ("--close", path)), "--sandbox", "require", "--", script,
                 *(str(program / name) for name in asked), "/etc/ssl/certs", "/usr/share/ca-certificates", "/usr/lib"],
                stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, close_fds=False,
                preexec_fn=lambda: os.dup2(worker.fileno(), 3))
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        said = {line.split(" ", 1)[0].removeprefix(f"{program}/"): line.split(" ", 1)[1] for line in ran.stdout.splitlines()}
        denied = "Permission denied"
        self.assertEqual(said, {
            "adapter.so": "content", "www.notion.so.key": denied, "gateway.example.pl": denied, "open/inner/module.py": "content",
            "open/inner/secret.py": denied, "keys/deep/key": denied, "keys/other": "content", "key-by-link": denied,
            "link-to-closed": denied, "open/inner": "list", "keys": "list", "../outside": denied, "/etc/ssl/certs": "list",
            "/usr/share/ca-certificates": denied, "/usr/lib": "list"})

    def test_a_misuse_is_refused_with_a_reason(self):
        for arguments, reason in [
            ([], "a program is needed after --"),
            (["--memory", "much", "--folder", "/tmp", "--", "/bin/true"], "--memory takes a number"),
            (["--memory", "-1", "--folder", "/tmp", "--", "/bin/true"], "--memory takes a number"),
            (["--color", "red", "--", "/bin/true"], "unknown option --color"),
            (["--folder", "relative", "--", "/bin/true"], "--folder takes an absolute path"),
            (["--folder", "/tmp", "--", "true"], "the program's path must be absolute"),
            (["--sandbox", "maybe", "--folder", "/tmp", "--", "/bin/true"], "--sandbox takes require, warn or off"),
            (["--parent", str(os.getpid()), "--folder", "/tmp", "--", "/bin/true"], "descriptor 3 is no socket"),
        ]:
            with self.subTest(reason):
                ran = subprocess.run([LAUNCHER, *arguments], capture_output=True, text=True, timeout=60)
                self.assertEqual((ran.returncode, ran.stderr), (125, f"portico-worker-launcher: {reason}\n"))

    @staticmethod
    def runs(process):
        """Whether it is there, and no zombie that its new parent has not waited for."""
        try:
            return pathlib.Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
        except FileNotFoundError:
            return False


if __name__ == "__main__":
    unittest.main()
