"""What a whole request costs through a gateway with an adapter as a program.

    python3 -B Benchmarks/Workers/speed.py [--rounds 5] [--seconds 2] [--case NAME …]

A gateway serves `Speed/` and is asked by `Resilience/open_loop.c`, in rounds. Counted is the processor time of the gateway and
of the adapter's program together, not the generator's. Prints for each kind of answer the medians of the rounds in
microseconds a request, and how long the first call takes after a start.
"""

import argparse
import json
import os
import pathlib
import statistics
import sys
import tempfile
import time
from contextlib import ExitStack

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(FOLDER)]

from chaos import Caller, Gateway, OpenLoop, request  # noqa: E402
from portico import Portico  # noqa: E402

BUILT = FOLDER / "Speed/.build/release"
OPERATION, MOUNT = "/api/v1/speed/operations/", "/speed/"
CASES = {
    "values, 300 B": request("POST", OPERATION + "small"),
    "values, 100 KB": request("POST", OPERATION + "large"),
    "bytes, 300 B": request("GET", MOUNT + "small"),
    "bytes, 100 KB": request("GET", MOUNT + "large"),
    "bytes, 100 KB, streamed": request("GET", MOUNT + "stream"),
}
AT_ONCE = (1, 16)
STARTS = 10
MOST_FIRST = 50  # milliseconds of the first call
WARM_UP = 0.5


class Speed(Gateway):
    """With the adapter as a worker."""

    def __init__(self, folder, name, plugin):
        Portico.__init__(self, pathlib.Path(folder, name), pathlib.Path(folder, name, "data"))
        self.configuration = pathlib.Path(folder, name, "speed.yaml")
        # JSON is YAML.
        self.configuration.write_text(json.dumps({
            "http": {"limits": {"answerCache": "0B"}}, "log": {"access": False}, "plugins": [plugin]}))

    def processor_times(self):
        """Of the gateway and its program, in nanoseconds by process."""
        pids = (self.process.pid, self.worker("speed-worker"))
        return {pid: processor_time(pid) for pid in pids if pid}


def processor_time(pid):
    """Of all threads, by the process's clock (clock_getcpuclockid(3)), which is finer than proc(5)."""
    return time.clock_gettime_ns(~pid << 3 | 2)


def cost(gateway, loop, asked, at_once, seconds):
    """Microseconds a request, of the gateway and of its program."""
    before = gateway.processor_times()
    statuses = loop.said(loop.ask(gateway.port, asked, 0, seconds, at_once))["statuses"]
    after = gateway.processor_times()
    if set(statuses) != {"200"} or list(after) != list(before):
        raise SystemExit(f"unexpected answers, or the program ended: {statuses}; the gateway's output:\n{gateway.said()[-2000:]}")
    own, *program = ((after[pid] - before[pid]) / 1000 / statuses["200"] for pid in after)
    return own, sum(program)


def measure(side, loop, asked, at_once, rounds, seconds):
    """The costs in each round, after one that is not counted."""
    cost(side, loop, asked, at_once, WARM_UP)
    return [cost(side, loop, asked, at_once, seconds) for _ in range(rounds)]


def first_call(folder, name, plugin):
    """Milliseconds of the first call after each of some starts, from when the gateway says that it listens."""
    found = []
    for number in range(STARTS):
        with Speed(folder, f"{name}-{number}", plugin) as gateway:
            caller, began = Caller(gateway.port), time.monotonic()
            status = caller.post(OPERATION + "small")
            found.append((time.monotonic() - began) * 1000)
            if status != 200:
                raise SystemExit(f"the first call was answered {status}")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--case", nargs="*", choices=CASES, default=CASES)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="portico-speed-") as folder, ExitStack() as running:
        plugin = {"path": str(BUILT / "speed-worker")}
        firsts = first_call(folder, "first", plugin)
        side = running.enter_context(Speed(folder, "worker", plugin))
        loop = OpenLoop(folder)
        print("| answer, requests at once | all | of it the gateway | the program |")
        print("|---|---:|---:|---:|")
        for name in options.case:
            for at_once in AT_ONCE:
                costs = measure(side, loop, CASES[name], at_once, options.rounds, options.seconds)
                whole, gateway, worker = (
                    statistics.median(each) for each in (map(sum, costs), (each[0] for each in costs), (each[1] for each in costs)))
                print(f"| {name}, {at_once} | {whole:.0f} | {gateway:.0f} | {worker:.0f} |", flush=True)
        print(f"\nfirst call after each of {STARTS} starts: {statistics.median(firsts):.1f} ms, {max(firsts):.1f} at most; asked: {MOST_FIRST} ms at most")
        print(f"Load {os.getloadavg()[0]:.1f}.")


if __name__ == "__main__":
    main()
