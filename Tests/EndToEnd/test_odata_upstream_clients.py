"""Clients that do not notice that the entities are another system's, mirrored or asked for: requests as recorded of others' clients
(UI5's batches among them), and Portico's own in Swift and JavaScript. python-odata and pyodata: Tests/OData."""

import json
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import test_recorded_clients
from harness import ROOT
from odata_fronts import FRONTS, start_front
from swift_tests import SWIFT_TESTS, run_swift_tests

NODE = shutil.which("node")
# Of the generated client's tests: what is asked in both modes, and what mirrored rows are asked as well.
QUERIES = "interchangeable|pages|injection|targets"
OF_ROWS = "reading|changes"
SCRIPT = """
import { connect, MemoryStorage } from "./portico.mjs";
const portico = connect({ url: process.argv[1], tokens: new MemoryStorage() });
await portico.signIn("alice", "portico-demo");
const students = portico.resource("odata", "admissions-Students");
const path = "/odata/v4/admissions/Students(7)";
const failed = (error) => error.code;
const before = await portico.request("GET", path);
const listed = await students.list({ filter: "StudentID lt 4", order: "StudentID" }).catch(failed);
const all = [];
if (listed.items) for await (const one of students.all({ select: "StudentID", limit: 150 })) all.push(one.id);
await portico.request("PATCH", path, { body: { LastName: "From JavaScript" } });
const after = await portico.request("GET", path);
const written = await students.update("8", { LastName: "By record" }).then((answer) => answer.value.LastName, failed);
const query = "$filter=LastName%20eq%20'From%20JavaScript'&$select=StudentID";
const found = await portico.request("GET", `/odata/v4/admissions/Students?${query}`);
console.log(JSON.stringify({
    before: before.StudentID, listed: listed.items?.map((one) => one.StudentID) ?? listed, all: all.length,
    age: listed.asOf instanceof Date, after: after.LastName, written, found: found.value.length }));
"""


class Recorded(test_recorded_clients.RecordedClients):
    """Requests for OData alone."""

    @classmethod
    def tearDownClass(cls):
        """The gateway ends with the class's clean-up."""

    def test_every_client_gets_what_it_reads(self):
        asked = 0
        for client, head, body, check in test_recorded_clients.REQUESTS:
            if "/odata/" not in head:
                continue
            asked += 1
            with self.subTest(client=client):
                status, headers, answer = self.exchange(head, body)
                self.assertTrue(check(status, headers, answer), (status, headers, answer[:2_000]))
        self.assertGreater(asked, 5)


class OwnClients(unittest.TestCase):
    is_mirrored = True

    @unittest.skipUnless(SWIFT_TESTS.exists(), "the client's tests are not built")
    def test_typed_queries_in_swift(self):
        wanted = f"{QUERIES}|{OF_ROWS}" if self.is_mirrored else QUERIES
        said = run_swift_tests(self, f"ODataGatewayTests/({wanted})")
        self.assertIn(f"with {len(wanted.split('|'))} tests", said)

    @unittest.skipUnless(NODE, "this machine has no node")
    def test_a_program_in_node(self):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="portico-npm-"))
        self.addCleanup(shutil.rmtree, folder)
        bundle = subprocess.run(
            ["python3", "-c", f"import runpy; print(runpy.run_path({str(ROOT / '.ci' / 'npm')!r})['bundle']())"],
            check=True, capture_output=True, text=True).stdout
        (folder / "portico.mjs").write_text(bundle)
        done = subprocess.run(
            [NODE, "--input-type=module", "-e", SCRIPT, f"http://127.0.0.1:{self.gateway.port}/"], cwd=folder, capture_output=True,
            text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        told = json.loads(done.stdout)
        self.assertEqual((told["before"], told["after"], told["found"]), (7, "From JavaScript", 1), told)
        if self.is_mirrored:
            self.assertEqual((told["listed"], told["written"], told["age"]), ([1, 2, 3], "By record", True), told)
            self.assertGreaterEqual(told["all"], 400)
        else:
            # Entities that are asked for are no records.
            self.assertEqual((told["listed"], told["written"]), ("route.notFound", "route.notFound"), told)


def load_tests(loader, suite, pattern):
    cases = unittest.TestSuite()
    for name, (version, mode) in FRONTS.items():
        # The generated client has the model of version 4, in which a day is no instant.
        for case in (Recorded, OwnClients)[:2 if version == 4 else 1]:
            def start(cls, version=version, mode=mode):
                cls.gateway = start_front(cls, version, mode)

            cases.addTests(loader.loadTestsFromTestCase(type(f"{case.__name__}{name}", (case,), {
                "__module__": __name__, "setUpClass": classmethod(start), "is_mirrored": name.startswith("Mirrored")})))
    return cases


if __name__ == "__main__":
    unittest.main()
