"""Servers as child processes on one core: started, watched, and ended by their process id."""

import os
import signal
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path

SERVER_CORE, LOAD_CORE = "0", "1"


class Server:
    """A server that runs while the `with` block does. Subclasses give `name`, `command`, `base` and `pids_served`."""

    name = ""

    def __init__(self, folder):
        self.folder = Path(folder, self.name)
        self.folder.mkdir(parents=True)
        self.environment = {}
        self.trust = None  # the TLS context that knows its certificate, where it has one

    def __enter__(self):
        self.output = open(self.folder / "output.log", "wb")
        started = time.monotonic()
        self.process = subprocess.Popen(
            ["taskset", "-c", SERVER_CORE, *self.command()], stdout=self.output, stderr=subprocess.STDOUT,
            env={**os.environ, **self.environment}, cwd=self.folder)
        try:
            self._wait_until_ready()
        except BaseException:
            self.__exit__()
            raise
        self.seconds_to_first_answer = time.monotonic() - started
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.output.close()

    def resident_megabytes(self):
        return sum(_resident_kilobytes(pid) for pid in self._pids()) / 1024

    def processor_seconds(self):
        return sum(_processor_ticks(pid) for pid in self._pids()) / os.sysconf("SC_CLK_TCK")

    def _pids(self):
        """The process and its children: nginx serves from a worker."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        return [self.process.pid, *children]

    def _wait_until_ready(self):
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                break
            if self.is_ready():
                return
            time.sleep(0.005)
        raise SystemExit(f"{self.name} does not serve; see its output:\n{self.said()[-2000:]}")

    def is_ready(self):
        try:
            return bool(self.base) and self._is_alive()
        except (urllib.error.URLError, OSError):
            return False

    def _is_alive(self):
        with urllib.request.urlopen(self.base + "/health/live", timeout=1, context=self.trust) as answer:
            return answer.status == 200

    def said(self):
        return (self.folder / "output.log").read_text(errors="replace")


def _processor_ticks(pid):
    """User and system time: fields 14 and 15 of proc(5), counted behind the program's name."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return int(fields[11]) + int(fields[12])


def _resident_kilobytes(pid):
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    return 0
