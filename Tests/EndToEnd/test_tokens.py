"""Forged, altered and stolen tokens over HTTP. The forger has the real signing key, so what refuses him is what is wrong
with the token and nothing else."""

import concurrent.futures
import contextlib
import hashlib
import hmac
import http.client
import json
import sqlite3
import threading
import time
import unittest

import es256
from harness import JSON, GatewayTest

QUICK = True

GONE = object()
CLIENTS = 50


class ForgedTokens(GatewayTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.token = cls.gateway.login("alice").json()["accessToken"]
        cls.head, cls.claims = es256.parts(cls.token)
        cls.key = cls.signing_key()

    @classmethod
    def signing_key(cls):
        """From the database, as a thief of it would."""
        with contextlib.closing(sqlite3.connect(f"file:{cls.gateway.data}/portico.sqlite?mode=ro", uri=True)) as database:
            tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
            table = next(name for name in tables if "signingkeys" in name.lower())
            (text,) = database.execute(f'SELECT privateKey FROM "{table}" WHERE id = ?', (cls.head["kid"],)).fetchone()
        return int.from_bytes(es256.decode(text))

    def status(self, head=None, claims=None, signer=None):
        def changed(part, changes):
            return {name: value for name, value in {**part, **(changes or {})}.items() if value is not GONE}

        signer = signer or (lambda text: es256.sign(self.key, text))
        forged = es256.token(changed(self.head, head), changed(self.claims, claims), signer)
        return self.gateway.get("/auth/me", token=forged).status

    def refused(self, member, values, part):
        for value in values:
            with self.subTest(member=member, value=value):
                self.assertEqual(self.status(**{part: {member: value}}), 401)

    def test_a_token_signed_again_without_a_change_is_taken(self):
        self.assertEqual(self.status(), 200)

    def test_another_algorithm_or_none_is_refused(self):
        self.refused("alg", ["none", "None", "nOnE", "HS256", "RS256", "PS256", "ES384", "EdDSA", "", None, 1, GONE], "head")
        self.assertEqual(self.status({"alg": "none"}, signer=lambda _: b""), 401)
        self.assertEqual(self.status(signer=lambda _: b""), 401)

    def test_the_public_key_is_no_secret_to_sign_with(self):
        published = next(key for key in self.gateway.get("/auth/jwks.json").json()["keys"] if key["kid"] == self.head["kid"])
        point = es256.decode(published["x"]) + es256.decode(published["y"])
        header = bytes.fromhex("3059301306072a8648ce3d020106082a8648ce3d030107034200")
        for secret in (point, b"\x04" + point, header + b"\x04" + point, json.dumps(published).encode(), published["x"].encode()):
            signer = lambda text, secret=secret: hmac.new(secret, text, hashlib.sha256).digest()
            self.assertEqual(self.status({"alg": "HS256"}, signer=signer), 401)

    def test_an_unknown_key_is_refused_even_where_the_token_brings_it(self):
        self.refused("kid", ["", "unknown", "0" * 32, "../../dev/null", "' OR 1=1 --", GONE, None, 7], "head")
        own = 12_345_678_901_234_567_890
        signer = lambda text: es256.sign(own, text)
        self.assertEqual(self.status(signer=signer), 401)
        x, y = (es256.encode(part.to_bytes(32)) for part in es256._multiply(own, es256.G))
        jwk = {"kty": "EC", "crv": "P-256", "x": x, "y": y, "kid": self.head["kid"]}
        for brought in ({"jwk": jwk}, {"jku": "http://127.0.0.1:1/keys"}, {"x5u": "http://127.0.0.1:1/"}, {"x5c": ["MIIB"]}):
            self.assertEqual(self.status(brought, signer=signer), 401)

    def test_another_type_issuer_or_audience_is_refused(self):
        self.refused("typ", ["JWT", "id_token", "dpop+jwt", "", GONE, 1], "head")
        self.refused("iss", ["elsewhere", "", GONE, 1], "claims")
        self.refused("aud", ["elsewhere", ["elsewhere"], [], "", GONE, 1], "claims")

    def test_a_critical_extension_is_refused_whatever_it_is(self):
        self.refused("crit", [["b64"], ["exp"], [], "exp", 1, None], "head")

    def test_a_token_out_of_its_time_is_refused(self):
        now = int(time.time())
        self.refused("exp", [now - 1, 0, -1, GONE, "never", None], "claims")
        self.refused("iat", [now + 3_600], "claims")

    def test_another_subject_or_sign_in_is_refused(self):
        bobs = es256.parts(self.gateway.login("bob").json()["accessToken"])[1]
        self.refused("sub", [bobs["sub"], "operator", "", GONE], "claims")
        self.refused("sid", [bobs["sid"], "0" * 32, GONE], "claims")

    def test_roles_written_into_a_token_count_for_nothing(self):
        forged = es256.token(self.head, {**self.claims, "roles": ["admin"], "scope": "admin"}, lambda text: es256.sign(self.key, text))
        answer = self.gateway.get("/auth/me", token=forged)
        self.assertTrue(answer.status == 401 or answer.json()["roles"] == ["member"], answer)

    def test_a_changed_or_cut_text_is_refused(self):
        head, claims, signature = self.token.split(".")
        other = "A" if signature[10] != "A" else "B"
        for text in (
            f"{head}.{claims}.{signature[:10]}{other}{signature[11:]}", f"{head}.{claims}.", f"{head}.{claims}", head, "..", "",
            f"{self.token}.x", f"{self.token}=", self.token.replace(".", ".."), "x" * 5_000, f"{head}.{claims}.{'A' * 86}"):
            with self.subTest(text=text[-60:]):
                self.assertEqual(self.gateway.get("/auth/me", token=text).status, 401)


class RefreshTokens(GatewayTest):
    def test_of_many_that_show_one_token_at_once_one_wins_and_then_the_family_is_dead(self):
        first = self.gateway.login("alice").json()
        body = json.dumps({"refreshToken": first["refreshToken"]})
        start = threading.Barrier(CLIENTS)

        def refresh(_):
            connection = http.client.HTTPConnection("127.0.0.1", self.gateway.port, timeout=60)
            connection.connect()
            start.wait()
            connection.request("POST", "/auth/refresh", body, {"Content-Type": JSON})
            response = connection.getresponse()
            with contextlib.closing(connection):
                return response.status, json.loads(response.read())

        with concurrent.futures.ThreadPoolExecutor(CLIENTS) as pool:
            answers = list(pool.map(refresh, range(CLIENTS)))
        won = [body for status, body in answers if status == 200]
        self.assertEqual(len(won), 1)
        self.assertEqual({status for status, _ in answers}, {200, 401})
        self.expect(self.gateway.send("POST", "/auth/refresh", {"refreshToken": won[0]["refreshToken"]}), 401, "auth.invalid")
        for token in (first["accessToken"], won[0]["accessToken"]):
            self.expect(self.gateway.get("/auth/me", token=token), 401)


if __name__ == "__main__":
    unittest.main()
