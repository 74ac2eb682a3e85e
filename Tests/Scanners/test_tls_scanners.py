"""What others' scanners say of TLS: sslyze (Mozilla's intermediate profile) and testssl.sh, over loopback."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "EndToEnd"))

from test_tls import SecureGateway

SUITES = {
    "TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
    "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
}
OLD = ("ssl_2_0", "ssl_3_0", "tls_1_0", "tls_1_1")
# What a self-signed certificate cannot have: an issuer and revocation.
OF_THE_CERTIFICATE = ("cert_chain_of_trust", "cert_revocation", "OCSP_stapling", "DNS_CAArecord", "cert_notAfter")


# Of six equally good suites the client takes the one that it is fast with, as Mozilla's profile has it.
OF_CHOICE = ("cipher_order",)


class Scanned(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.gateway = SecureGateway()
        cls.folder = tempfile.TemporaryDirectory()

    @classmethod
    def tearDownClass(cls):
        cls.gateway.remove()
        cls.folder.cleanup()

    def tearDown(self):
        self.assertEqual(self.gateway.call("GET", "/health/live")[0].status, 200)

    def report(self, *command):
        """What a scanner wrote into the file that stands for `{}`."""
        file = pathlib.Path(self.folder.name, "report.json")
        file.unlink(missing_ok=True)
        address = f"localhost:{self.gateway.port}"
        done = subprocess.run(
            [part.format(file) for part in command] + [address], capture_output=True, text=True, timeout=900)
        self.assertTrue(file.exists(), done.stdout[-3000:] + done.stderr[-3000:])
        return json.loads(file.read_text()), done.stdout

    def test_sslyze_finds_nothing_weaker_than_the_profile(self):
        scan, output = self.report(
            sys.executable, "-m", "sslyze", "--mozilla_config=intermediate", "--sslv2", "--sslv3", "--tlsv1", "--tlsv1_1",
            "--tlsv1_2", "--tlsv1_3", "--compression", "--early_data", "--heartbleed", "--openssl_ccs", "--reneg", "--robot",
            "--fallback", "--ems", "--certinfo", "--json_out", "{}")
        results = {name: found["result"] for name, found in scan["server_scan_results"][0]["scan_result"].items()}
        accepted = lambda version: {
            each["cipher_suite"]["name"] for each in results[f"{version}_cipher_suites"]["accepted_cipher_suites"]}
        self.assertEqual(set().union(*map(accepted, OLD)), set())
        found = accepted("tls_1_2") | accepted("tls_1_3")
        self.assertEqual(found, SUITES)
        self.assertFalse(results["tls_compression"]["supports_compression"])
        self.assertFalse(results["tls_1_3_early_data"]["supports_early_data"])
        self.assertFalse(results["heartbleed"]["is_vulnerable_to_heartbleed"])
        self.assertFalse(results["openssl_ccs_injection"]["is_vulnerable_to_ccs_injection"])
        self.assertFalse(results["session_renegotiation"]["is_vulnerable_to_client_renegotiation_dos"])
        self.assertTrue(results["tls_extended_master_secret"]["supports_ems_extension"])
        # Compliant but for what only an authority gives.
        complaints = [line.strip() for line in output.splitlines() if line.strip().startswith("* ") and "cipher" in line.lower()]
        self.assertFalse([line for line in complaints if "should be rejected" in line or "are supported, but" in line], output)

    def test_testssl_finds_nothing(self):
        findings, _ = self.report(
            "testssl", "--quiet", "--color", "0", "--warnings", "off", "--ip", "one", "--protocols", "--std", "--server-preference",
            "--vulnerable", "--server-defaults", "--jsonfile", "{}")
        weak = [
            finding for finding in findings
            if finding["severity"] in ("LOW", "MEDIUM", "HIGH", "CRITICAL") and finding["id"] not in OF_CHOICE
            and not finding["id"].startswith(OF_THE_CERTIFICATE)]
        self.assertEqual(weak, [])
        names = {finding["id"] for finding in findings}
        for attack in ("heartbleed", "CCS", "ticketbleed", "ROBOT", "secure_client_renego", "CRIME_TLS", "POODLE_SSL", "SWEET32",
                       "FREAK", "DROWN", "LOGJAM", "BEAST", "LUCKY13", "RC4"):
            self.assertIn(attack, names)


if __name__ == "__main__":
    unittest.main()
