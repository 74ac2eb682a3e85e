"""Builds listeners.c and runs it: many who listen, one who speaks, and how long each word took."""

import dataclasses
import subprocess
from pathlib import Path

HERE = Path(__file__).resolve().parent


@dataclasses.dataclass
class Heard:
    """Delays in milliseconds: the median, the 99th of a hundred, and the largest."""

    delivered: int
    lost: int
    repeated: int
    since_sent: tuple
    since_acknowledged: tuple


class Listeners:
    def __init__(self, folder):
        self.program = Path(folder, "listeners")
        subprocess.run(
            ["cc", "-O2", "-o", self.program, HERE / "listeners.c", HERE / "talk.c", "-lpthread"], check=True)

    def run(self, kind, port, listeners, seconds, rate, reconnects, where, *tokens):
        command = [self.program, kind, port, listeners, seconds, rate, reconnects, where, *tokens]
        done = subprocess.run([str(part) for part in command], check=True, stdout=subprocess.PIPE, text=True)
        delivered, lost, repeated, *delays = map(int, done.stdout.split())
        delays = [delay / 1000 for delay in delays]
        return Heard(delivered, lost, repeated, tuple(delays[:3]), tuple(delays[3:]))
