from case import SabotageCase

GUEST = "Sources/Parlour/Guest.swift"


class Imports(SabotageCase):
    rule = "imports"

    def refused_import(self, source, message, line=1):
        self.house.write(GUEST, source)
        self.assert_refused(f"{GUEST}:{line}: [imports] {message}")

    def test_an_undeclared_import_is_refused(self):
        self.refused_import("import Attic\n", "target Parlour does not declare Attic")

    def test_a_room_that_the_target_does_not_declare_is_refused(self):
        self.house.edit("Package.swift", 'name: "Parlour", dependencies: ["Cellar"]', 'name: "Parlour"')
        self.assert_refused(f"{GUEST}:1: [imports] target Parlour does not declare Cellar")

    def test_a_conditional_import_is_seen(self):
        self.refused_import(
            "#if canImport(Attic)\n    import Attic\n#endif\n", "target Parlour does not declare Attic", line=2)

    def test_an_import_behind_a_semicolon_a_comment_or_on_two_lines_is_seen(self):
        for source, line in [
            ("import Cellar; import Attic\n", 1), ("/* a /* b */ c */ import Attic\n", 1), ("import\n    Attic\n", 2),
            ("public import Attic\n", 1), ("@preconcurrency import Attic\n", 1), ("import `Attic`\n", 1),
            ('let quoted = "\\("/*")"\nimport Attic\n', 2),
        ]:
            with self.subTest(source):
                self.refused_import(source, "target Parlour does not declare Attic", line)

    def test_an_import_in_a_comment_or_a_string_is_none(self):
        self.house.write(GUEST, '// import Attic\n/*\nimport Attic\n*/\nlet text = """\n    import Attic\n    """\n')
        self.assert_accepted()

    def test_a_label_named_import_is_none(self):
        self.house.write(GUEST, "func take(\n    import taken: Int\n) {}\n")
        self.assert_accepted()

    def test_testable_and_exported_imports_are_refused(self):
        self.refused_import("@testable import Cellar\n", "@testable is refused: tests go through the public interface, but for a room's own unit tests")
        self.refused_import(
            "@_exported import Cellar\n",
            "@_exported is refused: a reader of the importing file must see where names come from")

    def test_an_import_of_a_part_is_refused(self):
        for source in ["import struct Cellar.Jar\n", "import Cellar.Jar\n"]:
            self.refused_import(source, "import the whole module: `import Cellar`")

    def test_a_manifest_imports_nothing_else(self):
        self.house.edit("Package.swift", "import PackageDescription\n", "import Foundation\nimport PackageDescription\n")
        self.assert_refused("Package.swift:2: [imports] a manifest does not declare Foundation")

    def test_a_file_of_no_target_is_refused(self):
        self.house.write("Sources/Stray.swift", "")
        self.assert_refused("Sources/Stray.swift: [imports] belongs to no target, so nothing compiles or tests it")

    def test_a_step_of_a_tutorial_needs_no_target(self):
        self.house.write("Sources/Parlour/Parlour.docc/Resources/01-step.swift", "import Cellar\n")
        self.assert_accepted()
