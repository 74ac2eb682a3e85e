"""Generated clients: the same text as the one that is committed and tested, and TypeScript that compiles and runs."""

import json
import pathlib
import shutil
import subprocess
import tempfile
import unittest

from harness import ROOT, GatewayTest, run_portico
from swift_tests import SWIFT_TESTS, run_swift_tests

SERVICES = ("chat", "employees", "feeds", "notes", "users")
COMMITTED = ROOT / "Sources" / "Client" / "Tests" / "ClientTests" / "Generated"
TSC, NODE = shutil.which("tsc"), shutil.which("node")

PROGRAM = """
import { connect, MemoryStorage } from "./client/portico.js";
import { NotesService } from "./NotesService.js";
import { EmployeesService } from "./EmployeesService.js";
import { UsersService } from "./UsersService.js";

const portico = connect({ url: process.argv[2], tokens: new MemoryStorage() });
await portico.signIn("alice", "portico-demo");
const notes = new NotesService(portico);
const made = await notes.createNote({ title: "by TypeScript", text: "" });
const changed = await notes.updateNote(made.id, { title: "changed" });
const shared = await notes.share({ id: made.id, with: ["bob"] });
const listed = await notes.listNotes({ search: "changed", limit: 5 });
const read = await notes.readNote(made.id);
await notes.deleteNote(made.id);
const gone = await notes.readNote(made.id).catch((error) => error.code);
const found = await new EmployeesService(portico).employeeSearch({ fullName: "John Doe", order: "ASC", rowsPerPage: 10, pageIndex: 0 });
const user = await new UsersService(portico).user(101);
console.log(JSON.stringify({
  title: changed.title, readers: shared.sharedWith, listed: listed.items.map((note) => note.id === made.id),
  read: read.title, gone, names: found.employees.map((one) => one.lastName), shoes: user.ShoeSize,
}));
"""


class Generated(GatewayTest):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="portico-generated-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def generate(self, service, language, *rest):
        done = run_portico(
            "client", "generate", "--service", service, "--language", language,
            "--url", f"http://127.0.0.1:{self.gateway.port}", *rest, program="porticoctl")
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_the_swift_that_is_tested_is_what_the_declarations_give(self):
        for path in sorted(COMMITTED.glob("*Service.swift")):
            service = path.name.removesuffix("Service.swift").lower()
            self.assertEqual(self.generate(service, "swift"), path.read_text(), f"{path.name} is out of date")
        self.assertTrue(list(COMMITTED.glob("NotesService.swift")))

    def test_a_service_that_is_not_there_is_named_with_those_that_are(self):
        done = run_portico(
            "client", "generate", "--service", "nothing", "--language", "swift", "--url",
            f"http://127.0.0.1:{self.gateway.port}", program="porticoctl")
        self.assertEqual(done.returncode, 1)
        for service in SERVICES:
            self.assertIn(service, done.stderr)

    def test_a_saved_description_does_as_well_as_a_gateway(self):
        saved = self.folder / "openapi.json"
        saved.write_bytes(self.gateway.get("/openapi.json").body)
        done = run_portico(
            "client", "generate", "--service", "notes", "--language", "swift", "--description", saved,
            program="porticoctl")
        self.assertEqual(done.stdout, self.generate("notes", "swift"))

    @unittest.skipUnless(TSC and NODE, "this machine has no TypeScript compiler")
    def test_typescript_compiles_strictly_and_runs_against_the_gateway(self):
        for service in SERVICES:
            self.generate(service, "typescript", "--into", self.folder)
        files = sorted(self.folder.glob("*.ts"))
        compiled = subprocess.run(
            [TSC, "--strict", "--noUnusedLocals", "--target", "es2022", "--module", "es2022", "--lib", "es2022,dom", *files],
            capture_output=True, text=True, timeout=300)
        self.assertEqual(compiled.returncode, 0, compiled.stdout)
        shutil.copytree(ROOT / "Sources" / "BrowserClient" / "Client", self.folder / "client")
        (self.folder / "package.json").write_text('{"type": "module"}')
        (self.folder / "program.js").write_text(PROGRAM)
        ran = subprocess.run(
            [NODE, self.folder / "program.js", f"http://127.0.0.1:{self.gateway.port}"],
            capture_output=True, text=True, timeout=120)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        received = json.loads(ran.stdout)
        self.assertEqual(
            {key: received[key] for key in ("title", "readers", "listed", "read", "gone", "shoes")},
            {"title": "changed", "readers": ["bob"], "listed": [True], "read": "changed", "gone": "record.notFound",
             "shoes": "12W"})
        self.assertEqual(set(received["names"]), {"Doe"})

    @unittest.skipUnless(SWIFT_TESTS.exists(), "the client's tests are not built")
    def test_the_typed_and_the_generated_services_work_with_this_gateway(self):
        self.assertIn("with 5 tests", run_swift_tests(self, "GatewayServicesTests"))


if __name__ == "__main__":
    unittest.main()
