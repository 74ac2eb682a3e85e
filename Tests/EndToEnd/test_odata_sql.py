"""Generated aggregations and expansions over generated data, compared with SQL that Python's sqlite3 runs on the same rows.

`PORTICO_ODATA_SQL` says how many (default 400), `PORTICO_ODATA_SQL_SEED` which; `make odata-sql` asks 10,000.
"""

import http.client
import json
import os
import random
import unittest
import urllib.parse

from harness import ROOT, GatewayTest
from sales_sql import TABLES, Database, Generator, quoted, rows

COUNT = int(os.environ.get("PORTICO_ODATA_SQL", "400"))
SEED = int(os.environ.get("PORTICO_ODATA_SQL_SEED", "4012"))
MODEL = ROOT / "Tests/EndToEnd/models/sales.csdl.xml"
SERVICE = "/odata/v4/sales/"


def plain(value):
    """Numbers as far as both sides compute them alike, truth values as SQLite has them."""
    if isinstance(value, (bool, int, float)):
        return f"{float(value):.9g}".replace("-0", "0") if value == 0 else f"{float(value):.9g}"
    return None if value is None else "'" + value


def leaves(value, path=""):
    for name, inner in value.items():
        if "@" in name:
            continue
        if isinstance(inner, dict):
            yield from leaves(inner, f"{path}{name}/")
        else:
            yield path + name, inner


def flat(row, columns):
    """A row of `$apply` by its paths. A related entity that is not there has none of its properties."""
    received = dict(leaves(row))
    for path in [path for path, value in received.items() if value is None and path not in columns]:
        below = [column for column in columns if column.startswith(path + "/")]
        if below:
            del received[path]
            received.update({column: None for column in below})
    return {path: plain(value) for path, value in received.items()}


class AgainstSQL(GatewayTest):
    settings = (
        "--set", f"adapters.odata.services.sales.model={MODEL}", "--set", "adapters.odata.services.sales.access=public",
        "--set", "limits.requestsPerMinute=10000000")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        made = rows(SEED)
        cls.database = Database(made)
        cls.connection = http.client.HTTPConnection("127.0.0.1", cls.gateway.port, timeout=60)
        for table, columns in TABLES.items():
            for row in made[table]:
                status, body = cls.ask("POST", table, json.dumps(dict(zip(columns, row))))
                assert status == 201, (status, body)

    @classmethod
    def tearDownClass(cls):
        cls.connection.close()
        super().tearDownClass()

    @classmethod
    def ask(cls, method, address, body=None, prefer=None):
        headers = {"Content-Type": "application/json"} if body else {}
        if prefer:
            headers["Prefer"] = prefer
        cls.connection.request(method, address if address.startswith("/") else SERVICE + address, body, headers)
        answer = cls.connection.getresponse()
        return answer.status, json.loads(answer.read() or b"null")

    def pages(self, address, size):
        """All rows of a result and its count, page by page."""
        found, count, pages = [], None, 0
        following = SERVICE + urllib.parse.quote(address, safe="/?&=$(),'@:;*!+-._~")
        while following:
            status, body = self.ask("GET", following, prefer=f"maxpagesize={size}" if size else None)
            self.assertEqual(status, 200, f"{address}: {body}")
            found, count, pages = found + body["value"], body.get("@odata.count", count), pages + 1
            following = body.get("@odata.nextLink", "").replace(f"http://127.0.0.1:{self.gateway.port}", "")
        return found, count

    # Aggregations

    def aggregation(self, chance):
        generator = Generator(chance.randint(0, 2**60))
        table = generator.one(*TABLES)
        steps, selects = generator.apply(table)
        expected = []
        for sql, columns in selects:
            expected += [{column: plain(row[column]) for column in columns} for row in self.database.query(sql)]
        columns = {column for _, names in selects for column in names}
        address, isOrdered, total = f"{table}?$apply={steps}", False, len(expected)
        if len(selects) == 1 and generator.chance.random() < 0.4:
            sql, names = selects[0]
            order = [(names[number], generator.one("", " desc")) for number in generator.chance.sample(range(len(names)), len(names))]
            address += "&$orderby=" + ",".join(name + way for name, way in order)
            sql = f"SELECT * FROM ({sql}) ORDER BY " + ", ".join(quoted(name) + way for name, way in order)
            if generator.chance.random() < 0.6:
                top, skip = generator.chance.randint(0, 8), generator.chance.randint(0, 3)
                address += f"&$top={top}&$skip={skip}"
                sql += f" LIMIT {top} OFFSET {skip}"
            expected = [{column: plain(row[column]) for column in names} for row in self.database.query(sql)]
            isOrdered = True
        isCounted = generator.chance.random() < 0.2
        found, count = self.pages(address + ("&$count=true" if isCounted else ""), generator.one(None, None, None, 1, 7))
        found = [flat(row, columns) for row in found]
        if not isOrdered:
            found, expected = (sorted(some, key=lambda row: sorted((name, str(value)) for name, value in row.items())) for some in (found, expected))
        self.assertEqual(found, expected, f"{address}\n{selects}")
        if isCounted:
            self.assertEqual(count, total, address)
        return len(expected)

    # Expansions

    def entities(self, level, where=None):
        """What the level's rows are, expansions among them; and their number without regard to a part that is taken."""
        table, conditions = level["table"], [where] if where else []
        if level["filter"]:
            conditions.append(level["filter"][1])
        rows = f"FROM all_{table} AS outermost" + (f" WHERE {' AND '.join(f'({one})' for one in conditions)}" if conditions else "")
        order = ", ".join(quoted(path) + way for path, way in level["order"]) or quoted("ID")
        part = f" LIMIT {-1 if level['top'] is None else level['top']} OFFSET {level['skip']}"
        received = []
        for row in self.database.query(f"SELECT * {rows} ORDER BY {order}{part}"):
            # A key is told in any case.
            entity = {name: plain(row[name]) for name in ["ID", *(level["select"] or TABLES[table])]}
            for name, isMany, column, inner in level["inner"]:
                if inner["apply"] is not None:
                    _, selects = Generator(inner["apply"]).apply(inner["table"], f"outermost.{quoted(column)} = {row['ID']}")
                    own = [{path: plain(one[path]) for path in columns} for sql, columns in selects for one in self.database.query(sql)]
                    entity[name] = ({path for _, columns in selects for path in columns}, own)
                elif isMany:
                    entity[name], count = self.entities(inner, f"outermost.{quoted(column)} = {row['ID']}")
                    if inner["count"]:
                        entity[name + "@odata.count"] = count
                else:
                    key = row[column]
                    found = self.entities(inner, f"outermost.{quoted('ID')} = {key}")[0] if key is not None else []
                    entity[name] = found[0] if found else None
            received.append(entity)
        return received, self.database.query(f"SELECT COUNT(*) AS n {rows}")[0]["n"] if level["count"] else None

    def compare(self, found, expected, address):
        received = {name for name in found if "@" not in name or name.endswith("@odata.count")}
        self.assertEqual(received, set(expected), address)
        for name, value in expected.items():
            own = found[name]
            if isinstance(value, tuple):
                key = lambda row: sorted((name, str(value)) for name, value in row.items())
                self.assertEqual(sorted((flat(row, value[0]) for row in own), key=key), sorted(value[1], key=key), address)
            elif isinstance(value, list):
                self.assertEqual(len(own), len(value), f"{name} of {address}")
                for one, other in zip(own, value):
                    self.compare(one, other, address)
            elif isinstance(value, dict):
                self.assertIsNotNone(own, f"{name} of {address}")
                self.compare(own, value, address)
            elif name.endswith("@odata.count"):
                self.assertEqual(own, value, address)
            else:
                self.assertEqual(plain(own), value, f"{name} of {address}")

    def expansion(self, chance):
        generator = Generator(chance.randint(0, 2**60))
        level = generator.level(generator.one(*TABLES))
        address = level["table"] + "?" + "&".join(Generator.options(level))
        expected, total = self.entities(level)
        found, count = self.pages(address, generator.one(None, None, None, 1, 7))
        self.assertEqual(len(found), len(expected), address)
        for one, other in zip(found, expected):
            self.compare(one, other, address)
        self.assertEqual(count, total, address)
        return len(expected)

    def test_what_is_aggregated_and_expanded_is_what_sql_says(self):
        chance, received, rows = random.Random(SEED), {"aggregation": 0, "expansion": 0}, 0
        for number in range(COUNT):
            kind = "aggregation" if number % 2 else "expansion"
            with self.subTest(number=number, kind=kind):
                rows += getattr(self, kind)(chance)
            received[kind] += 1
        print(f"seed {SEED}: {received} compared with SQL, {rows} rows")
        # Most have something to compare.
        self.assertGreater(rows, COUNT)


if __name__ == "__main__":
    unittest.main()
