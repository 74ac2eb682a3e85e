from case import SabotageCase


class Openings(SabotageCase):
    rule = "openings"

    def test_a_comment_that_names_nothing_is_refused_in_a_module_without_any(self):
        self.fixture.write("Sources/Core/Lamp.swift", "/// What it gives.\nlet light = 1\n")
        self.assert_refused(
            "Sources/Core/Lamp.swift:1: [openings] `What it gives.` names nothing; open with a noun phrase or a verb "
            "(1 in Sources/Core, 0 at most)")

    def test_one_more_than_the_list_has_is_refused(self):
        self.fixture.write("Tests/Checks/openings.json", '{"Sources/Core": 1}\n')
        self.fixture.write("Sources/Core/Lamp.swift", "/// How bright it is.\nlet light = 1\n")
        self.assert_accepted()
        self.fixture.write("Sources/Core/Room.swift", "/// Those that are lit.\nlet rooms = 1\n")
        self.assert_refused(
            "Sources/Core/Room.swift:1: [openings] `Those that are lit.` names nothing; open with a noun phrase or a verb "
            "(2 in Sources/Core, 1 at most)")

    def test_further_lines_of_a_comment_and_whole_words_are_not(self):
        self.fixture.write("Sources/Core/Lamp.swift", "/// The light, in lumens.\n/// What is dark has 0.\nlet light = 1\n/// Whole rooms.\nlet rooms = 1\n")
        self.assert_accepted()
