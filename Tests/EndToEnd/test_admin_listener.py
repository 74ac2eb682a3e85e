"""The admin listener: all of `porticoctl` over it, by token or certificate, and nobody else."""

import http.client
import json
import pathlib
import re
import shutil
import socket
import ssl
import subprocess
import tempfile
import time
import unittest

import test_http2
from harness import START_SECONDS, Gateway, run_portico
from http2_frames import END_HEADERS, END_STREAM, GOAWAY, HEADERS, Connection, request
from test_tls import make_certificate

QUICK = True

DONE, FAILED, USAGE, NOT_SIGNED_IN = 0, 1, 2, 4


class ListenerTest(unittest.TestCase):
    settings = ()

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.gateway = Gateway("--set", "admin.port=0", *self.more_settings())
        self.addCleanup(self.gateway.remove)
        self.url = self.address()

    def more_settings(self):
        return []

    def address(self):
        end = time.monotonic() + START_SECONDS
        while not (found := re.search(r'"address":"(https?://[^"]+)"', self.gateway.log())):
            self.assertLess(time.monotonic(), end)
            time.sleep(0.05)
        return found.group(1)

    def token(self, name, role):
        done = run_portico("admin", "tokens", "add", name, "--role", role, "--data", self.gateway.data,
            "--output", "json", program="porticoctl")
        self.assertEqual(done.returncode, DONE, done)
        path = self.folder / f"{name}.token"
        path.write_text(json.loads(done.stdout)["token"] + "\n")
        return path

    def remote(self, *arguments, token=None, status=DONE, options=(), stdin=None):
        credential = ["--token-file", token] if token else []
        done = run_portico(*arguments, "--url", self.url, *credential, *options, "--output", "json",
            program="porticoctl", stdin=stdin)
        self.assertEqual(done.returncode, status, (arguments, done))
        return json.loads(done.stdout) if done.stdout.strip() else done.stderr


class Tokens(ListenerTest):
    def test_each_role_does_what_it_may_and_no_more(self):
        viewer, operator, admin = (self.token(role, role) for role in ["viewer", "operator", "admin"])
        self.assertIs(self.remote("status", token=viewer)["ready"], True)
        self.assertIn("operator", self.remote("adapters", "disable", "users", token=viewer, status=FAILED))
        self.assertEqual(self.remote("adapters", "disable", "users", token=operator)["state"], "disabled")
        self.assertEqual(self.gateway.get("/v2/list", user="alice").status, 503)
        self.assertEqual(self.remote("adapters", "enable", "users", token=operator)["state"], "running")
        self.assertEqual(self.gateway.get("/v2/list", user="alice").status, 200)
        self.assertIn("admin", self.remote("accounts", "disable", "bob", token=operator, status=FAILED))
        self.remote("accounts", "add", "dora", token=admin, stdin="a long password\n")
        self.assertIn("dora", [account["name"] for account in self.remote("accounts", "list", token=viewer)["accounts"]])
        self.assertIs(self.remote("config", "apply", token=operator)["valid"], True)
        self.assertNotIn("token", self.remote("admin", "tokens", "list", token=viewer)["tokens"][0])
        entries = self.remote("audit", "list", token=viewer)["entries"]
        performed = [entry for entry in entries if entry["kind"] == "administration.performed" and entry["actor"] == "token operator"]
        self.assertTrue({"admin.adapters.disable", "admin.adapters.enable"} <= {entry["subject"] for entry in performed})
        self.assertEqual({entry["address"] for entry in performed}, {"127.0.0.1"})
        self.assertIs(self.remote("audit", "verify", token=viewer)["intact"], True)

    def test_without_a_credential_or_with_a_revoked_one_nothing_is_answered(self):
        token = self.token("ops", "admin")
        self.remote("status", status=NOT_SIGNED_IN)
        self.remote("admin", "tokens", "revoke", "ops", token=token)
        self.remote("status", token=token, status=NOT_SIGNED_IN)
        # The secret may have the separator in it.
        secret = token.read_text().strip().split("_", 2)[2]
        for path in self.gateway.data.rglob("*"):
            if path.is_file():
                self.assertFalse(secret.encode() in path.read_bytes(), path)

    def test_wrong_uses_are_refused_before_anything_is_sent(self):
        token = self.token("ops", "viewer")
        empty = self.folder / "empty"
        empty.write_text("")
        for arguments, word in [
            (["--url", "http://192.0.2.1:9", "--token-file", token], "https"), (["--url", "gateway"], "address"),
            (["--token-file", token], "--url"), (["--url", self.url, "--token-file", empty], "no token"),
            (["--url", self.url, "--certificate", token], "--key"),
        ]:
            done = run_portico("status", *arguments, program="porticoctl")
            self.assertEqual((done.returncode, done.stdout), (USAGE, ""), done)
            self.assertIn(word, done.stderr)

    def test_the_public_listener_has_none_of_it(self):
        token = self.token("ops", "admin").read_text().strip()
        for path in ["/admin/v1/status", "/admin/v1/configuration", "/admin/v1/tokens"]:
            self.assertIn(self.gateway.get(path, token=token).status, {401, 404})
        self.assertEqual(self.gateway.get("/auth/me", token=token).status, 401)

    def test_the_limits_of_a_request_are_those_of_the_public_listener(self):
        host, port = self.url.removeprefix("http://").split(":")
        token = self.token("ops", "admin").read_text().strip()
        connection = http.client.HTTPConnection(host, int(port), timeout=60)
        connection.putrequest("POST", "/admin/v1/tokens")
        for name, value in [("Authorization", f"Bearer {token}"), ("Content-Type", "application/json"), ("Content-Length", str(9 << 20))]:
            connection.putheader(name, value)
        connection.endheaders()
        self.assertEqual(connection.getresponse().status, 413)
        connection.close()
        connection.request("GET", "/admin/v1/status", headers={"Authorization": f"Bearer {token}", "X": "y" * 40000})
        self.assertEqual(connection.getresponse().status, 431)
        connection.close()


class Certificates(ListenerTest):
    def more_settings(self):
        server, client = self.folder / "server", self.folder / "client"
        server.mkdir()
        client.mkdir()
        self.server, self.client = make_certificate(server, "127.0.0.1"), make_certificate(client, "ada")
        return ["--set", f"admin.tls.certificate={self.server[0]}", "--set", f"admin.tls.key={self.server[1]}",
            "--set", f"admin.tls.clientAuthorities={self.client[0]}", "--set", "admin.certificateRole=operator"]

    def test_a_certificate_or_a_token_is_needed(self):
        trust = ["--authorities", self.server[0]]
        shown = [*trust, "--certificate", self.client[0], "--key", self.client[1]]
        self.assertTrue(self.url.startswith("https://"))
        self.assertIs(self.remote("status", options=shown)["ready"], True)
        self.assertEqual(self.remote("adapters", "disable", "users", options=shown)["state"], "disabled")
        self.assertIn("admin", self.remote("accounts", "disable", "bob", options=shown, status=FAILED))
        self.remote("status", options=trust, status=NOT_SIGNED_IN)
        self.assertIs(self.remote("status", options=trust, token=self.token("ops", "viewer"))["ready"], True)
        self.assertIn("--authorities", self.remote("status", status=FAILED))
        entries = self.remote("audit", "list", options=shown)["entries"]
        actors = {entry["actor"] for entry in entries if entry["kind"] == "administration.performed"}
        self.assertTrue(any(actor.startswith("certificate ") for actor in actors), actors)

    def test_a_certificate_of_others_is_refused_in_the_handshake(self):
        other = self.folder / "other"
        other.mkdir()
        stranger = make_certificate(other, "eve")
        context = ssl.create_default_context(cafile=str(self.server[0]))
        context.load_cert_chain(*map(str, stranger))
        host, port = self.url.removeprefix("https://").split(":")
        connection = http.client.HTTPSConnection(host, int(port), context=context, timeout=60)
        with self.assertRaises(OSError):
            connection.request("GET", "/admin/v1/status")
            connection.getresponse()


class Authority:
    """Issues client certificates that are valid for some seconds."""

    def __init__(self, folder, name):
        self.folder = folder / name
        self.folder.mkdir()
        self.certificate, self.key = self.folder / "ca.pem", self.folder / "ca.key"
        (self.folder / "index").write_text("")
        (self.folder / "ca.cnf").write_text(
            f"[ca]\ndefault_ca=own\n[own]\nnew_certs_dir={self.folder}\ndatabase={self.folder}/index\n"
            f"default_md=sha256\npolicy=any\nrand_serial=yes\n[any]\ncommonName=supplied\n")
        self.openssl("req", "-x509", *self.new_key(self.key), "-subj", f"/CN={name}", "-days", "1", "-addext",
            "basicConstraints=critical,CA:TRUE", "-out", self.certificate)

    @staticmethod
    def openssl(*arguments):
        subprocess.run(["openssl", *arguments], check=True, capture_output=True)

    @staticmethod
    def new_key(path):
        return ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", path]

    def issue(self, name, seconds):
        """The files, and when the certificate ends."""
        key, asked, certificate = (self.folder / f"{name}.{kind}" for kind in ["key", "csr", "pem"])
        self.openssl("req", *self.new_key(key), "-subj", f"/CN={name}", "-out", asked)
        end = int(time.time()) + seconds
        moment = lambda at: time.strftime("%Y%m%d%H%M%SZ", time.gmtime(at))
        self.openssl("ca", "-batch", "-notext", "-config", self.folder / "ca.cnf", "-cert", self.certificate, "-keyfile",
            self.key, "-in", asked, "-out", certificate, "-startdate", moment(end - 3600), "-enddate", moment(end))
        return certificate, key, end


class Endings(ListenerTest):
    """A certificate is a credential for as long as it holds, whatever goes on of the connection or the session."""

    def more_settings(self):
        server = self.folder / "server"
        server.mkdir()
        self.server = make_certificate(server, "127.0.0.1")
        self.authority = Authority(self.folder, "operators")
        return ["--set", f"admin.tls.certificate={self.server[0]}", "--set", f"admin.tls.key={self.server[1]}",
            "--set", f"admin.tls.clientAuthorities={self.authority.certificate}"]

    def context(self, files, protocol, version=None):
        context = ssl.create_default_context(cafile=str(self.server[0]))
        context.load_cert_chain(*map(str, files))
        context.set_alpn_protocols([protocol])
        if version:
            context.minimum_version = context.maximum_version = version
        return context

    def connect(self, context, session=None):
        host, port = self.url.removeprefix("https://").split(":")
        return context.wrap_socket(
            socket.create_connection((host, int(port)), timeout=60), server_hostname=host, session=session)

    def ask(self, connection):
        host = self.url.removeprefix("https://")
        connection.sendall(f"GET /admin/v1/status HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
        response = http.client.HTTPResponse(connection)
        response.begin()
        response.read()
        return response

    def statuses(self, connection):
        """The status of one request; nothing where the handshake is refused."""
        try:
            return {self.ask(connection).status}
        except (OSError, http.client.HTTPException):
            return set()

    def resumed(self, context, session):
        try:
            return self.statuses(self.connect(context, session))
        except OSError:
            return set()

    def refused(self, connection):
        answer = self.ask(connection)
        self.assertEqual((answer.status, answer.getheader("Connection")), (401, "close"))
        self.assertEqual(connection.recv(1), b"")

    def test_an_expired_certificate_is_none_in_a_resumed_session_and_on_an_open_connection(self):
        *files, end = self.authority.issue("ada", START_SECONDS // 4)
        versions = [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3]
        contexts = [self.context(files, "http/1.1", version) for version in versions]
        opened = [self.connect(context) for context in contexts]
        for connection in opened:
            self.assertEqual(self.ask(connection).status, 200)
        second = Connection(None, over=self.connect(self.context(files, "h2")))
        second.send(HEADERS, request("/admin/v1/status", authority=self.url.removeprefix("https://")), END_HEADERS | END_STREAM, 1)
        self.assertEqual(second.answer(1)[0], 200)
        sessions = [connection.session for connection in opened]
        for context, session in zip(contexts, sessions):
            with self.connect(context, session) as connection:
                self.assertTrue(connection.session_reused)
        self.assertLess(time.time(), end, "the machine is too slow for this certificate")
        while time.time() < end + 1:
            time.sleep(0.1)
        for context, session in zip(contexts, sessions):
            self.assertNotIn(200, self.resumed(context, session), context.maximum_version)
        for connection in opened:
            self.refused(connection)
        second.send(HEADERS, request("/admin/v1/status", authority=self.url.removeprefix("https://")), END_HEADERS | END_STREAM, 3)
        kinds = []
        while not {GOAWAY, HEADERS} <= set(kinds):
            kinds.append(second.receive()[0])
        self.assertEqual(second.status(3), 401)

    def test_a_certificate_of_authorities_that_count_no_more_is_none_either(self):
        *files, _ = self.authority.issue("ada", 3_000)
        context = self.context(files, "http/1.1")
        connection = self.connect(context)
        self.assertEqual(self.ask(connection).status, 200)
        session = connection.session
        other = Authority(self.folder, "others")
        self.authority.certificate.write_bytes(other.certificate.read_bytes())
        end = time.monotonic() + START_SECONDS
        while "certificate renewed" not in self.gateway.log():
            self.assertLess(time.monotonic(), end)
            time.sleep(0.05)
        self.assertNotIn(200, self.resumed(context, session))
        self.refused(connection)
        *files, _ = other.issue("eve", 3_000)
        self.assertEqual(self.ask(self.connect(self.context(files, "http/1.1"))).status, 200)


class Floods(test_http2.Abuse):
    """The admin listener ends connections of HTTP/2 that flood it, as the public one does, whatever they show."""

    late = 400
    PATHS = {
        "/health/live": "/admin/v1/status", "/openapi.json": "/admin/v1/configuration",
        "/auth/login": "/admin/v1/audit/entries"}

    @classmethod
    def ask(cls, path="/health/live", method="GET", fields=()):
        return request(cls.PATHS[path], method, [("authorization", f"Bearer {cls.token}"), *fields],
            authority=f"localhost:{cls.gateway.port}")

    @classmethod
    def setUpClass(cls):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="portico-floods-"))
        cls.addClassCleanup(shutil.rmtree, folder, True)
        certificate, key = make_certificate(folder, "localhost")
        cls.gateway = Gateway(
            "--set", "admin.port=0", "--set", f"admin.tls.certificate={certificate}", "--set", f"admin.tls.key={key}",
            "--set", "http.deadlines.write=2s", "--set", "http.deadlines.head=10s")
        end = time.monotonic() + START_SECONDS
        while not (found := re.search(r'"address":"https://[^"]+:(\d+)"', cls.gateway.log())):
            assert time.monotonic() < end
            time.sleep(0.05)
        cls.gateway.port = int(found.group(1))
        done = run_portico("admin", "tokens", "add", "ops", "--role", "viewer", "--data", cls.gateway.data,
            "--output", "json", program="porticoctl")
        cls.token = json.loads(done.stdout)["token"]

    def tearDown(self):
        self.assertIsNone(self.gateway.process.poll(), "the gateway died")
        with Connection(self.gateway.port) as other:
            other.send(HEADERS, self.ask(), END_HEADERS | END_STREAM, 1)
            self.assertEqual(other.answer(1)[0], 200)
        self.assertLess(self.gateway.resident("VmHWM"), test_http2.MOST_MEMORY)


class Refused(unittest.TestCase):
    def test_beyond_loopback_it_needs_tls(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        config = pathlib.Path(folder.name, "portico.yaml")
        for text, word in [
            ("admin: {host: 0.0.0.0, port: 0}\n", "beyond the loopback interface"),
            ("admin: {host: 127.evil.example, port: 0}\n", "beyond the loopback interface"),
            ("admin: {port: 0, tls: {certificate: a.pem}}\n", "needed together"),
        ]:
            config.write_text(text)
            done = run_portico("check", "--config", config)
            self.assertEqual(done.returncode, 1, done)
            self.assertIn(word, done.stderr)


if __name__ == "__main__":
    unittest.main()
