from case import SabotageCase

SCREEN = "Sources/Shell/Screen.swift"


class Imports(SabotageCase):
    rule = "imports"

    def refused_import(self, source, message, line=1):
        self.fixture.write(SCREEN, source)
        self.assert_refused(f"{SCREEN}:{line}: [imports] {message}")

    def test_an_undeclared_import_is_refused(self):
        self.refused_import("import Extra\n", "target Shell does not declare Extra")

    def test_a_module_that_the_target_does_not_declare_is_refused(self):
        self.fixture.edit("Package.swift", 'name: "Shell", dependencies: ["Core"]', 'name: "Shell"')
        self.assert_refused(f"{SCREEN}:1: [imports] target Shell does not declare Core")

    def test_a_conditional_import_is_seen(self):
        self.refused_import(
            "#if canImport(Extra)\n    import Extra\n#endif\n", "target Shell does not declare Extra", line=2)

    def test_an_import_behind_a_semicolon_a_comment_or_on_two_lines_is_seen(self):
        for source, line in [
            ("import Core; import Extra\n", 1), ("/* a /* b */ c */ import Extra\n", 1), ("import\n    Extra\n", 2),
            ("public import Extra\n", 1), ("@preconcurrency import Extra\n", 1), ("import `Extra`\n", 1),
            ('let quoted = "\\("/*")"\nimport Extra\n', 2),
        ]:
            with self.subTest(source):
                self.refused_import(source, "target Shell does not declare Extra", line)

    def test_an_import_in_a_comment_or_a_string_is_none(self):
        self.fixture.write(SCREEN, '// import Extra\n/*\nimport Extra\n*/\nlet text = """\n    import Extra\n    """\n')
        self.assert_accepted()

    def test_a_label_named_import_is_none(self):
        self.fixture.write(SCREEN, "func take(\n    import taken: Int\n) {}\n")
        self.assert_accepted()

    def test_testable_and_exported_imports_are_refused(self):
        self.refused_import("@testable import Core\n", "@testable is refused: tests go through the public interface, but for a module's own unit tests")
        self.refused_import(
            "@_exported import Core\n",
            "@_exported is refused: a reader of the importing file must see where names come from")

    def test_an_import_of_a_part_is_refused(self):
        for source in ["import struct Core.Counter\n", "import Core.Counter\n"]:
            self.refused_import(source, "import the whole module: `import Core`")

    def test_a_manifest_imports_nothing_else(self):
        self.fixture.edit("Package.swift", "import PackageDescription\n", "import Foundation\nimport PackageDescription\n")
        self.assert_refused("Package.swift:2: [imports] a manifest does not declare Foundation")

    def test_a_file_of_no_target_is_refused(self):
        self.fixture.write("Sources/Stray.swift", "")
        self.assert_refused("Sources/Stray.swift: [imports] belongs to no target, so nothing compiles or tests it")

    def test_a_step_of_a_tutorial_needs_no_target(self):
        self.fixture.write("Sources/Shell/Shell.docc/Resources/01-step.swift", "import Core\n")
        self.assert_accepted()
