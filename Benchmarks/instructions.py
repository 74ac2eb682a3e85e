#!/usr/bin/env python3
"""Counts the instructions that each wire format's work takes for a byte, by callgrind, and holds them against
Benchmarks/Formats/instructions.tsv: exit 1 where one grew by more than the margin. `--record` writes the file anew.

Instructions, unlike seconds, are the same on a loaded machine. They differ between processors whose libc picks other
string routines, hence the margin.
"""

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

BENCHMARKS = Path(__file__).resolve().parent
RECORD = BENCHMARKS / "Formats/instructions.tsv"
MARGIN = 1.10


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--record", action="store_true", help="write the figures as the ones to hold")
    record = parser.parse_args().record
    measured = measure(build())
    hold(measured, RECORD, "byte", record)


def hold(measured, path, unit, record):
    """Ends the program: with 1 where a figure is over its margin or has no record."""
    if record:
        path.write_text("".join(f"{work}\t{shape}\t{figure:.2f}\n" for (work, shape), figure in measured.items()))
    sys.exit(1 if compare(measured, recorded(path), unit) else 0)


def build():
    command = ["swift", "build", "-c", "release", "--package-path", str(BENCHMARKS / "Formats"), "-j", "2"]
    subprocess.run([*command, "--product", "format-instructions"], check=True, stdout=sys.stderr)
    folder = subprocess.run([*command, "--show-bin-path"], check=True, capture_output=True, text=True).stdout.strip()
    return Path(folder, "format-instructions")


def measure(program):
    """{(work, shape): instructions for a byte}, in the program's order."""
    with tempfile.TemporaryDirectory() as folder:
        ran = subprocess.run(
            ["valgrind", "--tool=callgrind", "--collect-atstart=no", "--toggle-collect=measured_pass",
             "--dump-after=measured_pass", f"--callgrind-out-file={folder}/count", str(program)],
            check=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        passes = [line.split("\t") for line in ran.stdout.splitlines()]
        return {
            (work, shape): instructions(Path(folder, f"count.{number}")) / int(size)
            for number, (work, shape, size) in enumerate(passes, start=1)}


def instructions(dump):
    return int(re.search(r"^(?:totals|summary): (\d+)", dump.read_text(), re.MULTILINE).group(1))


def recorded(path=RECORD):
    rows = (line.split("\t") for line in path.read_text().splitlines())
    return {(work, shape): float(figure) for work, shape, figure in rows}


def compare(measured, held, unit="byte"):
    """Prints every figure; returns how many are over their margin or without a record."""
    failures = 0
    for key, figure in measured.items():
        limit = held.get(key, 0) * MARGIN
        failures += figure > limit
        verdict = "" if figure <= limit else f"  more than {limit:.2f}: run with --record where this is meant"
        print(f"{key[0]:16} {key[1]:10} {figure:12,.2f} instructions a {unit}, {held.get(key, 0):12,.2f} recorded{verdict}")
    return failures


if __name__ == "__main__":
    main()
