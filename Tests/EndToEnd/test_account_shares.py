"""What one account takes of anything shared leaves another account its answers: the table of docs/threat-model.md, row by row."""

import re
import unittest

import share_scenarios
from harness import ROOT
from share_scenarios import Scenario

HEADING = "## Shares by account"


def rows():
    """The scenario that each row names, by what the row is about."""
    section = (ROOT / "docs" / "threat-model.md").read_text().split(HEADING + "\n", 1)[1].split("\n## ", 1)[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[1:] if not line.startswith("|---")]
    return {cell[0]: cell[-1].strip("`") for cell in cells}


def scenarios():
    return {
        name: found for name, found in vars(share_scenarios).items()
        if isinstance(found, type) and issubclass(found, Scenario) and found.take is not Scenario.take}


class Shares(unittest.TestCase):
    """Has a test for each scenario, named after it: `test_another_is_answered_beside_LongReads`."""

    maxDiff = None

    def test_each_row_names_a_scenario_and_each_scenario_has_a_row(self):
        self.assertEqual(sorted(set(rows().values())), sorted(scenarios()), rows())

    def run_scenario(self, kind):
        scenario = kind.prepared()
        self.addCleanup(scenario.gateway.remove)
        self.addCleanup(scenario.release)
        scenario.take()
        for _ in range(kind.requests):
            answer = scenario.ask()
            self.assertIn(answer.status, range(200, 300), answer)


def add_tests():
    for name, kind in scenarios().items():
        def test(self, kind=kind):
            self.run_scenario(kind)
        test.__doc__ = kind.__doc__
        setattr(Shares, f"test_another_is_answered_beside_{name}", test)


add_tests()


if __name__ == "__main__":
    unittest.main()
