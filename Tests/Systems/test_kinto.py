"""Kinto: changes since the last one, with those that are gone among them, and `PUT` of a record under the key that its author chose."""

import unittest

from connected import HERE, ConnectedTest
from serving import CLOSE, SERVE

COUNT = 60
RECORDS = "v1/buckets/shop/collections/people/records"
CONNECTION = f"""
title: Kinto
upstream: kinto
entities:
  people:
    address: {RECORDS}
    list: /data
    key: id
    fields:
      id: string
      name: string
      age: integer
      weight: number
      active: boolean
      last_modified: integer
    deleted: /deleted
    changes: {{ field: last_modified, query: {{ _since: "{{last_modified}}" }} }}
    record: {{ address: "{RECORDS}/{{id}}", item: /data }}
    write:
      mode: queued
      create:
        method: PUT
        address: "{RECORDS}/{{id}}"
        body: {{ data: {{ name: "{{name}}", age: "{{age}}", weight: "{{weight}}", active: "{{active}}" }} }}
        item: /data
      update:
        method: PATCH
        address: "{RECORDS}/{{id}}"
        body: {{ data: {{ name: "{{name}}", age: "{{age}}", weight: "{{weight}}", active: "{{active}}" }} }}
        item: /data
      delete: {{ method: DELETE, address: "{RECORDS}/{{id}}" }}
"""


class Kinto(ConnectedTest):
    name, entity, key = "kinto", "people", "id"

    def program(self, port):
        return [HERE / "kinto_system.py", port, COUNT]

    def down(self):
        # It has its records in memory.
        self.process.send_signal(CLOSE)
        self.assertEqual(self.process.stdout.readline().strip(), "closed")

    def up(self):
        if self.process is None:
            return super().up()
        self.process.send_signal(SERVE)
        self.assertEqual(self.process.stdout.readline().strip(), "serving")

    def theirs(self):
        fields = ["id", "name", "age", "weight", "active", "last_modified"]
        return {row["id"]: {name: row.get(name) for name in fields} for row in self.call("GET", f"/{RECORDS}")["data"]}

    def setUp(self):
        super().setUp()
        self.connect(CONNECTION)

    def test_records_are_created_changed_and_deleted_on_both_sides(self):
        self.same()
        self.assertEqual(len(self.ours()), COUNT)
        self.write("POST", fields={"id": "new", "name": "Ann & Bob", "age": 7, "weight": 1.5, "active": False})
        self.write("PATCH", "p1", {"name": "Another", "weight": 0.1})
        self.write("DELETE", "p2")
        self.arrives(lambda rows: "new" in rows and rows["p1"]["name"] == "Another" and "p2" not in rows)
        self.call("PUT", f"/{RECORDS}/theirs", {"data": {"name": "Theirs"}})
        self.call("PATCH", f"/{RECORDS}/p3", {"data": {"age": -3}})
        self.call("DELETE", f"/{RECORDS}/p4")
        self.refresh()
        self.same()
        self.assertEqual(len(self.ours()), COUNT)

    def test_it_is_read_while_it_is_down_and_written_when_it_is_up_again(self):
        self.outlives_a_stop(COUNT, "name", changed="p10", deleted="p11")


if __name__ == "__main__":
    unittest.main()
