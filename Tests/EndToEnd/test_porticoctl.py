"""`porticoctl`: the output, effect and exit code of every command."""

import http.server
import json
import os
import pathlib
import plistlib
import pty
import subprocess
import tempfile
import threading
import time
import unittest
import urllib.parse

import cbor
from server_sent_events import Stream
from harness import BUILD, JSON, ROOT, GatewayTest, run_portico

DONE, FAILED, USAGE = 0, 1, 2
EMPLOYEE = {"firstName": "A", "lastName": "B", "division": "Sales", "email": "a@example.com", "phoneNumber": "+1 916 555 0100"}


class ControlTest(GatewayTest):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def control(self, *arguments, stdin=None):
        return run_portico(*arguments, "--data", self.gateway.data, program="porticoctl", stdin=stdin)

    def json(self, *arguments, stdin=None):
        """What a command prints for programs."""
        done = self.control(*arguments, "--output", "json", stdin=stdin)
        self.assertEqual(done.returncode, DONE, (arguments, done))
        return json.loads(done.stdout)

    def fails(self, *arguments, status=FAILED, word="", stdin=None):
        done = self.control(*arguments, stdin=stdin)
        self.assertEqual((done.returncode, done.stdout), (status, ""), (arguments, done))
        self.assertIn(word, done.stderr)
        self.assertTrue(done.stderr.strip())

    def file(self, name, content):
        path = self.folder / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path


class Samples(ControlTest):
    """The files that docs/importing.md points to."""

    def test_every_sample_loads_the_same_records(self):
        for adapter, entity, fields in [("users", "users", 3), ("employees", "employees", 6)]:
            loaded = []
            for ending in ["csv", "json", "plist", "xml"]:
                self.json(adapter, "import", ROOT / f"Config/samples/{adapter}.{ending}", "--mode", "replace", "--yes", "--accept-loss")
                page = self.gateway.get(f"/api/v1/{adapter}/{entity}", JSON, user="alice").json()
                loaded.append([{name: record[name] for name in record if name != "modified"} for record in page["items"]])
            self.assertEqual(loaded, [loaded[0]] * 4)
            self.assertEqual([len(loaded[0]), len(loaded[0][0])], [2, fields])


class Commands(ControlTest):
    def test_the_status_tells_that_it_is_ready(self):
        self.assertIs(self.json("status")["ready"], True)
        self.assertIn("ready: yes", self.control("status").stdout)

    def test_adapters_are_listed_and_shown(self):
        listed = [adapter["name"] for adapter in self.json("adapters", "list")["adapters"]]
        self.assertTrue({"employees", "feeds", "notes", "users"} <= set(listed), listed)
        for name in listed:
            self.assertEqual(self.json("adapters", "show", name)["name"], name)
        self.fails("adapters", "show", "nothing", word="adapter")

    def test_an_account_is_added_used_disabled_and_enabled(self):
        self.json("accounts", "add", "dora", "--role", "member", stdin="first password\n")
        credentials = {"username": "dora", "password": "first password"}
        token = self.expect(self.gateway.send("POST", "/auth/login", credentials), 200).json()["accessToken"]
        self.assertIn("dora", [account["name"] for account in self.json("accounts", "list")["accounts"]])
        self.json("accounts", "disable", "dora")
        self.assertEqual(self.gateway.get("/auth/me", token=token).status, 401)
        self.assertEqual(self.gateway.send("POST", "/auth/login", credentials).status, 401)
        self.json("accounts", "enable", "dora")
        self.json("accounts", "password", "dora", stdin="second password\n")
        credentials["password"] = "second password"
        self.expect(self.gateway.send("POST", "/auth/login", credentials), 200)

    def test_what_others_wrote_moves_nothing_on_the_terminal(self):
        """Tables show control characters, orders of writing and what is invisible as escapes; programs get the text."""
        codes = [0x1B, 0x07, 0x7F, 0x85, 0x9B, 0xAD, 0x061C, 0x200B, 0x200F, 0x2028, 0x2029, 0x202E, 0x2066, 0xFEFF, 0xE0001]
        names = {}
        for code in codes:
            name = f"a{chr(code)}b"
            done = self.control("accounts", "add", f"t{code}", "--display-name", name, "--without-password")
            self.assertNotIn(chr(code), done.stdout + done.stderr)
            if done.returncode == DONE:
                names[f"t{code}"] = name
        self.assertGreater(len(names), 10)
        shown = self.control("accounts", "list").stdout
        received = {account["name"]: account["displayName"] for account in self.json("accounts", "list")["accounts"]}
        for code in codes:
            self.assertNotIn(chr(code), shown)
            if name := names.get(f"t{code}"):
                self.assertEqual(received[f"t{code}"], name)
                self.assertIn(f"a\\u{{{code:x}}}b", shown)

    def test_bad_accounts_are_refused(self):
        self.fails("accounts", "add", "alice", stdin="a long password\n")
        self.fails("accounts", "add", "short", stdin="x\n", word="assword")
        self.fails("accounts", "add", "in valid\u0007", stdin="a long password\n")
        self.fails("accounts", "add", "none", stdin="", status=USAGE)
        for command in ["disable", "enable"]:
            self.fails("accounts", command, "nobody")
        self.fails("accounts", "password", "nobody", stdin="a long password\n")

    def test_a_deleted_account_is_gone_with_what_is_its_alone(self):
        self.json("accounts", "add", "frances", "--role", "member", stdin="a long password\n")
        token = self.gateway.request(
            "POST", "/auth/login", json.dumps({"username": "frances", "password": "a long password"}),
            {"Content-Type": JSON, "Accept": JSON}).json()["accessToken"]
        notes = "/api/v1/notes/notes"
        for fields in [{"title": "mine"}, {"title": "also mine"}, {"title": "ours", "sharedWith": ["alice"]}]:
            self.expect(self.gateway.send("POST", notes, fields, token=token), 201)
        self.expect(self.gateway.send("POST", "/chat/v1/devices", {"token": "t-frances", "platform": "log"}, token=token), 200)
        self.json("keys", "create", "frances", "--title", "script")
        rows = {row["collection"]: row for row in self.json("accounts", "delete", "frances", "--dry-run")["rows"]}
        self.assertEqual((rows["notes/notes"]["deleted"], rows["notes/notes"]["kept"]), (2, 1), rows)
        self.expect(self.gateway.get("/auth/me", token=token), 200)
        self.fails("accounts", "delete", "frances", status=USAGE, word="--yes", stdin="")
        gone = self.json("accounts", "delete", "frances", "--yes")
        self.assertEqual((gone["sessions"], gone["keys"]), (1, 1), gone)
        self.assertEqual({row["collection"]: row["deleted"] for row in gone["rows"]}.get("chat/devices"), 1, gone)
        self.assertEqual(self.gateway.get("/auth/me", token=token).status, 401)
        self.assertNotIn("frances", [account["name"] for account in self.json("accounts", "list")["accounts"]])
        self.fails("accounts", "enable", "frances", word="no account")
        self.fails("accounts", "delete", "frances", "--yes", word="no account")
        # What is shared keeps the name, which no other account gets.
        owned = [note["title"] for note in self.gateway.get(notes, JSON, user="alice").json()["items"] if note["owner"] == "frances"]
        self.assertEqual(owned, ["ours"])
        self.fails("accounts", "add", "Frances", "--without-password", word="was deleted")
        kinds = [entry["kind"] for entry in self.json("audit", "list")["entries"]]
        self.assertIn("account.deleted", kinds)

    def test_the_place_of_the_gateway_and_the_format_are_taken_from_the_environment_and_the_short_option(self):
        place = {"PORTICO_DATA": str(self.gateway.data)}
        done = run_portico("status", "-o", "json", program="porticoctl", environment=place)
        self.assertEqual(done.returncode, DONE, done)
        self.assertIn("version", json.loads(done.stdout))
        done = run_portico("status", "--data", self.folder, program="porticoctl", environment=place)
        self.assertEqual(done.returncode, FAILED, done)
        away = {**place, "PORTICO_URL": "http://127.0.0.1:9"}
        done = run_portico("status", program="porticoctl", environment=away)
        self.assertIn("Nothing listens at http://127.0.0.1:9", done.stderr)

    def test_what_answers_and_is_no_admin_listener_is_named_with_the_option(self):
        quiet = type("Quiet", (http.server.SimpleHTTPRequestHandler,), {"log_message": lambda *_: None})
        plain = http.server.ThreadingHTTPServer(("127.0.0.1", 0), quiet)
        threading.Thread(target=plain.serve_forever, daemon=True).start()
        self.addCleanup(plain.server_close)
        self.addCleanup(plain.shutdown)
        token = self.folder / "token"
        token.write_text("adm_x")
        token.chmod(0o600)
        for port in (self.gateway.port, plain.server_address[1]):
            url = f"http://127.0.0.1:{port}"
            done = run_portico("status", "--url", url, "--token-file", token, program="porticoctl")
            self.assertEqual(done.returncode, FAILED, done)
            self.assertIn(f"What answers at {url} is no admin listener", done.stderr)
            self.assertIn("--url", done.stderr)
        done = run_portico("status", "--url", url, "--token-file", self.folder / "none", program="porticoctl")
        self.assertIn("none (--token-file) cannot be read", done.stderr)

    def test_figures_for_people_are_in_words(self):
        self.assertRegex(self.control("store", "check").stdout, r"sound: .* rows in \d+ collections; ")
        self.assertIn("write-ahead log", self.control("store", "stats").stdout)
        self.assertIn("is complete and was checked", self.control("backup", self.folder / "copy").stdout)
        self.assertEqual(self.control("config", "diff").stdout, "Nothing differs from what the gateway uses.\n")

    def test_sessions_are_listed_and_revoked(self):
        token = self.gateway.login("carol").json()["accessToken"]
        self.assertTrue(self.json("sessions", "list", "carol")["sessions"])
        self.expect(self.gateway.get("/auth/me", token=token), 200)
        self.json("sessions", "revoke", "carol")
        self.assertEqual(self.json("sessions", "list", "carol")["sessions"], [])
        self.assertEqual(self.gateway.get("/auth/me", token=token).status, 401)
        self.fails("sessions", "list", "nobody")

    def test_one_session_is_ended_and_the_others_go_on(self):
        kept, ended = (self.gateway.login("carol").json()["accessToken"] for _ in range(2))
        last = self.json("sessions", "list", "carol")["sessions"][-1]["id"]
        self.json("sessions", "revoke", "carol", last)
        self.assertEqual([self.gateway.get("/auth/me", token=token).status for token in (kept, ended)], [200, 401])
        self.fails("sessions", "revoke", "carol", last, word="session")

    def test_roles_are_granted_and_revoked_from_the_next_call_on(self):
        self.json("accounts", "add", "erin", "--without-password")
        headers = self.bearer(self.json("keys", "create", "erin", "--title", "roles"))
        self.fails("roles", "grant", "erin", "auditor", word="--new-role")
        self.fails("roles", "grant", "erin", "membr", word="Did you mean member?")
        self.fails("keys", "create", "erin", "--title", "mistyped", "--adapter", "note", word="Did you mean notes?")
        self.fails("accounts", "roles", "erin", "Admin", word="Did you mean admin?")
        self.fails("accounts", "add", "eric", "--without-password", "--role", "membr", word="Did you mean member?")
        self.fails("keys", "create", "erin", "--title", "mistyped", "--role", "membr", word="Did you mean member?")
        self.json("roles", "grant", "erin", "auditor", "member", "--new-role")
        self.assertEqual(self.json("accounts", "roles", "erin"), {"name": "erin", "roles": ["auditor", "member"]})
        self.assertEqual(self.gateway.get("/auth/me", headers=headers).json()["roles"], ["auditor", "member"])
        self.assertIn("erin", next(one for one in self.json("roles", "list")["roles"] if one["role"] == "auditor")["accounts"])
        self.json("roles", "revoke", "erin", "auditor")
        self.assertEqual(self.gateway.get("/auth/me", headers=headers).json()["roles"], ["member"])
        self.fails("roles", "grant", "erin", status=USAGE)
        self.fails("roles", "grant", "nobody", "member", word="account")
        self.fails("roles", "grant", "erin", "no role", word="role")
        # One that it has is no mistake.
        self.json("roles", "grant", "erin", "auditor", "--new-role")
        self.json("accounts", "roles", "erin", "auditor")
        self.assertEqual(self.json("accounts", "roles", "erin")["roles"], ["auditor"])

    def bearer(self, key):
        return {"Authorization": f"Bearer {key['key']}"}

    def test_a_key_is_created_within_bounds_listed_without_its_secret_and_revoked(self):
        self.json("accounts", "add", "robot", "--without-password", "--role", "member", "--role", "admin")
        key = self.json(
            "keys", "create", "robot", "--title", "nightly", "--adapter", "notes", "--role", "member", "--read-only",
            "--days", "30")
        headers, notes = self.bearer(key), "/api/v1/notes/notes"
        self.assertEqual(self.gateway.get("/auth/me", headers=headers).json()["roles"], ["member"])
        self.expect(self.gateway.get(notes, headers=headers), 200)
        self.expect(self.gateway.send("POST", notes, {"title": "t"}, headers=headers), 403, "access.denied")
        self.expect(self.gateway.get("/v2/list", "application/json", headers=headers), 403, "access.denied")
        listed = self.json("keys", "list", "robot")["keys"]
        self.assertEqual([(one["title"], one["readOnly"], one["adapters"]) for one in listed], [("nightly", True, ["notes"])])
        self.assertNotIn(key["key"], self.control("keys", "list", "robot").stdout)
        self.json("keys", "revoke", "robot", key["id"])
        self.assertEqual(self.gateway.get(notes, headers=headers).status, 401)
        self.fails("keys", "revoke", "robot", key["id"], word="key")
        self.fails("keys", "create", "robot", status=USAGE)
        self.fails("keys", "create", "robot", "--title", "x", "--days", "0", word="days")
        self.fails("keys", "create", "nobody", "--title", "x", word="account")

    def test_signing_keys_rotate_with_an_overlap_or_without(self):
        first = self.gateway.login("bob").json()
        published = {key["kid"] for key in self.gateway.get("/auth/jwks.json").json()["keys"]}
        self.json("keys", "rotate-signing")
        self.expect(self.gateway.get("/auth/me", token=first["accessToken"]), 200)
        both = {key["kid"] for key in self.gateway.get("/auth/jwks.json").json()["keys"]}
        self.assertTrue(published < both)
        self.json("keys", "rotate-signing", "--distrust-old", "--yes")
        self.assertEqual(self.gateway.get("/auth/me", token=first["accessToken"]).status, 401)
        second = self.expect(self.gateway.send("POST", "/auth/refresh", {"refreshToken": first["refreshToken"]}), 200)
        self.expect(self.gateway.get("/auth/me", token=second.json()["accessToken"]), 200)
        self.assertEqual(len(self.gateway.get("/auth/jwks.json").json()["keys"]), 1)

    def test_audit_entries_are_listed_latest_first(self):
        self.json("accounts", "add", "audited", "--without-password")
        entries = self.json("audit", "list", "--limit", "3")["entries"]
        self.assertEqual(
            [(entry["kind"], entry["actor"]) for entry in entries[:2]],
            [("administration.performed", "operator"), ("account.added", "operator")])
        self.assertEqual(len(entries), 3)
        earlier = self.json("audit", "list", "--limit", "1", "--before", str(entries[2]["number"]))["entries"]
        self.assertEqual(earlier[0]["number"], entries[2]["number"] - 1)

    def test_feeds_are_published_in_every_format_and_rolled_back(self):
        writers = {
            "f.json": lambda value: json.dumps(value).encode(), "f.plist": plistlib.dumps, "f.cbor": cbor.dumps,
            "f.bplist": lambda value: plistlib.dumps(value, fmt=plistlib.FMT_BINARY)}
        for number, (name, write) in enumerate(writers.items(), 1):
            value = {"verses": [["I", f"one\n{name}"]]}
            self.json("feeds", "publish", "hostile", self.file(name, write(value)))
            self.assertEqual(len(self.json("feeds", "versions", "hostile")["versions"]), number)
            self.assertEqual(self.gateway.get("/plists/hostile", user="alice").plist(), value)
        self.json("feeds", "rollback", "hostile", "1")
        self.assertIn("hostile", [feed["name"] for feed in self.json("feeds", "list")["feeds"]])
        self.fails("feeds", "rollback", "hostile", "99", word="99")
        self.fails("feeds", "publish", "hostile", self.file("broken.plist", "<plist><dict>"), word="line 1")
        self.fails("feeds", "publish", "hostile", self.folder / "none.plist", word="none.plist")

    def test_the_versions_of_a_feed_tell_people_which_is_current(self):
        lines = self.control("feeds", "versions", "sonnets").stdout.splitlines()
        self.assertEqual(len(lines[1].split()), len(lines[0].split()), lines)

    def test_the_audit_log_is_intact(self):
        verdict = self.json("audit", "verify")
        self.assertIs(verdict["intact"], True)
        self.assertIs(self.json("audit", "verify", "--head", verdict["head"])["intact"], True)
        other = verdict["head"].split("-")[0] + "-" + "A" * 43
        done = self.control("audit", "verify", "--head", other)
        self.assertEqual((done.returncode, "otherHistory" in done.stdout), (FAILED, True), done)
        self.fails("audit", "verify", "--head", "nonsense", word="head")

    def test_wrong_usage_ends_with_2_and_what_cannot_be_reached_with_1(self):
        for arguments in [["nonsense"], ["status", "--bogus"], ["status", "--output", "yaml"], ["adapters", "show"], ["feeds", "rollback", "sonnets", "x"]]:
            done = run_portico(*arguments, program="porticoctl")
            self.assertEqual((done.returncode, done.stdout), (USAGE, ""), done)
            self.assertTrue(done.stderr)
        done = run_portico("status", "--data", self.folder, program="porticoctl")
        self.assertEqual(done.returncode, FAILED)
        self.assertIn("admin.sock", done.stderr)

    def test_help_and_version_are_no_failure(self):
        for arguments in [["--help"], ["--version"], ["feeds", "publish", "--help"]]:
            done = run_portico(*arguments, program="porticoctl")
            self.assertEqual((done.returncode, done.stderr), (DONE, ""), arguments)

    def test_the_shell_completes_commands(self):
        for program in ["porticoctl", "portico"]:
            script = run_portico("--generate-completion-script", "bash", program=program)
            self.assertEqual(script.returncode, DONE)
            subprocess.run(["bash", "-n"], input=script.stdout, text=True, check=True, timeout=60)
        self.assertIn("rollback", run_portico("--generate-completion-script", "bash", program="porticoctl").stdout)

    def test_every_verb_and_option_has_its_place_in_the_manual(self):
        subprocess.run([ROOT / ".ci/manual-pages", BUILD, self.folder], check=True, timeout=60)
        count = 0
        for program in ["portico", "porticoctl"]:
            page = (self.folder / f"{program}.1").read_text().replace("\\-", "-")
            self.assertTrue(page.startswith(f".TH {program.upper()} 1\n"))
            declared = json.loads(run_portico("--experimental-dump-help", program=program).stdout)["command"]
            for path, command in self.verbs(declared, []):
                self.assertIn(f".SS {' '.join(path)}\n", page)
                for argument in command["arguments"]:
                    if argument["kind"] != "positional" and argument["preferredName"]["name"] not in ("help", "version"):
                        self.assertIn("\\fB--" + argument["preferredName"]["name"], page)
                count += 1
        self.assertGreater(count, 60)

    def verbs(self, command, path):
        below = [one for one in command.get("subcommands", []) if one["commandName"] != "help"]
        for one in below:
            yield from self.verbs(one, [*path, one["commandName"]])
        if not below:
            yield path, command

    def test_only_the_owner_may_use_the_admin_socket(self):
        self.assertEqual((self.gateway.data / "admin.sock").stat().st_mode & 0o777, 0o600)


class Confirmations(ControlTest):
    DESTROYING = [
        ["sync", "compact"], ["sync", "sweep"], ["writes", "drop", "x"], ["mirrors", "release", "a/b"], ["restore", "/tmp/none"],
        ["keys", "rotate-signing", "--distrust-old"], ["users", "import", "none.csv", "--mode", "replace"],
        ["odata", "import", "admissions", "Schools", "none.csv", "--mode", "replace"],
    ]

    def test_what_destroys_is_refused_without_a_terminal_and_without_yes(self):
        for arguments in self.DESTROYING:
            with self.subTest(arguments):
                self.fails(*arguments, status=USAGE, word="--yes", stdin="y\n")
        self.assertIs(self.json("sync", "compact", "--dry-run")["dryRun"], True)

    def answered(self, answer, *arguments):
        """At a terminal: the exit status and what was shown."""
        terminal, its_end = pty.openpty()
        process = subprocess.Popen(
            [str(BUILD / "porticoctl"), *arguments, "--data", str(self.gateway.data)], stdin=its_end, stdout=its_end,
            stderr=its_end, close_fds=True)
        os.close(its_end)
        shown = b""
        while b"[y/N]" not in shown:
            shown += os.read(terminal, 4096)
        os.write(terminal, answer)
        status = process.wait(timeout=60)
        try:
            while piece := os.read(terminal, 4096):
                shown += piece
        except OSError:
            pass  # The end of a terminal.
        os.close(terminal)
        return status, shown.decode()

    def test_at_a_terminal_it_asks(self):
        status, shown = self.answered(b"n\n", "sync", "sweep")
        self.assertEqual((status, "Nothing was done" in shown), (FAILED, True), shown)
        status, shown = self.answered(b"\n", "sync", "sweep")
        self.assertEqual(status, FAILED, shown)
        status, shown = self.answered(b"y\n", "sync", "sweep")
        self.assertEqual((status, "attachments: 0" in shown), (DONE, True), shown)

    def test_a_mistyped_verb_gets_a_suggestion(self):
        for arguments, hint in [(["statsu"], "status"), (["accounts", "lst"], "list"), (["config", "aply"], "apply")]:
            done = run_portico(*arguments, program="porticoctl")
            self.assertEqual(done.returncode, USAGE)
            self.assertIn(f"Did you mean {hint}?", done.stderr)

    def test_the_store_is_checked_and_counted(self):
        self.assertIs(self.json("store", "check")["sound"], True)
        stats = self.json("store", "stats")
        self.assertGreater(stats["bytes"], 0)
        self.assertGreater(stats["rows"]["users/users"], 0)
        self.assertEqual(stats["position"], self.json("status")["store"]["position"])

    def test_devices_are_listed_with_whose_they_are(self):
        push = {"clientId": "device-of-alice", "mutations": [{
            "sequence": 1, "collection": "notes", "id": "a-note", "operation": "create", "fields": {"title": "t", "text": ""}}]}
        answer = self.gateway.send("POST", "/sync/v1/push", push, user="alice")
        self.assertEqual(answer.status, 200, answer)
        devices = {device["id"]: device for device in self.json("sync", "devices")["devices"]}
        self.assertEqual(devices["device-of-alice"]["account"], "alice", answer.text())
        self.assertEqual(self.json("sync", "devices", "--after", "device-of-alice")["devices"], [])

    def test_devices_are_shown_with_how_far_they_are_and_what_was_refused(self):
        pull = {"clientId": "d-1", "collections": ["notes"], "limit": 1000}
        position = self.gateway.send("POST", "/sync/v1/pull", pull, user="carol").json()["complete"]["position"]
        changes = [
            {"sequence": 1, "collection": "notes", "id": "seen-1", "operation": "create", "fields": {"title": "t", "text": ""}},
            {"sequence": 2, "collection": "notes", "id": "seen-2", "operation": "create", "fields": {"title": 1}}]
        push = self.gateway.send("POST", "/sync/v1/push", {"clientId": "d-1", "mutations": changes}, user="carol").json()
        self.assertEqual([one["outcome"] for one in push["outcomes"]], ["applied", "rejected"])
        device = next(one for one in self.json("sync", "devices")["devices"] if one["id"] == "d-1")
        self.assertEqual((device["account"], device["position"], device["lastSequence"]), ("carol", position, 2))
        self.assertEqual(device["outcomes"], {"applied": 1, "rejected": 1})
        self.assertGreaterEqual(device["lag"], 1)
        refused = self.json("sync", "conflicts")["conflicts"][0]
        self.assertEqual((refused["author"], refused["device"], refused["id"], refused["cause"]), ("carol", "d-1", "seen-2", "rejection"))
        self.assertEqual(self.json("sync", "conflicts", "--before", str(refused["number"]))["conflicts"], [])
        self.assertNotIn("title", refused)
        one = self.json("sync", "device", "d-1")
        self.assertEqual(
            [(row["sequence"], row["outcome"], row["id"]) for row in one["outcomes"]],
            [(2, "rejected", "seen-2"), (1, "applied", "seen-1")])
        self.assertEqual((refused["reason"], refused["message"]), (one["outcomes"][0]["reason"], one["outcomes"][0]["message"]))
        self.assertTrue(refused["reason"])
        # What the gateway keeps for itself is nothing that a device lacks.
        self.json("keys", "create", "carol", "--title", "a key")
        self.assertEqual(self.json("sync", "device", "d-1")["lag"], one["lag"])
        self.assertEqual(self.json("sync", "status")["clients"], len(self.json("sync", "devices")["devices"]))
        self.assertGreaterEqual(one["lag"], 1)
        # A device that pulls alone is seen too, and a stream as long as it goes on.
        last = self.gateway.send("POST", "/sync/v1/pull", {**pull, "clientId": "d-0"}, user="carol").json()["complete"]["checkpoint"]
        stream = Stream(self.gateway, "carol", query=f"?checkpoint={last}&clientId=d-0")
        try:
            stream.page()
            device = next(one for one in self.json("sync", "devices")["devices"] if one["id"] == "d-0")
            self.assertEqual((device["account"], device["streams"], device["lag"], device["lastPush"]), ("carol", 1, 0, None))
            self.assertEqual(self.json("sync", "device", "d-0"), {**device, "outcomes": []})
        finally:
            stream.close()


class CompactedLog(ControlTest):
    """A log that keeps nothing that a device was not there for."""

    settings = ("--set", "sync.offlineWindow=1ms")

    def test_a_device_from_before_the_log_begins_lacks_as_many_changes_at_least(self):
        pull = {"clientId": "away", "collections": ["notes"], "limit": 1000}
        position = self.gateway.send("POST", "/sync/v1/pull", pull, user="carol").json()["complete"]["position"]
        note = {"title": "while it was away", "text": ""}
        self.expect(self.gateway.send("POST", "/api/v1/notes/notes", note, user="carol"), 201)
        self.assertEqual((self.json("sync", "device", "away")["lag"], self.json("sync", "device", "away")["isLagLeast"]), (1, False))
        end = time.monotonic() + 120
        while self.json("sync", "status")["floor"] <= position:
            self.assertLess(time.monotonic(), end)
            self.json("sync", "compact", "--yes")
        self.expect(self.gateway.send("POST", "/api/v1/notes/notes", note, user="carol"), 201)
        for device in (self.json("sync", "device", "away"), self.json("sync", "devices")["devices"][0]):
            self.assertEqual((device["lag"], device["isLagLeast"]), (1, True))
        here = self.gateway.send("POST", "/sync/v1/pull", {**pull, "clientId": "here"}, user="carol").json()
        self.assertIn("complete", here)
        self.assertEqual((self.json("sync", "device", "here")["lag"], self.json("sync", "device", "here")["isLagLeast"]), (0, False))


class Imports(ControlTest):
    next_id = 80_000

    def users(self, count=2):
        """New users, by ids that no other test takes."""
        first = Imports.next_id
        Imports.next_id += count
        return [{"UserId": first + n, "UserName": f"A&B ‹é› {n}", "ShoeSize": "9½ W"} for n in range(count)]

    def csv(self, rows):
        return "".join(",".join(map(str, row)) + "\r\n" for row in [rows[0].keys(), *(row.values() for row in rows)])

    def xml(self, rows):
        elements = "".join(
            "<user>" + "".join(f"<{key}>{str(text).replace('&', '&amp;')}</{key}>" for key, text in row.items()) + "</user>"
            for row in rows)
        return f"<users>{elements}</users>"

    def there(self, row):
        answer = self.gateway.get(f"/api/v1/users/users/{row['UserId']}", "application/json", user="admin")
        return answer.json() if answer.status == 200 else None

    def loads(self, name, content, rows):
        self.json("users", "import", self.file(name, content))
        for row in rows:
            self.assertEqual(self.there(row), row, name)

    def loads_nothing(self, name, content, rows, word):
        self.fails("users", "import", self.file(name, content), word=word)
        for row in rows:
            self.assertIsNone(self.there(row), f"{name} was loaded in part")

    def test_every_format_is_loaded(self):
        writers = {
            "u.csv": self.csv, "u.json": json.dumps, "u.plist": plistlib.dumps, "u.xml": self.xml, "u.cbor": cbor.dumps,
            "u.bplist": lambda rows: plistlib.dumps(rows, fmt=plistlib.FMT_BINARY)}
        for name, write in writers.items():
            rows = self.users()
            self.loads(name, write(rows), rows)

    def test_a_file_of_one_record_is_loaded_in_every_format(self):
        for name, write in {"one.csv": self.csv, "one.json": json.dumps, "one.plist": plistlib.dumps, "one.xml": self.xml}.items():
            rows = self.users(1)
            self.loads(name, write(rows), rows)

    def test_quotes_commas_and_line_ends_in_csv_are_data(self):
        row = {**self.users(1)[0], "UserName": 'Eve, "the\nsecond"'}
        content = f'\ufeffUserId,UserName,ShoeSize\n{row["UserId"]},"Eve, ""the\nsecond""",9½ W\n'
        self.loads("quoted.csv", content, [row])

    def test_a_bad_row_is_named_and_nothing_is_loaded(self):
        rows = self.users(3)
        broken = [*rows[:2], {**rows[2], "UserId": "abc"}]
        self.loads_nothing("bad.csv", self.csv(broken), rows, "line 4")
        self.loads_nothing("bad.json", json.dumps(broken), rows, "row 3")
        self.loads_nothing("bad.plist", plistlib.dumps(broken), rows, "row 3")
        self.loads_nothing("bad.xml", self.xml(broken), rows, "row 3")
        self.loads_nothing("short.csv", self.csv(rows).replace(",9½ W\r\n", "\r\n", 2), rows, "ine 2")
        self.loads_nothing("twice.csv", self.csv([*rows, rows[0]]), rows, "line 5: line 2 has the key")
        self.loads_nothing("open.csv", self.csv(rows) + '1,"', rows, "ine 5")
        self.loads_nothing("column.csv", self.csv([{**row, "Colour": "red"} for row in rows]), rows, "Colour")
        self.loads_nothing("cut.json", json.dumps(rows)[:-1], rows, "line 1")

    def test_a_bad_row_after_thousands_undoes_them_all(self):
        rows = self.users(3000)
        broken = [*rows, {**rows[0], "UserId": -5}]
        self.loads_nothing("many.csv", self.csv(broken), [rows[0], rows[-1]], "line 3002")
        self.loads("many.csv", self.csv(rows), [rows[0], rows[-1]])

    def test_employees_are_loaded_and_found(self):
        rows = [{"id": "E70001", **EMPLOYEE}, {"id": "E70002", **EMPLOYEE}]
        self.json("employees", "import", self.file("e.csv", self.csv(rows)))
        path = f"/api/v1/employees/employees?{urllib.parse.urlencode({'filter': 'startsWith(id, ' + chr(39) + 'E7000' + chr(39) + ')'})}"
        self.assertEqual(len(self.expect(self.gateway.get(path, "application/json", user="admin"), 200).json()["items"]), 2)
        self.fails("employees", "import", self.file("b.csv", self.csv([{"id": "E70003", **EMPLOYEE}, rows[0]])), word="line 3")
        self.assertEqual(self.gateway.get("/api/v1/employees/employees/E70003", user="admin").status, 404)

    def test_files_that_are_not_there_or_of_no_known_format_are_refused(self):
        self.fails("users", "import", self.folder / "none.csv", word="none.csv")
        self.fails("users", "import", self.file("u.txt", "x"), status=USAGE, word="csv")
        self.fails("users", "import", self.file("empty.csv", ""), word="header")
        self.fails("users", "import", self.file("u.csv", self.csv(self.users())), "--mode", "nonsense", status=USAGE)


if __name__ == "__main__":
    unittest.main()
