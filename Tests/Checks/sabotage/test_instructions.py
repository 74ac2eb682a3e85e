import contextlib
import importlib.util
import io
import unittest

from script_sandbox import REPOSITORY

specification = importlib.util.spec_from_file_location("instructions", REPOSITORY / "Benchmarks/instructions.py")
instructions = importlib.util.module_from_spec(specification)
specification.loader.exec_module(instructions)

KEY = ("json → tape", "chat")


class Instructions(unittest.TestCase):
    def compared(self, figure, held):
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            failures = instructions.compare({KEY: figure}, held)
        return failures, output.getvalue()

    def test_a_figure_within_the_margin_passes(self):
        self.assertEqual(0, self.compared(10.9, {KEY: 10.0})[0])

    def test_a_figure_over_the_margin_fails_and_names_the_limit(self):
        failures, output = self.compared(11.1, {KEY: 10.0})
        self.assertEqual(1, failures)
        self.assertIn("more than 11.00", output)

    def test_a_figure_without_a_record_fails(self):
        self.assertEqual(1, self.compared(1.0, {})[0])

    def test_every_record_can_be_read(self):
        for path in (instructions.RECORD, instructions.BENCHMARKS / "Gateway/instructions.tsv"):
            self.assertTrue(all(figure > 0 for figure in instructions.recorded(path).values()), path)
            self.assertTrue(instructions.recorded(path), path)
