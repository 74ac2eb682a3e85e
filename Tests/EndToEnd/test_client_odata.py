"""The client library's OData: generated services that compile and run against a gateway."""

import pathlib
import shutil
import tempfile
import unittest

from harness import ROOT, GatewayTest, run_portico
from swift_tests import SWIFT_TESTS, run_swift_tests

QUICK = True

COMMITTED = ROOT / "Sources" / "Client" / "Tests" / "ClientTests" / "Generated" / "OData"


class GeneratedServices(GatewayTest):
    def generated(self, service, metadata):
        """The files by their names."""
        folder = pathlib.Path(tempfile.mkdtemp(prefix="portico-odata-"))
        self.addCleanup(shutil.rmtree, folder)
        done = run_portico(
            "client", "generate", "--service", service, "--language", "swift", "--metadata", metadata, "--into", folder,
            program="porticoctl")
        self.assertEqual(done.returncode, 0, done.stderr)
        return {path.name: path.read_text() for path in folder.iterdir()}

    def committed(self, service):
        return {path.name: path.read_text() for path in COMMITTED.glob(f"{service.capitalize()}Service*.swift")}

    def test_the_swift_that_is_tested_is_what_the_models_give(self):
        for service in ("admissions", "reference"):
            model = ROOT / "Config" / "odata" / f"{service}.csdl.xml"
            self.assertEqual(self.generated(service, model), self.committed(service), "generate it anew")
            self.assertGreater(len(self.committed(service)), 5)

    def test_what_a_gateway_says_of_itself_gives_the_same(self):
        for form in ("xml", "json"):
            with self.subTest(form):
                saved = self.gateway.data / f"metadata.{form}"
                saved.write_bytes(self.gateway.get(f"/odata/v4/admissions/$metadata?$format={form}", user="alice").body)
                self.assertEqual(self.generated("admissions", saved), self.committed("admissions"))

    def test_what_is_no_model_is_refused(self):
        done = run_portico(
            "client", "generate", "--service", "x", "--language", "swift", "--metadata", ROOT / "README.md",
            program="porticoctl")
        self.assertEqual(done.returncode, 1)
        self.assertIn("is no model", done.stderr)

    @unittest.skipUnless(SWIFT_TESTS.exists(), "the client's tests are not built")
    def test_typed_queries_work_with_this_gateway(self):
        self.assertIn("with 9 tests", run_swift_tests(self, "ODataGatewayTests"))


if __name__ == "__main__":
    unittest.main()
