"""A hundred queries of a trading company's data against hand-written SQL on the same indexes, and its import against
`sqlite3 .import`. Prints a section of RESULTS.md.

    trade.py [--details N] [--repeat N] [--all]

The data is generated in the shape of Northwind: products of very different popularity, a few details for each order. Both
sides answer with the same rows, which is checked. A query's time is the median of several, over one kept connection to the
gateway, and of SQLite in this process with its rows as JSON. What the gateway needs for the cheapest request there is, the
floor, is measured too: nothing over HTTP can take less.
"""

import argparse
import csv
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
    """(name, path, SQL, parameters): ten of each of ten kinds."""
    details = "Order_Details/any(d:d/ProductID eq {} and d/Quantity gt 49)"
    ids = "SELECT OrderID FROM Orders "
    for n in range(10):
        customer, city, product = customers[n * 7 % len(customers)], CITIES[n * 3 % len(CITIES)], n * 8 + 1
        start = orders // 11 * (n + 1)
        yield ("a customer's, by freight", f"Orders?$filter=CustomerID eq '{customer}'&$orderby=Freight desc,OrderID desc&$top=50&$select=OrderID",
               ids + "WHERE CustomerID = ? ORDER BY Freight DESC, OrderID DESC LIMIT 50", [customer])
        yield ("page by a text", f"Orders?$orderby=ShipCity&$skip={n * 50}&$top=100&$select=OrderID",
               ids + "ORDER BY ShipCity, OrderID LIMIT 100 OFFSET ?", [n * 50])
        yield ("range of a text, in order", f"Orders?$filter=ShipCity ge '{city}'&$orderby=ShipCity&$top=50&$select=OrderID",
               ids + "WHERE ShipCity >= ? ORDER BY ShipCity, OrderID LIMIT 50", [city])
        yield ("any detail", f"Orders/$count?$filter={details.format(product)}",
               "SELECT count(*) FROM Orders o WHERE EXISTS (SELECT 1 FROM Order_Details d WHERE d.OrderID = o.OrderID AND d.ProductID = ? AND d.Quantity > 49)", [product])
        yield ("any order with any detail", f"Customers/$count?$filter=Orders/any(o:o/{details.format(product)})",
               "SELECT count(*) FROM Customers c WHERE EXISTS (SELECT 1 FROM Orders o JOIN Order_Details d ON d.OrderID = o.OrderID WHERE o.CustomerID = c.CustomerID AND d.ProductID = ? AND d.Quantity > 49)", [product])
        yield ("sum of a product", f"Order_Details?$apply=filter(ProductID eq {product})/aggregate(Quantity with sum as S)",
               "SELECT sum(Quantity) FROM Order_Details WHERE ProductID = ?", [product])
        yield ("details of a customer", f"Order_Details?$filter=Order/CustomerID eq '{customer}'&$orderby=OrderID,ProductID&$top=100&$select=OrderID,ProductID",
               "SELECT d.OrderID, d.ProductID FROM Orders o JOIN Order_Details d ON d.OrderID = o.OrderID WHERE o.CustomerID = ? ORDER BY d.OrderID, d.ProductID LIMIT 100", [customer])
        yield ("orders with details", f"Orders?$filter=OrderID ge {start}&$orderby=OrderID&$top=20&$select=OrderID&$expand=Order_Details($select=ProductID,Quantity;$orderby=ProductID)",
               "SELECT o.OrderID, d.ProductID, d.Quantity FROM (SELECT OrderID FROM Orders WHERE OrderID >= ? ORDER BY OrderID LIMIT 20) o LEFT JOIN Order_Details d ON d.OrderID = o.OrderID ORDER BY o.OrderID, d.ProductID", [start])
        yield ("count by product", f"Order_Details?$apply=filter(Quantity gt {n * 5})/groupby((ProductID),aggregate($count as N))&$orderby=ProductID",
               "SELECT ProductID, count(*) FROM Order_Details WHERE Quantity > ? GROUP BY ProductID ORDER BY ProductID", [n * 5])
        yield ("count of a span of days", f"Orders/$count?$filter=OrderDate ge {1997 + n}-01-01 and OrderDate lt {1997 + n}-07-01",
               "SELECT count(*) FROM Orders WHERE OrderDate >= ? AND OrderDate < ?", [f"{1997 + n}-01-01", f"{1997 + n}-07-01"])


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


def median_of(repeat, action):
    times = []
    for _ in range(repeat):
        begin = time.perf_counter()
        result = action()
        times.append(time.perf_counter() - begin)
        if sum(times) > 20:
            break
    return statistics.median(times), result


class Connection:
    def __init__(self, port):
        self.connection = http.client.HTTPConnection("127.0.0.1", port)

    def get(self, path):
        self.connection.request("GET", "/odata/v4/trade/" + urllib.parse.quote(path, safe="/?&=$(),':;"), headers={"Accept": "*/*;odata.metadata=none"})
        answer = self.connection.getresponse()
        body = answer.read()
        assert answer.status == 200, (path, answer.status, body[:300])
        return json.loads(body.decode("utf-8-sig"))


def load(gateway, folder, counts, peer):
    """Seconds of both imports, by table."""
    times = {}
    subprocess.run(["sqlite3", str(peer)], input=TABLES, text=True, check=True)
    for name in counts:
        begin = time.perf_counter()
        subprocess.run([BUILD / "porticoctl", "odata", "import", "trade", name, folder / f"{name}.csv", "--data", gateway.data], check=True, stdout=subprocess.DEVNULL)
        middle = time.perf_counter()
        subprocess.run(["sqlite3", str(peer)], input=f"PRAGMA synchronous = FULL;\nPRAGMA journal_mode = WAL;\n.import --csv --skip 1 {folder / name}.csv {name}\n", text=True, check=True, stdout=subprocess.DEVNULL)
        times[name] = (middle - begin, time.perf_counter() - middle)
    return times


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--details", type=int, default=600_000)
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--all", action="store_true", help="a line for each query, not for each kind")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="portico-trade-") as place:
        folder = pathlib.Path(place)
        counts, customers = generate(folder, options.details)
        gateway = Gateway("--set", f"adapters.odata.services.trade.model={MODEL}", "--set", "adapters.odata.services.trade.access=public",
                          "--set", f"adapters.odata.services.trade.indexes={INDEXES}", "--set", "limits.requestsPerMinute=1000000")
        try:
            measure(gateway, folder, counts, customers, options)
        finally:
            gateway.remove()


def measure(gateway, folder, counts, customers, options):
    peer = folder / "peer.sqlite"
    times = load(gateway, folder, counts, peer)
    rows = ", ".join(f"{count:,} {name}" for name, count in counts.items())
    print(f"## A trading company's data\n\n{rows}.\n\n| import of | rows/s | `sqlite3 .import`, rows/s | speed |\n|---|--:|--:|--:|")
    for name in ["Orders", "Order_Details"]:
        own, other = times[name]
        print(f"| {name} | {counts[name] / own:,.0f} | {counts[name] / other:,.0f} | {other / own:.2f} |")
    print(f"\nThe gateway's largest memory: {gateway.resident('VmHWM') / 1e6:,.0f} MB.\n")
    database = sqlite3.connect(peer)
    database.execute("ANALYZE")
    connection = Connection(gateway.port)
    connection.get("Products(1)/ProductID")
    # A different address each time, so that nothing is answered from memory.
    tries = iter(range(1, 10**9))
    fresh = lambda path: connection.get(f"{path}{'&' if '?' in path else '?'}t={next(tries)}")
    floor, _ = median_of(200, lambda: fresh("Products(1)/ProductID"))
    kinds = {}
    for name, path, sql, parameters in queries(counts["Orders"], customers):
        own, answer = median_of(options.repeat, lambda: fresh(path))
        other, wanted = median_of(options.repeat, lambda: (rows := database.execute(sql, parameters).fetchall(), json.dumps(rows))[0])
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
