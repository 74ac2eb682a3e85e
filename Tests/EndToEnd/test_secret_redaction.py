"""Secrets that nobody chose, sent through every channel there is: afterwards none is in a log, an error, an operator's
answer or a file of the gateway but where a digest or a hash of it belongs."""

import base64
import http.client
import json
import pathlib
import plistlib
import secrets
import socket
import unittest
import urllib.parse

import es256
from harness import JSON, PLIST, XML, GatewayTest, run_portico

FORM = "application/x-www-form-urlencoded"
NOTES = "/api/v1/notes/notes"


class AdminSocket(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=60)
        self.path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(self.path)


class Canaries(GatewayTest):
    settings = ("--set", "log.level=trace")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.canaries, cls.answers = {}, []
        cls.password = cls.canary("password")
        made = run_portico("accounts", "add", "zoe", "--role", "member", "--data", cls.gateway.data, program="porticoctl", stdin=cls.password)
        assert made.returncode == 0, made
        cls.output = made.stdout + made.stderr

    @classmethod
    def canary(cls, channel):
        """A new secret; URL-safe, so that it looks the same wherever it turns up."""
        text = "canary" + secrets.token_hex(12)
        cls.canaries[text] = channel
        return text

    def send(self, method, path, body=None, headers=None, own=()):
        """Keeps the answer for the search; `own` are the secrets that this very answer gives out or back."""
        answer = self.gateway.request(method, path, body, headers)
        text = answer.body.decode("utf-8", "replace") + json.dumps(answer.headers)
        for secret in own:
            text = text.replace(secret, "")
        self.answers.append((f"{method} {path.split('?')[0]}", text))
        return answer

    def post(self, path, value, headers=None, own=()):
        return self.send("POST", path, json.dumps(value), {"Content-Type": JSON, "Accept": JSON, **(headers or {})}, own)

    def test_no_secret_is_found_anywhere(self):
        self.passwords()
        self.credentials()
        self.addresses()
        self.batches()
        self.broken_bodies()
        self.raw_heads()
        self.commands()
        self.search()

    def passwords(self):
        wrong = {"username": "zoe", "password": self.canary("wrong password")}
        self.post("/auth/login", wrong)
        self.post("/auth/login", {"username": self.canary("password in the name's field"), "password": "x"})
        for content_type, encode in ((FORM, lambda value: urllib.parse.urlencode(value)), (PLIST, plistlib.dumps), (
                XML, lambda value: "<l>" + "".join(f"<{key}>{text}</{key}>" for key, text in value.items()) + "</l>")):
            body = encode({"username": "zoe", "password": self.canary(f"password as {content_type}")})
            self.send("POST", "/auth/login", body, {"Content-Type": content_type, "Accept": JSON})
        for accept in (JSON, "text/html"):
            form = urllib.parse.urlencode({"username": "zoe", "password": self.canary("password of a page"), "csrf": self.canary("form token")})
            self.send("POST", "/auth/login", form, {"Content-Type": FORM, "Accept": accept})
        portal = urllib.parse.urlencode({"j_user": "zoe", "j_password": self.canary("portal password")})
        self.send("POST", "/irj/portal", portal, {"Content-Type": FORM})
        answer = self.post("/auth/login", {"username": "bob", "password": "portico-demo"}).json()
        bearer = {"Authorization": f"Bearer {answer['accessToken']}"}
        self.post("/auth/password", {"old": self.canary("old password"), "new": self.canary("new password")}, bearer)

    def credentials(self):
        signed_in = self.gateway.send("POST", "/auth/login", {"username": "carol", "password": "portico-demo"})
        body = signed_in.json()
        cookie = signed_in.headers["set-cookie"].split(";")[0]
        self.canaries |= {
            body["accessToken"].split(".")[2]: "access token", body["refreshToken"]: "refresh token",
            cookie.split("=", 1)[1]: "session cookie"}
        bearer = {"Authorization": f"Bearer {body['accessToken']}"}
        key = self.gateway.send("POST", "/auth/keys", {"title": "k"}, headers=bearer).json()["key"]
        self.canaries[key.split("_", 2)[2]] = "API key"
        fetched = self.gateway.get("/auth/me", headers={"Cookie": cookie, "X-CSRF-Token": "Fetch"}).headers["x-csrf-token"]
        self.canaries[fetched] = "CSRF token"
        for headers in (bearer, {"Authorization": f"Bearer {key}"}, {"Cookie": cookie}, {"Cookie": cookie, "X-CSRF-Token": fetched}):
            for path in ("/auth/me", NOTES, "/nothing", "/v2/999999", "/auth/sessions", "/auth/keys"):
                self.send("GET", path, None, headers)
            self.post(NOTES, {"title": 7}, headers)
        # An answer to a refresh gives the next pair out; the pair before stands nowhere.
        self.post("/auth/refresh", {"refreshToken": body["refreshToken"]})
        self.post("/auth/refresh", {"refreshToken": body["refreshToken"]})
        self.post("/auth/refresh", {"refreshToken": self.canary("unknown refresh token")})
        pair = base64.b64encode(f"zoe:{self.password}".encode()).decode()
        self.canaries[pair] = "Basic, as sent"
        for value in (
            f"Basic {pair}", "Basic " + base64.b64encode(f"zoe:{self.canary('Basic')}".encode()).decode(),
            f"Basic {self.canary('broken Basic')}", f"Bearer {self.canary('unknown token')}",
            f"Bearer pk_{'0' * 32}_{self.canary('unknown API key')}", f"Digest {self.canary('another scheme')}",
            self.canary("no scheme at all"), f"Bearer {es256.encode(b'{}')}.{self.canary('claims')}.{self.canary('signature')}"):
            self.send("GET", NOTES, None, {"Authorization": value})
        self.send("GET", NOTES, None, {"Cookie": f"portico_session={self.canary('unknown cookie')}; other={self.canary('other cookie')}"})
        self.post(NOTES, {"title": "t"}, {"Cookie": cookie, "X-CSRF-Token": self.canary("wrong CSRF token")})

    def addresses(self):
        for name in ("password", "j_password", "PASSWORD", "pass%77ord", "access_token", "refresh_token", "api_key"):
            for path in ("/auth/login", "/irj/portal", NOTES, "/nothing", "/v2/list", "/auth/me"):
                for method in ("GET", "POST"):
                    answer = self.send(method, f"{path}?user=zoe&{name}={self.canary('query')}", None, {"Accept": JSON})
                    self.assertGreaterEqual(answer.status, 400, (method, path, name))
        for separator in (";", "%3F", "%3B"):
            self.send("GET", f"/irj/portal{separator}j_password={self.canary('path parameter')}", None, {"Accept": JSON})
        self.send("GET", NOTES + "?filter=" + urllib.parse.quote(f"title eq '{self.canary('filter')}' and"), None, {"Accept": JSON})

    def batches(self):
        calls = [
            {"id": "1", "method": "GET", "path": NOTES, "headers": {"Authorization": f"Bearer {self.canary('token in a batch')}"}},
            {"id": "2", "method": "GET", "path": NOTES, "headers": {"Cookie": f"portico_session={self.canary('cookie in a batch')}"}},
            {"id": "3", "method": "POST", "path": "/auth/login", "body": {"username": "zoe", "password": self.canary("password in a batch")}},
            {"id": "4", "method": "GET", "path": f"{NOTES}?password={self.canary('query in a batch')}"},
            {"id": "5", "method": "POST", "path": "/auth/login", "body": [self.canary("odd body in a batch")]}]
        self.post("/batch", {"calls": calls})
        self.post("/batch", {"calls": [{"id": "1", "method": "GET", "path": "no path " + self.canary("broken path in a batch")}]})
        self.post("/batch", {"calls": [{"id": "1", "method": "GET", "path": "/", "headers": {"Host": self.canary("refused field")}}]})

    def broken_bodies(self):
        for content_type in (JSON, PLIST, XML, FORM, "application/cbor", "image/png", "application/x-apple-binary-plist"):
            for template in ('{{"username":"zoe","password":"{0}', '{{"password":{0}}}', "<l><password>{0}</l>", "password=%zz{0}", "{0}"):
                body = template.format(self.canary(f"broken {content_type}"))
                self.send("POST", "/auth/login", body, {"Content-Type": content_type, "Accept": JSON})
        self.post("/auth/login", {"username": "zoe", "password": {"deep": self.canary("a dictionary for a password")}})
        self.post("/auth/login", {"username": "zoe", "password": self.canary("long") + "x" * 2_000})

    def raw_heads(self):
        for head in (
            "GET /health/live HTTP/1.1\r\nHost: a\r\nHost: b\r\nAuthorization: Bearer {0}\r\n\r\n",
            "GET /health/live HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {0}\r\nX: \x00\r\n\r\n",
            "BREW /auth/login?password={0} HTTP/1.1\r\nHost: a\r\n\r\n", "GET {0} HTTP/1.1\r\nHost: a\r\n\r\n",
            "GET /auth/me?password=%zz{0} HTTP/1.1\r\nHost: a\r\n\r\n", "{0}\r\n\r\n"):
            with self.gateway.connect() as connection:
                connection.sendall(head.format(self.canary("broken head")).encode())
                connection.shutdown(socket.SHUT_WR)
                answer = b""
                while received := connection.recv(65_536):
                    answer += received
                self.answers.append(("a broken head", answer.decode("utf-8", "replace")))

    def commands(self):
        for arguments, channel in ((("accounts", "password", "zoe"), "password from standard input"), (("accounts", "add", "zoe"), "refused password")):
            done = run_portico(*arguments, "--data", self.gateway.data, program="porticoctl", stdin=self.canary(channel))
            type(self).output += done.stdout + done.stderr

    def search(self):
        """What was sent must not come back, be written down, or be told to operators."""
        places = [("the log", self.gateway.log()), ("porticoctl", self.output), *self.answers, *self.administration()]
        for canary, channel in self.canaries.items():
            for place, text in places:
                self.assertNotIn(canary, text, f"{channel} is found in {place}")
        for path in pathlib.Path(self.gateway.data).rglob("*"):
            if not path.is_file():
                continue
            content = path.read_bytes()
            for canary, channel in self.canaries.items():
                self.assertNotIn(canary.encode(), content, f"{channel} is found in {path.name}")
        self.assertIn('"request"', self.gateway.log(), "nothing was logged, so nothing was shown")

    def administration(self):
        """Every answer of the admin socket that a GET gives, metrics among them where there are any, and the audit log."""
        connection = AdminSocket(self.gateway.data / "admin.sock")
        for path in ("/metrics", "/admin/v1/status", "/admin/v1/accounts", "/admin/v1/accounts/carol/keys", "/admin/v1/accounts/carol/sessions"):
            connection.request("GET", path, headers={"Accept": JSON})
            yield f"GET {path} of the admin socket", connection.getresponse().read().decode()
        connection.close()
        audit = run_portico("audit", "list", "--limit", "1000", "--data", self.gateway.data, program="porticoctl")
        yield "the audit log", audit.stdout


if __name__ == "__main__":
    unittest.main()
