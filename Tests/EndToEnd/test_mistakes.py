"""What people mistype: each request and each command leads to its cause in a sentence."""

import json
import pathlib
import shutil
import socket
import tempfile
import unittest

from harness import JSON, ROOT, GatewayTest, run_portico

QUICK = True
NOTES = "/api/v1/notes/notes"
DONE, FAILED, USAGE = 0, 1, 2


class Requests(GatewayTest):
    def says(self, words, method, path, body=None, content=JSON, status=400):
        text = json.dumps(body) if isinstance(body, (dict, list)) else body
        headers = {"Accept": JSON, **({"Content-Type": content} if text is not None else {})}
        answer = self.gateway.request(method, path, body=text, headers=headers, user="alice")
        with self.subTest(words=words):
            self.assertEqual(answer.status, status, answer)
            self.assertIn(words, answer.json()["error"]["message"])

    def test_a_field_that_is_mistyped_has_the_one_that_is_meant(self):
        self.says("has no field `titel`. Did you mean title?", "POST", NOTES, {"titel": "a"})
        self.says("has no field `titel`. Did you mean title?", "PATCH", NOTES + "/none", {"titel": "a"})
        self.says("has no field `titel`. Did you mean title?", "POST", NOTES, "<note><titel>a</titel></note>", "application/xml")
        self.says("has no field `colour`.", "POST", NOTES, {"colour": "a"})

    def test_a_filter_says_what_stands_where(self):
        self.says("stand in single quotes, 'Milk'", "GET", NOTES + "?filter=title%20eq%20Milk")
        self.says("Texts stand in single quotes", "GET", NOTES + "?filter=title%20eq%20%22Milk%22")
        self.says("Comparisons are words: eq", "GET", NOTES + "?filter=title%20=%20'Milk'")
        self.says("A value is missing", "GET", NOTES + "?filter=title%20eq")

    def test_a_format_that_is_none_is_told_by_the_names_that_there_are(self):
        for path in ["/api/v1/users/users/100?format=yaml", "/sync/v1/live?format=yaml"]:
            self.says("`format` takes one of json, plist, xml, bplist, cbor.", "GET", path, status=406)

    def test_a_method_that_a_path_does_not_take_is_told_with_those_that_it_takes(self):
        self.says("does not take PUT. It takes GET", "PUT", NOTES, {"title": "a"}, status=405)

    def test_a_collection_that_is_none_is_named(self):
        self.says("There is no collection note.", "POST", "/sync/v1/pull", {"collections": ["note"]})
        pushed = self.gateway.send(
            "POST", "/sync/v1/push",
            {"clientId": "mistyped", "mutations": [{"sequence": 1, "operation": "delete", "collection": "note", "id": "a"}]},
            user="alice")
        self.assertEqual(self.expect(pushed, 200).json()["outcomes"][0]["message"], "There is no collection note.")

    def test_a_stream_of_which_no_parameter_is_known_is_refused(self):
        self.says("There is no such parameter. Did you mean collections?", "GET", "/sync/v1/live?collection=notes")
        answer = self.gateway.get("/sync/v1/live?collections=notes&later=1", user="alice")
        self.expect(answer, 200)

    def test_a_body_of_another_format_is_a_sentence_of_its_own(self):
        self.says(". It looks like JSON. Send", "POST", NOTES, '{"title": "a"}', "application/x-plist")


class Commands(GatewayTest):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="portico-mistakes-"))
        self.addCleanup(shutil.rmtree, self.folder, True)

    def control(self, *arguments, stdin=None):
        return run_portico(*arguments, "--data", self.gateway.data, program="porticoctl", stdin=stdin)

    def says(self, words, done, status=FAILED):
        self.assertEqual(done.returncode, status, done)
        self.assertIn(words, done.stderr)
        self.assertEqual(done.stdout, "")

    def test_a_role_that_is_near_none_is_told_with_those_that_there_are(self):
        self.says(
            "a role admn. Did you mean admin? --new-role",
            self.control("accounts", "add", "ron", "--role", "admn", stdin="a password\n"))
        self.says(
            "a role salespeople. They name admin, member. --new-role",
            self.control("accounts", "add", "ron", "--role", "salespeople", stdin="a password\n"))

    def test_a_kind_of_audit_entries_that_is_none_is_refused(self):
        self.says("Did you mean signIn.refused?", self.control("audit", "list", "--kind", "signin.refused"))
        self.assertEqual(self.control("audit", "list", "--kind", "signIn.refused").returncode, DONE)

    def test_a_record_is_set_by_the_types_of_its_fields(self):
        done = self.control("records", "set", "users/users", "101", "ShoeSize=7", "--output", "json")
        self.assertEqual(done.returncode, DONE, done)
        self.assertEqual(json.loads(done.stdout)["fields"]["ShoeSize"], "7")
        self.says("Did you mean ShoeSize?", self.control("records", "set", "users/users", "101", "ShoeSiz=7"))

    def test_what_an_explanation_is_asked_of_is_named_by_its_form(self):
        self.says("users/ID", self.control("sync", "explain", "alice", "users"))
        self.says("There is no collection user.", self.control("sync", "explain", "alice", "user/101"))

    def test_a_disabled_adapter_has_not_failed(self):
        def status():
            return json.loads(self.control("status", "--output", "json").stdout)

        self.assertEqual(self.control("adapters", "disable", "users").returncode, DONE)
        self.addCleanup(self.control, "adapters", "enable", "users")
        self.assertEqual((status()["failedAdapters"], status()["disabledAdapters"]), ([], ["users"]))
        ready = self.gateway.get("/health/ready")
        self.assertEqual((ready.status, ready.json()), (200, {"status": "ready", "disabledAdapters": ["users"]}))

    def test_a_client_of_a_service_that_is_none_says_how_those_of_odata_are_made(self):
        address = f"http://127.0.0.1:{self.gateway.port}"
        done = run_portico(
            "client", "generate", "--service", "admissions", "--language", "swift", "--url", address, program="porticoctl")
        self.says("--metadata FILE", done)

    def test_a_document_at_an_address_where_nothing_listens(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
        for command in [
            ["client", "generate", "--service", "notes", "--language", "swift", "--url", f"http://127.0.0.1:{port}"],
            ["connect", "openapi", f"http://127.0.0.1:{port}/openapi.json"],
            ["odata", "fetch", f"http://127.0.0.1:{port}/odata/", "a.edmx"],
            ["soap", "fetch", f"http://127.0.0.1:{port}/?wsdl", "a.wsdl"],
        ]:
            with self.subTest(command=command[:2]):
                self.says("cannot be read: nothing listens there.", run_portico(*command, program="porticoctl"))

    def test_a_backup_that_is_not_there(self):
        place = self.folder / "backup"
        self.says(f"{place} is not there.", run_portico(
            "restore", place, "--yes", "--data", self.folder / "data", program="porticoctl"))

    def test_a_configuration_with_a_mistake_says_that_alone(self):
        config = self.folder / "portico.yaml"
        for text, words in [
            ("adapters: { users: { acces: login } }", "Did you mean adapters.users.access?"),
            ("upstreams: { hr: { url: 'https://hr.example/' } }\nadapters: { users: { upstream: hrr } }",
             "There is no upstream hrr. Did you mean hr?"),
            ("adapters: { users: { upstream: hr } }", "There is no upstream hr. None is declared"),
            ("plugins: [{ path: ./missing-worker }]", "it is not there: build it, or correct its path"),
        ]:
            with self.subTest(words=words):
                config.write_text(text)
                self.says(words, run_portico("check", "--config", config))

    def test_what_is_compiled_in_and_not_served_is_one_note(self):
        config = self.folder / "portico.yaml"
        config.write_text("adapters: { users: {} }")
        done = run_portico("check", "--config", config)
        self.assertEqual((done.returncode, done.stderr.count("note: ")), (DONE, 1), done)
        self.assertIn("compiled in and not served: chat, employees, feeds, odata, odata-reference.", done.stderr)

    def test_writing_of_a_service_is_named_where_it_stands(self):
        config = self.folder / "portico.yaml"
        shutil.copy(ROOT / "Config/odata/admissions.csdl.xml", self.folder / "model.xml")
        config.write_text(
            "upstreams: { sap: { url: 'https://sap.example/' } }\n"
            "adapters:\n  odata:\n    services:\n      a:\n"
            "        model: model.xml\n        upstream: sap\n        path: a/\n        write: through\n")
        done = run_portico("check", "--config", config)
        self.says(f"{config}:9:16: ", done)
        self.assertIn("say who may, adapters.odata.services.a.access: {write: …}.", done.stderr)

    def test_a_port_that_is_taken_is_answered_with_one_that_is_free(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            if port == 65_535:
                self.skipTest("there is no port behind it")
            try:
                next_one = socket.create_server(("127.0.0.1", port + 1))
            except OSError:
                next_one = None  # Another program has it already.
            done = run_portico(
                "serve", "--config", "Config/demo.yaml", "--data", self.folder / "data", "--set", f"http.port={port}")
            if next_one:
                next_one.close()
        self.assertEqual(done.returncode, FAILED, done)
        self.assertIn("--set http.port=", done.stderr)
        self.assertNotIn(f"--set http.port={port + 1}.", done.stderr)

    def test_a_folder_without_an_adapter_is_not_tested(self):
        self.says("it is no adapter's package", run_portico("adapter", "test", self.folder, program="porticoctl"), USAGE)
        done = run_portico("adapter", "new", "sync", "--into", self.folder, program="porticoctl")
        self.says("The gateway uses the name sync itself", done)
        self.assertEqual(list(self.folder.iterdir()), [])


if __name__ == "__main__":
    unittest.main()
