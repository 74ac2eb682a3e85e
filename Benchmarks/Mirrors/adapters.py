"""The adapters that stand in front of other systems, beside themselves in local mode. Prints a section of RESULTS.md.

    adapters.py [--rounds N] [--seconds N] [--connections N]

Gateways with the same rows answer the same requests over TLS and HTTP/2, of which no two of a set are alike: one is local, one
mirrors `portico-stand-in`, two call it for every search, in JSON and over SOAP. Once nothing is answered from memory, and once
answers may be. Every answer's bytes are compared. A gateway has the first core; the load and the other system share the second
one. A ratio is the median of the rounds' ratios.
"""

import argparse
import json
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
from contextlib import ExitStack

HERE = pathlib.Path(__file__).resolve().parent
for folder in ("Gateway", "Mix"):
    sys.path.insert(0, str(HERE.parent / folder))

import mix  # noqa: E402
from certificate import Certificate  # noqa: E402
from closed_loop import ClosedLoop  # noqa: E402
from portico import BUILD  # noqa: E402
from processes import LOAD_CORE  # noqa: E402
from servers import MixPortico, recorded  # noqa: E402

WSDL = "/iPhoneServicesModuleWeb/sca/OrganizationInterfaceExport"
SOAP = "http://schemas.xmlsoap.org/soap/envelope/"
EMPLOYEES, USERS, REQUESTS = 5_000, 1_000, 500
CONFIGURATION = """
http: {{ host: 127.0.0.1 }}
store: {{ sampleData: false }}
identity: {{ basic: {{ enabled: true }}, demoAccounts: [{{ name: alice, password: portico-demo, roles: [member] }}] }}
upstreams:
  hr: {{ url: '{url}/', networks: [127.0.0.1/32], limits: {{ connections: 64, queue: 1000 }} }}
adapters:
  employees: {{ access: public-read{employees} }}
  users: {{ access: public-read{users} }}
  feeds: {{ sonnets: {{ access: public-read{feed} }} }}
  chat: {{ {chat} }}
"""
UPSTREAM = "upstream: hr, freshFor: 1d, waitFor: 20s"
CALL = ", upstream: hr, mode: call, freshFor: 1ms, waitFor: 20s"
MIRRORED = {
    "employees": ", " + UPSTREAM, "users": ", " + UPSTREAM, "feed": f", {UPSTREAM}, path: plists/sonnets",
    "chat": "upstream: hr, rooms: [r1]"}
LOCAL = {"employees": "", "users": "", "feed": "", "chat": "echo: false"}
SIDES = {
    "local": LOCAL, "mirrored": MIRRORED, "called, JSON": {**LOCAL, "employees": CALL},
    "called, SOAP": {**LOCAL, "employees": CALL + ", protocol: soap, wsdl: hr.wsdl"}}


class Gateway(MixPortico):
    def __init__(self, name, folder, data, url, certificate, *settings):
        self.name = name
        place = pathlib.Path(folder, "configurations", name)
        place.mkdir(parents=True)
        subprocess.run(
            [BUILD / "porticoctl", "soap", "fetch", f"{url}{WSDL}?wsdl", place / "hr.wsdl"], check=True, capture_output=True)
        (place / "portico.yaml").write_text(CONFIGURATION.format(url=url, **SIDES[name.split("/")[0]]))
        super().__init__(folder, data, place / "portico.yaml", certificate, *settings)


def request(method, path, body="", **headers):
    headers = {name.replace("_", "-"): value for name, value in headers.items()}
    return mix.Request(method, path, {**headers, **({"Content-Length": str(len(body))} if body else {})}, body)


def envelope(criteria):
    members = "".join(f"<{name}>{value}</{name}>" for name, value in criteria.items())
    return (f'<e:Envelope xmlns:e="{SOAP}"><e:Body><employeeSearch xmlns="http://iPhoneServices/OrganizationInterface"><input1>'
            f"{members}</input1></employeeSearch></e:Body></e:Envelope>")


def sets(token, sequences):
    criteria = [
        {"division": "", "order": "ASC", "rowsPerPage": 10, "pageIndex": number, "fullName": ""} for number in range(REQUESTS)]
    json_type = {"Content_Type": "application/json", "Accept": "application/json"}
    return {
        "search, JSON": [request("POST", mix.SEARCH, json.dumps(each), **json_type) for each in criteria],
        "search, SOAP": [request("POST", WSDL, envelope(each), Content_Type="text/xml; charset=utf-8") for each in criteria],
        "user, XML": [request("GET", f"/v2/{100 + number}", Accept="application/xml") for number in range(REQUESTS)],
        "feed": [request("GET", mix.FEED, Accept=accept) for accept in ("*/*", "application/json", "application/x-apple-binary-plist")],
        "chat, messages": [
            request("POST", "/chat", json.dumps({"function": "getmessages", "room": "r1", "limit": 20, "before": before}),
                    Authorization=f"Bearer {token}", **json_type) for before in sequences],
    }


def prepare(gateway, stand_in):
    """Fetches what is mirrored, and has messages in the room."""
    for path in ("/v2/100", mix.FEED):
        recorded(gateway, [request("GET", path, Accept="*/*")])
    recorded(gateway, sets("", [])["search, JSON"][:1])
    token = gateway.log_in()
    join = {"function": "joinchatroom", "room": "r1"}
    gateway.json("/chat", join, token)
    for number in range(200):
        gateway.json("/chat", {"function": "postmessage", "room": "r1", "text": f"Message {number} of the benchmark"}, token)


def sequences(gateway):
    found = gateway.json("/chat", {"function": "getmessages", "room": "r1", "limit": 200}, gateway.log_in())["messages"]
    return [message["seq"] for message in found]


def measure(sides, options, loop, folder):
    """By the set and the side: the runs of all rounds."""
    runs = {}
    for turn in range(-1, options.rounds):
        for server in sides if turn % 2 else reversed(sides):
            name = server.name.split("/")[0]
            places = sequences(server) if not name.startswith("called") else []
            for kind, asked in sets(server.log_in(), places).items():
                if not asked or name.startswith("called") and not kind.startswith("search"):
                    continue
                file = pathlib.Path(folder, f"requests-{server.name}-{kind}".replace("/", "-").replace(" ", "-"))
                mix.write_file(file, asked, recorded(server, asked))
                run = loop.run(
                    server, "http2", file, options.connections, options.seconds if turn >= 0 else 0.5, 1, seed=turn + 2)
                if turn >= 0:
                    runs.setdefault((kind, name), []).append(run)
                    print(f"{server.name}, {kind}: {run.requests_per_second:,.0f}/s, {run.server:.1f} µs", file=sys.stderr)
    return runs


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=2)
    parser.add_argument("--connections", type=int, default=8)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, ExitStack() as running:
        stand_in = subprocess.Popen(
            ["taskset", "-c", LOAD_CORE, BUILD / "portico-stand-in", "--port", "0", "--employees", str(EMPLOYEES), "--users",
             str(USERS)], stdout=subprocess.PIPE, text=True)
        running.callback(stand_in.wait)
        running.callback(stand_in.terminate)
        url = stand_in.stdout.readline().split()[-1]
        certificate, loop = Certificate(folder), ClosedLoop(folder)
        data = pathlib.Path(folder, "data")
        with Gateway("mirrored/first", folder, data, url, certificate) as first:
            prepare(first, url)
        results = {}
        for caching, settings in {"made anew": ["--set=http.limits.answerCache=0B"], "may be kept": []}.items():
            with ExitStack() as gateways:
                sides = []
                for name in SIDES:
                    copy = pathlib.Path(folder, f"data-{name}-{caching}".replace(" ", "-").replace(",", ""))
                    shutil.copytree(data, copy, ignore=shutil.ignore_patterns("*.sock"))
                    sides.append(gateways.enter_context(
                        Gateway(f"{name}/{caching}", folder, copy, url, certificate, *settings)))
                results[caching] = measure(sides, options, loop, folder)
    report(results, options)


def report(results, options):
    print("## The adapters beside themselves in local mode")
    print()
    print(f"TLS, HTTP/2, {options.connections} connections of one stream, {REQUESTS} requests a set that differ, the same rows; medians of "
          f"{options.rounds} rounds of {options.seconds} s that take")
    print("turns. What is called asks the other system for every answer, on the core of the load.")
    print()
    print("| requests | answers | | requests/s | p50, p99 ms | processor µs | by the local one: p50, p99, processor time |")
    print("|---|---|---|---:|---|---:|---|")
    for caching, runs in results.items():
        for (kind, name), each in sorted(runs.items(), key=lambda item: (item[0][0], list(SIDES).index(item[0][1]))):
            local = runs[kind, "local"]

            def median(member):
                return statistics.median(getattr(run, member) for run in each)

            def ratio(member):
                return statistics.median(getattr(run, member) / getattr(other, member) for run, other in zip(each, local))

            told = "" if name == "local" else f"{ratio('p50'):.2f}, {ratio('p99'):.2f}, {ratio('server'):.2f}"
            print(f"| {kind} | {caching} | {name} | {median('requests_per_second'):,.0f} | {median('p50'):.2f}, {median('p99'):.2f} | "
                  f"{median('server'):.1f} | {told} |")


if __name__ == "__main__":
    main()
