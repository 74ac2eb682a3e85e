"""Django REST Framework, by the connection file that `porticoctl connect openapi` drafts from its own description."""

import datetime
import unittest

from connected import HERE, ConnectedTest
from harness import run_portico

COUNT = 130
FIELDS = ["code", "name", "email", "balance", "visits", "active", "level", "joined"]
WRITE = """    write:
      mode: queued
      create: {{ method: POST, address: "api/customers/", body: {{ {all} }} }}
      update: {{ method: PATCH, address: "api/customers/{{code}}/", body: {{ {changed} }} }}
      delete: {{ method: DELETE, address: "api/customers/{{code}}/" }}
"""


def instant(text):
    """As the gateway writes it."""
    found = datetime.datetime.fromisoformat(text).astimezone(datetime.timezone.utc)
    whole = found.strftime("%Y-%m-%dT%H:%M:%S")
    fraction = f".{found.microsecond:06}".rstrip("0") if found.microsecond else ""
    return f"{whole}{fraction}Z"


class Django(ConnectedTest):
    name, entity, key = "shop", "customers", "code"

    def program(self, port):
        return [HERE / "django_system.py", port, self.folder / "shop.sqlite", COUNT]

    def draft(self):
        done = run_portico(
            "connect", "openapi", f"http://127.0.0.1:{self.port}/schema/", "--upstream", "shop", program="porticoctl")
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def theirs(self):
        rows, path = {}, "/api/customers/"
        while path:
            page = self.call("GET", path)
            for row in page["results"]:
                row["changed"] = instant(row["changed"])
                row["joined"] = row["joined"] and row["joined"] + "T00:00:00Z"
                rows[row["code"]] = row
            path = page["next"] and page["next"].split(f":{self.port}", 1)[1]
        return rows

    def setUp(self):
        super().setUp()
        text = self.draft()
        self.drafted = text
        body = {name: ('"{date(joined, day)}"' if name == "joined" else f'"{{{name}}}"') for name in FIELDS}
        self.connect(text + WRITE.format(
            all=", ".join(f"{name}: {value}" for name, value in body.items()),
            changed=", ".join(f"{name}: {value}" for name, value in body.items() if name != "code")))

    def test_the_draft_has_every_page_and_says_what_it_left_out(self):
        self.assertIn("next: /next", self.drafted)
        self.assertIn('record: { address: "api/customers/{code}/" }', self.drafted)
        self.assertIn("Left out", self.drafted)
        self.same()
        self.assertEqual(len(self.ours()), COUNT)

    def test_records_are_created_changed_and_deleted_on_both_sides(self):
        self.same()
        self.write("POST", fields={"code": "new", "name": "Ann & Bob", "balance": "12.50", "level": "gold", "joined": "2026-02-28T00:00:00Z"})
        self.write("PATCH", "c001", {"name": "Another", "visits": None})
        self.write("DELETE", "c002")
        self.arrives(lambda rows: rows.get("new", {}).get("balance") == "12.50" and rows["c001"]["name"] == "Another" and "c002" not in rows)
        self.assertIsNone(self.theirs()["c001"]["visits"])
        self.assertEqual(self.theirs()["new"]["joined"], "2026-02-28T00:00:00Z")
        self.call("POST", "/api/customers/", {"code": "theirs", "name": "Theirs", "visits": -3})
        self.call("PATCH", "/api/customers/c003/", {"active": False, "email": "c@example.com"})
        self.call("DELETE", "/api/customers/c004/")
        self.refresh()
        self.same()
        self.assertEqual(len(self.ours()), COUNT)

    def test_it_is_read_while_it_is_down_and_written_when_it_is_up_again(self):
        self.outlives_a_stop(COUNT, "name", changed="c010", deleted="c011")


if __name__ == "__main__":
    unittest.main()
