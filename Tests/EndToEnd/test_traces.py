"""Traces: W3C context in and out, spans of the gateway, its adapters, its store and other systems at a collector."""

import http.server
import json
import pathlib
import shutil
import tempfile
import threading
import time
import unittest

from harness import START_SECONDS, Gateway, run_portico
from ledger_upstream import LedgerUpstream
from test_metrics import counted, values

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
CALLER = "00f067aa0ba902b7"
SAMPLED, UNSAMPLED = f"00-{TRACE}-{CALLER}-01", f"00-{TRACE}-{CALLER}-00"
USERS = "/api/v1/users/users"
CONFIGURATION = """
http: {{ host: 127.0.0.1 }}
identity: {{ basic: {{ enabled: true }}, demoAccounts: [ {{ name: alice, password: portico-demo, roles: [member] }} ] }}
traces: {{ upstream: collector, {traces} }}
upstreams:
  hr: {{ url: '{url}', networks: [127.0.0.1/32], deadline: 10s }}
  collector:
    url: 'http://127.0.0.1:{port}/otlp/'
    networks: [127.0.0.1/32]
    credentials: {{ kind: bearer, token: {{ env: COLLECTOR_TOKEN }} }}
    limits: {{ tries: 1, failures: 1000 }}
adapters:
  users: {{ access: {{ read: login, write: login }}, upstream: hr, write: through, freshFor: 1d }}
"""


class Collector(http.server.ThreadingHTTPServer):
    """Takes OTLP over HTTP in JSON, and refuses it with `status`."""

    daemon_threads = True

    def __init__(self):
        self.requests, self.status = [], 200
        super().__init__(("127.0.0.1", 0), Handler)
        self.port = self.server_address[1]
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def stop(self):
        self.shutdown()
        self.server_close()

    @property
    def spans(self):
        return [span for _, _, document in list(self.requests) for resource in document["resourceSpans"]
                for scope in resource["scopeSpans"] for span in scope["spans"]]


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.server.status == 200:
            self.server.requests.append((self.path, dict(self.headers), json.loads(body)))
        self.send_response(self.server.status)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *arguments):
        pass


def attributes(span):
    return {each["key"]: next(iter(each["value"].values())) for each in span["attributes"]}


class Traced(unittest.TestCase):
    def start(self, traces="ratio: 0", interval="100ms"):
        self.collector = Collector()
        self.addCleanup(self.collector.stop)
        self.upstream = LedgerUpstream(True, range(100, 105))
        self.addCleanup(self.upstream.stop)
        folder = pathlib.Path(tempfile.mkdtemp(prefix="portico-traces-"))
        self.addCleanup(shutil.rmtree, folder, True)
        config = folder / "portico.yaml"
        config.write_text(CONFIGURATION.format(url=self.upstream.address, port=self.collector.port,
            traces=f"{traces}, interval: {interval}"))
        self.gateway = Gateway(config=str(config), data=folder, environment={"COLLECTOR_TOKEN": "the-collectors-token"})
        self.addCleanup(self.gateway.remove)
        self.until(lambda: self.gateway.get(USERS, user="alice", headers={"traceparent": UNSAMPLED}).status == 200)

    def until(self, holds):
        end = time.monotonic() + START_SECONDS
        while not (found := holds()):
            self.assertLess(time.monotonic(), end)
            time.sleep(0.05)
        return found

    def of(self, answer):
        """The spans of the request's trace, once its own has come."""
        def find():
            spans = self.collector.spans
            own = [span for span in spans if attributes(span).get("portico.request_id") == answer.headers["x-request-id"]]
            return own and (own[0], [span for span in spans if span["traceId"] == own[0]["traceId"]])
        return self.until(find)

    def test_a_request_is_followed_through_adapter_store_and_the_other_system(self):
        self.start()
        answer = self.gateway.send(
            "PATCH", f"{USERS}/100", {"UserName": "Ann"}, user="alice",
            headers={"traceparent": SAMPLED, "tracestate": "vendor=word"})
        self.assertEqual(answer.status, 200, answer)
        own, spans = self.of(answer)
        self.assertEqual((own["traceId"], own["parentSpanId"], own["traceState"]), (TRACE, CALLER, "vendor=word"))
        self.assertEqual((own["name"], own["kind"], attributes(own)["http.response.status_code"]), ("users.users.update", 2, "200"))
        by_name = {span["name"]: span for span in spans}
        self.assertLessEqual({"store write", "mirror write", "upstream hr"}, set(by_name))
        self.assertEqual(by_name["mirror write"]["parentSpanId"], own["spanId"])
        upstream = by_name["upstream hr"]
        self.assertEqual((upstream["parentSpanId"], upstream["kind"]), (by_name["mirror write"]["spanId"], 3))
        for span in spans:
            self.assertEqual((len(span["traceId"]), len(span["spanId"])), (32, 16))
            self.assertLessEqual(int(own["startTimeUnixNano"]) - 10**8, int(span["startTimeUnixNano"]))
            self.assertLessEqual(int(span["startTimeUnixNano"]), int(span["endTimeUnixNano"]))
            self.assertAlmostEqual(int(span["endTimeUnixNano"]) / 1e9, time.time(), delta=3600)
        path, fields, document = self.collector.requests[0]
        self.assertEqual((path, fields["Content-Type"]), ("/otlp/v1/traces", "application/json"))
        self.assertEqual(fields["Authorization"], "Bearer the-collectors-token")
        service = {each["key"]: each["value"] for each in document["resourceSpans"][0]["resource"]["attributes"]}
        self.assertEqual(service["service.name"], {"stringValue": "portico"})
        # The trace is in the lines of the request, and goes on with the span of the call.
        done = run_portico(
            "logs", "--request", answer.headers["x-request-id"], "--output", "json", "--data", self.gateway.data,
            program="porticoctl")
        self.assertEqual({json.loads(line)["traceId"] for line in done.stdout.splitlines()}, {TRACE})

    def test_a_failure_is_an_error_with_its_code_and_no_query(self):
        self.start()
        self.upstream.plan = ["drop"] * 10
        answer = self.gateway.send(
            "PATCH", f"{USERS}/100?secret=canary", {"UserName": "Ann"}, user="alice", headers={"traceparent": SAMPLED})
        self.assertGreaterEqual(answer.status, 500, answer)
        own, spans = self.of(answer)
        self.assertEqual(own["status"], {"code": 2})
        self.assertEqual(attributes(own)["error.type"], answer.json()["error"]["code"])
        self.assertEqual([span["status"] for span in spans if span["name"] == "upstream hr"][0], {"code": 2})
        self.assertNotIn("canary", json.dumps(self.collector.requests[-1][2]))
        self.assertNotIn("the-collectors-token", json.dumps(self.collector.spans))

    def test_what_is_not_sampled_is_not_recorded_and_an_invalid_parent_is_ignored(self):
        self.start()
        before = len(self.collector.spans)
        self.gateway.get(USERS, user="alice", headers={"traceparent": UNSAMPLED})
        self.gateway.get(USERS, user="alice")
        self.gateway.get(USERS, user="alice", headers={"traceparent": "00-xyz-01"})
        answer = self.gateway.get(USERS, user="alice", headers={"traceparent": SAMPLED})
        self.of(answer)
        self.assertEqual({span["traceId"] for span in self.collector.spans[before:]}, {TRACE})

    def test_the_ratio_decides_for_traces_that_begin_here_and_for_all_where_callers_do_not(self):
        self.start("ratio: 1, followCallers: false")
        answer = self.gateway.get(USERS, user="alice")
        own, _ = self.of(answer)
        self.assertNotIn("parentSpanId", own)
        answer = self.gateway.get(USERS, user="alice", headers={"traceparent": UNSAMPLED})
        own, _ = self.of(answer)
        self.assertEqual((own["traceId"], own["parentSpanId"]), (TRACE, CALLER))

    def test_spans_that_the_collector_does_not_take_are_dropped_and_counted_and_no_caller_waits(self):
        self.start("ratio: 1, queue: 3")
        self.collector.status = 503
        for _ in range(20):
            self.assertEqual(self.gateway.get(USERS, user="alice").status, 200)
        def lost():
            found = values(self.gateway)
            return (counted(found, "portico_trace_spans_total", result="failed")
                    and counted(found, "portico_trace_spans_total", result="dropped"))
        self.until(lost)
        self.collector.status = 200
        self.until(lambda: counted(values(self.gateway), "portico_trace_spans_total", result="exported")
                   if self.gateway.get(USERS, user="alice") else None)
        self.assertEqual(self.gateway.log().count("traces cannot be exported"), 1)

    def test_what_waits_is_sent_when_the_gateway_stops(self):
        self.start("ratio: 1", interval="1h")
        answer = self.gateway.get(USERS, user="alice")
        self.assertEqual(self.collector.spans, [])
        self.assertEqual(self.gateway.stop(), 0)
        own, _ = self.of(answer)
        self.assertEqual(own["name"], "users.users.list")


class Configured(unittest.TestCase):
    def check(self, traces):
        with tempfile.TemporaryDirectory() as folder:
            config = pathlib.Path(folder) / "portico.yaml"
            config.write_text(f"traces: {traces}\nupstreams:\n  collector: {{ url: 'https://collector.example/' }}\n")
            return run_portico("check", "--config", config)

    def test_what_cannot_be_is_named(self):
        for traces, message in [
            ("{ upstream: other }", "no upstream other"), ("{ upstream: collector, ratio: 2 }", "from 0 to 1"),
            ("{ upstream: collector, queue: 0 }", "from 1 to"),
        ]:
            with self.subTest(traces):
                done = self.check(traces)
                self.assertEqual(done.returncode, 1, done)
                self.assertIn(message, done.stderr)
        self.assertEqual(self.check("{ upstream: collector, ratio: 1 }").returncode, 0)
