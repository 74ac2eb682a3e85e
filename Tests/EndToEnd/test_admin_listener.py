"""The admin listener: all of `porticoctl` over it, by token or certificate, and nobody else."""

import http.client
import json
import pathlib
import re
import ssl
import tempfile
import time
import unittest

from harness import START_SECONDS, Gateway, run_portico
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
        secret = token.read_text().strip().rsplit("_", 1)[1]
        for path in self.gateway.data.rglob("*"):
            if path.is_file():
                self.assertNotIn(secret.encode(), path.read_bytes(), path)

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
        self.remote("status", status=FAILED)
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
