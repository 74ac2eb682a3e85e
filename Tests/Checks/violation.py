"""A breach of a rule, at a line of a file."""

from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class Violation:
    """`path` is relative to the repository's root; `line` is 0 where the violation concerns the whole file."""

    path: str
    line: int
    rule: str
    message: str

    def __str__(self):
        location = f"{self.path}:{self.line}" if self.line else self.path
        return f"{location}: [{self.rule}] {self.message}"
