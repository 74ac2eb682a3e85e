"""Signing in and out by every credential."""

import base64
import http.client
import json
import plistlib
import unittest
import urllib.parse

from harness import JSON, PLIST, GatewayTest

QUICK = True

NOTES = "/api/v1/notes/notes"


class SignIn(GatewayTest):
    def cookie(self, answer):
        return answer.headers["set-cookie"].split(";")[0]

    def test_a_login_gives_tokens_and_a_cookie(self):
        answer = self.gateway.login("alice")
        body = answer.json()
        self.assertEqual((body["tokenType"], body["user"]["name"]), ("Bearer", "alice"))
        self.assertIn("HttpOnly", answer.headers["set-cookie"])
        self.assertIn("SameSite", answer.headers["set-cookie"])
        self.assertTrue(answer.headers["set-cookie"].startswith("portico_session="))
        me = self.expect(self.gateway.get("/auth/me", token=body["accessToken"]), 200).json()
        self.assertEqual(me["name"], "alice")
        self.expect(self.gateway.get("/auth/me", headers={"Cookie": self.cookie(answer)}), 200)

    def test_every_format_and_a_form_sign_in(self):
        credentials = {"username": "bob", "password": "portico-demo"}
        bodies = [(PLIST, plistlib.dumps(credentials)), ("application/x-www-form-urlencoded", urllib.parse.urlencode(credentials))]
        for content_type, body in bodies:
            answer = self.gateway.request("POST", "/auth/login", body, {"Content-Type": content_type, "Accept": JSON})
            self.assertEqual(self.expect(answer, 200).json()["user"]["name"], "bob")

    def test_a_wrong_password_and_an_unknown_name_look_the_same(self):
        bodies = []
        for name in ["alice", "nobody-of-this-name"]:
            answer = self.gateway.send("POST", "/auth/login", {"username": name, "password": "wrong"})
            self.expect(answer, 401, "auth.invalid")
            error = answer.json()["error"]
            bodies.append((error["code"], error["message"]))
        self.assertEqual(bodies[0], bodies[1])

    def test_refresh_gives_a_new_pair_and_reuse_ends_the_family(self):
        first = self.gateway.login("carol").json()
        second = self.expect(self.gateway.send("POST", "/auth/refresh", {"refreshToken": first["refreshToken"]}), 200).json()
        self.expect(self.gateway.get("/auth/me", token=second["accessToken"]), 200)
        self.expect(self.gateway.send("POST", "/auth/refresh", {"refreshToken": first["refreshToken"]}), 401)
        self.expect(self.gateway.send("POST", "/auth/refresh", {"refreshToken": second["refreshToken"]}), 401)

    def test_logout_ends_cookie_and_tokens_at_once(self):
        answer = self.gateway.login("bob")
        token = answer.json()["accessToken"]
        self.assertEqual(self.gateway.send("POST", "/auth/logout", {}, token=token).status, 204)
        self.expect(self.gateway.get("/auth/me", token=token), 401)
        self.expect(self.gateway.get("/auth/me", headers={"Cookie": self.cookie(answer)}), 401)

    def test_the_portals_form_gives_the_cookie(self):
        for field in ["j_user", "j_username"]:
            form = urllib.parse.urlencode({field: "alice", "j_password": "portico-demo"})
            answer = self.gateway.request(
                "POST", "/irj/portal", form, {"Content-Type": "application/x-www-form-urlencoded"})
            cookie = self.cookie(self.expect(answer, 200))
            headers = {"Cookie": f"{cookie}; Domain=example.com; Path=/"}
            self.expect(self.gateway.get(NOTES, headers=headers), 200)

    def test_a_password_in_an_address_is_refused_and_in_no_log(self):
        answer = self.gateway.get("/irj/portal?j_user=alice&j_password=hunter2secret")
        self.assertGreaterEqual(answer.status, 400)
        answer = self.gateway.get(NOTES + "?password=hunter2secret", user="alice")
        self.expect(answer, 400, "request.secretInURL")
        self.assertNotIn("hunter2secret", self.gateway.log_with(answer))

    def test_a_cookie_alone_does_not_write(self):
        cookie = self.cookie(self.gateway.login("alice"))
        refused = self.gateway.send("POST", NOTES, {"title": "t"}, headers={"Cookie": cookie})
        self.expect(refused, 403, "access.csrfRequired")
        self.assertEqual(refused.headers["x-csrf-token"], "Required")
        token = self.gateway.get(NOTES, headers={"Cookie": cookie, "X-CSRF-Token": "Fetch"}).headers["x-csrf-token"]
        accepted = self.gateway.send("POST", NOTES, {"title": "t"}, headers={"Cookie": cookie, "X-CSRF-Token": token})
        self.expect(accepted, 201)
        inside = {"calls": [{"id": "1", "method": "POST", "path": NOTES, "body": {"title": "t"}}]}
        answers = self.gateway.send("POST", "/batch", inside, headers={"Cookie": cookie}).json()["answers"]
        self.assertEqual(answers[0]["status"], 403)

    def test_forged_tokens_are_refused(self):
        token = self.gateway.login("alice").json()["accessToken"]
        head, payload, signature = token.split(".")
        none = base64.urlsafe_b64encode(json.dumps({"alg": "none", "typ": "JWT"}).encode()).decode().rstrip("=")
        for forged in [f"{none}.{payload}.", f"{head}.{payload}.{signature[:-4]}AAAA", "x.y.z", "", "a" * 5000]:
            self.expect(self.gateway.get("/auth/me", token=forged), 401)

    def test_the_key_set_is_published(self):
        self.assertTrue(self.expect(self.gateway.get("/auth/jwks.json"), 200).json()["keys"])

    def test_basic_with_a_wrong_password_is_401(self):
        wrong = base64.b64encode(b"alice:wrong").decode()
        self.expect(self.gateway.get("/auth/me", headers={"Authorization": f"Basic {wrong}"}), 401)


class HistoricalCookie(GatewayTest):
    settings = ("--set", "identity.session.cookie.name=MYSAPSSO2")

    def test_the_cookie_may_have_its_historical_name(self):
        answer = self.gateway.login("alice")
        value = answer.headers["set-cookie"].split(";")[0]
        self.assertTrue(value.startswith("MYSAPSSO2="))
        self.expect(self.gateway.get(NOTES, headers={"Cookie": f"{value}; Domain=d; Path=/"}), 200)
        self.expect(self.gateway.get(NOTES), 401)


if __name__ == "__main__":
    unittest.main()
