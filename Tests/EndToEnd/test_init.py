"""From nothing to a gateway that serves: `portico init`, and what the programs say to those who begin."""

import http.client
import json
import os
import pathlib
import pty
import select
import signal
import socket
import subprocess
import tempfile
import time
import unittest

from harness import BUILD, START_SECONDS, run_portico

QUICK = True
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("PORTICO_")}


def post(port, path, value, headers=None):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("POST", path, json.dumps(value), {"Content-Type": "application/json", **(headers or {})})
    response = connection.getresponse()
    body = response.read()
    connection.close()
    return response.status, json.loads(body) if body else None


class Beginning(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.config, self.data = self.folder / "portico.yaml", self.folder / ".portico"

    def init(self, *arguments, folder=None):
        return run_portico("init", folder or self.folder, *arguments)

    def password(self, text="correct horse battery"):
        file = self.folder / "password"
        file.write_text(f"{text}\nnot this\n")
        return file

    def serve(self, *settings):
        process = subprocess.Popen(
            [BUILD / "portico", "serve", "--config", self.config, "--data", self.data, "--set", "http.port=0", *settings],
            env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.kill)
        for line in process.stdout:
            if line.startswith("listening on http://"):
                return process, int(line.strip().rsplit(":", 1)[1])
        self.fail("it ended before it listened")

    def test_a_configuration_and_an_administrator_are_made_that_serve(self):
        done = self.init("--yes", "--admin", "ada", "--password-file", self.password(), "--adapters", "chat,users", "--port", "8123")
        self.assertEqual(done.returncode, 0, done)
        for words in [f"portico serve --config {self.config} --data {self.data}", "administrator is ada", "porticoctl status"]:
            self.assertIn(words, done.stdout)
        self.assertNotIn("correct horse", done.stdout + done.stderr)
        self.assertEqual(self.data.stat().st_mode & 0o777, 0o700)
        self.assertIn("port: 8123", self.config.read_text())
        checked = run_portico("check", "--config", self.config, "--data", self.data)
        self.assertEqual(checked.returncode, 0, checked)
        self.assertEqual(checked.stderr, "")
        self.assertIn("Adapters: ", checked.stdout)
        served = checked.stdout.split("Adapters: ")[1].strip().split(", ")
        self.assertEqual(sorted(served), ["chat", "users"])
        process, port = self.serve()
        status, answer = post(port, "/auth/login", {"username": "ada", "password": "correct horse battery"})
        self.assertEqual((status, answer["user"]["roles"]), (200, ["admin"]), answer)
        status, answer = post(port, "/auth/login", {"username": "ada", "password": "not this"})
        self.assertEqual(status, 401, answer)
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(START_SECONDS), 0)

    def test_what_is_there_is_not_replaced(self):
        password = self.password()
        self.assertEqual(self.init("--yes", "--password-file", password).returncode, 0)
        text = self.config.read_text()
        again = self.init("--yes", "--password-file", password)
        self.assertEqual(again.returncode, 1, again)
        self.assertIn("there is a configuration already", again.stderr)
        self.assertEqual(self.config.read_text(), text)
        # The account of an earlier one keeps its password.
        self.config.unlink()
        kept = self.init("--yes", "--password-file", self.password("another password"))
        self.assertEqual(kept.returncode, 0, kept)
        self.assertIn("There is an account admin already", kept.stdout)
        _, port = self.serve()
        self.assertEqual(post(port, "/auth/login", {"username": "admin", "password": "correct horse battery"})[0], 200)

    def test_a_configuration_that_is_kept_gets_its_administrator(self):
        password = self.password()
        self.config.write_text("http: { port: 8130 }\nadapters: { feeds: { access: login } }\n")
        text = self.config.read_text()
        for option in [["--host", "::1"], ["--port", "1"], ["--adapters", "none"]]:
            refused = self.init("--keep", "--yes", "--password-file", password, *option)
            self.assertEqual(refused.returncode, 1, refused)
            self.assertIn(f"{option[0]} would have no effect", refused.stderr)
        self.assertFalse(self.data.exists())
        done = self.init("--keep", "--yes", "--password-file", password, "--admin", "ada")
        self.assertEqual(done.returncode, 0, done)
        self.assertIn("as it was", done.stdout)
        self.assertEqual(self.config.read_text(), text)
        again = self.init("--keep", "--yes", "--password-file", self.password("another password"), "--admin", "ada")
        self.assertEqual(again.returncode, 0, again)
        self.assertIn("There is an account ada already", again.stdout)
        _, port = self.serve()
        self.assertEqual(post(port, "/auth/login", {"username": "ada", "password": "correct horse battery"})[0], 200)

    def test_a_configuration_that_is_kept_has_to_be_valid(self):
        self.config.write_text("http: { prot: 8130 }\n")
        refused = self.init("--keep", "--yes")
        self.assertEqual(refused.returncode, 1, refused)
        self.assertIn("http.prot", refused.stderr)
        self.assertFalse(self.data.exists())

    def test_keeping_makes_a_configuration_where_there_is_none(self):
        done = self.init("--keep", "--yes", "--port", "8131")
        self.assertEqual(done.returncode, 0, done)
        self.assertIn("port: 8131", self.config.read_text())

    @unittest.skipUnless(os.geteuid() == 0, "only root gives files to other users")
    def test_what_root_makes_belongs_to_the_owner_of_the_data_directory(self):
        data = self.folder / "data"
        data.mkdir(mode=0o700)
        os.chown(data, 65534, 65533)
        self.folder.chmod(0o755)
        done = self.init("--yes", "--data", data)
        self.assertEqual(done.returncode, 0, done)
        made = [path.stat() for path in data.rglob("*")]
        self.assertNotEqual(made, [])
        self.assertEqual({(status.st_uid, status.st_gid) for status in made}, {(65534, 65533)})
        self.assertEqual(self.config.stat().st_uid, 0)

    def test_a_password_that_no_file_gives_is_made_up_and_shown_once(self):
        done = self.init("--yes")
        self.assertEqual(done.returncode, 0, done)
        password = done.stdout.split("with the password ")[1].split(" ")[0]
        self.assertGreaterEqual(len(password), 20)
        _, port = self.serve()
        self.assertEqual(post(port, "/auth/login", {"username": "admin", "password": password})[0], 200)

    def test_what_cannot_be_is_refused_before_anything_is_made(self):
        password = self.password()
        for arguments, status, words in [
            (["--adapters", "chta"], 1, "There is no adapter chta. Did you mean chat?"),
            (["--admin", "a b"], 1, "no name for an account"), (["--port", "70000"], 2, "0 to 65535"),
            (["--password-file", self.folder / "none"], 1, "none: cannot be read"), (["--host", "a: b"], 1, "no address"),
        ]:
            with self.subTest(arguments=arguments):
                done = self.init("--yes", "--password-file", password, *arguments)
                self.assertEqual(done.returncode, status, done)
                self.assertIn(words, done.stderr)
                self.assertFalse(self.config.exists())
                self.assertFalse(self.data.exists())
        done = self.init("--yes", "--password-file", self.password("short"))
        self.assertEqual(done.returncode, 1, done)
        self.assertIn("at least", done.stderr)
        self.assertFalse(self.config.exists())
        done = run_portico("init", self.folder, stdin="")
        self.assertEqual(done.returncode, 2, done)
        self.assertIn("--yes", done.stderr)

    def test_at_a_terminal_it_asks_for_what_no_option_gives_and_for_the_password_twice(self):
        screen = self.answer("", "8124", "grace", "feeds", "correct horse battery", "correct horse battery")
        self.assertIn("administrator is grace", screen)
        self.assertNotIn("correct horse", screen)
        self.assertIn("port: 8124", self.config.read_text())
        self.assertIn("feeds: { access: login }", self.config.read_text())

    def test_two_passwords_that_differ_make_nothing(self):
        screen = self.answer("", "", "", "", "correct horse battery", "correct horse batery")
        self.assertIn("The two passwords differ", screen)
        self.assertFalse(self.config.exists())

    def answer(self, host, port, admin, adapters, *passwords):
        """Types what is asked for; what the screen shows."""
        child, terminal = pty.fork()
        if child == 0:
            os.execve(BUILD / "portico", ["portico", "init", str(self.folder)], ENVIRONMENT)
        self.addCleanup(os.close, terminal)
        asked = [("Address", host), ("Port", port), ("Adapters", adapters), ("dministrator", admin)]
        asked += zip(["Password", "same again"], passwords)
        screen, seen, end = "", 0, time.monotonic() + START_SECONDS
        while time.monotonic() < end:
            if select.select([terminal], [], [], 0.1)[0]:
                try:
                    screen += os.read(terminal, 4096).decode()
                except OSError:
                    break
            if asked and asked[0][0] in screen[seen:] and screen.endswith(": "):
                seen = len(screen)
                os.write(terminal, f"{asked.pop(0)[1]}\n".encode())
        else:
            os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return screen


class Advice(unittest.TestCase):
    def test_a_command_without_a_configuration_says_how_to_get_one(self):
        for command in ["serve", "check"]:
            done = run_portico(command)
            self.assertEqual(done.returncode, 2, done)
            for words in ["--config FILE", "portico init"]:
                self.assertIn(words, done.stderr)

    def test_a_mistyped_command_leads_to_the_right_one(self):
        for typed, meant in [("sevre", "serve"), ("chekc", "check"), ("initt", "init")]:
            done = run_portico(typed)
            self.assertEqual(done.returncode, 2, done)
            self.assertIn(f"Did you mean {meant}?", done.stderr)

    def test_the_data_directory_is_taken_from_the_environment(self):
        with tempfile.TemporaryDirectory() as folder:
            config = pathlib.Path(folder, "c.yaml")
            config.write_text("{}")
            environment = {"PORTICO_DATA": f"{folder}/{'long/' * 30}", "PORTICO_URL": "https://gateway.example"}
            done = run_portico("check", "--config", config, environment=environment)
            self.assertEqual(done.returncode, 1, done)
            self.assertIn("too long", done.stderr)
            environment["PORTICO_DATA"] = folder
            done = run_portico("check", "--config", config, environment=environment)
            self.assertEqual(done.returncode, 0, done)

    def test_a_listener_that_other_machines_reach_in_plain_text_is_a_warning(self):
        with tempfile.TemporaryDirectory() as folder:
            config = pathlib.Path(folder, "c.yaml")
            for text, warns in [
                ("http: { host: 0.0.0.0 }", True), ("http: { host: gateway.example }", True), ("http: { host: '::' }", True),
                ("http: { host: 127.0.0.2 }", False), ("http: { host: 0.0.0.0, trustedProxies: [10.0.0.1] }", False), ("{}", False),
            ]:
                config.write_text(text)
                done = run_portico("check", "--config", config, "--data", f"{folder}/data")
                self.assertEqual(done.returncode, 0, done)
                self.assertEqual("plain text" in done.stderr, warns, done)

    def test_a_taken_port_is_reported_before_anything_is_made(self):
        for key in ["http", "admin"]:
            with socket.create_server(("127.0.0.1", 0)) as taken, tempfile.TemporaryDirectory() as folder:
                port = taken.getsockname()[1]
                data = pathlib.Path(folder, "data")
                done = run_portico(
                    "serve", "--config", "Config/demo.yaml", "--data", data, "--set", "http.port=0", "--set", f"{key}.port={port}")
                self.assertEqual(done.returncode, 1, done)
                self.assertIn(f"127.0.0.1:{port} cannot be listened at", done.stderr)
                self.assertIn(f"--set {key}.port=", done.stderr)
                self.assertFalse(data.exists())


if __name__ == "__main__":
    unittest.main()
