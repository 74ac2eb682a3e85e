from case import SabotageCase


class Repeated(SabotageCase):
    rule = "repeated"

    def test_a_type_name_of_two_modules_is_refused_in_both(self):
        self.fixture.write("Sources/Shell/Counter.swift", "final class Counter {}\n")
        self.assert_refused(
            "Sources/Core/Counter.swift:1: [repeated] Shell has a type Counter too; give this one a name of its own",
            "Sources/Shell/Counter.swift:1: [repeated] Core has a type Counter too; give this one a name of its own")

    def test_the_list_allows_its_modules_alone(self):
        self.fixture.write("Sources/Shell/Counter.swift", "enum Counter {}\n")
        self.fixture.write("Tests/Checks/repeated.json", '{"Counter": ["Core", "Shell"]}\n')
        self.assert_accepted()
        self.fixture.write("Tests/Checks/repeated.json", '{"Counter": ["Core"]}\n')
        self.assert_refused("Sources/Shell/Counter.swift:1: [repeated] Core has a type Counter too; give this one a name of its own")

    def test_nested_types_types_of_a_file_and_those_of_tests_may_share_a_name(self):
        self.fixture.write("Sources/Shell/Screen.swift", "enum Screen {\n    struct Counter {}\n}\n\nprivate struct Counter {}\n")
        self.fixture.write("Tests/ShellTests/ScreenTests.swift", "import Testing\n\nstruct Counter {}\n")
        self.assert_accepted()

    def test_the_stores_have_parts_of_the_same_names(self):
        self.fixture.edit(
            "Package.swift", "    targets: [\n",
            '    targets: [\n        .target(name: "SQLiteStore", swiftSettings: strict),\n'
            '        .target(name: "PostgreSQLStore", swiftSettings: strict),\n')
        self.fixture.write("Sources/SQLiteStore/Writer.swift", "struct Writer {}\n")
        self.fixture.write("Sources/PostgreSQLStore/Writer.swift", "struct Writer {}\n")
        self.assert_accepted()
        self.fixture.write("Sources/Shell/Writer.swift", "struct Writer {}\n")
        code, found = self.fixture.violations(self.rule)
        self.assertEqual((1, 3), (code, len(found)))
