"""Metrics at the admin socket: what is counted, that Prometheus takes it, and that dashboard and alert rules find it."""

import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import socketserver
import subprocess
import tempfile
import threading
import time
import unittest
import urllib.parse

from harness import ROOT, START_SECONDS, Gateway, has_tool, run_portico
from ledger_upstream import LedgerUpstream
from sync_device import Device
from test_one_admission import AdminSocket
from test_tls import SecureGateway

DASHBOARD = ROOT / "Deploy/grafana-dashboard.json"
RULES = ROOT / "Deploy/prometheus-rules.yaml"
CONFIGURATION = """
http: {{ host: 127.0.0.1 }}
identity: {{ basic: {{ enabled: true }}, demoAccounts: [ {{ name: alice, password: portico-demo, roles: [member] }} ] }}
upstreams:
  hr: {{ url: '{url}', networks: [127.0.0.1/32], deadline: 2s, limits: {{ failures: 1000 }} }}
adapters:
  users: {{ access: {{ read: login, write: login }}, upstream: hr, write: queued, freshFor: 1d }}
plugins: [ {{ path: notes-worker }} ]
"""
OPEN_METRICS = "application/openmetrics-text; version=1.0.0"


def scrape(gateway, accept=None):
    connection = AdminSocket(gateway.data / "admin.sock")
    try:
        connection.request("GET", "/metrics", headers={"Accept": accept} if accept else {})
        response = connection.getresponse()
        return response.status, response.getheader("content-type"), response.read().decode()
    finally:
        connection.close()


def values(gateway):
    """By name and labels as they are written."""
    text = scrape(gateway)[2]
    return {series: float(value) for series, value in (
        line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))}


def counted(found, name, **labels):
    """The sum of a metric's series that have these labels."""
    return sum(value for series, value in found.items()
               if re.split("[{ ]", series)[0] == name and all(f'{key}="{wanted}"' in series for key, wanted in labels.items()))


class Metrics(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.gateway = Gateway()
        cls.addClassCleanup(cls.gateway.remove)

    def change(self, name, call, **labels):
        before = counted(values(self.gateway), name, **labels)
        call()
        return counted(values(self.gateway), name, **labels) - before

    def test_the_public_listener_has_none(self):
        self.assertEqual(self.gateway.get("/metrics").status, 404)
        self.assertEqual(self.gateway.get("/metrics", user="admin").status, 404)

    def test_a_request_is_counted_once_with_its_operation_format_and_status(self):
        labels = {"adapter": "users", "format": "plist", "protocol": "http1", "status": "2xx"}
        ask = lambda: self.gateway.get("/v1/list", "application/x-plist", user="alice")
        for attempt in range(3):  # the second and the third are answered from the cache
            with self.subTest(attempt):
                self.assertEqual(self.change("portico_http_requests_total", ask, **labels), 1)
        self.assertGreater(counted(values(self.gateway), "portico_cache_hits_total", cache="responses"), 0)
        count = "portico_http_request_duration_seconds_count"
        self.assertEqual(self.change(count, ask, adapter="users"), 1)

    def test_calls_of_a_batch_are_counted_as_such(self):
        calls = [{"id": str(number), "method": "GET", "path": "/v1/list"} for number in range(3)]
        ask = lambda: self.gateway.send("POST", "/batch", {"calls": calls}, user="alice")
        self.assertEqual(self.change("portico_http_requests_total", ask, adapter="users", protocol="batch"), 3)

    def test_http_2_is_told_apart(self):
        if not has_tool("curl"):
            self.skipTest("no curl")
        with tempfile.TemporaryDirectory():
            gateway = SecureGateway()
            self.addCleanup(gateway.remove)
            subprocess.run(
                ["curl", "--silent", "--insecure", "--http2", "--output", "/dev/null",
                 f"https://127.0.0.1:{gateway.port}/openapi.json"], check=True, timeout=60)
            found = values(gateway)
            self.assertEqual(counted(found, "portico_http_requests_total", protocol="http2", adapter="gateway"), 1)

    def test_what_callers_send_makes_no_series(self):
        def ask():
            for number in range(50):
                self.gateway.get(f"/nothing/{number}")
                self.gateway.request(f"METHOD{number}", "/v1/list")
                self.gateway.request("DELETE", f"/v2/{number}/x")
        self.gateway.get("/nothing")
        self.gateway.request("METHOD", "/v1/list")
        self.gateway.request("DELETE", "/v1/list")
        before = set(values(self.gateway))
        ask()
        self.assertEqual(set(values(self.gateway)) - before, set())

    def test_errors_are_counted_by_code(self):
        ask = lambda: self.gateway.get("/nothing")
        self.assertEqual(self.change("portico_http_errors_total", ask, code="route.notFound"), 1)

    def test_sign_ins_are_counted_by_their_end(self):
        right = lambda: self.gateway.login("alice")
        wrong = lambda: self.gateway.send("POST", "/auth/login", {"username": "alice", "password": "wrong"})
        name = "portico_identity_sign_ins_total"
        self.assertEqual(self.change(name, right, method="password", result="accepted"), 1)
        self.assertEqual(self.change(name, wrong, method="password", result="refused"), 1)

    def test_the_store_counts_transactions_commits_and_reads(self):
        write = lambda: self.gateway.send("POST", "/api/v1/notes/notes", {"title": "counted", "text": ""}, user="alice")
        self.assertGreaterEqual(self.change("portico_store_transactions_total", write, result="committed"), 1)
        self.assertGreaterEqual(self.change("portico_store_commit_duration_seconds_count", write), 1)
        read = lambda: self.gateway.get("/api/v1/notes/notes?limit=1", user="alice")
        self.assertGreaterEqual(self.change("portico_store_reads_total", read, kind="quick"), 1)
        found = values(self.gateway)
        size = (self.gateway.data / "portico.sqlite").stat().st_size
        self.assertEqual(found['portico_store_file_bytes{file="database"}'], size)
        self.assertEqual(found["portico_store_writable"], 1)

    def test_sync_is_counted_by_outcome(self):
        device = Device(self.gateway, "alice", collections=["notes"])
        self.assertGreaterEqual(self.change("portico_sync_pulls_total", device.pull), 1)
        push = lambda: device.change("create", f"metric-{time.monotonic_ns()}", {"title": "pushed"})
        self.assertEqual(self.change("portico_sync_mutations_total", push, outcome="applied"), 1)

    def test_the_process_is_measured(self):
        found = values(self.gateway)
        self.assertAlmostEqual(found["process_start_time_seconds"], time.time(), delta=3600)
        self.assertGreater(found["process_resident_memory_bytes"], 10_000_000)
        self.assertGreater(found["process_cpu_seconds_total"], 0)
        self.assertGreater(found["process_open_fds"], 5)
        end = time.monotonic() + START_SECONDS
        while not counted(values(self.gateway), "portico_event_loop_lag_seconds_count", loop="0"):
            self.assertLess(time.monotonic(), end)
            time.sleep(0.1)

    def test_every_adapter_is_up(self):
        found = values(self.gateway)
        up = {series: value for series, value in found.items() if series.startswith("portico_adapter_up{")}
        self.assertGreater(len(up), 4)
        self.assertEqual(set(up.values()), {1})

    def test_a_disabled_adapter_is_no_failed_one(self):
        for verb, disabled in [("disable", 1), ("enable", 0)]:
            done = run_portico("adapters", verb, "users", "--data", self.gateway.data, program="porticoctl")
            self.assertEqual(done.returncode, 0, done)
            found = values(self.gateway)
            self.assertEqual(found['portico_adapter_up{adapter="users"}'], 1)
            self.assertEqual(found['portico_adapter_disabled{adapter="users"}'], disabled)

    def test_the_load_is_shown_of_one_span_where_there_is_no_terminal(self):
        asked = threading.Thread(target=lambda: [self.gateway.get("/v2/list", user="alice") for _ in range(200)])
        asked.start()
        done = run_portico("top", "--data", self.gateway.data, "--output", "json", program="porticoctl")
        text = run_portico("top", "--once", "--data", self.gateway.data, program="porticoctl")
        asked.join()
        self.assertEqual((done.returncode, text.returncode), (0, 0), (done, text))
        shown = json.loads(done.stdout)
        adapters = {row["adapter"]: row for row in shown["adapters"]}
        self.assertEqual(adapters["users"]["state"], "running")
        self.assertGreater(adapters["users"]["rate"], 0)
        self.assertGreater(adapters["users"]["p99"], 0)
        self.assertGreater(shown["process"]["memory"], 10_000_000)
        self.assertIn("ADAPTER", text.stdout)
        self.assertNotIn("\x1b", text.stdout)

    def test_open_metrics_by_accept(self):
        status, kind, text = scrape(self.gateway)
        self.assertEqual((status, kind), (200, "text/plain; version=0.0.4; charset=utf-8"))
        self.assertIn("# TYPE portico_http_requests_total counter", text)
        status, kind, text = scrape(self.gateway, OPEN_METRICS)
        self.assertEqual((status, kind), (200, f"{OPEN_METRICS}; charset=utf-8"))
        self.assertIn("# TYPE portico_http_requests counter", text)
        self.assertTrue(text.endswith("# EOF\n"))
        self.assertEqual(scrape(self.gateway, f"{OPEN_METRICS};q=0.1, text/plain;q=0.9")[1][:10], "text/plain")

    def test_every_metric_is_in_the_documentation(self):
        documented = (ROOT / "docs/metrics.md").read_text()
        for line in scrape(self.gateway)[2].splitlines():
            if line.startswith("# TYPE "):
                self.assertIn(f"`{line.split()[2]}`", documented)

    def test_promtool_finds_nothing_to_complain_of(self):
        if not has_tool("promtool"):
            self.skipTest("no promtool")
        done = subprocess.run(
            ["promtool", "check", "metrics"], input=scrape(self.gateway)[2], capture_output=True, text=True, timeout=60)
        self.assertEqual((done.returncode, done.stdout + done.stderr), (0, ""))


class Bridge(socketserver.ThreadingTCPServer):
    """Prometheus speaks TCP: a port of the loopback interface that leads to an admin socket."""

    daemon_threads = True

    def __init__(self, path):
        class Handler(socketserver.BaseRequestHandler):
            def handle(self):
                with socket.socket(socket.AF_UNIX) as other:
                    other.connect(str(path))
                    back = threading.Thread(target=copy, args=(other, self.request), daemon=True)
                    back.start()
                    copy(self.request, other)
                    back.join()
        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def stop(self):
        self.shutdown()
        self.server_close()


def copy(source, target):
    try:
        while piece := source.recv(65536):
            target.sendall(piece)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        pass


@unittest.skipUnless(has_tool("prometheus"), "no Prometheus")
class Scraped(unittest.TestCase):
    """A real Prometheus with the rules of Deploy/ and the expressions of the dashboard."""

    @classmethod
    def setUpClass(cls):
        upstream = LedgerUpstream(True, range(100, 105))
        cls.addClassCleanup(upstream.stop)
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="portico-metrics-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, True)
        config = cls.folder / "portico.yaml"
        config.write_text(CONFIGURATION.format(url=upstream.address))
        copies = tempfile.mkdtemp(prefix="portico-copies-")
        cls.addClassCleanup(shutil.rmtree, copies, True)
        cls.gateway = Gateway("--set", f"backups.target.folder={copies}", config=str(config), data=cls.folder)
        cls.addClassCleanup(cls.gateway.remove)
        bridge = Bridge(cls.folder / "admin.sock")
        cls.addClassCleanup(bridge.stop)
        with socket.create_server(("127.0.0.1", 0)) as free:
            cls.port = free.getsockname()[1]
        (cls.folder / "prometheus.yml").write_text(json.dumps({
            "global": {"scrape_interval": "1s", "evaluation_interval": "1s"}, "rule_files": [str(RULES)],
            "scrape_configs": [{"job_name": "portico", "static_configs": [
                {"targets": ["127.0.0.1:%d" % bridge.server_address[1]]}]}]}))
        log = open(cls.folder / "prometheus.log", "wb")
        cls.addClassCleanup(log.close)
        cls.prometheus = subprocess.Popen(
            ["prometheus", f"--config.file={cls.folder}/prometheus.yml", f"--storage.tsdb.path={cls.folder}/tsdb",
             f"--web.listen-address=127.0.0.1:{cls.port}"], stdout=log, stderr=log)
        cls.addClassCleanup(cls.end)
        cls.work()

    @classmethod
    def end(cls):
        cls.prometheus.terminate()
        cls.prometheus.wait(timeout=60)

    @classmethod
    def work(cls):
        """Something of everything that is counted only where it happens."""
        end = time.monotonic() + START_SECONDS
        while cls.gateway.get("/api/v1/users/users", user="alice").status != 200:
            assert time.monotonic() < end, "the mirror is not filled"
            time.sleep(0.1)
        cls.gateway.get("/nothing")
        cls.gateway.login("alice")
        device = Device(cls.gateway, "alice", collections=["users"])
        device.pull()
        device.change("update", "100", {"UserName": "Ann"}, collection="users")

    def ask(self, path, **query):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request("GET", f"/api/v1/{path}?{urllib.parse.urlencode(query)}")
            response = connection.getresponse()
            answer = json.loads(response.read())
            self.assertEqual(answer["status"], "success", (path, query, answer))
            return answer["data"]
        finally:
            connection.close()

    def eventually(self, holds):
        end = time.monotonic() + START_SECONDS
        while not holds():
            self.assertLess(time.monotonic(), end)
            time.sleep(0.2)

    def known(self, wanted):
        """Waits for these names: Prometheus has them after a scrape."""
        end, missing = time.monotonic() + START_SECONDS, wanted
        while True:
            try:
                missing = wanted - set(self.ask("label/__name__/values"))
            except OSError:
                pass
            if not missing or time.monotonic() > end:
                return missing
            time.sleep(0.5)

    @staticmethod
    def names(text):
        return set(re.findall(r"\b(?:portico|process)_[a-z_]+", text))

    def expressions(self):
        for panel in json.loads(DASHBOARD.read_text())["panels"]:
            for target in panel.get("targets", []):
                yield panel["title"], target["expr"], target["legendFormat"]

    def test_every_metric_of_the_dashboard_is_found_and_every_legend_has_its_labels(self):
        texts = [expression for _, expression, _ in self.expressions()]
        self.assertGreater(len(texts), 40)
        self.assertEqual(self.known(self.names(" ".join(texts))), set())
        for title, expression, legend in self.expressions():
            with self.subTest(title):
                found = self.ask("query", query=expression.replace("$instance", ".*").replace("$__rate_interval", "1m"))
                for series in found["result"]:
                    for label in re.findall(r"{{(\w+)}}", legend):
                        self.assertIn(label, series["metric"])

    def test_every_rule_names_metrics_that_are_found_and_is_evaluated(self):
        text = "\n".join(line for line in RULES.read_text().splitlines() if "alert:" not in line)
        self.assertEqual(self.known(self.names(text)), set())
        end = time.monotonic() + START_SECONDS
        while True:
            rules = [rule for group in self.ask("rules")["groups"] for rule in group["rules"]]
            if all(rule["health"] == "ok" for rule in rules) or time.monotonic() > end:
                break
            time.sleep(0.5)
        self.assertEqual([(rule["name"], rule.get("lastError")) for rule in rules if rule["health"] != "ok"], [])
        self.assertEqual(len(rules), text.count("expr:"))

    def test_a_program_that_crashes_again_and_again_is_an_alert(self):
        # Prometheus counts from the first value that it has seen.
        self.assertEqual(self.known({"portico_adapter_crashes_total"}), set())
        for count in range(1, 6):
            self.eventually(lambda: "notes" in self.gateway.workers())
            os.kill(self.gateway.workers()["notes"], signal.SIGKILL)
            self.eventually(
                lambda: counted(values(self.gateway), "portico_adapter_crashes_total", adapter="notes") == count)
        self.eventually(lambda: ("PorticoAdapterCrashes", "notes") in [
            (alert["labels"]["alertname"], alert["labels"].get("adapter")) for alert in self.ask("alerts")["alerts"]])

    def test_the_metrics_that_others_rely_on_are_there(self):
        self.assertEqual(self.known({
            "portico_http_requests_total", "portico_http_request_duration_seconds_bucket",
            "portico_upstream_requests_total", "portico_mirror_age_seconds", "portico_pending_writes",
            "portico_adapter_up"}), set())
