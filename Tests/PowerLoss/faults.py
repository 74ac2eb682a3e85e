"""Disks that are full or fail, and then work again: errors with a clear code, reads that go on (the driver ends where one
does not), writes again without a restart, and nothing acknowledged lost."""
import errno
import re
import struct
from pathlib import Path

from writer import Writer, verify

# What fails with what, and the codes that writes may get.
FAULTS = [
    ("a full disk", (errno.ENOSPC, 0), {"store.full", "store.unavailable"}),
    ("failing writes", (errno.EIO, 0), {"store.unavailable"}),
    ("failing syncs", (0, errno.EIO), {"store.unavailable"}),
    ("syncs without room", (0, errno.ENOSPC), {"store.full", "store.unavailable"}),
]


def run(driver: Path, recorder: Path, place: Path) -> list[str]:
    problems = []
    for number, (name, errors, codes) in enumerate(FAULTS):
        images = place / f"fault-{number}"
        images.mkdir()
        problems += fault(driver, recorder, images, name, errors, codes)
        report = verify(driver, images)
        if not re.search(r"\b0 lost", report):
            problems.append(f"{name}: {report}")
    return problems


def fault(driver: Path, recorder: Path, images: Path, name: str, errors, codes) -> list[str]:
    control = images.parent / "faults"
    set_faults(control, (0, 0))
    arguments = ["--failures", "tolerated"]
    with Writer(driver, recorder, images / "store", faults=control, arguments=arguments) as writer:
        writer.wait_for_acknowledged(50)
        for repetition in range(3):
            set_faults(control, errors)
            failed = writer.lines("failed")
            writer.wait_until(lambda: writer.lines("failed") >= failed + 20, f"refused writes ({name})")
            set_faults(control, (0, 0))
            done = writer.lines("done")
            writer.wait_until(lambda: writer.lines("done") >= done + 50, f"writes after {name}")
        found = set(re.findall(r"\nfailed \S+ (\S+)", writer.text()))
        print(f"{name}: {writer.lines('failed')} writes refused ({', '.join(sorted(found))}), "
              f"{writer.lines('done')} acknowledged, without a restart")
        return [f"{name}: writes were refused as {found - codes}"] if found - codes else []


def set_faults(control: Path, errors):
    # In place: the file is mapped.
    with control.open("r+b" if control.exists() else "wb") as file:
        file.write(struct.pack("<ii", *errors))
