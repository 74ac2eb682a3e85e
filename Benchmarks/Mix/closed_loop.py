"""Builds closed_loop.c and runs it on the load's core."""

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path

from processes import LOAD_CORE

HERE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Run:
    """Latencies in milliseconds, processor time in microseconds a request."""

    requests_per_second: float
    p50: float
    p99: float
    largest: float
    server: float
    generator: float


class ClosedLoop:
    def __init__(self, folder):
        self.program = Path(folder, "closed-loop")
        sources = [HERE / "closed_loop.c", HERE / "requests.c"]
        subprocess.run(
            ["cc", "-O2", "-o", self.program, *sources, "-lnghttp2", "-lssl", "-lcrypto"], check=True)

    def run(self, server, protocol, file, connections, seconds, streams=1, seed=20):
        """Ends the benchmark where an answer is not the expected one, with the name of the server."""
        done = subprocess.run(
            self._command(server, protocol, file, connections, seconds, streams, seed), capture_output=True, text=True,
            timeout=seconds + 60)
        if done.returncode:
            raise SystemExit(f"{server.name}, {protocol}: the generator failed: {done.stderr}")
        return self._run(server, protocol, json.loads(done.stdout), done.stderr)

    def held(self, server, protocol, file, connections, seconds, action, streams=1, seed=20):
        """What `action` returns while all connections are open and at rest."""
        command = self._command(server, protocol, file, connections, seconds, streams, seed)
        with subprocess.Popen([*command, "hold"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as running:
            line = running.stdout.readline()
            if not line:
                raise SystemExit(f"{server.name}, {protocol}: the generator failed")
            self._run(server, protocol, json.loads(line), "")
            result = action()
            running.stdin.close()
        return result

    def _command(self, server, protocol, file, connections, seconds, streams, seed):
        port = server.base.rsplit(":", 1)[1]
        arguments = [protocol, port, connections, streams, seconds, seed, file, server.process.pid]
        return ["taskset", "-c", LOAD_CORE, self.program, *map(str, arguments)]

    def _run(self, server, protocol, seen, said):
        if seen["errors"] or not seen["answers"]:
            raise SystemExit(f"{server.name}, {protocol}: unexpected answers: {seen['errors']} {said}")
        milliseconds = (seen[name] / 1000 for name in ("p50", "p99", "largest"))
        return Run(seen["answers"] / seen["seconds"], *milliseconds, seen["server"], seen["generator"])
