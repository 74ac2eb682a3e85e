"""What a whole request costs through a gateway with an adapter in its process, and with the same adapter as a program.

    python3 -B Benchmarks/Workers/speed.py [--rounds 5] [--seconds 2] [--case NAME …]

Two gateways serve `Speed/`, one as a library and one as a worker, and are asked by `Resilience/open_loop.c` one after the other,
in rounds that take turns. Counted is the processor time of the gateway and of the adapter's program together, not the
generator's. Prints for each kind of answer the medians of the rounds in microseconds a request, and their ratio; and how long the
first call takes after a start of each gateway.
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
MOST = 1.3  # at 100 KB


class Speed(Gateway):
    """With the adapter in the process, or as a worker."""

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


def measure(sides, loop, asked, at_once, rounds, seconds):
    """The costs of both sides in each round."""
    found = [[], []]
    for number in range(-1, rounds):
        for index in (0, 1) if number % 2 else (1, 0):
            costs = cost(sides[index], loop, asked, at_once, WARM_UP if number < 0 else seconds)
            if number >= 0:
                found[index].append(costs)
    return found


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
        library, program = {"path": str(BUILT / "libSpeed.so"), "mode": "inProcess"}, {"path": str(BUILT / "speed-worker"), "mode": "worker"}
        named = ("library", library), ("worker", program)
        firsts = [first_call(folder, *side) for side in named]
        sides = [running.enter_context(Speed(folder, *side)) for side in named]
        loop = OpenLoop(folder)
        print("| answer, requests at once | in the process | as a worker | of it the gateway | the program | ratio |")
        print("|---|---:|---:|---:|---:|---:|")
        for name in options.case:
            for at_once in AT_ONCE:
                inside, outside = measure(sides, loop, CASES[name], at_once, options.rounds, options.seconds)
                ratio = statistics.median(sum(out) / sum(own) for own, out in zip(inside, outside))
                own, out, gateway, worker = (
                    statistics.median(each) for each in (
                        map(sum, inside), map(sum, outside), (each[0] for each in outside), (each[1] for each in outside)))
                print(f"| {name}, {at_once} | {own:.0f} | {out:.0f} | {gateway:.0f} | {worker:.0f} | {ratio:.2f} |", flush=True)
        first, own = (f"{statistics.median(each):.1f} ms, {max(each):.1f} at most" for each in reversed(firsts))
        print(f"\nfirst call after each of {STARTS} starts: {first}, in the process {own}; asked: {MOST_FIRST} ms at most")
        print(f"ratio: median of the rounds; asked for 100 KB: {MOST} at most. Load {os.getloadavg()[0]:.1f}.")


if __name__ == "__main__":
    main()
