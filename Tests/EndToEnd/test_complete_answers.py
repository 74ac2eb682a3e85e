"""A response that was begun arrives completely, however its connection ends and however it was produced."""

import base64
import gzip
import hashlib
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
import unittest
import uuid

from complete_answers import (
    PLAIN, SECURE, Reader, head, in_http_1_0, open_slowly, over_http_2, over_tls, read_to_end, split, with_connection_close)
from sync_device import Device
from harness import JSON, Answer, Gateway, has_tool
from test_sync_attachments import path
from test_tls import SecureGateway

STUDENTS = 1_500
SIXTEEN = (with_connection_close, in_http_1_0, over_tls, over_http_2)
ATTACHMENTS = [1, 200_000, 4 << 20, 16 << 20]
SETTINGS = (
    "--set", f"adapters.odata.services.admissions.samples={STUDENTS}",
    "--set", "adapters.odata.services.admissions.pageSize=10000", "--set", "adapters.odata.limits.wholeBytes=65536",
    "--set", "http.limits.body=32MiB",
)
NONE = b""
V4 = "/odata/v4/admissions/"


def batch(count):
    calls = [{"id": str(number), "method": "GET", "path": "/openapi.json?formats=all"} for number in range(count)]
    return "POST", "/batch", json.dumps({"calls": calls}).encode(), {"Content-Type": JSON, "Accept": JSON}


def productions(gateway):
    """What is wanted by its name: method, path, body and fields, and the status that is expected."""
    found = {
        "cached, small": (("GET", "/health/live", NONE, {}), 200),
        "cached, large": (("GET", "/openapi.json", NONE, {}), 200),
        "cached, a feed": (("GET", "/plists/sonnets", NONE, {}), 200),
        "buffered, a page": (("GET", "/api/v1/users/users?limit=100", NONE, {}), 200),
        "buffered, large": (batch(8), 200),
        "buffered, sixteen megabytes": (batch(40), 200),
        "streamed, some": (("GET", V4 + "Students?$top=300", NONE, {}), 200),
        "streamed, much": (("GET", V4 + "Students?$expand=School($expand=Students($top=8))", NONE, {}), 200),
        "streamed in a coding": (("GET", V4 + "Students?$top=600", NONE, {"Accept-Encoding": "gzip"}), 200),
        "refused, unknown": (("GET", "/nothing", NONE, {}), 404),
        "refused by its type": (("POST", "/auth/login", b"{}", {"Content-Type": "text/odd"}), 415),
    }
    device = Device(gateway, "alice")
    for size in ATTACHMENTS:
        data = os.urandom(size)
        put = gateway.request("PUT", path(data), body=data, user="alice")
        assert put.status == 201, put
        outcome = device.change(
            "create", str(uuid.uuid4()), {"title": "t", "attachments": [hashlib.sha256(data).hexdigest()]})
        assert outcome["outcome"] == "applied", outcome
        found[f"an attachment of {size:,} bytes"] = (("GET", path(data), NONE, {}), 200)
    return found


def check(test, wanted, status, answer):
    test.assertEqual(answer[0], status, answer[2][:300])
    if "attachments" in wanted[1]:
        test.assertEqual(hashlib.sha256(answer[2]).hexdigest(), wanted[1].rsplit("/", 1)[1])
    elif answer[1].get("content-encoding") == "gzip":
        json.loads(gzip.decompress(answer[2]))
    elif "json" in answer[1].get("content-type", ""):
        json.loads(answer[2])


class PreparedSecureGateway(SecureGateway):
    """Its plain requests go over TLS."""

    def request(self, method, path, body=None, headers=None, user=None, token=None):
        headers = dict(headers or {})
        if user:
            headers["Authorization"] = "Basic " + base64.b64encode(f"{user}:portico-demo".encode()).decode()
        if token:
            headers["Authorization"] = f"Bearer {token}"
        response, content = self.call(method, path, body, headers)
        return Answer(response.status, {name.lower(): value for name, value in response.getheaders()}, content)


class Whole(unittest.TestCase):
    def every(self, gateway, endings):
        wanted = productions(gateway)
        done = 0
        for ending in endings:
            for name, (what, status) in wanted.items():
                # Of what takes long, one for each protocol.
                if "sixteen" in name and ending not in SIXTEEN:
                    continue
                with self.subTest(f"{name}, {ending.__name__.replace('_', ' ')}"):
                    check(self, what, status, ending(gateway, what))
                    done += 1
        print(f"{self.id().rsplit('.', 1)[1]}: {done} answers whole", flush=True)

    def test_in_the_clear(self):
        gateway = Gateway(*SETTINGS)
        self.addCleanup(gateway.remove)
        self.every(gateway, PLAIN)
        self.assertEqual(gateway.stop(), 0)

    def test_over_tls_and_http_2(self):
        gateway = PreparedSecureGateway(*SETTINGS)
        self.addCleanup(gateway.remove)
        self.every(gateway, SECURE)
        self.assertEqual(gateway.stop(), 0)


class Stopped(unittest.TestCase):
    """SIGTERM while answers are under way: a response with a length is completed."""

    def collect(self, ask, wanted):
        """Asks for everything at once, each by a thread of its own, and what went wrong."""
        wrong, begun = [], threading.Barrier(len(wanted) + 1)

        def run(name, what, status):
            try:
                check(self, what, status, ask(what, begun.wait))
            except (AssertionError, OSError, ValueError) as error:
                wrong.append(f"{name}: {error!r:.300}")
                begun.abort()

        threads = [threading.Thread(target=run, args=(name, *rest)) for name, rest in wanted.items()]
        for thread in threads:
            thread.start()
        try:
            begun.wait(60)
        except threading.BrokenBarrierError:
            pass
        return threads, wrong

    def stopped(self, gateway, ask):
        wanted = {name: rest for name, rest in productions(gateway).items() if "small" not in name}
        threads, wrong = self.collect(ask, wanted)
        gateway.process.send_signal(signal.SIGTERM)
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])
        self.assertEqual(gateway.process.wait(timeout=120), 0)
        gateway.process.stdout.close()

    def test_in_the_clear(self):
        for fields in [{}, {"Connection": "close"}]:
            with self.subTest(fields):
                gateway = Gateway(*SETTINGS, "--set", "http.deadlines.stop=100s")
                self.addCleanup(gateway.remove)

                def ask(what, begun):
                    with open_slowly(gateway.port) as connection:
                        connection.sendall(head(what, **fields) + what[2])
                        return split(read_to_end(connection, 0.001, begun))[0]
                self.stopped(gateway, ask)

    def test_over_http_2(self):
        gateway = PreparedSecureGateway(*SETTINGS, "--set", "http.deadlines.stop=100s")
        self.addCleanup(gateway.remove)

        def ask(what, begun):
            reader = Reader(gateway)
            reader.ask(1, what)
            while reader.answers[1][0] is None:
                reader.take()
            begun()
            try:
                return tuple(reader.finish()[1])
            finally:
                reader.close()
        self.stopped(gateway, ask)


NGINX = """
daemon off; pid {folder}/pid; error_log stderr; events {{ worker_connections 64; }}
http {{
  access_log off; client_max_body_size 64m;
  client_body_temp_path {folder}/a; proxy_temp_path {folder}/b; fastcgi_temp_path {folder}/c;
  uwsgi_temp_path {folder}/d; scgi_temp_path {folder}/e;
  upstream kept {{ server 127.0.0.1:{gateway}; keepalive 4; }}
  server {{ listen 127.0.0.1:{first}; location / {{ proxy_pass http://127.0.0.1:{gateway}; }} }}
  server {{ listen 127.0.0.1:{second}; location / {{
    proxy_pass http://kept; proxy_http_version 1.1; proxy_set_header Connection ""; }} }}
}}
"""
HAPROXY = """
defaults
  mode http
  timeout connect 5s
  timeout client 60s
  timeout server 60s
listen close
  bind 127.0.0.1:{first}
  option httpclose
  server gateway 127.0.0.1:{gateway}
listen kept
  bind 127.0.0.1:{second}
  http-reuse always
  server gateway 127.0.0.1:{gateway}
"""
CADDY = """
{{
  admin off
  auto_https off
}}
http://:{first} {{
  bind 127.0.0.1
  reverse_proxy 127.0.0.1:{gateway} {{
    transport http {{
      keepalive off
    }}
  }}
}}
http://:{second} {{
  bind 127.0.0.1
  reverse_proxy 127.0.0.1:{gateway}
}}
"""


class Proxied(unittest.TestCase):
    """Behind proxies as they come: one connection for each request, or some that are kept."""

    def ports(self):
        with socket.create_server(("127.0.0.1", 0)) as first, socket.create_server(("127.0.0.1", 0)) as second:
            return first.getsockname()[1], second.getsockname()[1]

    def behind(self, name, text, *command):
        gateway = Gateway(*SETTINGS)
        self.addCleanup(gateway.remove)
        folder = pathlib.Path(tempfile.mkdtemp(prefix=f"portico-{name}-"))
        self.addCleanup(shutil.rmtree, folder, True)
        folder.chmod(0o777)
        ports = self.ports()
        (folder / "conf").write_text(text.format(folder=folder, gateway=gateway.port, first=ports[0], second=ports[1]))
        home = {**os.environ, "HOME": str(folder), "XDG_DATA_HOME": str(folder), "XDG_CONFIG_HOME": str(folder)}
        process = subprocess.Popen([name, *command, str(folder / "conf")], stderr=subprocess.DEVNULL, env=home)
        self.addCleanup(lambda: (process.terminate(), process.wait()))
        wanted = productions(gateway)
        done = 0
        for port in ports:
            self.wait_for(port, process)
            for version in ("1.0", "1.1"):
                for title, (what, status) in wanted.items():
                    if "sixteen" in title and version == "1.0":
                        continue
                    with self.subTest(f"{name} {port} {version} {title}"), open_slowly(port) as connection:
                        connection.sendall(head(what, version, Connection="close") + what[2])
                        check(self, what, status, split(read_to_end(connection))[0])
                        done += 1
        print(f"{name}: {done} answers whole", flush=True)

    def wait_for(self, port, process):
        deadline = time.monotonic() + 30
        while True:
            try:
                return socket.create_connection(("127.0.0.1", port)).close()
            except OSError:
                self.assertLess(time.monotonic(), deadline)
                self.assertIsNone(process.poll())
                time.sleep(0.05)

    @unittest.skipUnless(has_tool("nginx"), "no nginx")
    def test_behind_nginx(self):
        self.behind("nginx", NGINX, "-c")

    @unittest.skipUnless(has_tool("haproxy"), "no haproxy")
    def test_behind_haproxy(self):
        self.behind("haproxy", HAPROXY, "-db", "-f")

    @unittest.skipUnless(has_tool("caddy"), "no caddy")
    def test_behind_caddy(self):
        self.behind("caddy", CADDY, "run", "--adapter", "caddyfile", "--config")


if __name__ == "__main__":
    unittest.main()
