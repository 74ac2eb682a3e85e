import subprocess

from case import SabotageCase


class Strict(SabotageCase):
    rule = "strict"

    def test_a_target_without_warnings_as_errors_is_refused(self):
        self.house.edit("Package.swift", "    .treatAllWarnings(as: .error),\n", "")
        self.assert_refused(*(
            f"Package.swift: [strict] target {name} lacks `.treatAllWarnings(as: .error)`"
            for name in ["Cellar", "Parlour", "ParlourTests"]))

    def test_one_target_without_its_settings_is_refused(self):
        self.house.edit("Package.swift", '.target(name: "Cellar", swiftSettings: strict)', '.target(name: "Cellar")')
        code, found = self.house.findings(self.rule)
        self.assertEqual((1, 3), (code, len(found)))

    def test_the_settings_make_a_warning_fail_the_build(self):
        self.house.write("Sources/Cellar/Jar.swift", "public struct Jar {}\n\nfunc fill() { let unused = 1 }\n")
        ran = subprocess.run(
            ["swift", "build", "--target", "Cellar", "--package-path", str(self.house.root)],
            capture_output=True, text=True)
        self.assertNotEqual(0, ran.returncode)
        self.assertRegex(ran.stdout + ran.stderr, r"error: initialization of immutable value 'unused'")


class Format(SabotageCase):
    rule = "format"

    def test_a_file_in_another_format_is_refused(self):
        self.house.write("Sources/Cellar/Jar.swift", "public struct Jar {\n  let lid = 1\n}\n")
        self.assert_refused("Sources/Cellar/Jar.swift:2: [format] [Indentation] indent by 2 spaces")


class Packages(SabotageCase):
    rule = "packages"

    def test_a_package_that_make_test_does_not_know_is_refused(self):
        self.house.write("Plugins/New/Package.swift", self.house.root.joinpath("Package.swift").read_text())
        for path in ["Sources/Cellar/Jar", "Sources/Parlour/Guest", "Tests/ParlourTests/GuestTests"]:
            self.house.write(f"Plugins/New/{path}.swift", "")
        self.assert_refused(
            "Plugins/New/Package.swift: [packages] add `Plugins/New` to .ci/packages, or nothing tests it")
