"""The store against power loss, a full disk and failing disks: python3 -B Tests/PowerLoss DRIVER [--images N].

DRIVER is store-kill-driver, built. A recorder, compiled here, is preloaded into it while it writes. From what it recorded
images are rebuilt as a disk might hold them when the power goes. At FULL none may have lost an acknowledged write; at
NORMAL some must have, otherwise this tests nothing. Then calls are made to fail, and to work again, while it writes.
"""
import argparse
import random
import re
import sys
import tempfile
from pathlib import Path

import faults
from images import write_images
from writer import Writer, compile_recorder, verify


def main() -> int:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("driver", type=Path)
    arguments.add_argument("--images", type=int, default=200)
    arguments.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    options = arguments.parse_args()
    print(f"seed {options.seed}")
    with tempfile.TemporaryDirectory(prefix="store-power-") as place:
        recorder = compile_recorder(Path(place))
        problems = power_loss(options, recorder, Path(place)) + faults.run(options.driver, recorder, Path(place))
    for problem in problems:
        print(f"FAILED: {problem}")
    return 1 if problems else 0


def power_loss(options, recorder: Path, place: Path) -> list[str]:
    problems = []
    lost = {mode: lost_images(options, recorder, place / mode, mode) for mode in ("full", "normal")}
    if lost["full"]:
        problems.append(f"{lost['full']} images lost acknowledged writes at FULL")
    if not lost["normal"]:
        problems.append("no image lost anything at NORMAL, so this test would not find a loss")
    return problems


def lost_images(options, recorder: Path, place: Path, mode: str) -> int:
    place.mkdir()
    trace = place / "trace"
    with Writer(options.driver, recorder, place / "store", trace=trace, arguments=["--durability", mode]) as writer:
        writer.wait_for_acknowledged(1500)
    total = write_images(trace, place / "images", options.images, options.seed)
    trace.unlink()
    report = verify(options.driver, place / "images")
    intact, lossy = map(int, re.search(r"(\d+) intact, (\d+) lost", report).groups())
    print(f"power loss at {mode.upper()}: {intact + lossy} images of {total} recorded calls, {lossy} lost something")
    if mode == "full" and lossy:
        print(report, file=sys.stderr)
    return lossy


sys.exit(main())
