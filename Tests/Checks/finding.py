"""What a check says about one place in the repository."""

from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class Finding:
    """`path` is relative to the repository's root; `line` is 0 where the finding is about the whole file."""

    path: str
    line: int
    rule: str
    message: str

    def __str__(self):
        place = f"{self.path}:{self.line}" if self.line else self.path
        return f"{place}: [{self.rule}] {self.message}"
