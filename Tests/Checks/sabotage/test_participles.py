from case import SabotageCase


class Participles(SabotageCase):
    rule = "participles"

    def refusal(self, name, line=1, count=1, most=0):
        return (
            f"Sources/Core/Lamp.swift:{line}: [participles] {name} does something and is no verb; name it by what it does "
            f"({count} in Sources/Core, {most} at most)")

    def test_a_participle_that_returns_nothing_changes_its_value_or_waits_is_refused(self):
        for function, name in [
            ("func finished(at time: Int) {}", "finished"),
            ("mutating func taken() -> Int { 1 }", "taken"),
            ("func settled() async -> Int { 1 }", "settled"),
            ("func made(\n    _ body: (Int) throws -> Void\n) throws(Failure)", "made"),
        ]:
            self.fixture.write("Sources/Core/Lamp.swift", function + "\n")
            self.assert_refused(self.refusal(name))

    def test_one_that_returns_a_value_is_not_nor_is_a_verb_or_a_longer_name(self):
        self.fixture.write(
            "Sources/Core/Lamp.swift",
            "func sorted(by order: (Int, Int) async -> Bool) -> [Int] { [] }\nfunc feed() {}\nfunc need() {}\n"
            "func needed() throws -> Int { 1 }\nfunc takenBack() {}\n")
        self.assert_accepted()

    def test_one_more_than_the_list_has_is_refused(self):
        self.fixture.write("Tests/Checks/participles.json", '{"Sources/Core": 1}\n')
        self.fixture.write("Sources/Core/Lamp.swift", "func lost() {}\n")
        self.assert_accepted()
        self.fixture.write("Sources/Core/Lamp.swift", "func lost() {}\nfunc ended() {}\n")
        self.assert_refused(self.refusal("ended", line=2, count=2, most=1))
