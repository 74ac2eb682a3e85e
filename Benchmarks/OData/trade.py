"""A hundred queries of a trading company's data against hand-written SQL on the same indexes, and its import against
`sqlite3 .import`. Prints a section of RESULTS.md.

    trade.py [--details N] [--repeat N] [--rounds N] [--all]

The data is generated in the shape of Northwind: products of very different popularity, a few details for each order. Both
sides answer with the same rows, which is checked. A query's time is the best of several by turns, over one kept connection to
the gateway, and of SQLite in this process with its rows as JSON; where SQL can ask in several ways, the fastest counts. What
the gateway needs for the cheapest request there is, the floor, is measured too: nothing over HTTP can take less.

An import is compared with two of `sqlite3`, by turns, the best of all rounds each: into the four columns of the file, and
into the columns and indexes that the gateway's own table has. Both peers sync each transaction to the disk, as the gateway
does; neither checks values against a model nor keeps a log of changes.
"""

import argparse
import csv
import os
import http.client
import json
import pathlib
import random
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.parse

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(ROOT / "Tests/EndToEnd"))
os.environ.setdefault("PORTICO_BUILD", str(ROOT / ".build/release"))

from harness import BUILD, Gateway

MODEL = ROOT / "Tests/EndToEnd/models/trade.csdl.xml"
INDEXES = "[Orders/ShipCity,Orders/OrderDate,[Orders/CustomerID,Orders/Freight],[Order_Details/OrderID,Order_Details/ProductID]]"
CITIES = [f"{first}{second}" for first in ["Ber", "Lon", "Par", "Gra", "Mad", "Lyo", "Ror", "Sev"] for second in ["lin", "don", "is", "z", "rid"]]
TABLES = """
CREATE TABLE Customers (CustomerID TEXT NOT NULL PRIMARY KEY, CompanyName TEXT, Country TEXT);
CREATE TABLE Products (ProductID INTEGER PRIMARY KEY, ProductName TEXT, CategoryID INTEGER, UnitPrice REAL, Discontinued INTEGER);
CREATE TABLE Orders (OrderID INTEGER PRIMARY KEY, CustomerID TEXT, OrderDate TEXT, ShippedAt TEXT, Freight REAL, ShipCity TEXT);
CREATE TABLE Order_Details (OrderID INTEGER NOT NULL, ProductID INTEGER NOT NULL, UnitPrice REAL, Quantity INTEGER, PRIMARY KEY (OrderID, ProductID));
CREATE INDEX o1 ON Orders (ShipCity, OrderID);
CREATE INDEX o2 ON Orders (OrderDate, OrderID);
CREATE INDEX o3 ON Orders (CustomerID, Freight, OrderID);
CREATE INDEX o4 ON Orders (CustomerID);
CREATE INDEX d1 ON Order_Details (OrderID);
CREATE INDEX d2 ON Order_Details (ProductID);
CREATE INDEX p1 ON Products (CategoryID);
"""


def generate(folder, details):
    """A CSV file for each table, and how many rows it has."""
    dice = random.Random(20)
    orders = details // 3
    rows = {
        "Customers": [("CustomerID", "CompanyName", "Country")]
        + [(f"C{n:04}", f"Company {n}", f"Country {n % 21}") for n in range(max(90, orders // 200))],
        "Products": [("ProductID", "ProductName", "CategoryID", "UnitPrice", "Discontinued")]
        + [(n, f"Product {n}", n % 8 + 1, n * 1.25, n % 9 == 0 and 1 or 0) for n in range(1, 78)],
        "Orders": [("OrderID", "CustomerID", "OrderDate", "ShippedAt", "Freight", "ShipCity")],
        "Order_Details": [("OrderID", "ProductID", "UnitPrice", "Quantity")],
    }
    customers = [row[0] for row in rows["Customers"][1:]]
    weights = [1 / n for n in range(1, 78)]
    for order in range(1, orders + 1):
        day = f"{dice.randint(1996, 2016)}-{dice.randint(1, 12):02}-{dice.randint(1, 28):02}"
        rows["Orders"].append((order, dice.choice(customers), day, f"{day} 12:00:00", dice.randint(1, 99999) / 4, dice.choice(CITIES)))
        products = set(dice.choices(range(1, 78), weights, k=4))
        rows["Order_Details"] += [(order, product, product * 1.25, dice.randint(1, 50)) for product in sorted(products)]
    for name, lines in rows.items():
        with open(folder / f"{name}.csv", "w", newline="") as file:
            csv.writer(file).writerows(lines)
    return {name: len(lines) - 1 for name, lines in rows.items()}, customers


def queries(orders, customers):
    """(name, path, ways to ask in SQL, parameters): ten of each of ten kinds."""
    details = "Order_Details/any(d:d/ProductID eq {} and d/Quantity gt 49)"
    ids = "SELECT OrderID FROM Orders "
    for n in range(10):
        customer, city, product = customers[n * 7 % len(customers)], CITIES[n * 3 % len(CITIES)], n * 8 + 1
        start = orders // 11 * (n + 1)
        yield ("a customer's, by freight", f"Orders?$filter=CustomerID eq '{customer}'&$orderby=Freight desc,OrderID desc&$top=50&$select=OrderID",
               [ids + "WHERE CustomerID = ? ORDER BY Freight DESC, OrderID DESC LIMIT 50"], [customer])
        yield ("page by a text", f"Orders?$orderby=ShipCity&$skip={n * 50}&$top=100&$select=OrderID",
               [ids + "ORDER BY ShipCity, OrderID LIMIT 100 OFFSET ?"], [n * 50])
        yield ("range of a text, in order", f"Orders?$filter=ShipCity ge '{city}'&$orderby=ShipCity&$top=50&$select=OrderID",
               [ids + "WHERE ShipCity >= ? ORDER BY ShipCity, OrderID LIMIT 50"], [city])
        yield ("any detail", f"Orders/$count?$filter={details.format(product)}",
               ["SELECT count(DISTINCT OrderID) FROM Order_Details WHERE ProductID = ? AND Quantity > 49",
                "SELECT count(*) FROM Orders WHERE OrderID IN (SELECT OrderID FROM Order_Details WHERE ProductID = ? AND Quantity > 49)"], [product])
        yield ("any order with any detail", f"Customers/$count?$filter=Orders/any(o:o/{details.format(product)})",
               ["SELECT count(DISTINCT CustomerID) FROM Order_Details d JOIN Orders o ON o.OrderID = d.OrderID WHERE ProductID = ? AND Quantity > 49",
                "SELECT count(*) FROM Customers WHERE CustomerID IN (SELECT CustomerID FROM Order_Details d JOIN Orders o ON o.OrderID = d.OrderID WHERE ProductID = ? AND Quantity > 49)"], [product])
        yield ("sum of a product", f"Order_Details?$apply=filter(ProductID eq {product})/aggregate(Quantity with sum as S)",
               ["SELECT sum(Quantity) FROM Order_Details WHERE ProductID = ?"], [product])
        yield ("details of a customer", f"Order_Details?$filter=Order/CustomerID eq '{customer}'&$orderby=OrderID,ProductID&$top=100&$select=OrderID,ProductID",
               ["SELECT d.OrderID, d.ProductID FROM Orders o JOIN Order_Details d ON d.OrderID = o.OrderID WHERE o.CustomerID = ? ORDER BY d.OrderID, d.ProductID LIMIT 100"], [customer])
        yield ("orders with details", f"Orders?$filter=OrderID ge {start}&$orderby=OrderID&$top=20&$select=OrderID&$expand=Order_Details($select=ProductID,Quantity;$orderby=ProductID)",
               ["SELECT o.OrderID, d.ProductID, d.Quantity FROM (SELECT OrderID FROM Orders WHERE OrderID >= ? ORDER BY OrderID LIMIT 20) o LEFT JOIN Order_Details d ON d.OrderID = o.OrderID ORDER BY o.OrderID, d.ProductID"], [start])
        yield ("count by product", f"Order_Details?$apply=filter(Quantity gt {n * 5})/groupby((ProductID),aggregate($count as N))&$orderby=ProductID",
               ["SELECT ProductID, count(*) FROM Order_Details WHERE Quantity > ? GROUP BY ProductID ORDER BY ProductID",
                "SELECT ProductID, count(*) FROM Order_Details NOT INDEXED WHERE Quantity > ? GROUP BY ProductID ORDER BY ProductID"], [n * 5])
        yield ("count of a span of days", f"Orders/$count?$filter=OrderDate ge {1997 + n}-01-01 and OrderDate lt {1997 + n}-07-01",
               ["SELECT count(*) FROM Orders WHERE OrderDate >= ? AND OrderDate < ?"], [f"{1997 + n}-01-01", f"{1997 + n}-07-01"])


def flat(answer):
    """The gateway's rows as the SQL's: tuples, one for each expanded row."""
    if isinstance(answer, int):
        return [(answer,)]
    rows = []
    for row in answer["value"]:
        values = tuple(value for name, value in row.items() if "@" not in name and not isinstance(value, list))
        nested = next((value for name, value in row.items() if isinstance(value, list)), None)
        rows += [values] if nested is None else [values + tuple(item[name] for name in item if name not in row) for item in nested] or [values + (None, None)]
    return rows


def best_of(repeat, *actions):
    """The least time of each of the actions, which take turns, and what it gave."""
    best, begin = [(float("inf"), None)] * len(actions), time.perf_counter()
    for number in range(repeat):
        for place, action in enumerate(actions):
            start = time.perf_counter()
            result = action()
            best[place] = min(best[place], (time.perf_counter() - start, result), key=lambda found: found[0])
        if number >= 2 and time.perf_counter() - begin > 3:
            break
    return best


class Connection:
    def __init__(self, port):
        self.connection = http.client.HTTPConnection("127.0.0.1", port)

    def get(self, path):
        self.connection.request("GET", "/odata/v4/trade/" + urllib.parse.quote(path, safe="/?&=$(),':;"), headers={"Accept": "*/*;odata.metadata=none"})
        answer = self.connection.getresponse()
        body = answer.read()
        assert answer.status == 200, (path, answer.status, body[:300])
        return json.loads(body.decode("utf-8-sig"))


SAFELY = "PRAGMA synchronous = FULL;\nPRAGMA journal_mode = WAL;\n"
SET = "odata/trade-{}"


def shell(database, commands, *options):
    subprocess.run(["sqlite3", *options, str(database)], input=commands, text=True, check=True, stdout=subprocess.DEVNULL)


def timed(action):
    begin = time.perf_counter()
    action()
    return time.perf_counter() - begin


def load(gateway, folder, name):
    return timed(lambda: subprocess.run(
        [BUILD / "porticoctl", "odata", "import", "trade", name, folder / f"{name}.csv", "--data", gateway.data],
        check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))


def load_peer(database, table, file):
    return timed(lambda: shell(database, f'{SAFELY}.import --csv --skip 1 "{file}" "{table}"\n'))


def stored_alike(gateway, folder, name):
    """The gateway's rows of a set with all of its columns as a file, and what makes its table and indexes."""
    (file, table), store = (folder / f"{name}-stored.csv", SET.format(name)), gateway.data / "portico.sqlite"
    shell(store, f'.headers on\n.mode csv\n.once "{file}"\nSELECT * FROM "{table}" ORDER BY _revision;\n', "-readonly")
    with sqlite3.connect(f"file:{store}?mode=ro", uri=True) as database:
        made = database.execute("SELECT sql FROM sqlite_schema WHERE tbl_name = ? AND sql IS NOT NULL ORDER BY type DESC", [table])
        return file, ";\n".join(sql for sql, in made) + ";\n"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--details", type=int, default=600_000)
    parser.add_argument("--repeat", type=int, default=25)
    parser.add_argument("--rounds", type=int, default=3, help="imports of each table")
    parser.add_argument("--all", action="store_true", help="a line for each query, not for each kind")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="portico-trade-") as place:
        folder = pathlib.Path(place)
        counts, customers = generate(folder, options.details)
        times, peaks = {}, []
        for number in range(options.rounds):
            gateway = Gateway(
                "--set", f"adapters.odata.services.trade.model={MODEL}", "--set", "adapters.odata.services.trade.access=public",
                "--set", f"adapters.odata.services.trade.indexes={INDEXES}", "--set", "limits.requestsPerMinute=1000000")
            try:
                peer = folder / f"peer-{number}.sqlite"
                shell(peer, TABLES)
                for name in counts:
                    alike = folder / "alike.sqlite"
                    for part in folder.glob("alike.sqlite*"):
                        part.unlink()
                    own = load(gateway, folder, name)
                    plain = load_peer(peer, name, folder / f"{name}.csv")
                    file, schema = stored_alike(gateway, folder, name)
                    shell(alike, schema)
                    times.setdefault(name, []).append((own, plain, load_peer(alike, SET.format(name), file)))
                peaks.append(gateway.resident("VmHWM"))
                if number == options.rounds - 1:
                    report(times, max(peaks), counts)
                    measure(gateway, peer, counts, customers, options)
            finally:
                gateway.remove()


def report(times, peak, counts):
    rows = ", ".join(f"{count:,} {name}" for name, count in counts.items())
    print(f"## A trading company's data\n\n{rows}. Imports: the best of {len(times['Orders'])}, by turns.\n")
    print("| import of | rows/s | `sqlite3 .import` into the file's columns, rows/s | speed | into the gateway's columns and indexes, rows/s | speed |")
    print("|---|--:|--:|--:|--:|--:|")
    for name in ["Orders", "Order_Details"]:
        own, plain, alike = map(min, zip(*times[name]))
        print(f"| {name} | {counts[name] / own:,.0f} | {counts[name] / plain:,.0f} | {plain / own:.2f} | {counts[name] / alike:,.0f} | {alike / own:.2f} |")
    print(f"\nThe gateway's largest memory: {peak / 1e6:,.0f} MB.\n")


def measure(gateway, peer, counts, customers, options):
    database = sqlite3.connect(peer)
    database.execute("ANALYZE")
    connection = Connection(gateway.port)
    connection.get("Products(1)/ProductID")
    # A different address each time, so that nothing is answered from memory.
    tries = iter(range(1, 10**9))
    fresh = lambda path: connection.get(f"{path}{'&' if '?' in path else '?'}t={next(tries)}")
    [(floor, _)] = best_of(200, lambda: fresh("Products(1)/ProductID"))
    kinds = {}
    for name, path, ways, parameters in queries(counts["Orders"], customers):
        ask = [lambda sql=sql: (rows := database.execute(sql, parameters).fetchall(), json.dumps(rows))[0] for sql in ways]
        (own, answer), *asked = best_of(options.repeat, lambda: fresh(path), *ask)
        other, wanted = min(asked, key=lambda found: found[0])
        if flat(answer) != wanted:
            raise SystemExit(f"{path}: {flat(answer)[:5]} is not {wanted[:5]}")
        kinds.setdefault(name, []).append((own, other, own / (other + floor), path))
    every = [found for group in kinds.values() for found in group]
    print(f"The floor is {floor * 1e3:.2f} ms. A ratio is the gateway's time by SQL's with the floor.\n")
    print("| query | gateway, ms | SQL, ms | ratio | worst ratio |\n|---|--:|--:|--:|--:|")
    lines = {path: [found] for found in every for path in [found[3]]} if options.all else kinds
    for name, group in lines.items():
        own, other = (statistics.median(found[side] for found in group) for side in (0, 1))
        print(f"| {name} | {own * 1e3:.2f} | {other * 1e3:.2f} | {statistics.median(found[2] for found in group):.2f} | {max(found[2] for found in group):.2f} |")
    within = sum(found[2] <= 3 for found in every)
    print(f"\n{within} of {len(every)} queries are within 3 of the SQL; the answers of all are the same.")


if __name__ == "__main__":
    main()
