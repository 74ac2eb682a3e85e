"""Datasette: pages by the next one's address, truths as 0 and 1, and writes by queries of its own."""

import unittest

from connected import HERE, ConnectedTest

COUNT = 130
CONNECTION = """
title: Datasette
upstream: datasette
entities:
  items:
    address: shop/items.json
    query: { _shape: objects, _size: "50" }
    list: /rows
    paging: { kind: link, next: /next_url }
    key: code
    fields:
      code: string
      title: { type: string, required: true }
      price: number
      stock: integer
      listed: { type: boolean, form: number }
    record: { address: "shop/items/{code}.json", query: { _shape: objects }, item: /rows/0 }
    write:
      mode: queued
      create: { method: POST, address: shop/add, query: { _json: "1" }, body: %s }
      update: { method: POST, address: shop/change, query: { _json: "1" }, changedOnly: false, body: %s }
      delete: { method: POST, address: shop/remove, query: { _json: "1" }, body: { code: "{code}" } }
"""
BODY = """{ code: "{code}", title: "{title}", price: '{default(price, "")}', stock: '{default(stock, "")}', listed: '{default(listed, "")}' }"""


class Datasette(ConnectedTest):
    name, entity, key = "datasette", "items", "code"

    def program(self, port):
        return [HERE / "datasette_system.py", port, self.folder / "shop.db", COUNT]

    def theirs(self):
        rows, path = {}, "/shop/items.json?_shape=objects&_size=100"
        while path:
            page = self.call("GET", path)
            for row in page["rows"]:
                rows[row["code"]] = {**row, "listed": None if row["listed"] is None else bool(row["listed"])}
            path = page["next_url"] and page["next_url"].split(f":{self.port}", 1)[1]
        return rows

    def setUp(self):
        super().setUp()
        self.connect(CONNECTION % (BODY, BODY))

    def test_records_are_created_changed_and_deleted_on_both_sides(self):
        self.same()
        self.assertEqual(len(self.ours()), COUNT)
        self.write("POST", fields={"code": "new", "title": "Ann's \"&\"", "price": 2.25, "listed": True})
        self.write("PATCH", "i001", {"title": "Another", "stock": None, "listed": False})
        self.write("DELETE", "i002")
        self.arrives(lambda rows: "new" in rows and rows["i001"]["title"] == "Another" and "i002" not in rows)
        self.assertEqual((self.theirs()["i001"]["stock"], self.theirs()["i001"]["price"]), (None, 1.5))
        self.call("POST", "/shop/add?_json=1", {"code": "theirs", "title": "Theirs", "price": "1", "stock": "", "listed": "1"})
        self.call("POST", "/shop/remove?_json=1", {"code": "i004"})
        self.refresh()
        self.same()
        self.assertEqual(len(self.ours()), COUNT)

    def test_it_is_read_while_it_is_down_and_written_when_it_is_up_again(self):
        self.outlives_a_stop(COUNT, "title", changed="i010", deleted="i011")


if __name__ == "__main__":
    unittest.main()
