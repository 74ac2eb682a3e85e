"""Another configuration while the gateway serves: as a whole or not at all, and no request fails by it."""

import http.client
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import unittest

from harness import Callers, BUILD, JSON, ROOT, START_SECONDS, Gateway, run_portico
from hostile_upstream import HostileUpstream
from http2_frames import with_empty_trust_store
from provider_stand_in import PASSWORD, Portal
from test_tls import SecureGateway, make_certificate

QUICK = True

DONE, FAILED = 0, 1
MODEL = ROOT / "Config/odata/reference.csdl.xml"


def configuration(users="public", page=3, **parts):
    """The text of a configuration; `parts` are further sections."""
    sections = {
        "store": {"sampleData": True},
        "adapters": {
            "users": {"access": users}, "employees": {"access": "login"},
            "odata": {"services": {"reference": {
                "model": str(MODEL), "access": "public", "pageSize": page, "seed": str(ROOT / "Config/odata/reference.seed.json")}}},
            "odata-reference": {"seed": str(ROOT / "Config/odata/reference.seed.json")},
        },
        **parts,
    }
    # JSON is YAML.
    return json.dumps(sections, indent=1)


class ReloadTest(unittest.TestCase):
    def start(self, text, kind=Gateway, *settings):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="portico-reload-"))
        self.addCleanup(shutil.rmtree, self.folder, True)
        self.config = self.folder / "portico.yaml"
        self.config.write_text(text)
        (self.folder / "data").mkdir()
        self.gateway = kind(*settings, config=self.config, data=self.folder / "data")
        self.addCleanup(self.gateway.remove)
        return self.gateway

    def control(self, *arguments, status=DONE):
        done = run_portico(*arguments, "--data", self.gateway.data, "--output", "json", program="porticoctl")
        self.assertEqual(done.returncode, status, (arguments, done))
        return json.loads(done.stdout or "null"), done.stderr

    def apply(self, text):
        """What was applied, by key."""
        self.config.write_text(text)
        report, _ = self.control("config", "apply")
        self.assertIs(report["applied"], True)
        self.assertEqual({change["effect"] for change in report["changes"]}, {"reloads"})
        return {change["key"]: (change["old"], change["new"]) for change in report["changes"]}

    def refused(self, text, word):
        self.config.write_text(text)
        before, _ = self.control("config", "show")
        report, said = self.control("config", "apply", status=FAILED)
        self.assertIs(report["applied"], False)
        self.assertIn(word, said + json.dumps(report))
        self.assertEqual(self.control("config", "show")[0], before)
        return report

    def setting(self, key):
        return next(one for one in self.control("config", "show", key)[0]["settings"] if one["key"] == key)

    def wait_for_log(self, text, count=1):
        end = time.monotonic() + START_SECONDS
        while self.gateway.log().count(text) < count:
            self.assertLess(time.monotonic(), end, (text, self.gateway.log()))
            time.sleep(0.05)


class Values(ReloadTest):
    def test_access_limits_levels_and_options_change_on_open_connections_too(self):
        gateway = self.start(configuration())
        connection = http.client.HTTPConnection("127.0.0.1", gateway.port, timeout=60)

        def ask(path, **rest):
            connection.request(rest.pop("method", "GET"), path, **rest)
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()

        self.assertEqual(ask("/v2/list")[0], 200)
        page = "/odata/v4/reference/Products"
        self.assertEqual(len(json.loads(ask(page)[2])["value"]), 3)
        kept = connection.sock
        changed = self.apply(configuration(
            users="login", page=2, http={"limits": {"body": "1KiB"}, "cors": {"origins": ["https://a.example"]}},
            limits={"requestsPerMinute": 100000}, log={"level": "debug"}))
        self.assertEqual(changed, {
            "adapters.users.access": ("public", "login"),
            "adapters.odata.services.reference.pageSize": ("3", "2"),
            "http.limits.body": ("8MiB", "1KiB"), "http.cors.origins": ("[]", "[https://a.example]"),
            "limits.requestsPerMinute": ("0", "100000"), "log.level": ("info", "debug")})
        self.assertEqual(ask("/v2/list")[0], 401)
        self.assertEqual(len(json.loads(ask(page)[2])["value"]), 2)
        status, headers, _ = ask("/health/live", headers={"Origin": "https://a.example"})
        self.assertEqual((status, headers["access-control-allow-origin"]), (200, "https://a.example"))
        self.assertIn("ratelimit", {name.lower() for name in ask("/v1/list")[1]})
        self.assertIs(connection.sock, kept)
        self.assertEqual(ask("/auth/login", method="POST", body=b"x" * 2000, headers={"Content-Type": JSON})[0], 413)
        self.assertEqual(self.setting("log.level")["value"], "debug")
        self.assertEqual(self.setting("http.limits.body")["reloads"], True)
        self.assertTrue(self.setting("http.limits.body")["source"].startswith(str(self.config)))
        self.apply(configuration())
        self.assertEqual(ask("/v2/list")[0], 200)

    def test_it_is_in_the_audit_log_with_who_and_which_keys(self):
        self.start(configuration())
        self.apply(configuration(users="login"))
        entries, _ = self.control("audit", "list")
        found = next(entry for entry in entries["entries"] if entry["kind"] == "configuration.applied")
        self.assertEqual((found["actor"], found["address"], found["detail"]), ("operator", "local", "adapters.users.access"))
        self.assertIs(self.control("audit", "verify")[0]["intact"], True)

    def test_a_live_stream_is_told_to_reconnect_where_access_changes_and_goes_on_otherwise(self):
        gateway = self.start(
            configuration(identity={"basic": {"enabled": True}, "demoAccounts": [{"name": "alice", "password": "portico-demo"}]}))
        token = gateway.login("alice").json()["accessToken"]
        stream = gateway.connect()
        stream.sendall(f"GET /sync/v1/live HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {token}\r\n\r\n".encode())
        stream.settimeout(60)
        read = stream.recv(65536)
        identity = {"basic": {"enabled": True}, "demoAccounts": [{"name": "alice", "password": "portico-demo"}]}
        self.apply(configuration(identity=identity, http={"limits": {"depth": 64}}))
        stream.settimeout(1)
        try:
            while piece := stream.recv(65536):
                read += piece
            self.fail("the stream ended")
        except TimeoutError:
            pass
        self.assertNotIn(b"reconnect", read)
        self.apply(configuration(users="login", identity=identity))
        stream.settimeout(60)
        while piece := stream.recv(65536):
            read += piece
        self.assertIn(b"event: reconnect", read)
        with gateway.connect() as again:
            again.sendall(f"GET /sync/v1/live HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {token}\r\n\r\n".encode())
            self.assertTrue(again.recv(4096).startswith(b"HTTP/1.1 200"))

    def test_calls_of_an_upstream_go_to_its_new_address(self):
        one, other = HostileUpstream(), HostileUpstream()
        self.addCleanup(one.stop)
        self.addCleanup(other.stop)

        def with_upstream(site, **more):
            return configuration(upstreams={"site": {"url": f"{site.address}/ok/", "networks": ["127.0.0.1/32"], **more}})

        self.start(with_upstream(one))
        self.assertIs(self.control("upstreams", "test", "site")[0]["answered"], True)
        self.assertEqual((len(one.asked), len(other.asked)), (1, 0))
        self.apply(with_upstream(other, deadline="2s"))
        self.assertIs(self.control("upstreams", "test", "site")[0]["answered"], True)
        self.assertEqual((len(one.asked), len(other.asked)), (1, 1))
        self.assertIn(str(other.port), self.control("upstreams", "show", "site")[0]["url"])
        self.apply(configuration())
        self.assertEqual(self.control("upstreams", "list")[0]["upstreams"], [])


class Refused(ReloadTest):
    def test_levels_of_modules_and_the_slow_log_change(self):
        gateway = self.start(configuration())
        shown = lambda: {row["module"]: row["level"] for row in self.control("logs", "levels")[0]["levels"]}
        self.assertEqual(shown()["requests"], "info")
        changed = self.apply(configuration(log={"levels": {"requests": "warning"}, "slow": "1ms"}))
        self.assertEqual(set(changed), {"log.levels.requests", "log.slow"})
        self.assertEqual(shown()["requests"], "warning")
        self.assertEqual(gateway.send("POST", "/auth/login", {"username": "nobody", "password": "wrong"}).status, 401)
        self.wait_for_log("slow request")
        self.apply(configuration())
        self.assertEqual(shown()["requests"], "info")

    def test_options_of_the_chat_and_of_feeds_change(self):
        def text(echo, access, moderators):
            sections = json.loads(configuration())
            sections["adapters"] |= {"chat": {"echo": echo, "moderators": moderators, "retention": {"interval": 60}},
                "feeds": {"access": access, "sonnets": {"access": "login"}}}
            return json.dumps({**sections, "identity": {"basic": {"enabled": True}, "passwords": {"cost": 10}, "demoAccounts": [
                {"name": "alice", "password": "portico-demo", "roles": ["member"]}]}})
        gateway = self.start(text(False, "login", ["admin"]))
        ask = lambda: len(gateway.send("POST", "/chat", {"function": "getusers"}, user="alice").json())
        self.assertEqual(gateway.get("/plists/sonnets").status, 401)
        self.assertEqual(ask(), 1)
        changed = self.apply(text(True, "login", ["member"]))
        self.assertEqual(set(changed), {"adapters.chat.echo", "adapters.chat.moderators"})
        self.assertGreater(ask(), 1)
        opened = text(True, "login", ["member"]).replace('"sonnets": {"access": "login"}', '"sonnets": {"access": "public-read"}')
        self.assertEqual(set(self.apply(opened)), {"adapters.feeds.sonnets.access"})
        self.assertEqual(gateway.get("/plists/sonnets").status, 200)
        # The chat has stopped for its successor when another part fails, and goes on.
        self.refused(text(False, "login", ["admin"]).replace('"basic"', '"portalLogin": "/batch", "basic"'), "POST /batch")
        self.assertGreater(ask(), 1)
        self.assertNotIn("does not go on", gateway.log())

    def test_sign_in_providers_come_change_and_go(self):
        portal = Portal()
        self.addCleanup(portal.stop)
        def text(*forms):
            return configuration(
                upstreams={"corp": {"url": portal.address, "networks": ["127.0.0.0/8"]}},
                identity={"providers": {f"corp{number}": {
                    "kind": "portal", "upstream": "corp", "page": f"{portal.address}/irj/portal", "form": form, "roles": ["member"],
                    "userAgent": "Mozilla/4.0 (compatible; MSIE 7.0)"} for number, form in enumerate(forms)}})
        def sign_in(gateway):
            return gateway.send("POST", "/auth/login", {"username": "jdoe", "password": PASSWORD}).status
        gateway = self.start(text())
        self.assertEqual(sign_in(gateway), 401)
        self.apply(text("irj/login"))
        self.assertEqual(sign_in(gateway), 200)
        self.apply(text("irj/nothing"))
        self.assertNotEqual(sign_in(gateway), 200)
        self.apply(text("irj/login"))
        self.assertEqual(sign_in(gateway), 200)
        self.apply(text())
        self.assertEqual(sign_in(gateway), 401)

    def test_a_mistake_is_named_with_its_place_and_nothing_changes(self):
        gateway = self.start(configuration())
        self.assertIs(self.control("config", "check")[0]["valid"], True)
        for text, word in [
            ("http: {limits: {bodi: 1KiB}}\n", f"{self.config}:1:"), ("adapters: [\n", "YAML"),
            (configuration(http={"tls": {"certificate": "none.pem", "key": "none.key"}}), "none.pem"),
            (configuration(plugins=[{"path": "none-worker"}]), "it is not there: build it"),
        ]:
            with self.subTest(text):
                report = self.refused(text, word)
                self.assertIs(report["valid"], False)
                self.assertIn(word, json.dumps(self.control("config", "check", status=FAILED)[0]))
        self.assertEqual(gateway.get("/v2/list").status, 200)

    def test_one_key_that_needs_a_restart_keeps_all_of_them_as_they_are(self):
        gateway = self.start(configuration())
        report = self.refused(configuration(users="login", store={"sampleData": True, "streams": 4}), "needs a restart")
        effects = {change["key"]: change["effect"] for change in report["changes"]}
        self.assertEqual(effects["adapters.users.access"], "reloads")
        self.assertIn("restart", effects["store.streams"])
        self.assertEqual(gateway.get("/v2/list").status, 200)
        differences, _ = self.control("config", "diff")
        self.assertEqual({change["key"]: change["effect"] for change in differences["changes"]}, effects)

    def test_a_dry_run_changes_nothing(self):
        gateway = self.start(configuration())
        self.config.write_text(configuration(users="login"))
        report, _ = self.control("config", "apply", "--dry-run")
        self.assertEqual([change["key"] for change in report["changes"]], ["adapters.users.access"])
        self.assertIs(report["applied"], False)
        self.assertEqual(gateway.get("/v2/list").status, 200)

    def test_what_fails_while_it_is_made_ready_takes_everything_back(self):
        gateway = self.start(configuration())
        # Two endpoints at one path, found after the other adapter was started anew.
        self.refused(configuration(page=2, identity={"portalLogin": "/batch"}), "POST /batch")
        self.assertEqual(len(gateway.get("/odata/v4/reference/Products").json()["value"]), 3)
        self.apply(configuration(page=2))
        self.assertEqual(len(gateway.get("/odata/v4/reference/Products").json()["value"]), 2)

    def test_a_signal_reports_in_the_log(self):
        gateway = self.start(configuration())
        os.kill(gateway.process.pid, signal.SIGHUP)
        self.wait_for_log("nothing to reload")
        self.config.write_text("http: {prot: 8080}\n")
        os.kill(gateway.process.pid, signal.SIGHUP)
        self.wait_for_log("configuration not applied")
        self.config.write_text(configuration(users="login"))
        os.kill(gateway.process.pid, signal.SIGHUP)
        self.wait_for_log("configuration applied")
        self.assertEqual(gateway.get("/v2/list").status, 401)

    def test_what_is_no_regular_file_or_too_long_is_named_and_not_waited_for(self):
        gateway = self.start(configuration())
        pipe, long = self.folder / "pipe", self.folder / "long"
        os.mkfifo(pipe)
        long.touch()
        os.truncate(long, 1 << 40)
        for path, word in [(pipe, "no regular file"), (long, "16 MiB"), (self.folder, "a directory")]:
            self.refused(configuration(push={"webhook": {"secret": {"file": str(path)}}}), word)
        self.refused(configuration(http={"tls": {"certificate": str(pipe), "key": str(pipe)}}), "no regular file")
        good = self.config.read_text()
        for path, word in [(pipe, "no regular file"), (long, "16 MiB")]:
            self.config.unlink(missing_ok=True)
            self.config.symlink_to(path)
            report, said = self.control("config", "apply", status=FAILED)
            self.assertIn(word, said + json.dumps(report))
        self.config.unlink()
        self.config.write_text(good)
        self.apply(configuration(users="login"))
        self.assertEqual(gateway.get("/v2/list").status, 401)

    def test_a_signal_during_a_change_is_obeyed_after_it(self):
        gateway = self.start(configuration())
        for page in range(4, 40):
            self.config.write_text(configuration(page=page + 100))
            with subprocess.Popen([BUILD / "porticoctl", "config", "apply", "--data", gateway.data],
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as applying:
                # The change has begun, or not, or ended.
                time.sleep(page % 12 / 400)
                self.config.write_text(configuration(page=page))
                os.kill(gateway.process.pid, signal.SIGHUP)
                applying.wait()
            end = time.monotonic() + START_SECONDS
            while self.setting("adapters.odata.services.reference.pageSize")["value"] != str(page):
                self.assertLess(time.monotonic(), end, gateway.log())
                time.sleep(0.05)

    def test_a_model_that_blocks_holds_up_no_stop(self):
        gateway = self.start(configuration())
        os.mkfifo(self.folder / "model")
        self.config.write_text(configuration(page=4).replace(str(MODEL), str(self.folder / "model")))
        os.kill(gateway.process.pid, signal.SIGHUP)
        time.sleep(1)
        self.assertEqual(gateway.get("/v2/list").status, 200)
        self.assertEqual(gateway.stop(), 0)


class Certificates(ReloadTest):
    def test_new_handshakes_get_the_certificate_of_other_files_and_open_connections_go_on(self):
        gateway = self.start(configuration(), SecureGateway)
        other = self.folder / "other"
        other.mkdir()
        files = make_certificate(other)
        with gateway.secured() as connection:
            before = connection.getpeercert(binary_form=True)
            gateway.process.send_signal(signal.SIGHUP)
            self.wait_for_log("nothing to reload")
            # The gateway's own --set names files below its folder: those are exchanged.
            for old, new in zip(gateway.files, files):
                shutil.copy(new, old)
            gateway.process.send_signal(signal.SIGHUP)
            end = time.monotonic() + 60
            while True:
                with gateway.secured(with_empty_trust_store(())) as fresh:
                    if fresh.getpeercert(binary_form=True) != before:
                        break
                self.assertLess(time.monotonic(), end)
                time.sleep(0.05)
            connection.sendall(b"GET /health/live HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            self.assertTrue(connection.recv(65536).startswith(b"HTTP/1.1 200"))


class UnderLoad(ReloadTest):
    """Callers go on while configurations come and go, a certificate is exchanged and the gateway restarts."""

    CALLERS = 6
    ROUNDS = 8

    def caller(self, done, statuses, paths):
        connection, number = None, 0
        while not done.is_set():
            try:
                if connection is None:
                    connection = http.client.HTTPConnection("127.0.0.1", self.gateway.port, timeout=60)
                    connection.connect()
                    connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                number += 1
                connection.request("GET", paths[number % len(paths)])
                answer = connection.getresponse()
                answer.read()
                statuses.append(answer.status if answer.status == 200 else (answer.status, paths[number % len(paths)]))
                if answer.will_close or number % 20 == 0:
                    connection.close()
                    connection = None
            except Exception as error:  # noqa: BLE001  Every failure of a caller is one of the test.
                statuses.append(repr(error))
                connection = None

    def test_no_request_fails_while_configurations_change_and_the_gateway_restarts(self):
        gateway = self.start(configuration())
        paths = ["/v2/list", "/odata/v4/reference/Products", "/health/ready", "/openapi.json"]
        with Callers(self.CALLERS, lambda done, statuses: self.caller(done, statuses, paths)) as callers:
            for number in range(1, self.ROUNDS + 1):
                self.apply(configuration(page=2 + number % 2, http={"limits": {"depth": 64 + number}}))
                callers.wait_for(10 * self.CALLERS)
            os.kill(gateway.process.pid, signal.SIGUSR2)
            self.assertEqual(gateway._wait_for_port(), gateway.port)
            self.apply(configuration(page=5))
            callers.wait_for(10 * self.CALLERS)
        self.assertEqual(set(callers.outcomes), {200})
        print(f"{len(callers.outcomes)} requests, {self.ROUNDS + 1} configurations, 1 restart")


if __name__ == "__main__":
    unittest.main()
