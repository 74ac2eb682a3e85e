"""Plugins/Inventory and Plugins/Weather in a gateway, within its process and as workers: resources, operations, devices, a
mirror and its live feed."""

import http.server
import json
import os
import pathlib
import shutil
import signal
import tempfile
import threading
import time
import unittest
import urllib.parse

from adapter_build import OLDER, plugin
from harness import Gateway, GatewayTest
from server_sent_events import Stream
from sync_device import Device
from test_one_admission import AdminSocket

QUICK = True

CONFIGURATION = """
http: {{ host: 127.0.0.1 }}
store: {{ sampleData: true }}
identity:
  basic: {{ enabled: true }}
  demoAccounts:
    - {{ name: alice, password: portico-demo, roles: [member] }}
    - {{ name: bob, password: portico-demo, roles: [member] }}
plugins:
  - {{ path: {path} }}
{rest}
"""


class WorkedAdapter(GatewayTest):
    name, rest = "", ""

    @classmethod
    def setUpClass(cls):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="portico-worked-"))
        cls.addClassCleanup(shutil.rmtree, folder, True)
        config = folder / "portico.yaml"
        config.write_text(CONFIGURATION.format(path=plugin(cls.name), rest=cls.rest))
        cls.gateway = Gateway(config=str(config))

    def ids(self, entity, user, key="id"):
        answer = self.expect(self.gateway.get(f"/api/v1/{entity}", user=user), 200)
        return sorted(item[key] for item in answer.json()["items"])


class Inventory(WorkedAdapter):
    name = "Inventory"
    rest = "adapters: { inventory: { access: login } }"

    def test_one_sees_ones_own_warehouses_and_moves_stock_between_them(self):
        self.assertEqual(self.ids("inventory/warehouses", "bob"), ["north"])
        self.assertLessEqual({"n1", "n2", "s1"}, set(self.ids("inventory/items", "alice")))
        self.assertNotIn("s1", self.ids("inventory/items", "bob"))
        move = "/api/v1/inventory/operations/move"
        moved = self.expect(
            self.gateway.send("POST", move, {"item": "n1", "to": "south", "quantity": 100}, user="alice"), 200).json()
        self.assertEqual(moved["to"], {"item": "s1", "warehouse": "south", "quantity": 140})
        stock = self.gateway.get("/api/v1/inventory/items/n1", user="bob").json()
        self.assertEqual(stock["quantity"], 400)
        too_many = self.gateway.send("POST", move, {"item": "n2", "to": "south", "quantity": 21}, user="alice")
        self.assertEqual(self.expect(too_many, 400, "request.invalid").json()["error"]["target"], "quantity")
        hidden = self.gateway.send("POST", move, {"item": "n2", "to": "south", "quantity": 1}, user="bob")
        self.expect(hidden, 404, "record.notFound")

    def test_a_device_has_the_stock_of_its_users_warehouses_and_changes_it_offline(self):
        device = Device(self.gateway, "bob", collections=["items", "warehouses"])
        self.assertEqual(device.pull(), [])
        self.assertEqual(device.ids("warehouses"), {"north"})
        created = {"id": "late", "warehouse": "north", "article": "C-3", "name": "Key", "quantity": 3}
        self.expect(self.gateway.send("POST", "/api/v1/inventory/items", created, user="alice"), 201)
        self.assertEqual(device.pull(), [])
        outcome = device.change("update", "late", {"quantity": 2}, device.rev("late", "items"), collection="items")
        self.assertEqual(outcome["outcome"], "applied", outcome)
        late = self.gateway.get("/api/v1/inventory/items/late", user="alice").json()
        self.assertEqual(late["quantity"], 2)
        foreign = device.change("update", "s1", {"quantity": 0}, 1, collection="items")
        self.assertEqual(foreign["outcome"], "rejected", foreign)


class WeatherStation:
    """The weather service: two pages, and what the test changes of them."""

    def __init__(self):
        self.observations = {
            "a": {"region": "coast", "place": "Kiel", "temperature": 11.5, "observed": "2026-11-23T09:00:00Z"},
            "b": {"region": "alps", "place": "Zugspitze", "temperature": -4},
        }
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                after = urllib.parse.parse_qs(urllib.parse.urlparse(self.path).query).get("after", [""])[0]
                left = sorted(station for station in outer.observations if station > after)
                page = {"observations": [{"station": s, **outer.observations[s]} for s in left[:1]]}
                if left[1:]:
                    page["next"] = left[0]
                body = json.dumps(page).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self._server.server_address[1]}/"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def stop(self):
        self._server.shutdown()
        self._server.server_close()


class Weather(WorkedAdapter):
    name = "Weather"

    @classmethod
    def setUpClass(cls):
        cls.station = WeatherStation()
        cls.addClassCleanup(cls.station.stop)
        cls.rest = (
            f"upstreams: {{ weather: {{ url: '{cls.station.address}', networks: [127.0.0.1/32] }} }}\n"
            "adapters: { weather: { upstream: weather, refresh: 500ms } }")
        super().setUpClass()

    def follow(self, region, user, verb="follow"):
        return self.gateway.send("POST", f"/api/v1/weather/operations/{verb}", {"region": region}, user=user)

    def until_followed(self, region, user):
        """The first refresh begins when the gateway has started."""
        end = time.monotonic() + 60
        while (answer := self.follow(region, user)).status == 404:
            self.assertLess(time.monotonic(), end, answer)
            time.sleep(0.1)
        self.expect(answer, 200)

    def test_a_followed_regions_weather_is_read_and_reported_live(self):
        self.until_followed("coast", "alice")
        self.assertEqual(self.ids("weather/observations", "alice", "station"), ["a"])
        self.assertEqual(self.ids("weather/observations", "bob", "station"), [])
        stream = Stream(self.gateway, "alice", path="/weather/live")
        self.addCleanup(stream.close)
        self.assertEqual(stream.next("ready", "reset"), ("ready", {}))
        self.station.observations["b"]["temperature"] = -9
        self.station.observations["a"]["temperature"] = 12.25
        event, observation = stream.next("observation")
        self.assertEqual((observation["station"], observation["temperature"]), ("a", 12.25))
        answer = self.gateway.get("/api/v1/weather/observations/a", user="alice")
        self.assertIn("age", answer.headers)
        self.assertEqual(answer.json()["temperature"], 12.25)

    def metrics(self):
        """By name and labels as they are written."""
        connection = AdminSocket(self.gateway.data / "admin.sock")
        self.addCleanup(connection.close)
        connection.request("GET", "/metrics")
        text = connection.getresponse().read().decode()
        return {series: float(value) for series, value in (
            line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))}

    def counted(self, series, least):
        end = time.monotonic() + 60
        while (found := self.metrics().get(series, 0)) < least:
            self.assertLess(time.monotonic(), end, f"{series} is {found}")
            time.sleep(0.1)
        return found

    def test_what_it_counts_is_in_the_metrics_and_goes_on_when_its_process_restarts(self):
        if OLDER:
            self.skipTest("programs of earlier SDKs report no metrics")
        fetched = 'portico_adapter_counter_total{adapter="weather",name="observations_fetched"}'
        before = self.counted(fetched, 4)
        spent = 'portico_adapter_processor_seconds_total{adapter="weather"}'
        self.assertGreater(self.metrics()['portico_adapter_resident_bytes{adapter="weather"}'], 1_000_000)
        took = self.counted(spent, 0.001)
        os.kill(self.gateway.workers()["weather"], signal.SIGKILL)
        self.counted('portico_adapter_restarts_total{adapter="weather"}', 1)
        self.assertGreaterEqual(self.metrics()[spent], took)
        self.assertGreaterEqual(self.metrics()[fetched], before)
        self.counted(fetched, before + 4)

    def test_a_region_that_the_service_does_not_have_is_not_followed(self):
        self.until_followed("alps", "bob")
        self.expect(self.follow("moon", "bob"), 404, "record.notFound")
        self.expect(self.follow("alps", "bob", "unfollow"), 200)
        self.assertEqual(self.ids("weather/observations", "bob", "station"), [])


# The base has no adapter to test.
del WorkedAdapter

if __name__ == "__main__":
    unittest.main()
