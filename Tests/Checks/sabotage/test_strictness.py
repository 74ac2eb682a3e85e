import subprocess

from case import SabotageCase

EXTRA = """\
// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "Extra",
    targets: [
        .target(name: "Extra", path: "Extra"),
        .testTarget(name: "ExtraTests", dependencies: ["Extra"], path: "Tests/ExtraTests"),
    ]
)
"""


class Strict(SabotageCase):
    rule = "strict"

    def test_a_target_without_warnings_as_errors_is_refused(self):
        self.fixture.edit("Package.swift", "    .treatAllWarnings(as: .error),\n", "")
        self.assert_refused(*(
            f"Package.swift: [strict] target {name} lacks `.treatAllWarnings(as: .error)`"
            for name in ["Core", "Shell", "ShellTests"]))

    def test_one_target_without_its_settings_is_refused(self):
        self.fixture.edit("Package.swift", '.target(name: "Core", swiftSettings: strict)', '.target(name: "Core")')
        code, found = self.fixture.violations(self.rule)
        self.assertEqual((1, 3), (code, len(found)))

    def test_the_settings_make_a_warning_fail_the_build(self):
        self.fixture.write("Sources/Core/Counter.swift", "public struct Counter {}\n\nfunc fill() { let unused = 1 }\n")
        ran = subprocess.run(
            ["swift", "build", "--target", "Core", "--package-path", str(self.fixture.root)],
            capture_output=True, text=True)
        self.assertNotEqual(0, ran.returncode)
        self.assertRegex(ran.stdout + ran.stderr, r"error: initialization of immutable value 'unused'")


class Format(SabotageCase):
    rule = "format"

    def test_a_file_in_another_format_is_refused(self):
        self.fixture.write("Sources/Core/Counter.swift", "public struct Counter {\n  let value = 1\n}\n")
        self.assert_refused("Sources/Core/Counter.swift:2: [format] [Indentation] indent by 2 spaces")


class Packages(SabotageCase):
    rule = "packages"

    def test_a_package_that_make_test_does_not_know_is_refused(self):
        self.fixture.write("Plugins/New/Package.swift", self.fixture.root.joinpath("Package.swift").read_text())
        for path in ["Sources/Core/Counter", "Sources/Shell/Screen", "Tests/ShellTests/ScreenTests"]:
            self.fixture.write(f"Plugins/New/{path}.swift", "")
        self.assert_refused(
            "Plugins/New/Package.swift: [packages] add `Plugins/New` to .ci/packages, or its tests to the host's "
            "Package.swift by `packageTests`; else nothing runs them")

    def test_a_package_whose_tests_the_host_does_not_run_is_refused(self):
        self.fixture.write("Sources/Extra/Package.swift", EXTRA)
        self.fixture.write("Sources/Extra/Extra/Box.swift", "")
        self.fixture.write("Sources/Extra/Tests/ExtraTests/BoxTests.swift", "")
        missing = (
            "Sources/Extra/Package.swift: [packages] add `Sources/Extra` to .ci/packages, or its tests to the host's "
            "Package.swift by `packageTests`; else nothing runs them")
        self.assert_refused(missing)
        last = '.testTarget(name: "ShellTests", dependencies: ["Shell"], swiftSettings: strict),'
        twin = '.testTarget(name: "ExtraTests", path: "Sources/Extra/Tests/ExtraTests", swiftSettings: strict),'
        self.fixture.edit("Package.swift", last, last + twin)
        self.assertEqual((0, []), self.fixture.violations(self.rule))
        self.fixture.write("Sources/Extra/Tests/MoreTests/MoreTests.swift", "")
        self.fixture.edit("Package.swift", "Sources/Extra/Tests/ExtraTests", "Sources/Extra/Tests/MoreTests")
        self.assert_refused(missing)
