"""Systems that adapters call: what hostile and broken ones do to their callers, and where calls may not go."""

import concurrent.futures
import json
import pathlib
import shutil
import subprocess
import tempfile
import time
import unittest

import es256
from compiled_plugin import compiled
from harness import Gateway, run_portico
from hostile_upstream import HostileUpstream, SecureUpstream

CONFIGURATION = """
http: {{ host: 127.0.0.1 }}
store: {{ sampleData: true }}
plugins:
  - {{ path: {plugin} }}
upstreams:
  site:
    url: '{url}'
    networks: [127.0.0.1/32]
    servers: [{servers}]
    deadline: {deadline}
    credentials: {{ kind: apiKey, header: X-Key, value: {{ env: SITE_KEY }} }}
    limits: {{ connect: 500ms, firstByte: 1s, answer: 1MiB, tries: 2, failures: {failures}, rest: 1s }}
  other: {{ url: '{url}' }}
adapters:
  relay: {{ upstream: site, word: {{ env: SITE_KEY }}, part: {{}} }}
  users: {{ access: public-read }}
"""
KEY = "the-key-of-the-site"


class UpstreamTest(unittest.TestCase):
    def setUp(self):
        self.site = HostileUpstream()
        self.addCleanup(self.site.stop)

    def start(self, url=None, failures=5, servers="", deadline="2s"):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="portico-upstreams-"))
        self.addCleanup(shutil.rmtree, folder, True)
        config = folder / "portico.yaml"
        config.write_text(CONFIGURATION.format(
            plugin=compiled("Relay"), url=url or self.site.address, failures=failures, servers=servers,
            deadline=deadline))
        gateway = Gateway(config=str(config), environment={"SITE_KEY": KEY})
        self.addCleanup(gateway.remove)
        return gateway

    def fetch(self, gateway, path):
        return gateway.send("POST", "/api/v1/relay/operations/fetch", {"path": path})

    def control(self, gateway, *arguments):
        done = run_portico(*arguments, "--data", str(gateway.data), "--output", "json", program="porticoctl")
        return done, json.loads(done.stdout or "null")


class Hostile(UpstreamTest):
    # Paths of the stand-in, with the answer's code.
    BROKEN = ["reset", "reset-in-body", "garbage", "short", "negative", "two-lengths", "bad-chunk", "unknown-coding"]
    LATE = ["hang", "hang-in-body", "drip"]
    LARGE = ["large", "large-chunked", "bomb", "header-flood", "long-header", "informational-flood"]

    def test_every_caller_is_answered_within_the_deadline_with_a_code_and_no_address(self):
        gateway = self.start(failures=1000)
        for path in self.BROKEN + self.LATE + self.LARGE:
            with self.subTest(path):
                answer = self.fetch(gateway, path)
                codes = {"upstream.timeout": 504, "upstream.failed": 502}
                self.assertIn(answer.status, codes.values(), answer)
                error = answer.json()["error"]
                self.assertEqual(codes[error["code"]], answer.status)
                if path in self.LATE:
                    self.assertEqual(error["code"], "upstream.timeout")
                if path in self.BROKEN:
                    self.assertEqual(error["code"], "upstream.failed")
                self.assertIn("site", error["message"])
                self.assertNotIn(str(self.site.port), answer.text())
        self.assertEqual(self.fetch(gateway, "ok").json(), {"status": 200, "bytes": 4, "text": "fine"})
        # Neither the large answers nor the floods were kept in memory.
        self.assertLess(gateway.resident("VmHWM"), 400 << 20)
        self.assertNotIn(KEY, gateway.log())
        self.assertIn(f"X-Key: {KEY}", self.site.asked[-1])

    def test_a_streamed_answer_that_breaks_off_is_not_taken_for_the_whole(self):
        gateway = self.start(failures=1000)
        self.assertEqual(gateway.get("/relay/stream/ok").text(), "fine")
        for path in ["hang-in-body", "reset-in-body", "short", "large"]:
            with self.subTest(path), self.assertRaises(Exception):
                gateway.get(f"/relay/stream/{path}")

    def test_the_breaker_opens_and_closes_by_itself_and_others_go_on(self):
        gateway = self.start(failures=3)
        self.site.is_down = True
        for _ in range(3):
            self.assertEqual(self.fetch(gateway, "ok").status, 502)
        asked = len(self.site.asked)
        self.assertEqual(self.fetch(gateway, "ok").status, 502)
        self.assertEqual(len(self.site.asked), asked)
        self.assertEqual(gateway.get("/health/ready").status, 200)
        self.assertEqual(gateway.get("/v1/list").status, 200)
        done, status = self.control(gateway, "status")
        self.assertEqual((done.returncode, status["openUpstreams"]), (0, ["site"]))
        _, shown = self.control(gateway, "upstreams", "show", "site")
        self.assertEqual((shown["state"], shown["openCircuits"]), ("open", [self.site.address]))
        self.assertIn("circuitOpen", shown["results"])
        # What opened it, not that it is open.
        self.assertRegex(shown["lastFailure"], "^broken: ")
        # An operator's try is let through, as the request of a half-open breaker.
        asked = len(self.site.asked)
        done, tested = self.control(gateway, "upstreams", "test", "site")
        self.assertEqual((done.returncode, tested["answered"]), (1, False))
        self.assertGreater(len(self.site.asked), asked)
        self.site.is_down = False
        done, tested = self.control(gateway, "upstreams", "test", "site")
        self.assertEqual((done.returncode, tested["status"]), (0, 404))
        self.assertEqual(self.fetch(gateway, "ok").status, 200)
        done, tested = self.control(gateway, "upstreams", "test", "site")
        self.assertEqual((done.returncode, tested["status"]), (0, 404))
        log = gateway.log()
        self.assertEqual(log.count("circuit breaker opened"), log.count("circuit breaker closed"))
        self.assertGreaterEqual(log.count("circuit breaker opened"), 1)

    def test_callers_of_a_hanging_system_leave_the_others_alone(self):
        gateway = self.start(failures=1000)
        with concurrent.futures.ThreadPoolExecutor(64) as pool:
            waiting = [pool.submit(self.fetch, gateway, "hang") for _ in range(40)]
            for _ in range(50):
                self.assertEqual(gateway.get("/v1/list").status, 200)
            self.assertEqual({one.result().status for one in waiting} - {504, 503}, set())
        self.until(lambda: self.control(gateway, "upstreams", "show", "site")[1]["active"] == 0)

    def test_a_gateway_whose_upstream_is_down_is_ready(self):
        self.site.stop()
        gateway = self.start()
        self.assertEqual(gateway.get("/health/ready").status, 200)
        self.assertEqual(self.fetch(gateway, "ok").status, 502)
        self.assertEqual(gateway.get("/health/ready").status, 200)

    def test_the_options_of_an_adapter_may_be_durations_sizes_and_secrets(self):
        gateway = self.start()
        answer = gateway.send("POST", "/api/v1/relay/operations/options", {})
        self.assertEqual(answer.json(), f"wait 90.0, most 65536, word {len(KEY)}, limit 1024")

    def test_an_adapters_upstream_that_is_not_declared_is_an_error_with_its_place(self):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="portico-upstreams-"))
        self.addCleanup(shutil.rmtree, folder, True)
        config = folder / "portico.yaml"
        plugin = compiled("Relay")
        config.write_text(f"plugins:\n  - {{ path: {plugin} }}\nadapters:\n  relay:\n    upstream: nothing\n")
        done = run_portico("check", "--config", str(config))
        self.assertEqual(done.returncode, 1)
        self.assertIn("portico.yaml:5:15: There is no upstream nothing.", done.stderr)

    def test_the_operator_sees_the_upstreams_without_a_secret(self):
        gateway = self.start()
        self.fetch(gateway, "ok")
        done, listed = self.control(gateway, "upstreams", "list")
        self.assertEqual(done.returncode, 0, done)
        self.assertEqual([(one["name"], one["credentials"], one["state"]) for one in listed["upstreams"]],
                         [("other", "none", "closed"), ("site", "apiKey", "closed")])
        done, shown = self.control(gateway, "upstreams", "show", "site")
        self.assertEqual(shown["results"], {"2xx": 1})
        done, _ = self.control(gateway, "upstreams", "show", "none")
        self.assertEqual(done.returncode, 1)
        self.assertNotIn(KEY, json.dumps([listed, shown]) + gateway.log())

    def until(self, holds, seconds=20):
        end = time.monotonic() + seconds
        while not holds():
            self.assertLess(time.monotonic(), end)
            time.sleep(0.1)


class ServerSideRequestForgery(UpstreamTest):
    def refused(self, gateway, path):
        answer = self.fetch(gateway, path)
        self.assertEqual((answer.status, answer.json()["error"]["code"]), (502, "upstream.failed"), answer)
        return answer

    def test_redirects_lead_nowhere_that_is_not_configured(self):
        second = HostileUpstream()
        self.addCleanup(second.stop)
        gateway = self.start(servers="'http://169.254.169.254', 'http://10.0.0.1', 'http://127.0.0.2'", failures=1000)
        for target in [
                second.address + "/ok", "http://169.254.169.254/latest/meta-data/", "http://10.0.0.1/", "http://127.0.0.2/",
                "http://[::1]/", "http://[::ffff:169.254.169.254]/", "http://[64:ff9b::a9fe:a9fe]/", "http://0/", "http://2130706433/",
                "http://0x7f.1/", f"http://user@127.0.0.1:{self.site.port}/ok", f"http://127.0.0.1:{self.site.port}@10.0.0.1/",
                "http://localhost/", "file:///etc/passwd", "gopher://127.0.0.1/", "//10.0.0.1/ok", "http:\\\\10.0.0.1\\"]:
            with self.subTest(target):
                path = "to-" + target.encode().hex()
                answer = self.fetch(gateway, path)
                # What is no address is no redirect: then the answer is the one with the status 302.
                if answer.status == 200:
                    self.assertEqual(answer.json()["status"], 302)
                else:
                    self.assertEqual(answer.json()["error"]["code"], "upstream.failed")
        self.assertEqual(second.asked, [])
        inside = self.fetch(gateway, "to-" + f"{self.site.address}/ok".encode().hex())
        self.assertEqual(inside.json()["text"], "fine")

    def test_names_and_addresses_of_private_networks_are_refused_unless_allowed(self):
        for url in [
                f"http://localhost:{self.site.port}", f"http://127.0.0.2:{self.site.port}", f"http://[::1]:{self.site.port}",
                "http://169.254.169.254", "http://[::ffff:10.0.0.1]", "http://[64:ff9b::7f00:1]", "http://[fe80::1]", "http://192.168.0.1",
                "http://[::ffff:127.0.0.2]"]:
            with self.subTest(url):
                gateway = self.start(url=url, deadline="5s")
                if "localhost" in url:
                    # 127.0.0.1 is allowed, and a name that means it is.
                    self.assertEqual(self.fetch(gateway, "ok").json()["text"], "fine")
                else:
                    self.refused(gateway, "ok")
                gateway.stop()
        self.assertEqual(set(self.site.paths()), {"/ok"})

    def test_a_path_cannot_lead_a_call_to_another_server(self):
        gateway = self.start()
        for path in ["http://10.0.0.1/", "//10.0.0.1/", "\\\\10.0.0.1", "http://[::1]/", f"//127.0.0.1:{self.site.port + 1}/"]:
            answer = self.fetch(gateway, path)
            self.assertIn(answer.status, (502, 503), (path, answer))
        self.assertEqual(self.site.asked, [])


class Credentials(unittest.TestCase):
    """A system with TLS of its own authority, and what it is shown."""

    CONFIGURATION = """
http: {{ host: 127.0.0.1 }}
store: {{ sampleData: true }}
plugins:
  - {{ path: {plugin} }}
identity:
  basic: {{ enabled: true }}
  demoAccounts:
    - {{ name: alice, password: portico-demo, roles: [member] }}
upstreams:
  secure:
    url: {url}
    networks: [127.0.0.0/8, "::1/128"]
    certificates: [{trusted}]
    limits: {{ tries: 1 }}
    credentials: {{ {credentials} }}
adapters:
  relay: {{ upstream: secure }}
"""

    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="portico-credentials-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, True)
        for name in ["server", "client"]:
            cls.openssl(
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                "-keyout", f"{name}.key", "-out", f"{name}.pem", "-subj", f"/CN={name}", "-addext",
                "subjectAltName=DNS:localhost,IP:127.0.0.1")
        cls.openssl("genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048", "-out", "rsa.key")
        cls.openssl("pkey", "-in", "rsa.key", "-pubout", "-out", "rsa.pub")
        cls.system = SecureUpstream(cls.folder / "server.pem", cls.folder / "server.key", cls.folder / "client.pem")
        cls.addClassCleanup(cls.system.stop)

    @classmethod
    def openssl(cls, *arguments):
        subprocess.run(["openssl", *arguments], check=True, capture_output=True, cwd=cls.folder)

    def setUp(self):
        self.system.forms.clear()

    def start(self, credentials, trusted="server.pem"):
        config = self.folder / "portico.yaml"
        config.write_text(self.CONFIGURATION.format(
            plugin=compiled("Relay"), url=self.system.address, trusted=trusted, credentials=credentials))
        gateway = Gateway(config=str(config), environment={"CLIENT_SECRET": KEY})
        self.addCleanup(gateway.remove)
        return gateway

    def fetch(self, gateway, **rest):
        return gateway.send("POST", "/api/v1/relay/operations/fetch", {"path": "page"}, **rest)

    def shown(self, gateway, **rest):
        answer = self.fetch(gateway, **rest)
        self.assertEqual(answer.status, 200, (answer, gateway.log()))
        return json.loads(answer.json()["text"])

    def test_a_client_certificate_is_shown(self):
        for key in ["client.key", f"{{ file: {self.folder}/client.key }}"]:
            gateway = self.start(f"kind: certificate, certificate: client.pem, key: {key}")
            self.assertEqual(self.shown(gateway), {"authorization": None, "client": "client"})
            gateway.stop()

    def test_a_certificate_of_an_authority_that_is_not_trusted_is_refused(self):
        gateway = self.start("kind: none", trusted="client.pem")
        answer = self.fetch(gateway)
        self.assertEqual((answer.status, answer.json()["error"]["code"]), (502, "upstream.failed"))

    def test_an_assertion_signed_with_rsa_stands_for_a_token(self):
        gateway = self.start(
            f"kind: jwtBearer, tokenURL: '{self.system.address}/token', issuer: portico@example.com, scopes: [push],"
            f" key: {{ file: {self.folder}/rsa.key }}")
        for _ in range(3):
            self.assertEqual(self.shown(gateway)["authorization"], "Bearer token-1")
        (authorization, form), = self.system.forms
        self.assertIsNone(authorization)
        self.assertEqual(form["grant_type"], "urn:ietf:params:oauth:grant-type:jwt-bearer")
        header, claims, signature = form["assertion"].split(".")
        self.assertEqual(json.loads(es256.decode(header)), {"alg": "RS256", "typ": "JWT"})
        claims = json.loads(es256.decode(claims))
        self.assertEqual(
            (claims["iss"], claims["aud"], claims["scope"]), ("portico@example.com", f"{self.system.address}/token", "push"))
        (self.folder / "signed").write_text(form["assertion"].rsplit(".", 1)[0])
        (self.folder / "signature").write_bytes(es256.decode(signature))
        self.openssl("dgst", "-sha256", "-verify", "rsa.pub", "-signature", "signature", "signed")

    def test_a_callers_identity_is_exchanged_by_a_token_that_is_of_no_use_here(self):
        gateway = self.start(
            f"kind: exchange, tokenURL: '{self.system.address}/token', clientID: portico, clientSecret: {{ env: CLIENT_SECRET }},"
            " audience: hr")
        answer = self.fetch(gateway)
        self.assertEqual((answer.status, answer.json()["error"]["code"]), (401, "auth.required"))
        self.assertEqual(self.system.forms, [])
        for _ in range(2):
            self.assertEqual(self.shown(gateway, user="alice")["authorization"], "Bearer token-1")
        (authorization, form), = self.system.forms
        self.assertTrue(authorization.startswith("Basic "))
        self.assertEqual(form["audience"], "hr")
        header, claims, _ = form["subject_token"].split(".")
        keys = gateway.get("/auth/jwks.json").json()["keys"]
        self.assertIn(json.loads(es256.decode(header))["kid"], [key["kid"] for key in keys])
        claims = json.loads(es256.decode(claims))
        self.assertEqual(claims["aud"], f"{self.system.address}/token")
        self.assertEqual(claims["exp"] - claims["iat"], 60)
        self.assertEqual(gateway.get("/auth/me", token=form["subject_token"]).status, 401)
        log = gateway.log()
        for secret in [KEY, "token-1", form["subject_token"]]:
            self.assertNotIn(secret, log)

    def test_an_address_that_no_call_may_reach_is_a_warning(self):
        for url, networks, is_warned in [
            ("http://127.0.0.1:1/", "[]", True), ("http://127.0.0.1:1/", "[127.0.0.0/8]", False),
            ("http://[::1]:1/", "[127.0.0.0/8]", True), ("http://10.1.2.3/", "[10.1.0.0/16]", False),
            ("http://localhost:1/", "[]", False), ("https://hr.example/", "[]", False),
        ]:
            with self.subTest(url, networks=networks):
                config = self.folder / "address.yaml"
                config.write_text(f"upstreams:\n  hr: {{ url: '{url}', networks: {networks} }}\n")
                done = run_portico("check", "--config", config)
                self.assertEqual(done.returncode, 0, done)
                self.assertEqual("no call will be made" in done.stderr, is_warned, done)
                if is_warned:
                    self.assertIn("address.yaml:2:", done.stderr)

    def test_recorded_answers_are_replayed_without_the_system(self):
        # A system of its own, which goes away.
        self.system = SecureUpstream(self.folder / "server.pem", self.folder / "server.key", self.folder / "client.pem")
        recorder = self.start("kind: none }\n    record: fixtures\n    chaos: { delay: 0")
        first = self.shown(recorder)
        recorder.stop()
        replayer = self.start("kind: none }\n    replay: fixtures\n    chaos: { delay: 0")
        self.assertEqual(first, {"authorization": None, "client": None})
        # A member of this name is never written down.
        self.assertEqual(self.shown(replayer), {"authorization": "scrubbed", "client": None})
        self.system.stop()
        self.assertEqual(self.shown(replayer)["client"], None)
        self.assertIn("recorded, replayed or disturbed", replayer.log())


if __name__ == "__main__":
    unittest.main()
