"""What every sabotage test says: this damage is found, with these words, and nothing else is."""

import unittest

from house import House


class SabotageCase(unittest.TestCase):
    rule = ""

    def setUp(self):
        self.house = self.enterContext(House())

    def assert_refused(self, *lines):
        code, found = self.house.findings(self.rule)
        self.assertEqual([*lines], found)
        self.assertEqual(1, code)

    def assert_accepted(self):
        self.assertEqual((0, []), self.house.findings(self.rule))
