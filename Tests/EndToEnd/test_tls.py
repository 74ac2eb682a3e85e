"""TLS: protocol versions, cipher suites, client certificates, and renewal while connections are open."""

import http.client
import os
import pathlib
import signal
import socket
import ssl
import tempfile
import time
import unittest

from harness import Gateway, run_portico
from http2_frames import with_empty_trust_store

QUICK = True


def make_certificate(folder, name="localhost", *options):
    files = folder / "certificate.pem", folder / "key.pem"
    done = run_portico("certificate", "--host", name, "--certificate", files[0], "--key", files[1], *options)
    assert done.returncode == 0, done
    return files


class SecureGateway(Gateway):
    """A gateway with a certificate of its own; `trust` is a context that knows it."""

    def __init__(self, *settings, **rest):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="portico-tls-"))
        self.files = make_certificate(self.folder)
        certificate, key = self.files
        super().__init__(
            "--set", f"http.tls.certificate={certificate}", "--set", f"http.tls.key={key}", *settings, **rest)

    def _wait_for_port(self):
        for line in self.process.stdout:
            if line.startswith("listening on https://"):
                return int(line.strip().rsplit(":", 1)[1])
        raise AssertionError(f"portico ended before it listened:\n{self.log()}")

    def secured(self, context=None):
        plain = socket.create_connection(("127.0.0.1", self.port), timeout=60)
        return (context or self.trust()).wrap_socket(plain, server_hostname="localhost")

    def trust(self, *protocols):
        context = ssl.create_default_context(cafile=str(self.files[0]))
        context.set_alpn_protocols(list(protocols or ["http/1.1"]))
        return context

    def call(self, method, path, body=None, headers=None):
        connection = http.client.HTTPSConnection("localhost", self.port, context=self.trust(), timeout=60)
        connection.sock = self.secured()
        connection.request(method, path, body, headers or {})
        response = connection.getresponse()
        content = response.read()
        connection.close()
        return response, content


class Transport(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.gateway = SecureGateway("--set", "http.deadlines.head=2s")

    @classmethod
    def tearDownClass(cls):
        cls.gateway.remove()

    def shake(self, **settings):
        context = with_empty_trust_store(settings.pop("protocols", ()))
        for name, value in settings.items():
            setattr(context, name, value) if not callable(getattr(context, name)) else getattr(context, name)(value)
        with self.gateway.secured(context) as connection:
            return connection.version(), connection.cipher()[0], connection.selected_alpn_protocol()

    def test_a_self_signed_certificate_is_made_and_its_key_is_private(self):
        self.assertEqual(self.gateway.files[1].stat().st_mode & 0o777, 0o600)
        self.assertEqual(self.gateway.call("GET", "/health/live")[0].status, 200)

    def test_versions_from_1_2_on_are_spoken(self):
        for version, name in [(ssl.TLSVersion.TLSv1_2, "TLSv1.2"), (ssl.TLSVersion.TLSv1_3, "TLSv1.3")]:
            self.assertEqual(self.shake(minimum_version=version, maximum_version=version)[0], name)

    def test_older_versions_are_not(self):
        for version in [ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1]:
            with self.subTest(version), self.assertRaises((ssl.SSLError, ConnectionError)):
                self.shake(set_ciphers="ALL:@SECLEVEL=0", minimum_version=version, maximum_version=version)

    def test_suites_without_authenticated_encryption_or_forward_secrecy_are_refused(self):
        for suite in ["ECDHE-ECDSA-AES128-SHA", "ECDHE-ECDSA-AES256-SHA384", "AES128-GCM-SHA256", "AES256-SHA"]:
            with self.subTest(suite), self.assertRaises((ssl.SSLError, ConnectionError)):
                self.shake(set_ciphers=f"{suite}:@SECLEVEL=0", maximum_version=ssl.TLSVersion.TLSv1_2)
        for suite in ["ECDHE-ECDSA-AES128-GCM-SHA256", "ECDHE-ECDSA-CHACHA20-POLY1305"]:
            self.assertEqual(self.shake(set_ciphers=suite, maximum_version=ssl.TLSVersion.TLSv1_2)[1], suite)

    def test_the_protocol_is_negotiated(self):
        self.assertEqual(self.shake(protocols=["h2", "http/1.1"])[2], "h2")
        self.assertEqual(self.shake(protocols=["http/1.1"])[2], "http/1.1")
        self.assertIsNone(self.shake()[2])

    def test_the_session_cookie_is_bound_to_the_host(self):
        response, _ = self.gateway.call(
            "POST", "/auth/login", b'{"username":"alice","password":"portico-demo"}',
            {"Content-Type": "application/json"})
        self.assertEqual(response.status, 200)
        cookie = response.getheader("Set-Cookie")
        self.assertTrue(cookie.startswith("__Host-portico_session="), cookie[:30])
        for attribute in ["Secure", "HttpOnly", "Path=/", "SameSite=Lax"]:
            self.assertIn(attribute, cookie)

    def test_plain_http_and_a_handshake_that_never_ends_are_cut_off(self):
        for sent in [b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", b"\x16\x03\x01\x02\x00\x01", b""]:
            with self.gateway.connect() as connection:
                connection.sendall(sent)
                try:
                    while connection.recv(65536):
                        pass
                except ConnectionResetError:
                    pass
        self.assertEqual(self.gateway.call("GET", "/health/live")[0].status, 200)


class Renewal(unittest.TestCase):
    def setUp(self):
        self.gateway = SecureGateway()
        self.addCleanup(self.gateway.remove)

    def shown(self):
        with self.gateway.secured(with_empty_trust_store(())) as connection:
            return connection.getpeercert(binary_form=True)

    def wait_for_another_than(self, old):
        deadline = time.monotonic() + 60
        while self.shown() == old:
            self.assertLess(time.monotonic(), deadline, "the old certificate is shown still")
            time.sleep(0.1)

    def test_a_renewed_certificate_is_shown_and_open_connections_go_on(self):
        before = self.shown()
        connection = http.client.HTTPSConnection("localhost", self.gateway.port, timeout=60)
        connection.sock = used = self.gateway.secured()
        connection.request("GET", "/health/live")
        connection.getresponse().read()
        make_certificate(self.gateway.folder, "localhost", "--force")
        self.wait_for_another_than(before)
        connection.request("GET", "/health/live")
        self.assertEqual(connection.getresponse().status, 200)
        self.assertIs(connection.sock, used)
        connection.close()

    def test_files_that_do_not_fit_together_change_nothing(self):
        before = self.shown()
        kept = self.gateway.files[1].read_bytes()
        self.gateway.files[1].write_text("no key\n")
        self.wait_for_log("certificate not renewed")
        self.assertEqual(self.shown(), before)
        self.gateway.files[1].write_bytes(kept)
        os.kill(self.gateway.process.pid, signal.SIGHUP)
        self.wait_for_log('certificate renewed')
        self.assertEqual(self.gateway.call("GET", "/health/live")[0].status, 200)

    def wait_for_log(self, text):
        deadline = time.monotonic() + 60
        while text not in self.gateway.log():
            self.assertLess(time.monotonic(), deadline, text)
            time.sleep(0.1)


class ClientCertificates(unittest.TestCase):
    def test_a_client_without_a_certificate_is_refused(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        client = make_certificate(pathlib.Path(folder.name), "client")
        gateway = SecureGateway("--set", f"http.tls.clientAuthorities={client[0]}")
        self.addCleanup(gateway.remove)
        for certificate, accepted in [(client, True), (None, False)]:
            context = gateway.trust()
            if certificate:
                context.load_cert_chain(*map(str, certificate))
            self.assertEqual(self.is_answered(gateway, context), accepted)

    def is_answered(self, gateway, context):
        try:
            with gateway.secured(context) as connection:
                connection.sendall(b"GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n")
                return connection.recv(100).startswith(b"HTTP/1.1 200")
        except (ssl.SSLError, ConnectionError):
            return False


class Settings(unittest.TestCase):
    def test_what_cannot_be_used_is_refused_before_it_serves(self):
        with tempfile.TemporaryDirectory() as folder:
            certificate, key = make_certificate(pathlib.Path(folder))
            other = pathlib.Path(folder) / "other"
            other.mkdir()
            _, foreign = make_certificate(other)
            for settings in [
                [f"http.tls.certificate={certificate}"], [f"http.tls.key={key}"],
                [f"http.tls.certificate={certificate}", f"http.tls.key={foreign}"],
                [f"http.tls.certificate={folder}/none.pem", f"http.tls.key={key}"],
                ["http.trustedProxies=[example.org]"], ["http.trustedProxies=[10.0.0.0/33]"],
            ]:
                done = run_portico("check", "--config", "Config/demo.yaml", *[
                    part for setting in settings for part in ("--set", setting)])
                with self.subTest(settings):
                    self.assertEqual(done.returncode, 1, done)
                    self.assertTrue(done.stderr.strip())


if __name__ == "__main__":
    unittest.main()
