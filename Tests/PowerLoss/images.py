"""What a disk might hold when the power goes: rebuilt from the record of a process's writes and syncs (recorder.c)."""
import dataclasses
import random
import struct
from pathlib import Path

HEAD = struct.Struct("<ccQQ")
SECTOR = 512
NAMES = {b"D": "store.sqlite", b"W": "store.sqlite-wal"}


@dataclasses.dataclass
class Event:
    kind: bytes
    file: bytes
    offset: int
    data: bytes


def events(trace: Path):
    """The record's events; what a kill cut off at the end is left out."""
    with trace.open("rb") as stream:
        while len(head := stream.read(HEAD.size)) == HEAD.size:
            kind, file, offset, length = HEAD.unpack(head)
            data = stream.read(length)
            if len(data) < length:
                return
            yield Event(kind, file, offset, data)


class DiskFile:
    """A file's bytes that are certainly on the disk, and the changes since, each of which may be, in part, or not."""

    def __init__(self):
        self.synced = bytearray()
        self.pending: list[Event] = []

    def change(self, event: Event):
        if event.kind == b"S":
            for earlier in self.pending:
                apply(self.synced, earlier)
            self.pending.clear()
        else:
            self.pending.append(event)

    def image(self, dice: random.Random) -> bytes:
        """Every change that no sync follows: kept, torn at a sector, or lost. A third of the images keep none."""
        content = bytearray(self.synced)
        keeps = dice.choice([0.0, 0.5, 0.95])
        for event in self.pending:
            if dice.random() >= keeps:
                continue
            if event.kind == b"W" and dice.random() < 0.2:
                event = dataclasses.replace(event, data=event.data[:SECTOR * dice.randint(0, len(event.data) // SECTOR)])
            apply(content, event)
        return bytes(content)


def apply(content: bytearray, event: Event):
    if event.kind == b"T":
        del content[event.offset:]
        content.extend(bytes(event.offset - len(content)))
        return
    end = event.offset + len(event.data)
    content.extend(bytes(max(0, end - len(content))))
    content[event.offset:end] = event.data


def write_images(trace: Path, into: Path, count: int, seed: int) -> int:
    """Images at moments that the seed decides, each with the ledger as it was then. Gives how many events there were."""
    dice = random.Random(seed)
    total = sum(1 for _ in events(trace))
    # The first events make the empty store.
    moments = set(dice.sample(range(total // 10, total), min(count, total - total // 10)))
    files = {name: DiskFile() for name in NAMES}
    ledger = bytearray()
    for number, event in enumerate(events(trace)):
        if event.kind == b"L":
            ledger += event.data
        else:
            files[event.file].change(event)
        if number in moments:
            write_image(into / f"{number:09}", files, ledger, dice)
    return total


def write_image(directory: Path, files: dict[bytes, DiskFile], ledger: bytes, dice: random.Random):
    directory.mkdir(parents=True)
    (directory / "ledger").write_bytes(ledger)
    for file, content in files.items():
        (directory / NAMES[file]).write_bytes(content.image(dice))
