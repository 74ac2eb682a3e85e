"""One burst of load by wrk from the other core, and what it saw."""

import json
import re
import subprocess
import tempfile
from dataclasses import dataclass, replace

from processes import LOAD_CORE

CONNECTIONS = 64


@dataclass(frozen=True)
class Burst:
    requests_per_second: float
    p50: float  # milliseconds
    p99: float
    requests: int
    microseconds: float = float("nan")  # processor time of the server for a request, where it was measured


def burst(base, call, headers, seconds, connections=CONNECTIONS):
    return scripted(call.name, base + call.path, _script(call, headers), seconds, connections)


def scripted(name, address, text, seconds, connections=CONNECTIONS):
    """`text`: the Lua script that makes the requests. `name`: of what is asked, for a failure."""
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as script:
        script.write(text)
        script.flush()
        command = [
            "taskset", "-c", LOAD_CORE, "wrk", "--threads", "1", "--connections", str(connections), "--duration",
            f"{seconds}s", "--timeout", "10s", "--latency", "--script", script.name, address]
        said = subprocess.run(command, check=True, capture_output=True, text=True, timeout=seconds + 60).stdout
    return _parsed(name, said)


def processor_burst(server, text, seconds, connections):
    """A burst of a script on a server, with the server's processor time."""
    before = server.processor_seconds()
    seen = scripted(server.name, server.base, text, seconds, connections)
    used = server.processor_seconds() - before
    return replace(seen, microseconds=used / max(1, seen.requests) * 1e6)


def _script(call, headers):
    lines = [f'wrk.method = "{call.method}"']
    lines += [f"wrk.headers[{_lua(name)}] = {_lua(value)}" for name, value in headers.items()]
    if call.body:
        lines.append(f"wrk.body = {_lua(call.body)}")
    return "\n".join(lines)


def _lua(text):
    """Lua takes JSON's quoting of printable ASCII."""
    assert text.isascii() and text.isprintable()
    return json.dumps(text)


def _parsed(name, said):
    if re.search(r"Non-2xx or 3xx responses|Socket errors", said):
        raise SystemExit(f"{name}: not every request was answered as it should be:\n{said}")
    rate = float(re.search(r"Requests/sec:\s+([\d.]+)", said).group(1))
    requests = int(re.search(r"(\d+) requests in", said).group(1))
    return Burst(rate, _milliseconds(said, "50%"), _milliseconds(said, "99%"), requests)


def _milliseconds(said, percentile):
    """wrk says nothing of a burst in which it counted nothing: not a number then."""
    found = re.search(rf"^\s+{percentile}\s+([\d.]+)(us|ms|s|m)$", said, re.MULTILINE)
    if not found:
        return float("nan")
    return float(found.group(1)) * {"us": 0.001, "ms": 1, "s": 1000, "m": 60_000}[found.group(2)]
