from case import SabotageCase

MODULES = "Tests/Checks/modules.json"


class Dependencies(SabotageCase):
    rule = "dependencies"

    def test_a_dependency_that_the_table_does_not_list_is_refused(self):
        self.fixture.edit(MODULES, '"dependencies": ["Core"]', '"dependencies": []')
        self.assert_refused("Package.swift: [dependencies] Shell may not depend on Core")

    def test_a_module_that_the_table_does_not_list_is_refused(self):
        self.fixture.edit("Package.swift", "    targets: [\n", '    targets: [\n        .target(name: "Extra"),\n')
        self.fixture.write("Sources/Extra/Added.swift", "")
        self.assert_refused(f"Package.swift: [dependencies] module Extra is not in {MODULES}")

    def test_a_table_that_is_not_in_order_is_refused(self):
        self.fixture.edit(MODULES, '"Counts", "dependencies": []', '"Counts", "dependencies": ["Shell"]')
        self.assert_refused(
            f"{MODULES}: [dependencies] Core does not depend on Shell; remove it from the row",
            f"{MODULES}: [dependencies] Core names Shell, which does not stand above it")

    def test_a_row_without_a_target_is_refused(self):
        self.fixture.edit(MODULES, '"modules": {', '"modules": {"Gone": {"dependencies": [], "external": []}, ')
        self.assert_refused(f"{MODULES}: [dependencies] Gone is a target of no package")

    def test_a_listed_dependency_that_is_not_declared_is_refused(self):
        self.fixture.edit("Package.swift", 'name: "Shell", dependencies: ["Core"]', 'name: "Shell"')
        self.fixture.write("Sources/Shell/Screen.swift", "")
        self.assert_refused(f"{MODULES}: [dependencies] Shell does not depend on Core; remove it from the row")

    def test_a_listed_external_module_that_is_not_used_is_refused(self):
        for module in ["Crypto", "FoundationNetworking"]:
            with self.subTest(module):
                self.fixture.edit(MODULES, '["Core"], "external": []', f'["Core"], "external": ["{module}"]')
                self.assert_refused(f"{MODULES}: [dependencies] Shell does not depend on {module}; remove it from the row")
                self.fixture.edit(MODULES, f'"external": ["{module}"]', '"external": []')

    def test_a_declared_dependency_that_is_not_imported_is_refused(self):
        self.fixture.write("Sources/Shell/Screen.swift", "// import Core\n")
        self.assert_refused("Package.swift: [dependencies] Shell declares Core and does not import it")

    def test_a_dependency_of_a_test_that_is_not_imported_is_refused(self):
        self.fixture.write("Tests/ShellTests/ScreenTests.swift", "import Testing\n")
        self.assert_refused("Package.swift: [dependencies] ShellTests declares Shell and does not import it")


class Table(SabotageCase):
    rule = "table"

    def test_a_document_that_differs_from_the_table_is_refused(self):
        self.fixture.edit("docs/module-dependencies.md", "Shows", "Shows and counts")
        self.assert_refused(
            "docs/module-dependencies.md: [table] differs from modules.json; run `python3 Tests/Checks --write-table`")


class Figure(SabotageCase):
    rule = "figure"

    def figure(self, *lines):
        self.fixture.write("docs/ARCHITECTURE.md", "\n".join(["# Modules", "```mermaid", "flowchart TB", *lines, "```", ""]))

    def test_a_figure_of_all_modules_and_dependencies_is_accepted(self):
        self.figure('  subgraph one["a package"]', '    Shell["the shell"]; Core', "  end", "  Shell --> Core")
        self.assert_accepted()
        self.figure('  All["Core, Shell"]', "  Core -. not a dependency .-> Shell")
        self.assert_accepted()

    def test_an_arrow_that_is_no_dependency_and_one_that_is_missing_are_refused(self):
        self.figure("  Core --> Shell")
        self.assert_refused(
            "docs/ARCHITECTURE.md:2: [figure] does not show that Shell depends on Core",
            "docs/ARCHITECTURE.md:2: [figure] has an arrow from Core to Shell, which is no dependency")

    def test_a_missing_module_and_an_unknown_one_are_refused(self):
        self.figure("  Shell; Kernel")
        self.assert_refused(
            "docs/ARCHITECTURE.md:2: [figure] does not show Core",
            "docs/ARCHITECTURE.md:2: [figure] shows Kernel, which is no module")
        self.fixture.edit("Tests/Checks/modules.json", '"purpose": "Counts"', '"figure": false, "purpose": "Counts"')
        self.figure("  Shell")
        self.assert_accepted()
