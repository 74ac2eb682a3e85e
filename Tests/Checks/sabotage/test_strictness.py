import subprocess

from case import SabotageCase

ATTIC = """\
// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "Attic",
    targets: [
        .target(name: "Attic", path: "Attic"),
        .testTarget(name: "AtticTests", dependencies: ["Attic"], path: "Tests/AtticTests"),
    ]
)
"""


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
            "Plugins/New/Package.swift: [packages] add `Plugins/New` to .ci/packages, or its tests to the host's "
            "Package.swift by `packageTests`; else nothing runs them")

    def test_a_package_whose_tests_the_host_does_not_run_is_refused(self):
        self.house.write("Sources/Attic/Package.swift", ATTIC)
        self.house.write("Sources/Attic/Attic/Box.swift", "")
        self.house.write("Sources/Attic/Tests/AtticTests/BoxTests.swift", "")
        missing = (
            "Sources/Attic/Package.swift: [packages] add `Sources/Attic` to .ci/packages, or its tests to the host's "
            "Package.swift by `packageTests`; else nothing runs them")
        self.assert_refused(missing)
        last = '.testTarget(name: "ParlourTests", dependencies: ["Parlour"], swiftSettings: strict),'
        twin = '.testTarget(name: "AtticTests", path: "Sources/Attic/Tests/AtticTests", swiftSettings: strict),'
        self.house.edit("Package.swift", last, last + twin)
        self.assertEqual((0, []), self.house.findings(self.rule))
        self.house.write("Sources/Attic/Tests/MoreTests/MoreTests.swift", "")
        self.house.edit("Package.swift", "Sources/Attic/Tests/AtticTests", "Sources/Attic/Tests/MoreTests")
        self.assert_refused(missing)
