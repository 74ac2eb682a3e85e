"""Systems connected by files whose answers lie, and files of rows that change or break."""

import json
import unittest

from connected_systems import ConnectedSystems
from harness import run_portico
from test_connect import SYSTEMS, ConnectTest


class Hostile(ConnectTest):
    """Whatever a system answers: the records are as the last good answer had them, or nothing is there."""

    def outcome(self, gateway, name):
        """What a refresh comes to."""
        mirror = f"{name}/{SYSTEMS[name][1]}"
        self.control(gateway, "mirrors", "refresh", mirror)
        return self.control(gateway, "mirrors", "show", mirror)

    def expect_unchanged(self, name, lies):
        gateway = self.start()
        before = {user: self.rows(gateway, name, user=user) for user in ("alice", "bob")}
        _, checkpoint = self.pull(gateway, name)
        for words, lie in lies.items():
            self.system.lie = lie
            found = self.outcome(gateway, name)
            self.assertIn(found["state"], ("failing", "held"), (words, found))
            self.assertEqual(
                {user: self.rows(gateway, name, user=user) for user in ("alice", "bob")}, before, words)
            self.assertEqual(self.pull(gateway, name, checkpoint)[0], [], words)
        self.system.lie = None
        self.assertEqual(self.outcome(gateway, name)["state"], "good")
        log = gateway.log()
        self.assertNotIn("injected", log)
        return gateway

    def second(self, answer):
        """The first page as it is, `answer` for the others."""
        return lambda path, query: answer if "starting_after" in query or query.get("startAt", "0") != "0" else None

    def test_no_answer_of_another_kind_changes_anything(self):
        page = (200, {"Content-Type": "text/html"}, "<html>Sign in</html>")
        customers = [{"id": f"cus_{number:04d}", "name": "injected"} for number in range(100)]
        same = {"data": customers, "has_more": True}
        self.expect_unchanged("stripe", {
            "a login page": lambda *_: page,
            "a redirect to one": lambda *_: (302, {"Location": "/login"}, b""),
            "no list": lambda *_: {"error": "injected"},
            "a list that is an object": lambda *_: {"data": {"id": "injected"}, "has_more": False},
            "a list that is null": lambda *_: {"data": None, "has_more": False},
            "rows that are numbers": lambda *_: {"data": [1, 2], "has_more": False},
            "an empty list": lambda *_: {"data": [], "has_more": False},
            "an empty body": lambda *_: (200, {"Content-Type": "application/json"}, b""),
            "no content": lambda *_: (204, {}, b""),
            "half of a document": lambda *_: (200, {"Content-Type": "application/json"}, b'{"data": [{"id": "inj'),
            "no text": lambda *_: (200, {"Content-Type": "application/json"}, b"\xff\xfe\x00"),
            "a depth without end": lambda *_: (200, {"Content-Type": "application/json"}, b"[" * 200_000),
            "another media type": lambda *_: (200, {"Content-Type": "text/plain"}, json.dumps(same)),
            "an error": lambda *_: (500, {}, {"error": "injected"}),
            "a second page that lies": self.second(page),
            "a second page that is cut": self.second((200, {"Content-Type": "application/json"}, b'{"data": [')),
            "a second page without a cursor": self.second({"data": [{"name": "injected"}], "has_more": True}),
            "a cursor that repeats": lambda *_: same,
            "cursors in a circle": lambda _, query: {
                "data": [{"id": f"cus_{(int(query.get('starting_after', 'cus_9')[4:]) + 1) % 5}"}], "has_more": True},
            "a cursor of 10 kB": lambda *_: {"data": [{"id": "x" * 10_240}], "has_more": True},
        })

    def test_numbers_of_rows_that_cannot_be_change_nothing(self):
        def ticket(number):
            return {"key": f"ACME-{number}", "fields": {"summary": "injected"}}

        self.expect_unchanged("jira", {
            "more rows than are said": lambda *_: {"total": 1, "issues": [ticket(1), ticket(2)]},
            "fewer rows than are said": lambda _, query: {
                "total": 230, "issues": [ticket(n) for n in range(40)] if query["startAt"] == "0" else []},
            "no number": lambda *_: {"issues": [ticket(1)]},
            "a number that is a text": lambda *_: {"total": "many", "issues": [ticket(1)]},
            "a number that changes": lambda _, query: {
                "total": 230 + int(query["startAt"]), "issues": [ticket(int(query["startAt"]) + n) for n in range(40)]},
            "one page for ever": lambda *_: {"total": 10**9, "issues": [ticket(n) for n in range(40)]},
        })

    def test_a_next_page_at_another_server_is_not_asked_for(self):
        other = ConnectedSystems()
        self.addCleanup(other.stop)
        gateway = self.start()
        for link in [f"<{other.address}/more>; rel=next", "<//127.0.0.1:1/>; rel=\"next\"", "<https://127.0.0.1/>; rel=next"]:
            self.system.lie = lambda *_, link=link: (200, {"Link": link, "Content-Type": "application/json"}, "[]")
            self.assertEqual(self.outcome(gateway, "github")["state"], "held")
            self.assertEqual(gateway.get("/api/v1/github/issues", user="alice").status, 503)
        self.assertEqual(other.asked, [])

    def test_rows_that_do_not_fit_stay_as_they_were_and_delete_nothing(self):
        gateway = self.start()
        before = {row["id"]: row for row in self.rows(gateway, "stripe")}
        self.system.stripe["cus_0006"]["name"] = "Changed"
        genuine = [dict(customer) for customer in self.system.stripe.values()]
        odd = {
            "cus_0001": {"id": None}, "cus_0002": {"id": "x" * 10_240}, "cus_0003": {"id": {"a": 1}},
            "cus_0004": {"balance": "much"}, "cus_0005": {"created": "yesterday"},
            "cus_0007": {"name": ["a"]}}
        rows = [{**customer, **odd.get(customer["id"], {})} for customer in genuine]
        # The second of two rows with one key is another state of it.
        rows.append({**genuine[8], "name": "Twice"})
        self.system.lie = lambda path, query: {"data": rows, "has_more": False}
        self.assertEqual(self.outcome(gateway, "stripe")["state"], "good")
        after = {row["id"]: row for row in self.rows(gateway, "stripe")}
        self.assertEqual(after["cus_0006"]["name"], "Changed")
        self.assertEqual({**after, "cus_0006": None}, {**before, "cus_0006": None})

    def test_a_page_instead_of_a_writes_answer_is_no_success(self):
        gateway = self.start()
        self.rows(gateway, "jira")
        real = self.system.respond
        self.system.respond = lambda method, *rest: (
            (200, {"Content-Type": "text/html"}, "<html>Sign in</html>") if method == "PUT" else real(method, *rest))
        self.update(gateway, "jira", "ACME-1", {"summary": "Lost"}, status=504)
        self.assertEqual(self.rows(gateway, "jira")[0]["summary"], "Ticket 1")


class Files(ConnectTest):
    def draft(self, kind, name, content):
        path = self.folder / name
        path.write_text(content)
        done = run_portico("connect", kind, str(path), program="porticoctl")
        self.assertEqual(done.returncode, 0, done.stderr)
        draft = self.folder / f"{kind}.yaml"
        draft.write_text(done.stdout)
        return path, draft

    def test_a_file_is_read_again_when_it_changes_and_a_broken_one_changes_nothing(self):
        table, draft = self.draft("csv", "staff.csv", "id,name\n1,Ann\n2,Bob\n")
        document, other = self.draft("json", "places.json", json.dumps({"places": [{"code": "a", "at": {"city": "Oslo"}}]}))
        tried = run_portico(
            "connect", "try", draft, "--config", self.configuration({"staff": draft}), program="porticoctl")
        self.assertIn("staff: 2 rows at", tried.stdout)
        gateway = self.start({"staff": draft, "places": other})
        names = lambda: [row["name"] for row in gateway.get("/api/v1/staff/staff", user="alice").json()["items"]]
        self.assertEqual(names(), ["Ann", "Bob"])
        self.assertEqual(
            gateway.get("/api/v1/places/places", user="alice").json()["items"], [{"code": "a", "at_city": "Oslo"}])
        self.assertEqual(gateway.send("POST", "/api/v1/staff/staff", {"id": 3, "name": "x"}, user="alice").status, 403)
        # Nor is it offered.
        self.assertEqual(set(gateway.get("/openapi.json").json()["paths"]["/api/v1/staff/staff"]), {"get"})
        table.write_text("id,name\n1,Ann\n2,Robert\n")
        self.until(lambda: names() == ["Ann", "Robert"])
        for broken in ["id,name\n1,Ann\n2", "id,name\n\"1,Ann\n", "", "<html>", "id,id\n1,2\n"]:
            table.write_text(broken)
            self.control(gateway, "mirrors", "refresh", "staff/staff")
            found = self.control(gateway, "mirrors", "show", "staff/staff")
            self.assertIn(found["state"], ("held", "failing"), (broken, found))
            self.assertEqual(names(), ["Ann", "Robert"])
        table.unlink()
        self.control(gateway, "mirrors", "refresh", "staff/staff")
        self.assertEqual(names(), ["Ann", "Robert"])
        table.write_text("id,name\n1,Ann\n2,Robert\n3,Cleo\n")
        # Reads would wait for the pause after failures, which is a minute by now.
        self.control(gateway, "mirrors", "refresh", "staff/staff")
        self.until(lambda: names() == ["Ann", "Robert", "Cleo"])


if __name__ == "__main__":
    unittest.main()
