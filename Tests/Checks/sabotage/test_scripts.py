import unittest

from script_sandbox import ScriptSandbox

SWIFT = """case "$*" in
*--build-tests*) {build} ;;
*test*) echo "{tests}"; exit {code} ;;
esac"""


class Scripts(unittest.TestCase):
    folders = (".ci",)

    def setUp(self):
        self.sandbox = self.enterContext(ScriptSandbox(*self.folders))


class TestPackages(Scripts):
    def run_with(self, tests="Test run with 3 tests in 1 suite passed", code=0, build="true", **environment):
        (self.sandbox.root / ".ci/packages").write_text(".\nPlugins/Coming\n")
        (self.sandbox.root / "tally").unlink(missing_ok=True)
        (self.sandbox.root / "Package.swift").touch()
        self.sandbox.stand_in("swift", SWIFT.format(tests=tests, code=code, build=build))
        return self.sandbox.run(".ci/test-packages", **{"CI_TALLY": str(self.sandbox.root / "tally"), **environment})

    def counted(self):
        return (self.sandbox.root / "tally").read_text()

    def test_tests_that_pass_are_counted(self):
        code, output = self.run_with()
        self.assertEqual(0, code, output)
        self.assertIn("3 tests ran in all", output)
        self.assertEqual("3 0\n", self.counted())

    def test_tests_that_fail_are_counted(self):
        failing = "✘ Test a failed after 0.1 seconds with 1 issue.\n✘ Suite S failed after 0.1 seconds with 1 issue.\n"
        code, output = self.run_with(tests=f"{failing}✘ Test run with 3 tests in 1 suite failed after 1 second", code=1)
        self.assertEqual(1, code)
        self.assertEqual("2 1\n", self.counted())

    def test_a_crash_counts_as_a_failure(self):
        code, output = self.run_with(tests="error: Exited with unexpected signal code 4", code=1)
        self.assertEqual(1, code)
        self.assertEqual("0 1\n", self.counted())

    def test_a_filter_that_matches_nothing_passes(self):
        code, output = self.run_with(tests="Test run with 0 tests in 0 suites passed", FILTER="Nothing")
        self.assertEqual(0, code, output)

    def test_a_package_without_a_test_fails(self):
        code, output = self.run_with(tests="Test run with 0 tests in 0 suites passed")
        self.assertEqual(1, code)
        self.assertIn("no test ran", output)

    def test_a_failing_test_fails(self):
        code, output = self.run_with(code=1)
        self.assertEqual(1, code)
        self.assertIn("failed, or without a test: .", output)

    def test_a_build_that_fails_fails_before_any_test(self):
        code, output = self.run_with(build="exit 1")
        self.assertEqual(1, code)
        self.assertIn("did not build: .", output)
        self.assertNotIn("tests ran", output)

    def test_what_passes_the_hard_end_fails(self):
        code, output = self.run_with(CI_HARD_END="1")
        self.assertEqual(1, code)
        self.assertIn("no time left for: swift build", output)


class ConfigurationReference(Scripts):
    """`make check` holds the generated pages of docs/ against what the program prints."""

    def setUp(self):
        super().setUp()
        self.sandbox.stand_in("swift", "true")
        self.document = self.sandbox.root / "docs/configuration.md"
        self.others = [self.sandbox.root / f"docs/{name}.md" for name in ("metrics", "errors")]
        program = self.sandbox.root / ".build/debug/portico"
        for path in (self.document, program):
            path.parent.mkdir(parents=True)
        program.write_text("#!/bin/sh\n[ \"$1\" = reference ] && echo '| `http.port` | 0 to 65535 |'\n")
        program.chmod(0o755)
        for other in self.others:
            other.write_text("| `http.port` | 0 to 65535 |\n")

    def test_a_document_that_is_what_the_program_prints_passes(self):
        self.document.write_text("| `http.port` | 0 to 65535 |\n")
        self.assertEqual((0, ""), self.sandbox.run(".ci/reference"))

    def test_a_row_that_differs_fails_and_is_renewed_on_demand(self):
        self.document.write_text("| `http.port` | a number |\n")
        code, output = self.sandbox.run(".ci/reference")
        self.assertEqual(1, code)
        self.assertIn("+| `http.port` | 0 to 65535 |", output)
        self.assertIn(".ci/reference --write", output)
        self.assertEqual(0, self.sandbox.run(".ci/reference", "--write")[0])
        self.assertEqual(0, self.sandbox.run(".ci/reference")[0])

    def test_every_page_is_compared(self):
        self.document.write_text("| `http.port` | 0 to 65535 |\n")
        for other in self.others:
            kept = other.read_text()
            other.write_text("changed\n")
            self.assertEqual(1, self.sandbox.run(".ci/reference")[0])
            other.write_text(kept)
        self.assertEqual(0, self.sandbox.run(".ci/reference")[0])

    def test_a_program_that_does_not_build_fails(self):
        self.document.write_text("| `http.port` | 0 to 65535 |\n")
        self.sandbox.stand_in("swift", "echo broken; exit 1")
        code, output = self.sandbox.run(".ci/reference")
        self.assertEqual(1, code)
        self.assertIn("broken", output)


class Run(Scripts):
    def test_a_failing_step_ends_the_run(self):
        self.sandbox.stand_in("make", 'echo "made $1"; [ "$1" != check ]')
        code, output = self.sandbox.run(".ci/run")
        self.assertEqual(1, code)
        self.assertIn("made check", output)
        self.assertNotIn("made test-all", output)

    def test_the_last_line_says_how_many_tests_passed_and_failed(self):
        total = 'mkdir -p .build/logs; echo "7 passed, 1 failed" >.build/logs/total; [ "$1" = check ]'
        self.sandbox.stand_in("make", total)
        code, output = self.sandbox.run(".ci/run")
        self.assertEqual(1, code)
        self.assertEqual("7 passed, 1 failed", output.splitlines()[-1])

    def test_every_step_tells_its_duration_under_one_deadline(self):
        self.sandbox.stand_in("make", '[ -n "$CI_DEADLINE" ] && [ "$CI" = true ]')
        code, output = self.sandbox.run(".ci/run")
        self.assertEqual(0, code, output)
        self.assertRegex(output, r"make check: \d+ s\n── make test-all: \d+ s")


class Test(Scripts):
    def run_with(self, *arguments, **environment):
        for script in ["test-packages", "test-end-to-end", "test-consumer", "test-drivers"]:
            (self.sandbox.root / ".ci" / script).write_text(
                f'#!/bin/sh\necho {script} "$@"\necho 2 0 >>"$CI_TALLY"\n[ "$FAILING" != {script} ]\n')
        self.sandbox.stand_in("python3", "echo test_notes")
        return self.sandbox.run(".ci/test", *arguments, **environment)

    def test_the_quick_loop_runs_unit_tests_and_the_modules_that_say_so(self):
        code, output = self.run_with("quick")
        self.assertEqual(0, code, output)
        self.assertRegex(output, r"test-packages\ntest-end-to-end --quick\n── all tests: \d+ s\n4 passed, 0 failed\n$")

    def test_everything_includes_the_mass_checks(self):
        code, output = self.run_with("all")
        self.assertEqual(0, code, output)
        self.assertIn("test-end-to-end\ntest-consumer\ntest-drivers\n", output)

    def test_unit_tests_that_fail_do_not_hide_the_end_to_end_tests(self):
        code, output = self.run_with("all", FAILING="test-packages")
        self.assertEqual(1, code)
        self.assertIn("test-end-to-end", output)
        self.assertNotIn("test-drivers", output)

    def test_a_filter_asks_both_kinds_of_tests_or_the_end_to_end_tests_alone(self):
        code, output = self.run_with("quick", FILTER="Notes")
        self.assertIn("test-packages\ntest-end-to-end --filter Notes\n", output)
        code, output = self.run_with("quick", FILTER="test_notes")
        self.assertNotIn("test-packages", output)
        self.assertIn("test-end-to-end --filter test_notes\n", output)


class Need(Scripts):
    def need(self, what, probe="program"):
        (self.sandbox.root / ".ci/needs").write_text(f"tools {probe} {what} some-package\n")
        self.policy = self.sandbox.root / "policy-rc.d"
        self.sandbox.stand_in("apt-get", f'echo "apt-get $*"; sh {self.policy}; echo "policy $?"; exit 0')
        return self.sandbox.run(".ci/need", "tools", POLICY_RC_D=str(self.policy))

    def test_what_is_there_installs_nothing(self):
        self.assertEqual((0, ""), self.need("sh"))

    def test_what_is_missing_is_installed_without_a_question(self):
        self.sandbox.stand_in("id", "echo 0")
        code, output = self.need("no-such-program")
        self.assertEqual(0, code, output)
        self.assertIn("apt-get update -qq -o Acquire::Retries=5\n", output)
        self.assertIn("apt-get install -o Acquire::Retries=5 -y -qq --no-install-recommends some-package\n", output)

    def test_a_file_is_looked_for_by_its_path(self):
        self.sandbox.stand_in("id", "echo 0")
        self.assertEqual((0, ""), self.need("/etc/passwd", "file"))
        self.assertIn("some-package\n", self.need("/etc/no-such-file", "file")[1])

    def test_no_service_of_a_package_starts_and_the_policy_goes_again(self):
        self.sandbox.stand_in("id", "echo 0")
        code, output = self.need("no-such-program")
        self.assertIn("policy 101", output)
        self.assertFalse(self.policy.exists())

    def test_without_root_and_sudo_the_command_is_printed(self):
        self.sandbox.stand_in("id", "echo 1000")
        self.sandbox.stand_in("sudo", "exit 1")
        code, output = self.need("no-such-program")
        self.assertEqual(1, code)
        self.assertIn("missing: some-package", output)
        self.assertIn("Run as root: apt-get update && apt-get install -y some-package", output)


class Unit(Scripts):
    folders = ("Deploy",)

    def test_the_unit_passes(self):
        code, output = self.sandbox.run("Deploy/verify")
        self.assertEqual(0, code, output)

    def test_a_misspelt_key_is_refused(self):
        self.sandbox.edit("Deploy/portico.service", "NoNewPrivileges", "NoNewPriviledges")
        code, output = self.sandbox.run("Deploy/verify")
        self.assertEqual(1, code)
        self.assertIn("Unknown key 'NoNewPriviledges'", output)

    def test_a_unit_with_more_exposure_is_refused(self):
        self.sandbox.edit("Deploy/portico.service", "CapabilityBoundingSet=\n", "")
        self.sandbox.edit("Deploy/portico.service", "PrivateUsers=yes\n", "")
        code, output = self.sandbox.run("Deploy/verify")
        self.assertEqual(1, code)
        self.assertIn("Overall exposure level", output)
