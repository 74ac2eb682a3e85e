"""Other systems that people sign in at: a portal with its form, and an identity provider that speaks OpenID Connect.

They run in threads of the test. Keys and signatures are openssl's, since Python's standard library has none.
"""

import base64
import hashlib
import http.server
import json
import pathlib
import subprocess
import tempfile
import threading
import time
import urllib.parse
from email.utils import formatdate

PASSWORD = "portal s3cret"


class Server:
    def __init__(self):
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                self._answer(b"")

            def do_POST(self):
                self._answer(self.rfile.read(int(self.headers.get("Content-Length", 0))))

            def _answer(self, body):
                outer.requests.append((self.command, self.path))
                status, fields, content = outer.answer(self.command, self.path, self.headers, body.decode())
                self.send_response(status)
                for name, value in fields:
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_):
                pass

        self.requests = []
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.address = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()


class Portal(Server):
    """Wants the page's cookie and a browser it knows; gives its own cookie on a redirect in between."""

    def answer(self, method, path, fields, body):
        if path == "/irj/portal":
            return 200, [("Set-Cookie", "JSESSIONID=page; Path=/irj; HttpOnly")], b"<form>"
        if (method, path) == ("POST", "/irj/login"):
            form = dict(urllib.parse.parse_qsl(body))
            knows = fields.get("Cookie") == "JSESSIONID=page" and "MSIE" in fields.get("User-Agent", "")
            if knows and (form.get("j_user"), form.get("j_password")) == ("jdoe", PASSWORD):
                return 302, [("Location", "/irj/home"), ("Set-Cookie", "MYSAPSSO2=ticket; Path=/; HttpOnly")], b""
            return 200, [], b"<form> once more"
        return 200, [], b"welcome"


class EndingPortal(Server):
    """Lets its right password in; a wrong one gets the same page, with the cookie ended in one way after the other."""

    FUTURE = "Fri, 01 Jan 2100 00:00:01 GMT"
    PAST = [
        "Thu, 01 Jan 1970 00:00:00 GMT", "Thu, 01-Jan-1970 00:00:01 GMT", "Thursday, 01-Jan-70 00:00:01 GMT",
        "Thu Jan  1 00:00:01 1970", "Mon, 01 Jan 0001 00:00:00 GMT", "Fri, 31 Dec 1600 23:59:59 GMT",
    ]
    LIVES = ["0", "-1", "-0", "00", '"0"', "-9223372036854775808", "-99999999999999999999999999"]

    def __init__(self):
        self.endings = ["", '""', "x; Max-Age=60; Max-Age=0", "x; Expires=NOW"]
        for life in self.LIVES:
            self.endings += [
                f"x; Max-Age={life}", f"x; Expires={self.PAST[0]}; Max-Age={life}",
                f"x; Max-Age={life}; Expires={self.FUTURE}",
            ]
        for date in self.PAST:
            self.endings += [f"x; Expires={date}", f"x; Max-Age=1h; Expires={date}"]
        self.wrong = 0
        super().__init__()

    def answer(self, method, path, fields, body):
        if (method, path) != ("POST", "/irj/login"):
            return 200, [], b"welcome"
        if dict(urllib.parse.parse_qsl(body)).get("j_password") == PASSWORD:
            value = "ticket"
        else:
            value = self.endings[self.wrong % len(self.endings)].replace("NOW", formatdate(usegmt=True))
            self.wrong += 1
        return 302, [("Location", "/irj/home"), ("Set-Cookie", f"MYSAPSSO2={value}; Path=/")], b""


class Provider(Server):
    """Discovery, keys, a page that always says yes, codes that are good for once and want PKCE's verifier."""

    CLIENT, SECRET = "portico", "client-secret"

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory()
        self.key = pathlib.Path(self.folder.name) / "key.pem"
        subprocess.run(["openssl", "genrsa", "-out", self.key, "2048"], check=True, capture_output=True)
        modulus = subprocess.run(
            ["openssl", "rsa", "-in", self.key, "-noout", "-modulus"], check=True, capture_output=True, text=True)
        self.modulus = bytes.fromhex(modulus.stdout.strip().partition("=")[2])
        self.grants = {}
        super().__init__()

    def answer(self, method, path, fields, body):
        place, _, query = path.partition("?")
        if place == "/.well-known/openid-configuration":
            return self._json({
                "issuer": self.address, "authorization_endpoint": self.address + "/authorize",
                "token_endpoint": self.address + "/token", "jwks_uri": self.address + "/keys",
            })
        if place == "/keys":
            return self._json({"keys": [{
                "kty": "RSA", "use": "sig", "alg": "RS256", "kid": "r1", "n": encode(self.modulus), "e": "AQAB",
            }]})
        if place == "/authorize":
            asked = dict(urllib.parse.parse_qsl(query))
            code = f"code-{len(self.grants)}"
            self.grants[code] = asked
            back = urllib.parse.urlencode({"code": code, "state": asked["state"]})
            return 302, [("Location", asked["redirect_uri"] + "?" + back)], b""
        if (method, place) == ("POST", "/token"):
            return self._token(dict(urllib.parse.parse_qsl(body)), fields)
        return 404, [], b""

    def _token(self, form, fields):
        basic = "Basic " + base64.b64encode(f"{self.CLIENT}:{self.SECRET}".encode()).decode()
        asked = self.grants.pop(form.get("code"), None)
        challenge = encode(hashlib.sha256(form.get("code_verifier", "").encode()).digest())
        if fields.get("Authorization") != basic:
            return self._json({"error": "invalid_client"}, 401)
        if asked is None or asked["code_challenge"] != challenge or form["redirect_uri"] != asked["redirect_uri"]:
            return self._json({"error": "invalid_grant"}, 400)
        token = self.sign({"aud": self.CLIENT, "nonce": asked["nonce"], "groups": ["staff"]})
        return self._json({"id_token": token, "access_token": "opaque", "token_type": "Bearer"})

    def sign(self, claims, header=None):
        now = int(time.time())
        claims = {"iss": self.address, "sub": "s-1", "preferred_username": "alice", "iat": now, "exp": now + 300, **claims}
        parts = [{"alg": "RS256", "kid": "r1", **(header or {})}, claims]
        text = ".".join(encode(json.dumps(part).encode()) for part in parts)
        signed = subprocess.run(
            ["openssl", "dgst", "-sha256", "-sign", self.key], input=text.encode(), check=True, capture_output=True)
        return f"{text}.{encode(signed.stdout)}"

    @staticmethod
    def _json(value, status=200):
        return status, [("Content-Type", "application/json")], json.dumps(value).encode()

    def stop(self):
        super().stop()
        self.folder.cleanup()


def encode(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
