"""Starting and stopping: configuration, overrides, draining."""

import json
import pathlib
import socket
import tempfile
import time
import unittest

from harness import JSON, ROOT, Gateway, run_portico

NOTES = "/api/v1/notes/notes"
DEMO_ACCOUNT = "identity:\n  demoAccounts:\n    - { name: alice, password: portico-demo, roles: [member] }\n"


class Configuration(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_with(self, text, *arguments, command="check", environment=None):
        file = self.folder / "portico.yaml"
        file.write_text(text)
        return run_portico(
            command, "--config", file, "--data", self.folder / "data", *arguments, environment=environment)

    def refused(self, text, *words, **rest):
        done = self.run_with(text, *rest.pop("arguments", []), **rest)
        self.assertEqual(done.returncode, 1, done)
        for word in words:
            self.assertIn(word, done.stderr)
        return done

    def test_the_demo_configuration_is_valid(self):
        done = run_portico("check", "--config", "Config/demo.yaml")
        self.assertEqual(done.returncode, 0, done)

    def test_an_unknown_key_is_named_with_its_location_and_a_suggestion(self):
        for command in ["check", "serve"]:
            self.refused("http:\n  prot: 80\n", "portico.yaml:2:3:", "http.prot", "port?", command=command)
        self.refused("log:\n  level: info\nadapters:\n  usres:\n    enabled: false\n", "portico.yaml:4:3:", "users?")

    def test_all_mistakes_are_reported_at_once(self):
        text = "http:\n  port: 70000\nlog:\n  level: lowd\nstore:\n  kind: paper\n"
        self.refused(text, "portico.yaml:2:9:", "portico.yaml:4:10:", "portico.yaml:6:9:")

    def test_invalid_yaml_is_reported_with_its_location(self):
        self.refused("http:\n  port: [1\n", "portico.yaml:", "YAML")
        self.refused("http: {port: 1}\nhttp: {port: 2}\n", "portico.yaml:2:1: The key http stands here a second time.")

    def test_a_file_that_is_not_there_is_refused(self):
        done = run_portico("check", "--config", self.folder / "none.yaml")
        self.assertEqual(done.returncode, 1)
        self.assertIn("none.yaml", done.stderr)

    def test_an_adapter_that_cannot_be_made_is_refused_in_words(self):
        for command in ["check", "serve"]:
            done = self.refused(
                "", "adapters.odata-reference.seed=nope.json: nope.json is no seed", command=command,
                arguments=["--set", "adapters.odata-reference.seed=nope.json"])
            self.assertNotIn("ConfigurationProblem", done.stderr)

    def test_no_duration_is_zero(self):
        for key in ["store.probe", "http.deadlines.head", "http.deadlines.request", "upstreams.a.deadline"]:
            self.refused("", key, "above zero", arguments=["--set", f"{key}=0s"])

    def test_overrides_are_checked_and_named_by_their_source(self):
        self.refused("", "PORTICO_HTTP_PORT", environment={"PORTICO_HTTP_PORT": "eighty"})
        self.refused("", "PORTICO_HTTP_PROT", environment={"PORTICO_HTTP_PROT": "80"})
        self.refused("", "http.prot", arguments=["--set", "http.prot=80"])
        self.refused("", "--set", arguments=["--set", "nonsense"])

    def test_the_environment_overrides_the_file_and_an_argument_the_environment(self):
        text = f"http:\n  host: 192.0.2.1\n{DEMO_ACCOUNT}"
        loopback = {"PORTICO_HTTP_HOST": "127.0.0.1"}
        mended = self.run_with(text, environment=loopback)
        self.assertEqual(mended.returncode, 0, mended)
        self.refused(text, "192.0.2.2", arguments=["--set", "http.host=192.0.2.2"], environment=loopback)

    def test_demo_accounts_refuse_to_listen_beyond_loopback(self):
        for host in ["0.0.0.0", "'::'", "192.0.2.1", "example.org", "127.example.org"]:
            for command in ["check", "serve"]:
                self.refused(f"http:\n  host: {host}\n{DEMO_ACCOUNT}", "loopback", command=command)
        self.refused(DEMO_ACCOUNT, "loopback", arguments=["--set", "http.host=0.0.0.0"])
        self.refused(DEMO_ACCOUNT, "loopback", environment={"PORTICO_HTTP_HOST": "0.0.0.0"})

    def test_only_a_configuration_with_demo_accounts_makes_password_hashes_cheaper(self):
        cheap = ["--set", "identity.passwords.cost=10"]
        for command in ["check", "serve"]:
            self.refused("", "identity.passwords.cost", "demo accounts", arguments=cheap, command=command)
        self.refused("identity:\n  passwords:\n    cost: 14\n", "identity.passwords.cost")
        self.refused(DEMO_ACCOUNT, "identity.passwords.cost", arguments=["--set", "identity.passwords.cost=9"])
        allowed = self.run_with(DEMO_ACCOUNT, *cheap)
        self.assertEqual(allowed.returncode, 0, allowed)

    def test_values_of_the_right_kind_that_cannot_work_are_refused_with_their_place(self):
        for origin in ["https://a.example/", "https://a.example/path", "a.example", "https://", "'*'", "'null'", "https://A.example",
                       "https://u@a.example", "https://a.example?b", "https://a.example#b", "' https://a.example'"]:
            self.refused(f"http:\n  cors:\n    origins: [{origin}]\n", "portico.yaml:3:14:", "origin")
        for name in ["a b", "''", "a;b", "a=b", "'a\"b'", "a,b", "äh"]:
            self.refused(f"identity:\n  session:\n    cookie:\n      name: {name}\n", "portico.yaml:4:13:", "cookie")
        self.refused("identity:\n  login:\n    queueTimeout: 16s\n", "portico.yaml:3:19:", "half of http.deadlines.request")
        self.refused(
            "upstreams: {a: {url: 'https://a.example', certificates: [/none.pem]}}\n", "portico.yaml:1:", "/none.pem", "no such file")
        (self.folder / "text.pem").write_text("a text\n")
        (self.folder / "broken.pem").write_text("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
        for name in ["text.pem", "broken.pem"]:
            self.refused(f"upstreams: {{a: {{url: 'https://a.example', certificates: [{name}]}}}}\n", name, "no certificates in PEM")
            self.refused(
                "upstreams: {a: {url: 'https://a.example', credentials: {kind: certificate, certificate: " + name + ", key: " + name + "}}}\n",
                name, "no certificates in PEM")
        self.refused("upstreams: {a: {url: 'https://a.example', replay: none}}\n", "portico.yaml:1:", "There is no folder", "none")
        self.refused("upstreams: {a: {url: 'https://a.example', replay: text.pem}}\n", "There is no folder", "text.pem")
        for key in ["search", "unique", "discriminators"]:
            for name in ["Products", "Products/", "Nothing/Name", "Products/Nothing", "Products/Name/More", "/"]:
                done = self.refused(self.service(f"{key}: [{name}]"), "portico.yaml:5:", "no property", repr(name)[1:-1])
                self.assertNotIn("ConfigurationProblem", done.stderr)
        (self.folder / "seed.json").write_text('{"_meta": {}, "Nothing": []}')
        (self.folder / "odd.json").write_text("[]")
        for name, word in [("none.json", "cannot be read"), ("seed.json", "Nothing"), ("odd.json", "no JSON document")]:
            self.refused(self.service(f"seed: {name}"), "portico.yaml:5:", name, word)
        good = "http: {cors: {origins: ['https://a.example', 'http://localhost:8080', 'capacitor://localhost']}}\n"
        done = self.run_with(good + self.service("search: [Products/Name]"))
        self.assertEqual(done.returncode, 0, done)

    def service(self, line):
        model = pathlib.Path(ROOT, "Config/odata/reference.csdl.xml")
        return f"adapters:\n  odata:\n    services:\n      a:\n        {line}\n        model: {model}\n"

    def test_an_option_that_an_adapter_does_not_have_is_refused(self):
        for name in ["employees", "users", "chat", "odata", "odata-reference"]:
            self.refused(f"adapters:\n  {name}:\n    portals: a\n", "portico.yaml:3:5:", f"no key adapters.{name}.portals")

    def test_a_key_of_an_earlier_version_is_refused_with_what_takes_its_place(self):
        for text, place, key in [
                ("identity:\n  providers:\n    a:\n      networks: [10.0.0.0/8]\n", "portico.yaml:4:", "identity.providers.a.networks"),
                ("identity:\n  providers:\n    a:\n      limits: {tries: 1}\n", "portico.yaml:4:", "identity.providers.a.limits.tries"),
                ("push:\n  apns:\n    server: https://a.example\n", "portico.yaml:3:", "push.apns.server"),
                ("push:\n  webhook:\n    address: https://a.example\n", "portico.yaml:3:", "push.webhook.address"),
                ("adapters:\n  chat:\n    portal: a\n", "portico.yaml:3:", "adapters.chat.portal")]:
            self.refused(text, place, f"The key {key} has gone", "upstream: NAME")

    def test_an_upstream_that_cannot_work_is_refused_with_its_place(self):
        pem = self.folder / "key.pem"
        pem.write_text("no key\n")
        for line, place, word in [
                ("url: ftp://a.example", "portico.yaml:3:10:", "http or https"),
                ("url: https://u:p@a.example", "portico.yaml:3:10:", "without user"),
                ("url: https://a.example/?a=b", "portico.yaml:3:10:", "query"),
                ("deadline: 1s", "portico.yaml:3:", "upstreams.a.url"),
                ("url: https://a.example\n    networks: [10.1.0.0/33]", "portico.yaml:4:15:", "networks such as"),
                ("url: https://a.example\n    limits: {conections: 1}", "portico.yaml:4:", "connections"),
                ("url: https://a.example\n    credentials: {kind: basic, username: u}", "portico.yaml:", "credentials.password"),
                ("url: https://a.example\n    credentials: {kind: basic, token: {env: HOME}}", "portico.yaml:4:", "no key token"),
                ("url: https://a.example\n    credentials: {kind: password}", "portico.yaml:4:25:", "one of none, basic"),
                ("url: https://a.example\n    credentials: {kind: portal, provider: corp}", "portico.yaml:4:43:", "no portal"),
                ("url: https://a.example\n    credentials: {kind: oauth2, tokenURL: 'http://a.example/t', clientID: a, clientSecret: {env: HOME}}",
                 "portico.yaml:4:", "over https"),
                (f"url: https://a.example\n    credentials: {{kind: jwtBearer, tokenURL: 'https://a.example/t', issuer: a, key: {{file: {pem}}}}}",
                 "portico.yaml:4:", "no key of P-256"),
                ("url: https://a.example\n    credentials: {kind: bearer, token: plain}", "portico.yaml:4:", "{env: NAME}")]:
            self.refused(f"upstreams:\n  a:\n    {line}\n", place, word)
        for text, place in [
                ("identity:\n  providers:\n    a:\n      kind: portal\n      upstream: b\n", "portico.yaml:5:17:"),
                ("push:\n  webhook:\n    upstream: b\n", "portico.yaml:3:15:")]:
            self.refused(text, place, "There is no upstream b.")
        done = self.run_with(
            "upstreams:\n  a:\n    url: https://a.example/services\n    credentials: {kind: bearer, token: {env: HOME}}\n")
        self.assertEqual(done.returncode, 0, done)

    def test_a_mapping_without_what_it_needs_is_refused_with_its_place(self):
        for text, word in [
                ("plugins:\n  - {}\n", "path"),
                ("limits:\n  routes:\n    - path: /a\n", "requestsPerMinute"),
                ("identity:\n  demoAccounts:\n    - name: a\n", "password")]:
            self.refused(text, "portico.yaml:", f"Here {word} is missing")

    def test_a_library_is_refused_with_what_to_name_instead(self):
        self.refused("plugins:\n  - path: libNotes.so\n", "portico.yaml:2:11: libNotes.so is a library", "notes-worker")
        self.refused("plugins:\n  - path: notes-worker\n    mode: worker\n", "portico.yaml:3:11: There is no `mode`", "Leave it out")

    def test_mistakes_of_plugins_connections_models_and_secrets_are_told_together(self):
        self.refused(
            "plugins:\n  - path: ./none-worker\nadapters:\n  people: {connect: none.yaml}\n  odata:\n    services:\n"
            "      a: {model: none.xml}\nupstreams:\n  a:\n    url: https://a.example\n"
            "    credentials: {kind: bearer, token: {file: none.txt}}\n",
            "portico.yaml:2:11:", "none-worker", "portico.yaml:4:21: The file none.yaml cannot be read",
            f"The file {self.folder}/none.txt cannot be read: no such file")
        self.refused(
            "adapters:\n  people: {connect: none.yaml}\n  odata:\n    services:\n      a: {model: none.xml}\n",
            "portico.yaml:2:21:", "none.xml: The file cannot be read: no such file")

    def test_a_role_that_is_nearly_one_that_accounts_have_is_warned_about(self):
        account = "identity:\n  demoAccounts:\n    - {name: a, password: portico-demo, roles: [admin]}\n"
        done = self.run_with(account + "adapters:\n  users: {access: {read: login, write: {roles: [admn]}}}\n")
        self.assertEqual(done.returncode, 0, done)
        self.assertIn("adapters.users.access names the role admn, which no account is given here. Did you mean admin?", done.stderr)
        done = self.run_with(account + "adapters:\n  users: {access: {read: login, write: {roles: [admin, payroll]}}}\n")
        self.assertNotIn("names the role", done.stderr)

    def test_variables_that_kubernetes_sets_for_a_service_are_warned_about(self):
        variables = {
            "PORTICO_SERVICE_HOST": "10.0.0.1", "PORTICO_SERVICE_PORT": "8443", "PORTICO_SERVICE_PORT_HTTPS": "8443",
            "PORTICO_PORT": "tcp://10.0.0.1:8443", "PORTICO_PORT_8443_TCP": "tcp://10.0.0.1:8443", "PORTICO_PORT_8443_TCP_PROTO": "tcp",
            "PORTICO_PORT_8443_TCP_PORT": "8443", "PORTICO_PORT_8443_TCP_ADDR": "10.0.0.1", "PORTICO_HTTP_PORT": "tcp://10.0.0.1:80",
            "PORTICO_ADMIN_SERVICE_HOST": "10.0.0.2", "PORTICO_ADMIN_PORT_80_UDP_ADDR": "10.0.0.2"}
        done = self.run_with("", environment=variables)
        self.assertEqual(done.returncode, 0, done)
        for name in variables:
            self.assertRegex(done.stderr, rf"warning: .*{name}\b")
        for name, text in [("PORTICO_PORT", "8080"), ("PORTICO_SERVICE", "a"), ("PORTICO_SERVICE_NAME", "a"), ("PORTICO_PORT_TCP", "a")]:
            self.refused("", name, environment={name: text})

    def test_a_certificate_replaces_nothing_without_force(self):
        files = [self.folder / name for name in ("certificate.pem", "key.pem")]
        arguments = ["certificate", "--certificate", files[0], "--key", files[1]]
        self.assertEqual(run_portico(*arguments).returncode, 0)
        first = [file.read_text() for file in files]
        for missing in [[], files[:1], files[1:]]:
            for file in missing:
                file.unlink()
            there = {file: file.read_text() for file in files if file.exists()}
            done = run_portico(*arguments)
            self.assertEqual(done.returncode, 1, done)
            self.assertIn("--force", done.stderr)
            self.assertEqual({file: file.read_text() for file in files if file.exists()}, there)
            for file, text in zip(files, first):
                file.write_text(text)
        files[1].chmod(0o644)
        self.assertEqual(run_portico(*arguments, "--force").returncode, 0)
        self.assertNotEqual([file.read_text() for file in files], first)
        self.assertEqual(files[1].stat().st_mode & 0o777, 0o600)

    def test_file_failures_are_reported_with_path_and_reason(self):
        text = self.folder / "text.pem"
        text.write_text("no certificate")
        arguments = ["--certificate", self.folder / "c.pem", "--key", self.folder / "k.pem"]
        self.assertEqual(run_portico("certificate", *arguments).returncode, 0)
        def tls(certificate, key):
            return f"http:\n  tls:\n    certificate: {certificate}\n    key: {key}\n"
        cases = [
            (tls("/none.pem", self.folder / "k.pem"), "/none.pem cannot be read"), (tls(self.folder / "c.pem", "/none.pem"), "/none.pem cannot be read"),
            (tls(text, self.folder / "k.pem"), "holds no certificate"), (tls(self.folder / "c.pem", text), "holds no private key")]
        for configuration, word in cases:
            done = self.refused(configuration, word)
            self.assertNotRegex(done.stderr, r"NSCocoa|Domain|failedTo|NIOSSL")
        done = run_portico("certificate", "--certificate", "/none/c.pem", "--key", "/none/k.pem")
        self.assertEqual(done.returncode, 1)
        self.assertIn("/none/k.pem: cannot be written: no such file or directory", done.stderr)
        done = run_portico("check", "--config", self.folder)
        self.assertIn("directory", done.stderr)
        (self.folder / "file").write_text("")
        (self.folder / "portico.yaml").write_text("")
        done = run_portico("serve", "--config", self.folder / "portico.yaml", "--data", self.folder / "file" / "data")
        self.assertEqual(done.returncode, 1)
        self.assertIn(str(self.folder / "file"), done.stderr)
        self.assertNotRegex(done.stderr, r"NSCocoa|Domain=")

    def test_a_plain_secret_is_never_printed(self):
        done = self.run_with("http:\n  prot: 1\n" + DEMO_ACCOUNT)
        self.assertNotIn("portico-demo", done.stderr + done.stdout)


class Stopping(unittest.TestCase):
    def start(self, *settings, **rest):
        gateway = Gateway(*settings, **rest)
        self.addCleanup(gateway.remove)
        return gateway

    def half_sent(self, gateway, token, number):
        """A connection with all but the end of a request, and that end."""
        body = json.dumps({"title": f"in flight {number}", "text": "x" * 3000}).encode()
        head = (
            f"POST {NOTES} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n"
            f"Content-Type: {JSON}\r\nContent-Length: {len(body)}\r\n\r\n").encode()
        connection = gateway.connect()
        connection.sendall(head + body[:1000])
        return connection, body[1000:]

    def answer(self, connection):
        received = b""
        while piece := connection.recv(65536):
            received += piece
        connection.close()
        return received

    def test_a_termination_answers_what_is_under_way_and_ends_well(self):
        gateway = self.start()
        token = gateway.login("alice").json()["accessToken"]
        requests = [self.half_sent(gateway, token, number) for number in range(20)]
        self.assertEqual(gateway.get("/health/ready").status, 200)
        gateway.process.terminate()
        self.wait_until_refused(gateway)
        for connection, rest in requests:
            connection.sendall(rest)
        for connection, _ in requests:
            self.assertRegex(self.answer(connection)[:20], rb"^HTTP/1.1 201 ")
        self.assertEqual(gateway.process.wait(timeout=60), 0)
        gateway.process.stdout.close()

    def wait_until_refused(self, gateway):
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            try:
                gateway.connect().close()
            except ConnectionRefusedError:
                return
            time.sleep(0.05)
        self.fail("a stopping gateway takes connections still")

    def test_the_log_tells_of_start_requests_refusals_and_stop(self):
        gateway = self.start()
        missing = gateway.get("/nothing")
        refused = gateway.send("POST", "/auth/login", {"username": "alice", "password": "s3cret-s3cret"})
        for answer in (missing, refused):
            gateway.log_with(answer)
        self.assertEqual(gateway.stop(), 0)
        lines = [json.loads(line) for line in gateway.log().splitlines() if line.startswith("{")]
        messages = [line["message"] for line in lines]
        for message in ["starting", "stopping", "stopped"]:
            self.assertEqual(messages.count(message), 1, messages)
        by_id = {line["requestId"]: line for line in lines if "requestId" in line}
        for answer, code in ((missing, "route.notFound"), (refused, "auth.invalid")):
            line = by_id[answer.headers["x-request-id"]]
            self.assertEqual((line["message"], line["code"], line["status"]), ("request", code, answer.status))
            self.assertTrue(line["reason"])
            self.assertIs(type(line["microseconds"]), int)
        self.assertNotIn("s3cret-s3cret", gateway.log())

    def test_idle_connections_and_a_request_that_never_ends_do_not_hold_up_a_stop(self):
        gateway = self.start("--set", "http.deadlines.stop=2s")
        idle = gateway.connect()
        stuck, _ = self.half_sent(gateway, gateway.login("alice").json()["accessToken"], 1)
        self.addCleanup(idle.close)
        self.addCleanup(stuck.close)
        self.assertEqual(gateway.stop(), 0)

    def test_the_admin_socket_is_removed_at_a_stop_and_created_at_the_next_start(self):
        gateway = self.start()
        created = gateway.send("POST", NOTES, {"title": "kept"}, user="alice")
        self.assertEqual(gateway.stop(), 0)
        self.assertFalse((gateway.data / "admin.sock").exists())
        again = self.start(data=gateway.data)
        self.assertEqual(again.get(created.headers["location"], user="alice").json()["title"], "kept")
        self.assertEqual(again.stop(), 0)

    def test_a_second_gateway_on_the_same_data_is_refused(self):
        gateway = self.start()
        done = run_portico(
            "serve", "--config", "Config/demo.yaml", "--data", gateway.data, "--set", "http.port=0", timeout=60)
        self.assertEqual(done.returncode, 1, done)
        self.assertTrue(done.stderr.strip())
        self.assertEqual(gateway.get("/health/ready").status, 200)

    def test_a_taken_port_is_reported_and_fails(self):
        with socket.create_server(("127.0.0.1", 0)) as taken, tempfile.TemporaryDirectory() as data:
            port = taken.getsockname()[1]
            done = run_portico(
                "serve", "--config", "Config/demo.yaml", "--data", data, "--set", f"http.port={port}",
                "--set", "store.sampleData=false", timeout=60)
        self.assertEqual(done.returncode, 1, done)
        self.assertIn(f"127.0.0.1:{port} cannot be listened at", done.stderr)

    def test_port_zero_takes_a_free_one_for_each(self):
        first, second = self.start(), self.start()
        self.assertNotEqual(first.port, second.port)
        self.assertEqual(second.get("/health/live").status, 200)


if __name__ == "__main__":
    unittest.main()
