"""Starting and stopping: configuration, overrides, draining."""

import json
import pathlib
import socket
import tempfile
import time
import unittest

from harness import JSON, Gateway, run_portico

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

    def test_an_unknown_key_is_named_with_its_place_and_a_suggestion(self):
        for command in ["check", "serve"]:
            self.refused("http:\n  prot: 80\n", "portico.yaml:2:3:", "http.prot", "port?", command=command)
        self.refused("log:\n  level: info\nadapters:\n  usres:\n    enabled: false\n", "portico.yaml:4:3:", "users?")

    def test_every_mistake_is_told_at_once(self):
        text = "http:\n  port: 70000\nlog:\n  level: lowd\nstore:\n  kind: paper\n"
        self.refused(text, "portico.yaml:2:9:", "portico.yaml:4:10:", "portico.yaml:6:9:")

    def test_what_is_no_yaml_is_told_with_its_place(self):
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
        for key in ["store.probe", "http.deadlines.head", "http.deadlines.request", "identity.providers.a.deadline"]:
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

    def test_idle_connections_and_a_request_that_never_ends_do_not_hold_up_a_stop(self):
        gateway = self.start("--set", "http.deadlines.stop=2s")
        idle = gateway.connect()
        stuck, _ = self.half_sent(gateway, gateway.login("alice").json()["accessToken"], 1)
        self.addCleanup(idle.close)
        self.addCleanup(stuck.close)
        self.assertEqual(gateway.stop(), 0)

    def test_the_admin_socket_is_gone_after_a_stop_and_a_start_in_the_same_place_works(self):
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

    def test_a_taken_port_is_told_and_fails(self):
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
