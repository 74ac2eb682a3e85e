"""`porticoctl odata parse`: how a text is understood under a rule of OData's grammar, or where it goes wrong."""

import json
import unittest

from harness import run_portico


class Parsing(unittest.TestCase):
    def parse(self, rule, text, status=0):
        done = run_portico("odata", "parse", "--service", "admissions", "--rule", rule, text, program="porticoctl")
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return json.loads(done.stdout) if status < 2 else done.stderr

    def test_a_tree_is_json(self):
        tree = self.parse("commonExpr", "Name eq 'O''Neil' or Size gt 1")["tree"]
        self.assertEqual(tree["range"], [0, 30])
        operator, left, right = tree["form"]["binary"]
        self.assertEqual((operator, left["form"]["binary"][0], right["form"]["binary"][0]), ("or", "eq", "gt"))

    def test_a_wrong_text_has_the_byte_where_it_goes_wrong(self):
        for rule, text, position in [
            ("filter", "$filter=Name eq", 15), ("date", "2024-13-01", 6), ("odataRelativeUri", "People('a/b')", 9),
            ("durationValue", "-P1Y", 3), ("queryOptions", "$top=-1", 5), ("commonExpr", "", 0), ("guid", "0123", 4),
        ]:
            answer = self.parse(rule, text, status=1)
            self.assertEqual(answer["error"]["position"], position, (rule, text, answer))

    def test_rules_are_known_by_their_names_whatever_the_case(self):
        self.assertEqual(self.parse("BOOLCOMMONEXPR", "true")["rule"], "boolCommonExpr")
        self.assertIn("boolCommonExpr", self.parse("nothing", "true", status=2))

    def test_what_no_model_could_mean_is_refused(self):
        for rule, text in [
            ("odataRelativeUri", "Products(1)/Model.Best/Model.Best"), ("queryOptions", "$search=more&more"),
            ("boolCommonExpr", "any()"), ("boolCommonExpr", "Products/all()"), ("commonExpr", "Model.Available"),
            ("commonExpr", "Names eq ('a','b')"), ("commonExpr", "Name in (First,Last)"),
            ("expand", "$expand=Items/$count($count=true)"), ("maxpagesizePreference", "odata.maxpagesize=0"),
        ]:
            self.parse(rule, text, status=1)
        self.parse("odataRelativeUri", "Products/Model.Best(1)")
        self.parse("queryOptions", "$search=more%26more&!special")

    def test_a_text_may_begin_with_a_dash(self):
        self.assertEqual(self.parse("durationValue", "-P1D")["tree"], {"duration": "-P1D"})
        self.assertEqual(self.parse("commonExpr", "-Price")["tree"]["range"], [0, 6])


if __name__ == "__main__":
    unittest.main()
