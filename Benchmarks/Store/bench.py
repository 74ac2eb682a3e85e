"""The store against SQLite alone: durable mutations a second, and what pulls cost. Prints a section of RESULTS.md.

    bench.py STORE_SPEED [--seconds N]

Each pair of batch and clients is measured on a new file in the temporary directory's file system; the peer (peer.c) has
one connection, no log, no outcomes and no network either.
"""
import argparse
import subprocess
import tempfile
from pathlib import Path


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("program", type=Path)
    arguments.add_argument("--seconds", type=float, default=4)
    options = arguments.parse_args()
    with tempfile.TemporaryDirectory(prefix="store-bench-") as place:
        peer = {batch: peer_rate(Path(place), batch, options.seconds) for batch in (1, 100)}
        rows = [line.split()[1:] for line in program(options.program, options.seconds, "--mutations")]
        again = {batch: peer_rate(Path(place), batch, options.seconds) for batch in (1, 100)}
    best = {batch: max(peer[batch], again[batch]) for batch in peer}
    print("## The store\n")
    print("Durable (`synchronous = FULL`), acknowledged mutations a second, each a new record with its log entry and its")
    print(f"stored outcome. A C program on sqlite3 makes {best[1]:,.0f} inserts/s with one commit each and {best[100]:,.0f}")
    print("with one per 100, into one table with the same columns and indexes, without log and outcomes.\n")
    print("| batch | clients | mutations/s | of one commit each | of one per 100 |")
    print("|---:|---:|---:|---:|---:|")
    for batch, clients, rate in rows:
        print(f"| {batch} | {clients} | {int(rate):,} | {int(rate) / best[1]:.2f}× | {int(rate) / best[100]:.2f}× |")
    print("\n| pull, at the store | records there | ms | records/s |")
    print("|---|---:|---:|---:|")
    for line in program(options.program, options.seconds, "--pulls"):
        _, what, records, microseconds = line.split()
        count = 100_000 if what == "first" else 100
        name = "all of 100,000 records" if what == "first" else "100 changes"
        print(f"| {name} | {int(records):,} | {int(microseconds) / 1000:.1f} | {count / int(microseconds) * 1e6:,.0f} |")


def program(path: Path, seconds: float, mode: str) -> list[str]:
    done = subprocess.run([path, str(seconds), mode], check=True, capture_output=True, text=True, timeout=900)
    return done.stdout.splitlines()


def peer_rate(place: Path, batch: int, seconds: float) -> float:
    binary = place / "peer"
    if not binary.exists():
        source = Path(__file__).with_name("peer.c")
        subprocess.run(["cc", "-O2", "-o", binary, source, "-lsqlite3"], check=True)
    file = place / "peer.sqlite"
    for old in place.glob("peer.sqlite*"):
        old.unlink()
    return float(subprocess.run([binary, file, str(batch), str(seconds)], check=True, capture_output=True, text=True).stdout)


main()
