"""Files that an operator loads into a service: of any length, in SQLite's forms too, broken off, refused, resumed; and the
indexes and statistics by which they are found afterwards."""

import json
import os
import pathlib
import random
import signal
import sqlite3
import subprocess
import tempfile
import threading
import time
import unittest

from harness import BUILD, ROOT, Gateway, GatewayTest, run_portico

MODEL = ROOT / "Tests/EndToEnd/models/trade.csdl.xml"
SERVICE = ("--set", f"adapters.odata.services.trade.model={MODEL}", "--set", "adapters.odata.services.trade.access=public")
ROWS = 12_000


class ImportTest(GatewayTest):
    settings = SERVICE

    @classmethod
    def setUpClass(cls):
        cls.gateway = Gateway(*cls.settings)

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def file(self, name, content):
        path = self.folder / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def load(self, name, file, *more):
        return run_portico(
            "odata", "import", "trade", name, file, *more, "--data", self.gateway.data, "--output", "json",
            program="porticoctl", timeout=300)

    def loads(self, name, file, count, *more):
        done = self.load(name, file, *more)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(done.stdout)["created"], count)

    def fails(self, name, file, *words, more=()):
        done = self.load(name, file, *more)
        self.assertEqual((done.returncode, done.stdout), (1, ""), done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)
        return done.stderr

    def get(self, path, status=200):
        return self.expect(self.gateway.get(f"/odata/v4/trade/{path}"), status)

    def count(self, name):
        return int(self.get(f"{name}/$count").text().lstrip("\ufeff"))


def orders(first, count, freight="1.5"):
    return "".join(f'{number},"ALF, ""KI""",1996-07-04,{freight}\r\n' for number in range(first, first + count))


HEADER = "OrderID,ShipCity,OrderDate,Freight\r\n"


class Long(ImportTest):
    def test_a_file_of_many_parts_is_loaded_in_every_splittable_format(self):
        before = self.count("Orders")
        self.loads("Orders", self.file("o.csv", "\ufeff" + HEADER + "\r\n" + orders(100_000, ROWS)), ROWS)
        rows = [{"OrderID": 200_000 + n, "ShipCity": '],{"\\', "Freight": n} for n in range(ROWS)]
        self.loads("Orders", self.file("o.json", json.dumps(rows, indent=1)), ROWS)
        self.assertEqual(self.count("Orders"), before + 2 * ROWS)
        self.assertEqual(self.get(f"Orders({100_000 + ROWS - 1})").json()["ShipCity"], 'ALF, "KI"')
        self.assertEqual(self.get("Orders(200007)").json()["ShipCity"], '],{"\\')

    def test_a_value_that_does_not_fit_is_found_before_anything_is_written(self):
        before = self.count("Orders")
        bad = HEADER + orders(300_000, ROWS) + f"{300_000 + ROWS},x,1996-02-30,1\n"
        self.fails(
            "Orders", self.file("b.csv", bad), f"line {ROWS + 2}", "OrderDate", '"1996-02-30"', "2024-01-15",
            "Nothing was loaded.")
        broken = json.dumps([{"OrderID": 310_000 + n} for n in range(ROWS)])[:-1] + ", {}"
        self.fails("Orders", self.file("cut.json", broken), "the list is not closed")
        self.assertEqual(self.count("Orders"), before)

    def test_a_key_that_is_taken_ends_the_import_which_says_what_is_kept_and_goes_on_later(self):
        self.loads("Orders", self.file("one.csv", HEADER + orders(411_000, 1)), 1)
        before = self.count("Orders")
        whole = self.file("w.csv", HEADER + orders(400_000, ROWS))
        output = self.fails(
            "Orders", whole, "line 11002", "10000 rows before line 10002 are kept", "--from 10002")
        self.assertIn("There is a record `411000`", output)
        self.assertEqual(self.count("Orders"), before + 10_000)
        self.expect(self.gateway.request("DELETE", "/odata/v4/trade/Orders(411000)"), 204)
        self.loads("Orders", whole, ROWS - 10_000, "--from", "10002")
        self.assertEqual(self.count("Orders"), before - 1 + ROWS)

    def test_a_key_that_stands_twice_in_a_file_is_named_with_both_rows(self):
        before = self.count("Orders")
        twice = orders(500_000, 3) + orders(500_001, 1)
        for mode in ([], ["--mode", "replace", "--yes", "--accept-loss"]):
            done = self.load("Orders", self.file("t.csv", HEADER + twice), *mode)
            self.assertEqual(done.returncode, 1, done)
            self.assertIn("line 5: line 3 has the key 500001 too", done.stderr)
        rows = [{"OrderID": number} for number in (510_000, 510_001, 510_000)]
        self.fails("Orders", self.file("t.json", json.dumps(rows)), "row 3: row 1 has the key 510000 too")
        self.assertEqual(self.count("Orders"), before)

    def test_another_separator_is_named(self):
        rows = "".join(f'{number};"ALF; ""KI"", 1";1996-07-04;1.5\r\n' for number in range(600_000, 600_000 + ROWS))
        self.loads("Orders", self.file("s.csv", HEADER.replace(",", ";") + rows), ROWS, "--separator", ";")
        self.assertEqual(self.get(f"Orders({600_000 + ROWS - 1})").json()["ShipCity"], 'ALF; "KI", 1')

    def test_more_rows_than_were_once_allowed_replace_what_is_there(self):
        self.loads("Customers", self.file("c.csv", "CustomerID,CompanyName\n" + "".join(f"A{n},x\n" for n in range(ROWS))), ROWS)
        again = self.load("Customers", self.file("d.csv", "CustomerID,CompanyName\nB1,y\n"), "--mode", "replace", "--yes", "--accept-loss")
        self.assertEqual(json.loads(again.stdout), {"created": 1, "deleted": ROWS})
        self.assertEqual(self.count("Customers"), 1)
        none = self.load("Customers", self.file("e.json", "[]"), "--mode", "replace", "--yes", "--accept-loss")
        self.assertEqual(json.loads(none.stdout), {"created": 0, "deleted": 1})

    def test_an_import_goes_on_for_longer_than_a_caller_may_wait(self):
        gateway = Gateway(*SERVICE, "--set", "http.deadlines.request=250ms")
        self.addCleanup(gateway.remove)
        rows = [{"OrderID": number, "ShipCity": "x" * 30} for number in range(5_000)]
        done = run_portico(
            "odata", "import", "trade", "Orders", self.file("slow.json", json.dumps(rows)), "--data", gateway.data,
            "--output", "json", program="porticoctl", timeout=300)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(json.loads(done.stdout)["created"], 5_000)

    def test_ctrl_c_ends_it_between_two_parts_and_says_what_is_kept(self):
        before = self.count("Orders")
        name = self.folder / "pipe.csv"
        name.write_text(HEADER + orders(500_000, 60_000))
        import_ = subprocess.Popen(
            [BUILD / "porticoctl", "odata", "import", "trade", "Orders", name, "--data", self.gateway.data],
            cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        end = time.monotonic() + 120
        while self.count("Orders") == before and time.monotonic() < end:
            time.sleep(0.05)
        import_.send_signal(signal.SIGINT)
        out, error = import_.communicate(timeout=120)
        self.assertEqual((import_.returncode, out), (1, ""), error)
        kept = self.count("Orders") - before
        self.assertTrue(0 < kept < 60_000, kept)
        self.assertIn(f"{kept} rows before line {kept + 2} are kept", error)


class Forms(ImportTest):
    def test_sqlites_own_dates_and_booleans_are_read(self):
        for number, (text, wanted) in enumerate([
            ("2016-07-04 12:30:15", "2016-07-04T12:30:15Z"), ("2016-07-04 12:30", "2016-07-04T12:30:00Z"),
            ("2016-07-04", "2016-07-04T00:00:00Z"), ("2016-07-04T12:30:15", "2016-07-04T12:30:15Z"),
            ("2016-07-04 12:30:15.250", "2016-07-04T12:30:15.25Z"), ("2016-07-04 12:30:15Z", "2016-07-04T12:30:15Z"),
            ("2016-07-04T12:30:15+02:00", "2016-07-04T10:30:15Z"), ("2016-07-04 12:30+02:00", "2016-07-04T10:30:00Z"),
        ]):
            self.loads("Orders", self.file("s.csv", f"OrderID,ShippedAt,OrderDate\n{number},{text},2016-07-04 00:00:00\n"), 1)
            order = self.get(f"Orders({number})").json()
            self.assertEqual((order["ShippedAt"], order["OrderDate"]), (wanted, "2016-07-04"), text)
        for number, (text, wanted) in enumerate([("1", True), ("0", False), ("TRUE", True), ("False", False)]):
            self.loads("Products", self.file("p.csv", f"ProductID,Discontinued\n{number},{text}\n"), 1)
            self.assertEqual(self.get(f"Products({number})").json()["Discontinued"], wanted)
        self.loads("Products", self.file("p.json", json.dumps([{"ProductID": 10, "Discontinued": 1}])), 1)
        self.assertIs(self.get("Products(10)").json()["Discontinued"], True)

    def test_a_value_of_no_known_form_is_named_with_what_was_wanted(self):
        for name, column, text, wanted in [
            ("Orders", "OrderDate", "2016-07-04 12:00:00", "such as 2024-01-15"),
            ("Orders", "ShippedAt", "4.7.2016", "such as 2024-01-15T10:20:30Z"),
            ("Orders", "ShippedAt", "2457573.5", "that or 2024-01-15 10:20:30"), ("Products", "Discontinued", "2", "true, false, 1 or 0"),
            ("Products", "Discontinued", "yes", "true, false, 1 or 0"), ("Products", "UnitPrice", "1,5", "a number such as"),
            ("Products", "CategoryID", "9999999999", "a whole number from -2147483648 to 2147483647"),
            ("Categories", "Picture", "X'0!'", "bytes as base64url"), ("Categories", "CategoryName", "x" * 41, "at most 40"),
        ]:
            key = {"Orders": "OrderID", "Products": "ProductID", "Categories": "CategoryID"}[name]
            output = self.fails(name, self.file("v.csv", f'{key},{column}\n77,"{text}"\n'), "line 2", column, wanted, '"' + text[:20])
            self.assertIn(f"({column})", output)

    def test_bytes_that_are_no_text_are_named_by_line_and_column(self):
        content = b"CategoryID,CategoryName,Picture\n1,Fine,\n2,Bad,\"\x15\x1c\n\xff\xd8\"\n3,Fine,\n"
        self.fails("Categories", self.file("blob.csv", content), "Line 3, column Picture", "base64url")
        database = sqlite3.connect(self.folder / "n.sqlite")
        database.execute("CREATE TABLE c (CategoryID INTEGER, CategoryName TEXT, Picture BLOB)")
        database.execute("INSERT INTO c VALUES (1, 'Ok', x'ffd8ffe0')")
        row = database.execute("SELECT CategoryID, CategoryName, Picture FROM c").fetchone()
        raw = f"CategoryID,CategoryName,Picture\n{row[0]},{row[1]},".encode() + row[2] + b"\n"
        self.fails("Categories", self.file("raw.csv", raw), "Line 2, column Picture")
        self.assertEqual(self.count("Categories"), 0)


class Indexes(ImportTest):
    INDEXES = "[Orders/ShipCity,[Orders/CustomerID,Orders/Freight]]"
    settings = (*SERVICE, "--set", f"adapters.odata.services.trade.indexes={INDEXES}")

    def indexes(self):
        with sqlite3.connect(f"file:{self.gateway.data}/portico.sqlite?mode=ro", uri=True) as database:
            return {row[0].split(":", 1)[1] for row in database.execute(
                "SELECT name FROM sqlite_schema WHERE type = 'index' AND tbl_name = 'odata/trade-Orders' AND sql IS NOT NULL")}

    def test_declared_indexes_are_made_and_dropped_as_the_list_changes(self):
        self.assertEqual(self.indexes(), {"CustomerID", "CustomerID,Freight", "ShipCity"})
        for setting, wanted in [("[Orders/OrderDate]", {"CustomerID", "OrderDate"}), (self.INDEXES, {"CustomerID", "CustomerID,Freight", "ShipCity"})]:
            data = self.gateway.data
            self.gateway.stop()
            type(self).gateway = Gateway(*SERVICE, "--set", f"adapters.odata.services.trade.indexes={setting}", data=data)
            self.assertEqual(self.indexes(), wanted)

    def test_what_the_model_has_not_is_an_error_with_its_place(self):
        model = f"        model: {MODEL}\n"
        for text, word in [
            ("[Order/ShipCity]", "no set Order"), ("[orders/ShipCity]", "Did you mean Orders?"),
            ("[Orders/shipcity]", "Did you mean ShipCity?"), ("[Orders/Town]", "no property Town"), ("[ShipCity]", "Set/Property"),
            ("[[Orders/ShipCity, Products/ProductName]]", "one set"), ("[[Orders/ShipCity, Orders/ShipCity]]", "twice"),
            ("[Categories/Picture]", "order"), ("[[]]", "1 to"), ("[{a: b}]", ""), ("Orders/ShipCity", "list"),
        ]:
            file = self.file("c.yaml", f"adapters:\n  odata:\n    services:\n      trade:\n{model}        indexes: {text}\n")
            done = run_portico("check", "--config", file)
            self.assertEqual(done.returncode, 1, text)
            self.assertIn("c.yaml:6:", done.stdout + done.stderr, text)
            self.assertIn(word, done.stdout + done.stderr)
        file = self.file("c.yaml", f"adapters:\n  odata:\n    services:\n      trade:\n{model}        indexes:\n          - Orders/ShipCity\n          - [Orders/CustomerID, Orders/Freight]\n")
        self.assertEqual(run_portico("check", "--config", file).returncode, 0)

    def test_after_an_import_the_planner_knows_which_index_finds_few(self):
        details = random.Random(7)
        rows = "".join(
            f"{order},{product},{details.randint(1, 50)}\n"
            for order in range(1, 2_001) for product in details.sample(range(1, 11), 4))
        self.loads("Orders", self.file("o.csv", HEADER + orders(1, 2_000)), 2_000)
        self.loads("Order_Details", self.file("d.csv", "OrderID,ProductID,Quantity\n" + rows), 8_000)
        with sqlite3.connect(f"file:{self.gateway.data}/portico.sqlite?mode=ro", uri=True) as database:
            known = dict(database.execute("SELECT idx, stat FROM sqlite_stat1 WHERE tbl = 'odata/trade-Order_Details'"))
            by_order = int(known["odata/trade-Order_Details:OrderID"].split()[1])
            by_product = int(known["odata/trade-Order_Details:ProductID"].split()[1])
            self.assertLess(by_order * 10, by_product)
        wanted = sorted({int(line.split(",")[0]) for line in rows.split() if line.split(",")[1] == "7" and int(line.split(",")[2]) > 40})
        found = self.get("Orders/$count?$filter=Order_Details/any(d:d/ProductID%20eq%207%20and%20d/Quantity%20gt%2040)")
        self.assertEqual(int(found.text().lstrip("\ufeff")), len(wanted))


if __name__ == "__main__":
    unittest.main()
