"""Calls that another system answers now, through the gateway, nginx and HAProxy. Prints a section of RESULTS.md.

    call_through.py [--rounds N] [--seconds N]

All three stand before the same `portico-stand-in`, one after the other, and are asked for employees by criteria of which no
two are alike, so that nothing is answered from memory. nginx (`proxy_pass`) and HAProxy hand JSON through, over connections
that they keep. The gateway checks the criteria, asks for JSON, checks that, and answers a binary property list. Each has the
first core; the load and the other system share the second one. Processor time is the server's own for one request, the
least of all rounds.
"""

import argparse
import http.client
import json
import pathlib
import subprocess
import sys
import tempfile
from contextlib import ExitStack

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "Gateway"))
sys.path.insert(0, str(HERE.parent.parent / "Tests/EndToEnd"))

from load import processor_burst
from nginx import free_port
from portico import BUILD, Portico
from processes import LOAD_CORE, Server

CONNECTIONS = 16
PATH = "/OrganizationInterfaceImplMobile/employeeSearch"
CONFIGURATION = """
http: {{ host: 127.0.0.1 }}
identity: {{ basic: {{ enabled: true }} }}
upstreams:
  hr: {{ url: '{url}/', networks: [127.0.0.1/32], limits: {{ connections: {connections}, queue: 1000 }} }}
adapters:
  employees: {{ access: public-read, upstream: hr, protocol: json, mode: call }}
"""
NGINX = """
daemon off; user root; worker_processes 1; pid {folder}/nginx.pid; error_log {folder}/error.log;
events {{ worker_connections 1024; }}
http {{
    access_log {folder}/access.log combined buffer=64k flush=1s;
    client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi; keepalive_requests 1000000000;
    upstream hr {{ server 127.0.0.1:{upstream}; keepalive {connections}; keepalive_requests 1000000000; }}
    server {{
        listen 127.0.0.1:{port};
        location = /health/live {{ return 200 'ok'; }}
        location / {{ proxy_pass http://hr; proxy_http_version 1.1; proxy_set_header Connection ''; }}
    }}
}}
"""
HAPROXY = """
global
    nbthread 1
defaults
    mode http
    timeout connect 5s
    timeout client 60s
    timeout server 60s
    http-reuse always
frontend f
    bind 127.0.0.1:{port}
    http-request return status 200 if {{ path /health/live }}
    default_backend b
backend b
    server hr 127.0.0.1:{upstream} maxconn {connections}
"""
# Each request asks for another name, and for few rows.
SCRIPT = """
local n = {start}
function request()
  n = n + 1
  local body = string.format('{{"division":"","order":"ASC","rowsPerPage":10,"pageIndex":0,"fullName":"a%d"}}', n)
  return wrk.format("POST", "{path}", {{["Content-Type"] = "application/json", ["Accept"] = "{accept}"}}, body)
end
"""


class Proxy(Server):
    def __init__(self, folder, upstream):
        super().__init__(folder)
        self.port = free_port()
        self.base = f"http://127.0.0.1:{self.port}"
        (self.folder / "configuration").write_text(
            self.text.format(folder=self.folder, port=self.port, upstream=upstream, connections=CONNECTIONS))


class Nginx(Proxy):
    name, text = "nginx", NGINX

    def command(self):
        return ["nginx", "-c", self.folder / "configuration", "-p", self.folder]


class HAProxy(Proxy):
    name, text = "HAProxy", HAPROXY

    def command(self):
        return ["haproxy", "-f", self.folder / "configuration"]


class Gateway(Portico):
    def __init__(self, folder, stand_in):
        super().__init__(folder, pathlib.Path(folder, "data"))
        self.configuration = self.folder / "portico.yaml"
        self.configuration.write_text(CONFIGURATION.format(url=stand_in, connections=CONNECTIONS))


def ask(port, body, accept):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request("POST", PATH, json.dumps(body), {"Content-Type": "application/json", "Accept": accept})
    answer = connection.getresponse()
    content = answer.read()
    connection.close()
    assert answer.status == 200, (answer.status, content[:300])
    return content


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, ExitStack() as running:
        stand_in = subprocess.Popen(
            ["taskset", "-c", LOAD_CORE, BUILD / "portico-stand-in", "--port", "0", "--employees", "200"],
            stdout=subprocess.PIPE, text=True)
        running.callback(stand_in.wait)
        running.callback(stand_in.terminate)
        address = stand_in.stdout.readline().split()[-1]
        upstream = int(address.rsplit(":", 1)[1])
        sides = [(running.enter_context(Gateway(folder, address)), "application/x-plist")] + [
            (running.enter_context(kind(folder, upstream)), "application/json") for kind in (Nginx, HAProxy)]
        body = {"division": "", "order": "ASC", "rowsPerPage": 10, "pageIndex": 0, "fullName": "a"}
        sizes = {server.name: len(ask(int(server.base.rsplit(":", 1)[1]), body, accept)) for server, accept in sides}
        results = {server.name: [] for server, _ in sides}
        for turn in range(options.rounds):
            for server, accept in sides:
                script = SCRIPT.format(start=(turn + 1) * 10_000_000, path=PATH, accept=accept)
                results[server.name].append(processor_burst(server, script, options.seconds, CONNECTIONS))
    report(results, sizes)


def report(results, sizes):
    least = {name: min(run.microseconds for run in runs) for name, runs in results.items()}
    print("## Calls that another system answers")
    print()
    print(f"{CONNECTIONS} connections, criteria that differ, the same `portico-stand-in` behind each; the gateway answers a binary property")
    print("list, the others the JSON that they get. nginx's and HAProxy's processor time by the gateway's is the last column.")
    print()
    print("| | requests/s | p50, p99 ms | processor time µs | of it |")
    print("|---|---|---|---|---|")
    for name, runs in results.items():
        best = max(runs, key=lambda run: run.requests_per_second)
        print(f"| {name} ({sizes[name]} bytes) | {best.requests_per_second:,.0f} | {best.p50:.2f}, {best.p99:.2f} | {least[name]:.1f} | "
              f"{least[name] / least['portico']:.2f} |")


if __name__ == "__main__":
    main()
