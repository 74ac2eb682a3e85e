"""The process that writes, with the recorder in it."""
import os
import subprocess
import time
from pathlib import Path

TIMEOUT = 120


def compile_recorder(place: Path) -> Path:
    library = place / "recorder.so"
    source = Path(__file__).with_name("recorder.c")
    subprocess.run(
        ["clang", "-O2", "-Wall", "-Werror", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    return library


def verify(driver: Path, images: Path) -> str:
    return subprocess.run(
        [driver, "--verify-images", images], check=True, capture_output=True, text=True, timeout=600).stdout


class Writer:
    """Runs until the end of its block, then is killed."""

    def __init__(self, driver: Path, recorder: Path, directory: Path, trace: Path = None, faults: Path = None,
                 arguments=(), number: int = 1):
        directory.mkdir(exist_ok=True)
        self.ledger = directory / "ledger"
        environment = dict(os.environ, LD_PRELOAD=str(recorder), SWIFT_BACKTRACE="enable=no")
        if trace:
            environment["RECORDER_TRACE"] = str(trace)
        if faults:
            environment["RECORDER_FAULTS"] = str(faults)
        self.process = subprocess.Popen(
            [driver, "--write-round", str(number), "--directory", directory, *arguments], env=environment)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def lines(self, word: str) -> int:
        return self.text().count(f"\n{word} ")

    def text(self) -> str:
        return "\n" + self.ledger.read_text(errors="replace") if self.ledger.exists() else ""

    def wait_for_acknowledged(self, count: int):
        self.wait_until(lambda: self.lines("done") >= count, f"{count} acknowledged writes")

    def wait_until(self, holds, what: str):
        end = time.monotonic() + TIMEOUT
        while not holds():
            if self.process.poll() is not None:
                raise RuntimeError(f"the writer ended by itself, waiting for {what}")
            if time.monotonic() > end:
                raise RuntimeError(f"no {what}; the ledger ends with {self.text()[-300:]!r}")
            time.sleep(0.02)
