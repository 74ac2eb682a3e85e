"""What operators load by mistake: each kind of file in each mode over three adapters, with the records before and after.

A file is right, or it is refused with its cause and nothing changes. A replacement that deletes most of what is there needs
`--accept-loss`; `--yes` does not say so.
"""

import json
import pathlib
import tempfile
import unittest

from harness import ROOT, Gateway, GatewayTest, run_portico

MODEL = ROOT / "Tests/EndToEnd/models/trade.csdl.xml"
COUNT = 40


class Target:
    """One of the three: what it is called with, its columns, and a row of a number."""

    def __init__(self, command, path, columns, row, misspelt):
        self.command, self.path, self.columns, self.row, self.misspelt = command, path, columns, row, misspelt

    def csv(self, numbers, separator=",", end="\n", header=None):
        lines = [header or self.columns] + [self.row(number) for number in numbers]
        return "".join(separator.join(line) + end for line in lines)

    def rows(self, numbers):
        return [dict(zip(self.columns, self.row(number))) for number in numbers]

    def __repr__(self):
        return " ".join(self.command)


TARGETS = [
    Target(
        ["employees", "import"], "/api/v1/employees/employees",
        ["id", "firstName", "lastName", "division", "email", "phoneNumber"],
        lambda n: [f"E{n}", "Ann", f"Lee {n}", "Research", f"e{n}@example.com", f"+44 {n}"], ("lastName", "lastname ")),
    Target(
        ["users", "import"], "/api/v1/users/users", ["UserId", "UserName", "ShoeSize"],
        lambda n: [str(1_000 + n), f"User {n}", "9N"], ("UserName", "UserNmae")),
    Target(
        ["odata", "import", "trade", "Customers"], "/odata/v4/trade/Customers", ["CustomerID", "CompanyName", "Country"],
        lambda n: [f"C{n}", f"Company {n}", "GB"], ("CompanyName", "CompanyNmae")),
]
# By name: the file, and a word of the cause; None: it is right.
FILES = {
    "lines that end with LF": (lambda t: t.csv(range(COUNT)), None),
    "lines that end with CRLF": (lambda t: t.csv(range(COUNT), end="\r\n"), None),
    "with a byte order mark": (lambda t: "\ufeff" + t.csv(range(COUNT)), None),
    "quotes with line ends within": (lambda t: t.csv(range(COUNT)).replace("Ann", '"An\r\nn"').replace("GB", '"G\rB"'), None),
    "lines that end with CR": (lambda t: t.csv(range(COUNT), end="\r"), "line 1 has a CR"),
    "one line that ends with CR": (lambda t: t.csv(range(COUNT)).replace("\n", "\r", 2).replace("\r", "\n", 1), "line 2 has a CR"),
    "semicolons": (lambda t: t.csv(range(COUNT), separator=";"), "--separator semicolon"),
    "tabs": (lambda t: t.csv(range(COUNT), separator="\t"), "--separator tab"),
    "Excel's sep=": (lambda t: "sep=;\n" + t.csv(range(COUNT), separator=";"), "sep=;"),
    "Excel's sep= and a comma": (lambda t: "sep=,\r\n" + t.csv(range(COUNT)), "only Excel reads"),
    "UTF-16": (lambda t: t.csv(range(COUNT)).encode("utf-16"), "UTF-16"),
    "UTF-16 without a mark": (lambda t: t.csv(range(COUNT)).encode("utf-16-be"), "UTF-16"),
    "Latin-1": (lambda t: t.csv(range(COUNT)).replace("Lee", "Léa").replace("User", "Usér").replace("Company ", "Compañy ")
                .encode("latin-1"), "UTF-8"),
    "a misspelt column": (lambda t: t.csv(range(COUNT)).replace(*t.misspelt, 1), "did you mean `{0}`"),
    "a misspelt column and no rows": (lambda t: t.csv([]).replace(*t.misspelt, 1), "did you mean `{0}`"),
    "another table's header": (lambda t: "colour,weight\n", "no field for the column `colour`"),
    "a column twice": (lambda t: t.csv(range(COUNT), header=[t.columns[0]] * len(t.columns)), "twice"),
    "a short row": (lambda t: t.csv(range(COUNT)) + "x\n", "1 fields"),
    "a quote that is not closed": (lambda t: t.csv(range(COUNT)) + '"x', "not closed"),
    "nothing": (lambda t: "", "no header line"),
    "blank lines": (lambda t: "\n\r\n", "no header line"),
}


class ImportFiles(GatewayTest):
    settings = (
        "--set", f"adapters.odata.services.trade.model={MODEL}", "--set", "adapters.odata.services.trade.access=public",
        "--set", "store.sampleData=false")

    @classmethod
    def setUpClass(cls):
        cls.gateway = Gateway(*cls.settings)

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def load(self, target, content, *more, name="f.csv"):
        path = self.folder / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return run_portico(
            *target.command, path, *more, "--data", self.gateway.data, "--output", "json", program="porticoctl", timeout=300)

    def loaded(self, target, content, *more, name="f.csv"):
        done = self.load(target, content, *more, name=name)
        self.assertEqual((done.returncode, done.stderr), (0, ""), (target, more))
        return json.loads(done.stdout)

    def count(self, target):
        if target.path.startswith("/odata"):
            return int(self.expect(self.gateway.get(f"{target.path}/$count"), 200).text().lstrip("\ufeff"))
        page = self.expect(self.gateway.get(f"{target.path}?limit=500", user="alice"), 200).json()
        return len(page["items"])

    def fill(self, target, numbers=range(COUNT)):
        self.loaded(target, json.dumps(target.rows(numbers)), "--mode", "replace", "--yes", "--accept-loss", name="f.json")
        self.assertEqual(self.count(target), len(numbers))

    def test_every_kind_of_file_in_every_mode_changes_what_it_says_or_nothing(self):
        for target in TARGETS:
            for name, (content, cause) in FILES.items():
                for mode in [[], ["--mode", "append"], ["--mode", "replace", "--yes"]]:
                    with self.subTest(target=target, file=name, mode=mode):
                        before = range(COUNT) if cause or mode[1:2] == ["replace"] else range(100, 100 + COUNT)
                        self.fill(target, before)
                        done = self.load(target, content(target), *mode)
                        if cause is None:
                            self.assertEqual((done.returncode, done.stderr), (0, ""))
                            self.assertEqual(self.count(target), COUNT if mode[1:2] == ["replace"] else 2 * COUNT)
                            continue
                        self.assertEqual((done.returncode, done.stdout), (1, ""))
                        self.assertIn(cause.format(target.misspelt[0]).lower(), done.stderr.lower())
                        self.assertEqual(self.count(target), COUNT)

    def test_a_file_with_other_separators_is_loaded_where_they_are_named(self):
        for target in TARGETS:
            for name, character in [("semicolon", ";"), (";", ";"), ("tab", "\t"), ("bar", "|"), ("|", "|"), ("comma", ",")]:
                with self.subTest(target=target, separator=name):
                    self.fill(target, range(100, 103))
                    outcome = self.loaded(target, target.csv(range(COUNT), separator=character), "--separator", name)
                    self.assertEqual((outcome["created"], self.count(target)), (COUNT, COUNT + 3))
            refused = self.load(target, target.csv(range(COUNT)), "--separator", ";")
            self.assertEqual(refused.returncode, 1)
            self.assertIn("--separator comma", refused.stderr)
            self.assertEqual(self.load(target, target.csv([]), "--separator", "x").returncode, 2)

    def test_a_replacement_that_deletes_most_is_refused_without_accept_loss(self):
        for target in TARGETS:
            for form in ["csv", "json"]:
                def content(numbers):
                    return target.csv(numbers) if form == "csv" else json.dumps(target.rows(numbers))
                for numbers, deleted in [(range(COUNT // 2 - 1), COUNT // 2 + 1), (range(100, 100 + COUNT), COUNT), ([], COUNT)]:
                    with self.subTest(target=target, form=form, deleted=deleted):
                        self.fill(target)
                        done = self.load(target, content(numbers), "--mode", "replace", "--yes", name=f"f.{form}")
                        self.assertEqual((done.returncode, done.stdout), (1, ""))
                        self.assertIn(f"{deleted} of {COUNT} would be deleted", done.stderr)
                        self.assertIn("--accept-loss", done.stderr)
                        self.assertEqual(self.count(target), COUNT)
                        self.loaded(target, content(numbers), "--mode", "replace", "--yes", "--accept-loss", name=f"f.{form}")
                        self.assertEqual(self.count(target), len(numbers))
                with self.subTest(target=target, form=form, deleted="half"):
                    self.fill(target)
                    self.loaded(target, content(range(COUNT // 2)), "--mode", "replace", "--yes", name=f"f.{form}")
                    self.assertEqual(self.count(target), COUNT // 2)
                with self.subTest(target=target, form=form, deleted="few"):
                    self.fill(target, range(19))
                    refused = self.load(target, content([]), "--mode", "replace", "--yes", name=f"f.{form}")
                    self.assertEqual((refused.returncode, self.count(target)), (1, 19), refused.stderr)
                    self.loaded(target, content([50]), "--mode", "replace", "--yes", name=f"f.{form}")
                    self.assertEqual(self.count(target), 1)

    def test_an_appended_file_without_rows_loads_nothing_and_says_so(self):
        for target in TARGETS:
            self.fill(target, range(3))
            self.assertEqual(self.loaded(target, target.csv([]))["created"], 0)
            self.assertEqual(self.count(target), 3)

    def test_a_file_in_parts_knows_its_whole_loss_before_its_first(self):
        target, rows = TARGETS[2], 12_000
        self.fill(target, range(rows))
        # All of them again, the first part's too: nothing is lost.
        self.loaded(target, target.csv(range(rows)), "--mode", "replace", "--yes")
        self.assertEqual(self.count(target), rows)
        # As many rows, of which a quarter was there.
        other = self.load(target, target.csv(range(9_000, 9_000 + rows)), "--mode", "replace", "--yes")
        self.assertEqual((other.returncode, other.stdout), (1, ""))
        self.assertIn(f"9000 of {rows} would be deleted", other.stderr)
        self.assertIn("Nothing was loaded.", other.stderr)
        self.assertEqual(self.count(target), rows)


class NotServed(unittest.TestCase):
    def test_an_import_into_an_adapter_that_is_left_out_says_so(self):
        gateway = Gateway("--set", "adapters.employees.enabled=false")
        self.addCleanup(gateway.remove)
        done = run_portico(
            "employees", "import", str(ROOT / "Config/samples/employees.csv"), "--data", str(gateway.data), program="porticoctl")
        self.assertEqual(done.returncode, 1, done)
        self.assertIn("does not serve the adapter employees. `adapters.employees` of its configuration serves it", done.stderr)


if __name__ == "__main__":
    unittest.main()
