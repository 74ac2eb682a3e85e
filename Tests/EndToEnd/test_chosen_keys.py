"""A system that gives each record that is created a key of its own: the record takes it, here and on devices."""

import http.server
import json
import pathlib
import re
import shutil
import tempfile
import threading
import time
import unittest

import browser
from harness import Gateway
from sync_device import Device

QUICK = True
ITEMS = "/api/v1/shop/items"
CONFIGURATION = """
http: {{ host: 127.0.0.1 }}
identity: {{ basic: {{ enabled: true }}, demoAccounts: [{{ name: alice, password: portico-demo, roles: [member] }}] }}
upstreams:
  shop: {{ url: '{url}/', networks: [127.0.0.1/32], deadline: 2s, limits: {{ tries: 1, failures: 1000 }} }}
adapters:
  shop: {{ connect: shop.yaml, access: {{ read: login, write: login }} }}
"""
CONNECTION = """
title: Shop
upstream: shop
entities:
  items:
    summary: What is sold.
    address: items
    list: /items
    key: id
    fields:
      id: {{ type: string, maximumLength: 40 }}
      title: {{ type: string, required: true }}
    record: {{ address: "items/{{id}}" }}
    write:
      mode: {mode}
      create: {{ method: POST, address: items, body: {{ id: "{{id}}", title: "{{title}}" }} }}
      update: {{ method: PATCH, address: "items/{{id}}", body: {{ title: "{{title}}" }} }}
      delete: {{ method: DELETE, address: "items/{{id}}" }}
    freshFor: 1d
"""


class Shop:
    """`says`: `body` has the key in the answer's body, `location` at the end of `Location`."""

    def __init__(self, says):
        self.rows, self.says, self.is_down, self.lock = {}, says, False, threading.Lock()
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def log_message(self, *arguments):
                pass

            def answer(self, status, value=None, **fields):
                body = b"" if value is None else json.dumps(value).encode()
                self.send_response(status)
                for name, text in fields.items():
                    self.send_header(name, text)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def serve(self):
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                with outer.lock:
                    if outer.is_down and self.command != "GET":
                        return self.answer(503)
                    identifier = re.fullmatch("/items/(.+)", self.path)
                    if self.command == "GET" and not identifier:
                        return self.answer(200, {"items": list(outer.rows.values())})
                    if self.command == "POST":
                        key = f"key-{len(outer.rows) + 1}"
                        outer.rows[key] = {**json.loads(body), "id": key}
                        if outer.says == "body":
                            return self.answer(201, outer.rows[key])
                        return self.answer(201, Location=f"/items/{key}/")
                    if identifier[1] not in outer.rows:
                        return self.answer(404)
                    if self.command == "DELETE":
                        del outer.rows[identifier[1]]
                        return self.answer(204)
                    if self.command == "PATCH":
                        outer.rows[identifier[1]].update(json.loads(body))
                    return self.answer(200, outer.rows[identifier[1]])

            do_GET = do_POST = do_PATCH = do_DELETE = serve

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()


class ChosenKeys(unittest.TestCase):
    def start(self, mode, says="body"):
        self.shop = Shop(says)
        self.addCleanup(self.shop.stop)
        self.shop.rows["key-0"] = {"id": "key-0", "title": "Zero"}
        folder = pathlib.Path(tempfile.mkdtemp(prefix="portico-keys-"))
        self.addCleanup(shutil.rmtree, folder, True)
        (folder / "shop.yaml").write_text(CONNECTION.format(mode=mode))
        (folder / "portico.yaml").write_text(CONFIGURATION.format(url=self.shop.address))
        self.gateway = Gateway(config=str(folder / "portico.yaml"))
        self.addCleanup(self.gateway.remove)
        self.until(lambda: self.gateway.get(ITEMS, user="alice").status == 200)

    def until(self, condition):
        end = time.monotonic() + 60
        while not condition():
            self.assertLess(time.monotonic(), end, "it does not come to that")
            time.sleep(0.02)

    def items(self):
        return {item["id"]: item["title"] for item in self.gateway.get(ITEMS, user="alice").json()["items"]}

    def settled(self):
        return self.gateway.get("/api/v1/portico/writes", user="alice").json()["items"] == []

    def test_a_change_that_waits_is_answered_with_the_new_key(self):
        for says in ["body", "location"]:
            with self.subTest(says):
                self.start("through", says)
                answer = self.gateway.send("POST", ITEMS, {"id": "mine", "title": "One"}, user="alice")
                self.assertEqual((answer.status, answer.json()), (201, {"id": "key-2", "title": "One"}))
                self.assertTrue(answer.headers["location"].endswith("/key-2"), answer.headers)
                self.assertEqual(self.items(), {"key-0": "Zero", "key-2": "One"})

    def test_a_queued_creation_takes_the_key_and_the_changes_behind_it_follow(self):
        self.start("queued")
        self.shop.is_down = True
        self.assertEqual(self.gateway.send("POST", ITEMS, {"id": "mine", "title": "One"}, user="alice").status, 201)
        self.assertEqual(self.gateway.send("PATCH", f"{ITEMS}/mine", {"title": "Two"}, user="alice").status, 200)
        self.assertEqual(self.items(), {"key-0": "Zero", "mine": "Two"})
        self.shop.is_down = False
        self.until(self.settled)
        self.assertEqual(self.items(), {"key-0": "Zero", "key-2": "Two"})
        self.assertEqual(self.shop.rows["key-2"]["title"], "Two")

    def test_requests_for_the_id_that_was_chosen_first_are_told_where_the_record_is(self):
        self.start("queued")
        self.assertEqual(self.gateway.send("POST", ITEMS, {"id": "mine", "title": "One"}, user="alice").status, 201)
        self.until(lambda: "key-2" in self.items())
        for method, body in [("GET", None), ("PATCH", {"title": "Two"}), ("PUT", {"title": "Two"}), ("DELETE", None)]:
            if body is None:
                answer = self.gateway.request(method, f"{ITEMS}/mine", user="alice")
            else:
                answer = self.gateway.send(method, f"{ITEMS}/mine", body, user="alice")
            self.assertEqual((answer.status, answer.headers.get("location")), (308, f"{ITEMS}/key-2"), (method, answer))
        self.assertEqual(self.items()["key-2"], "One")
        self.assertEqual(self.gateway.request("GET", f"{ITEMS}/none", user="alice").status, 404)

    def test_devices_hear_of_the_key_and_changes_of_the_old_id_are_made(self):
        self.start("queued")
        one, two = Device(self.gateway, "alice"), Device(self.gateway, "alice")
        one.pull(), two.pull()
        self.shop.is_down = True
        self.assertEqual(one.change("create", "mine", {"title": "One"}, collection="items")["outcome"], "applied")
        one.pull(), two.pull()
        revision = two.rows["items", "mine"][0]
        self.shop.is_down = False
        self.until(self.settled)
        # It has not heard of the key yet, and names the old id with the last revision that it had.
        outcome = two.change("update", "mine", {"title": "Two"}, base=revision, collection="items")
        self.assertEqual(outcome["outcome"], "applied", outcome)
        self.until(lambda: self.shop.rows["key-2"]["title"] == "Two")
        page = one.ask(one.checkpoint)
        (removal,) = [each for each in page["operations"] if each["operation"] == "remove" and each["id"] == "mine"]
        self.assertEqual(removal["movedTo"], "key-2")
        for device in [one, two]:
            self.assertEqual(device.pull(), [])
            self.assertNotIn(("items", "mine"), device.rows)
            self.assertEqual(device.rows["items", "key-2"][1]["title"], "Two")
        # The same mutation again, under either id, has the outcome that it had.
        again = two.push({"sequence": two.sequence, "operation": "update", "collection": "items", "id": "key-2",
                          "baseRev": revision, "fields": {"title": "Two"}})["outcomes"]
        self.assertEqual([one["outcome"] for one in again], ["applied"])

    @unittest.skipUnless(browser.program(), "this machine has no Chromium")
    def test_a_page_has_the_record_under_its_key_and_tells_its_app(self):
        self.start("queued")
        self.shop.is_down = True
        window = browser.Browser()
        self.addCleanup(window.close)
        address = f"http://127.0.0.1:{self.gateway.port}"
        page = window.person().page(f"{address}/client/notes.css")
        page.run(f"""await (async () => {{
            const client = await import('{address}/client/portico.js');
            const portico = client.connect({{}});
            await portico.signIn('alice', 'portico-demo');
            globalThis.heard = [];
            globalThis.replica = await portico.replica(['items']);
            replica.addEventListener('moved', ({{ detail }}) => heard.push(detail));
            globalThis.made = await replica.create('items', {{ title: 'One' }});
        }})()""")
        page.until("(await replica.record('items', made))?.isPending === false")
        self.shop.is_down = False
        page.until("heard.length === 1 && heard[0].id === made && heard[0].movedTo === 'key-2'")
        page.until("(await replica.record('items', 'key-2'))?.fields.title === 'One'")
        self.assertIsNone(page.run("await replica.record('items', made)"))


if __name__ == "__main__":
    unittest.main()
