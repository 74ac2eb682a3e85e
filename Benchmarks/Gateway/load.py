"""One burst of load by wrk from the other core, and what it saw."""

import json
import re
import subprocess
import tempfile
from dataclasses import dataclass

from processes import LOAD_CORE

CONNECTIONS = 64


@dataclass(frozen=True)
class Burst:
    requests_per_second: float
    p50: float  # milliseconds
    p99: float


def burst(base, call, headers, seconds, connections=CONNECTIONS):
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as script:
        script.write(_script(call, headers))
        script.flush()
        command = [
            "taskset", "-c", LOAD_CORE, "wrk", "--threads", "1", "--connections", str(connections), "--duration",
            f"{seconds}s", "--timeout", "10s", "--latency", "--script", script.name, base + call.path]
        said = subprocess.run(command, check=True, capture_output=True, text=True, timeout=seconds + 60).stdout
    return _parsed(call, said)


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


def _parsed(call, said):
    if re.search(r"Non-2xx or 3xx responses|Socket errors", said):
        raise SystemExit(f"{call.name}: not every request was answered as it should be:\n{said}")
    rate = float(re.search(r"Requests/sec:\s+([\d.]+)", said).group(1))
    return Burst(rate, _milliseconds(said, "50%"), _milliseconds(said, "99%"))


def _milliseconds(said, percentile):
    """wrk says nothing of a burst in which it counted nothing: not a number then."""
    found = re.search(rf"^\s+{percentile}\s+([\d.]+)(us|ms|s|m)$", said, re.MULTILINE)
    if not found:
        return float("nan")
    return float(found.group(1)) * {"us": 0.001, "ms": 1, "s": 1000, "m": 60_000}[found.group(2)]
