"""The npm package of the JavaScript client, as somebody who installs it has it: one file, which node imports, and types that are
true of it."""

import json
import pathlib
import shutil
import subprocess
import tempfile
import unittest

from harness import ROOT, GatewayTest

TSC, NODE = shutil.which("tsc"), shutil.which("node")
COMPILER = pathlib.Path("/usr/share/nodejs/typescript/lib/typescript.js")

CONSUMER = """
import { connect, MemoryStorage, PorticoError, Replica, Resource } from "portico-client";
import type { Options, ReplicaRecord, User } from "portico-client";

const options: Options = { url: "https://portico.example", tokens: new MemoryStorage() };
const portico = connect(options);
const address: string = portico.url;

export async function use(file: Blob): Promise<string[]> {
    const user: User = await portico.signIn("alice", "secret");
    const notes: Resource = portico.resource("notes", "notes");
    const made = await notes.create({ title: "Milk" });
    await notes.update(made.value.id, { title: "Oat milk" }, { ifMatch: made.etag ?? undefined });
    for await (const note of notes.all({ order: "-modified", limit: 10 })) console.log(note.title, address);
    for await (const { event, data } of portico.events("/chat/v1/live", { silence: 1_000 })) console.log(event, data);
    const digest: string = await portico.attachments.upload(file);
    const replica: Replica = await portico.replica(["notes"]);
    const stop: () => void = replica.observe("notes", (records: ReplicaRecord[]) => console.log(records.length));
    stop();
    try {
        await portico.call("notes", "share", { id: made.value.id, with: ["bob"] }, { deadline: 5_000 });
    } catch (error) {
        if (error instanceof PorticoError && error.isTemporary) console.log(error.code, error.retryAfter);
    }
    return [digest, user.name, ...user.roles];
}
"""
#: Each has a mistake that the types must find.
MISTAKES = (
    'import { nothing } from "portico-client";',
    'import { connect } from "portico-client"; connect({ adress: "x" });',
    'import { connect } from "portico-client"; connect().resource("notes");',
    'import { connect } from "portico-client"; connect().attachements;',
    'import { connect } from "portico-client"; const name: number = (await connect().signIn("a", "b")).name; export { name };',
)
# What the declarations say that there is: of each export its kind, and of each class the members of instance and class.
DECLARED = """
const ts = require(%s);
const program = ts.createProgram([process.argv[1]], { target: ts.ScriptTarget.ES2022, moduleResolution: ts.ModuleResolutionKind.NodeJs });
const checker = program.getTypeChecker();
const file = checker.getSymbolAtLocation(program.getSourceFile(process.argv[1]));
const found = {};
for (const exported of checker.getExportsOfModule(file)) {
    const symbol = exported.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(exported) : exported;
    if (!(symbol.flags & ts.SymbolFlags.Value)) continue;
    const own = (one) => (one.declarations ?? []).some((each) => !program.isSourceFileDefaultLibrary(each.getSourceFile()));
    found[exported.name] = symbol.flags & ts.SymbolFlags.Class ? {
        instance: checker.getPropertiesOfType(checker.getDeclaredTypeOfSymbol(symbol)).filter(own).map((one) => one.name),
        class: [...symbol.exports.keys()].map(String).filter((name) => name !== "prototype"),
    } : null;
}
console.log(JSON.stringify(found));
"""
EXISTING = """
import * as module from "portico-client";
const portico = module.connect({ url: "http://127.0.0.1" });
const instances = {
    Portico: portico, Attachments: portico.attachments, Resource: portico.resource("a", "b"),
    MemoryStorage: new module.MemoryStorage(), PorticoError: new module.PorticoError("a.b", "Text."),
    Replica: new module.Replica(portico.requests, "name", ["notes"], null),
};
instances.Replica.others.close();
const declared = JSON.parse(process.argv[1]);
const missing = [];
for (const [name, members] of Object.entries(declared)) {
    if (!(name in module)) missing.push(name);
    if (!members) continue;
    if (!(instances[name] instanceof module[name])) missing.push(`an instance of ${name}`);
    for (const member of members.instance) if (!(member in instances[name])) missing.push(`${name}#${member}`);
    for (const member of members.class) if (!(member in module[name])) missing.push(`${name}.${member}`);
}
for (const name of Object.keys(module)) if (!(name in declared)) missing.push(`the type of ${name}`);
console.log(JSON.stringify(missing));
"""


@unittest.skipUnless(TSC and NODE and COMPILER.exists(), "this machine has no TypeScript compiler or no node")
class Package(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.app = pathlib.Path(tempfile.mkdtemp(prefix="portico-npm-"))
        cls.addClassCleanup(shutil.rmtree, cls.app)
        cls.package = cls.app / "node_modules" / "portico-client"
        subprocess.run([ROOT / ".ci" / "npm", cls.package], check=True, stdout=subprocess.DEVNULL)
        (cls.app / "package.json").write_text(json.dumps({"type": "module"}))

    def check(self, text):
        (self.app / "consumer.ts").write_text(text)
        return subprocess.run(
            [TSC, "--noEmit", "--strict", "--target", "es2022", "--module", "es2022", "--moduleResolution", "node",
             "--lib", "es2022,dom,dom.iterable", "consumer.ts"], cwd=self.app, capture_output=True, text=True, timeout=120).stdout

    def node(self, script, *arguments, kind="module"):
        done = subprocess.run(
            [NODE, f"--input-type={kind}", "-e", script, *map(str, arguments)], cwd=self.app, capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_a_program_that_uses_it_passes_the_strict_type_check(self):
        self.assertEqual(self.check(CONSUMER), "")

    def test_mistakes_are_found_by_the_types(self):
        for text in MISTAKES:
            with self.subTest(text):
                self.assertIn("error TS", self.check(text))

    def test_every_name_of_the_types_is_there(self):
        declared = self.node(DECLARED % json.dumps(str(COMPILER)), self.package / "types" / "portico.d.ts", kind="commonjs")
        self.assertEqual(
            set(declared), {"connect", "Portico", "Attachments", "MemoryStorage", "PorticoError", "Replica", "Resource"})
        for member in ("url", "attachments", "signIn", "replica"):
            self.assertIn(member, declared["Portico"]["instance"])
        self.assertEqual(self.node(EXISTING, json.dumps(declared)), [])
        # The comparison finds what is not there.
        declared["Portico"]["instance"].append("nothing")
        self.assertEqual(self.node(EXISTING, json.dumps(declared)), ["Portico#nothing"])

    def test_the_directory_has_what_its_manifest_names(self):
        manifest = json.loads((self.package / "package.json").read_text())
        named = [manifest["main"], manifest["types"], *manifest["files"], *manifest["exports"]["."].values(), "README.md", "LICENSE"]
        for name in named:
            self.assertTrue((self.package / name).exists(), name)
        text = (self.package / "portico.js").read_text()
        self.assertNotRegex(text, r"(?m)^import ")
        self.assertIn('from "portico-client"', (self.package / "README.md").read_text())


@unittest.skipUnless(NODE, "this machine has no node")
class Calls(GatewayTest):
    def test_a_program_in_node_signs_in_and_reads(self):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="portico-npm-"))
        self.addCleanup(shutil.rmtree, folder)
        shutil.copy(ROOT / "LICENSE", folder)
        bundle = subprocess.run(
            ["python3", "-c", f"import runpy; print(runpy.run_path({str(ROOT / '.ci' / 'npm')!r})['bundle']())"],
            check=True, capture_output=True, text=True).stdout
        (folder / "portico.mjs").write_text(bundle)
        script = f"""
            import {{ connect, MemoryStorage, PorticoError }} from "./portico.mjs";
            const portico = connect({{ url: "http://127.0.0.1:{self.gateway.port}/", tokens: new MemoryStorage() }});
            const user = await portico.signIn("alice", "portico-demo");
            const digest = await portico.attachments.upload(new Blob(["bytes"]));
            const made = await portico.resource("notes", "notes").create({{ title: "from node", attachments: [digest] }});
            const back = await (await portico.attachments.download(digest)).text();
            const wrong = await portico.request("GET", "/nothing").catch((error) => [error instanceof PorticoError, error.code]);
            const replica = await portico.replica(["notes"]).catch((error) => error.code);
            console.log(JSON.stringify([user.name, made.value.title, back, wrong, replica]));"""
        done = subprocess.run([NODE, "--input-type=module", "-e", script], cwd=folder, capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(done.stdout), ["alice", "from node", "bytes", [True, "route.notFound"], "client.insecure"])


if __name__ == "__main__":
    unittest.main()
