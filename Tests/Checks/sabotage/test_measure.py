import sys

from case import SabotageCase
from fixture import CHECKS

sys.path.append(str(CHECKS))
from measure import measure
from repository import Repository


class Measure(SabotageCase):
    def figures(self):
        return measure(Repository(self.fixture.root))

    def test_files_types_and_decisions_are_counted(self):
        self.fixture.write("docs/decisions/0001-do-it.md", "")
        self.fixture.write("Sources/Core/Long.swift", "struct Long {\n" + "\n" * 50 + "    enum Kind {}\n}\n")
        figures = self.figures()
        self.assertEqual((4, 3, 3), (figures["Swift files"], figures["types"], figures["files of 40 lines or fewer"]))
        self.assertEqual((53, 1), (figures["lines of the largest file"], figures["decisions"]))

    def test_folders_of_a_target_that_use_each_other_are_a_cycle(self):
        self.fixture.write("Sources/Core/Reading/Reader.swift", "struct Reader { let writer: Writer }\n")
        self.fixture.write("Sources/Core/Writing/Writer.swift", "struct Writer {}\n")
        self.assertEqual(0, self.figures()["targets with cycles of folders"])
        self.fixture.write("Sources/Core/Writing/Writer.swift", "struct Writer { func read() -> Reader? { nil } }\n")
        figures = self.figures()
        self.assertEqual((1, 2), (figures["targets with cycles of folders"], figures["  folders in cycles of Core"]))
