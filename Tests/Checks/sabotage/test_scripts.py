import unittest

from workshop import Workshop

SWIFT = """case "$*" in
*--build-tests*) {build} ;;
*test*) echo "{tests}"; exit {code} ;;
esac"""


class Scripts(unittest.TestCase):
    folders = (".ci",)

    def setUp(self):
        self.shop = self.enterContext(Workshop(*self.folders))


class TestPackages(Scripts):
    def run_with(self, tests="Test run with 3 tests in 1 suite passed", code=0, build="true", **environment):
        (self.shop.root / ".ci/packages").write_text(".\nPlugins/Coming\n")
        (self.shop.root / "Package.swift").touch()
        self.shop.stand_in("swift", SWIFT.format(tests=tests, code=code, build=build))
        return self.shop.run(".ci/test-packages", **environment)

    def test_tests_that_pass_are_counted(self):
        code, said = self.run_with()
        self.assertEqual(0, code, said)
        self.assertIn("3 tests ran in all", said)

    def test_a_package_without_a_test_fails(self):
        code, said = self.run_with(tests="Test run with 0 tests in 0 suites passed")
        self.assertEqual(1, code)
        self.assertIn("no test ran", said)

    def test_a_failing_test_fails(self):
        code, said = self.run_with(code=1)
        self.assertEqual(1, code)
        self.assertIn("failed, or without a test: .", said)

    def test_a_build_that_fails_fails_before_any_test(self):
        code, said = self.run_with(build="exit 1")
        self.assertEqual(1, code)
        self.assertIn("did not build: .", said)
        self.assertNotIn("tests ran", said)

    def test_what_passes_the_hard_end_fails(self):
        code, said = self.run_with(CI_HARD_END="1")
        self.assertEqual(1, code)
        self.assertIn("no time left for: swift build", said)


class Run(Scripts):
    def test_a_failing_step_ends_the_run(self):
        self.shop.stand_in("make", 'echo "made $1"; [ "$1" != check ]')
        code, said = self.shop.run(".ci/run")
        self.assertEqual(1, code)
        self.assertIn("made check", said)
        self.assertNotIn("made test", said)

    def test_every_step_tells_its_duration_under_one_deadline(self):
        self.shop.stand_in("make", '[ -n "$CI_DEADLINE" ] && [ "$CI" = true ]')
        code, said = self.shop.run(".ci/run")
        self.assertEqual(0, code, said)
        self.assertRegex(said, r"make check: \d+ s\n── make test: \d+ s")


class Need(Scripts):
    def need(self, what):
        (self.shop.root / ".ci/needs").write_text(f"tools program {what} some-package\n")
        self.policy = self.shop.root / "policy-rc.d"
        self.shop.stand_in("apt-get", f'echo "apt-get $*"; sh {self.policy}; echo "policy $?"; exit 0')
        return self.shop.run(".ci/need", "tools", POLICY_RC_D=str(self.policy))

    def test_what_is_there_installs_nothing(self):
        self.assertEqual((0, ""), self.need("sh"))

    def test_what_is_missing_is_installed_without_a_question(self):
        self.shop.stand_in("id", "echo 0")
        code, said = self.need("no-such-program")
        self.assertEqual(0, code, said)
        self.assertIn("apt-get update -qq\n", said)
        self.assertIn("apt-get install -y -qq --no-install-recommends some-package\n", said)

    def test_no_service_of_a_package_starts_and_the_policy_goes_again(self):
        self.shop.stand_in("id", "echo 0")
        code, said = self.need("no-such-program")
        self.assertIn("policy 101", said)
        self.assertFalse(self.policy.exists())

    def test_without_root_and_sudo_the_command_is_printed(self):
        self.shop.stand_in("id", "echo 1000")
        self.shop.stand_in("sudo", "exit 1")
        code, said = self.need("no-such-program")
        self.assertEqual(1, code)
        self.assertIn("missing: some-package", said)
        self.assertIn("Run as root: apt-get update && apt-get install -y some-package", said)


class Unit(Scripts):
    folders = ("Deploy",)

    def test_the_unit_passes(self):
        code, said = self.shop.run("Deploy/verify")
        self.assertEqual(0, code, said)

    def test_a_misspelt_key_is_refused(self):
        self.shop.edit("Deploy/portico.service", "NoNewPrivileges", "NoNewPriviledges")
        code, said = self.shop.run("Deploy/verify")
        self.assertEqual(1, code)
        self.assertIn("Unknown key 'NoNewPriviledges'", said)

    def test_a_unit_with_more_exposure_is_refused(self):
        self.shop.edit("Deploy/portico.service", "CapabilityBoundingSet=\n", "")
        self.shop.edit("Deploy/portico.service", "PrivateUsers=yes\n", "")
        code, said = self.shop.run("Deploy/verify")
        self.assertEqual(1, code)
        self.assertIn("Overall exposure level", said)
