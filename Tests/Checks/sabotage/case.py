"""The base of every sabotage test: damages the fixture and expects exactly the given violations."""

import unittest

from fixture import PackageFixture


class SabotageCase(unittest.TestCase):
    rule = ""

    def setUp(self):
        self.fixture = self.enterContext(PackageFixture())

    def assert_refused(self, *lines):
        code, found = self.fixture.violations(self.rule)
        self.assertEqual([*lines], found)
        self.assertEqual(1, code)

    def assert_accepted(self):
        self.assertEqual((0, []), self.fixture.violations(self.rule))
