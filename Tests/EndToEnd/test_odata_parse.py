"""`porticoctl odata parse`: how a text is understood under a rule of OData's grammar, or where it goes wrong."""

import json
import unittest

from harness import ROOT, GatewayTest, run_portico

LIBRARY = ROOT / "Sources/OData/Tests/ODataLanguageTests/grammar.cases"
REFERENCE = ROOT / "Config/odata/reference.csdl.xml"


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


    def test_the_parsers_own_cases_are_answered_by_the_command_too(self):
        # One of each rule: that all of them hold is the parser's own test.
        seen = set()
        for line in LIBRARY.read_text().splitlines():
            if line.startswith("["):
                rule = line[1:-1].split()[0]
            elif line and not line.startswith("#"):
                mark, _, text = line.partition(" ")
                if (rule, mark == "+") in seen:
                    continue
                seen.add((rule, mark == "+"))
                answer = self.parse(rule, text, status=0 if mark == "+" else 1)
                self.assertEqual(answer.get("error", {}).get("position"), None if mark == "+" else int(mark), (rule, text))
        self.assertGreater(len(seen), 200)


class AgainstAModel(GatewayTest):
    """Names and types, which the grammar knows nothing of."""

    RIGHT = [
        ("odataRelativeUri", "Products?$filter=Category/Name eq 'x' and Price gt 5&$select=Name&$expand=Descriptions"),
        ("odataRelativeUri", "Company/Logo/$value"), ("odataRelativeUri", "GetTopProducts(count=3)"),
        ("filter", "$filter=Name eq 'x'"), ("commonExpr", "Price add 1"), ("orderby", "$orderby=LanguageKey"),
    ]
    WRONG = [
        ("odataRelativeUri", "Nothing", 0), ("odataRelativeUri", "Products?$filter=Nothing eq 1", 17),
        ("odataRelativeUri", "Products?$filter=Price eq 'x'", 17), ("odataRelativeUri", "Products?$select=Name($top=1)", 21),
        ("odataRelativeUri", "Categories/GetTopProducts()", 11), ("filter", "$filter=Nothing eq 1", 8),
        ("odataRelativeUri", "MediaItems?$expand=Nothing", 19), ("commonExpr", "Price add Nothing", 10),
    ]

    def parse(self, rule, text, *service, status=0, stdin=None):
        done = run_portico("odata", "parse", *service, "--rule", rule, text, program="porticoctl", stdin=stdin)
        self.assertEqual(done.returncode, status, (rule, text, done.stdout + done.stderr))
        return json.loads(done.stdout) if status < 2 else done.stderr

    def check(self, *service):
        for rule, text in self.RIGHT:
            self.assertIn("tree", self.parse(rule, text, *service))
        for rule, text, position in self.WRONG:
            error = self.parse(rule, text, *service, status=1)["error"]
            self.assertEqual(error["position"], position, (rule, text, error))
            self.assertTrue(error["message"])

    def test_a_document_says_what_there_is(self):
        self.check("--service", REFERENCE)
        for rule, text, _ in self.WRONG:
            self.parse(rule, text, "--service", "reference")

    def test_a_gateway_says_what_its_service_has(self):
        gateway = f"http://127.0.0.1:{self.gateway.port}"
        self.check("--service", "reference", "--url", gateway)
        admissions = ["--service", "admissions", "--url", gateway]
        self.assertIn("--user", self.parse("filter", "$filter=GPA gt 3", *admissions, status=4))
        alice = [*admissions, "--user", "alice"]
        self.parse("filter", "$filter=GPA gt 3", *alice, stdin="portico-demo\n")
        self.parse("filter", "$filter=Price gt 3", *alice, stdin="portico-demo\n", status=1)

    def test_an_invalid_model_is_reported(self):
        done = run_portico("odata", "parse", "--service", "./no.xml", "--rule", "filter", "$filter=true", program="porticoctl")
        self.assertEqual((done.returncode, "cannot be read" in done.stderr), (1, True), done.stderr)


if __name__ == "__main__":
    unittest.main()
