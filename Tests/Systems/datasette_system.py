"""datasette_system.py PORT DATABASE COUNT: items of a SQLite file as Datasette serves them, with queries that write."""

import pathlib
import sqlite3
import sys

import uvicorn
from datasette.app import Datasette

port, database, count = int(sys.argv[1]), pathlib.Path(sys.argv[2]), int(sys.argv[3])
if not database.exists():
    with sqlite3.connect(database) as connection:
        connection.execute("CREATE TABLE items (code TEXT PRIMARY KEY, title TEXT NOT NULL, price REAL, stock INTEGER, listed INTEGER)")
        connection.executemany(
            "INSERT INTO items VALUES (?, ?, ?, ?, ?)",
            [(f"i{number:03}", f"Item Nº {number}", number + 0.5, number or None, number % 2) for number in range(count)])
# A parameter is a text to it, and has to be there.
FIELDS = ["title", "price", "stock", "listed"]
QUERIES = {
    "add": f"INSERT INTO items VALUES (:code, {', '.join(f'NULLIF(:{name}, {chr(39) * 2})' for name in FIELDS)})",
    "change": f"UPDATE items SET {', '.join(f'{name} = NULLIF(:{name}, {chr(39) * 2})' for name in FIELDS)} WHERE code = :code",
    "remove": "DELETE FROM items WHERE code = :code",
}
metadata = {"databases": {"shop": {"queries": {name: {"sql": sql, "write": True} for name, sql in QUERIES.items()}}}}


class Server(uvicorn.Server):
    async def startup(self, sockets=None):
        await super().startup(sockets)
        print("serving", flush=True)


Server(uvicorn.Config(
    Datasette([str(database)], metadata=metadata).app(), host="127.0.0.1", port=port, log_level="error")).run()
