"""Signing in at a portal and at an identity provider, through a gateway that was configured for both."""

import html
import json
import pathlib
import re
import tempfile
import unittest
import urllib.parse
import urllib.request

from harness import JSON, Gateway
from provider_stand_in import PASSWORD, EndingPortal, Portal, Provider

CONFIGURATION = """
upstreams:
  corp: {{ url: {portal}, networks: [127.0.0.0/8] }}
  idp: {{ url: {provider}, networks: [127.0.0.0/8] }}
identity:
  demoAccounts:
    - {{ name: alice, password: portico-demo, roles: [member] }}
  providers:
    corp:
      kind: portal
      upstream: corp
      page: {portal}/irj/portal
      form: irj/login
      userAgent: "Mozilla/4.0 (compatible; MSIE 7.0)"
      roles: [member]
    idp:
      kind: oidc
      upstream: idp
      issuer: {provider}
      clientID: portico
      clientSecret: {{ env: CLIENT_SECRET }}
      callback: http://gateway.test/auth/oidc/idp/callback
      audience: https://gateway.test
      groups: {{ staff: [member] }}
"""


ENDING = """
http: {{ trustedProxies: [127.0.0.0/8] }}
upstreams:
  corp: {{ url: {portal}, networks: [127.0.0.0/8] }}
identity:
  demoAccounts:
    - {{ name: alice, password: portico-demo, roles: [member] }}
  providers:
    corp: {{ kind: portal, upstream: corp, form: irj/login, roles: [member] }}
"""


class EndedCookies(unittest.TestCase):
    """A portal whose answers to a right and to a wrong password differ in how long its cookie lives, and in nothing else."""

    def test_of_two_hundred_wrong_passwords_none_signs_in(self):
        portal = EndingPortal()
        self.addCleanup(portal.stop)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        config = pathlib.Path(folder.name) / "portico.yaml"
        config.write_text(ENDING.format(portal=portal.address))
        gateway = Gateway(config=str(config))
        self.addCleanup(gateway.remove)
        for number in range(200):
            answer = self.sign_in(gateway, number, f"wrong {number}")
            self.assertEqual((answer.status, answer.headers.get("set-cookie")), (401, None), answer)
        self.assertEqual(portal.wrong, 200)
        self.assertEqual(self.sign_in(gateway, 0, PASSWORD).status, 200)
        self.assertEqual(gateway.stop(), 0, gateway.log())

    @staticmethod
    def sign_in(gateway, number, password):
        """As another person and from another address each time, so that the backoff lets every guess through."""
        fields = {"X-Forwarded-For": f"198.51.100.{number}", "Content-Type": JSON, "Accept": JSON}
        body = json.dumps({"username": f"victor{number}", "password": password})
        return gateway.request("POST", "/auth/login", body, fields)


class Providers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.portal, cls.provider = Portal(), Provider()
        cls.folder = tempfile.TemporaryDirectory()
        config = pathlib.Path(cls.folder.name) / "portico.yaml"
        config.write_text(CONFIGURATION.format(portal=cls.portal.address, provider=cls.provider.address))
        cls.gateway = Gateway(config=str(config), environment={"CLIENT_SECRET": Provider.SECRET})

    @classmethod
    def tearDownClass(cls):
        try:
            assert cls.gateway.stop() == 0, cls.gateway.log()
        finally:
            cls.gateway.remove()
            cls.portal.stop()
            cls.provider.stop()
            cls.folder.cleanup()

    def portal_login(self, user, password):
        form = urllib.parse.urlencode({"j_user": user, "j_password": password})
        fields = {"Content-Type": "application/x-www-form-urlencoded", "Accept": JSON}
        return self.gateway.request("POST", "/irj/portal", form, fields)

    def test_the_portals_password_signs_in_here(self):
        answer = self.portal_login("jdoe", PASSWORD)
        self.assertEqual(answer.status, 200, answer)
        self.assertEqual((answer.json()["name"], answer.json()["roles"]), ("jdoe@corp", ["member"]))
        self.assertIn("HttpOnly", answer.headers["set-cookie"])
        self.assertNotIn("MYSAPSSO2", answer.headers["set-cookie"])
        cookie = answer.headers["set-cookie"].split(";")[0]
        me = self.gateway.get("/auth/me", headers={"Cookie": f"{cookie}; Domain=x; Path=/"})
        self.assertEqual(me.json()["name"], "jdoe@corp")

    def test_a_wrong_password_is_refused_and_local_accounts_go_on(self):
        self.assertEqual(self.portal_login("jdoe", "wrong").status, 401)
        self.assertEqual(self.portal_login("alice", "portico-demo").json()["name"], "alice")

    def test_no_password_is_in_the_log(self):
        self.portal_login("jdoe", PASSWORD)
        self.assertEqual(self.gateway.get(f"/auth/me?j_password={urllib.parse.quote(PASSWORD)}").status, 400)
        self.assertNotIn("s3cret", self.gateway.log())
        self.assertNotIn(Provider.SECRET, self.gateway.log())

    def test_a_browser_signs_in_at_the_providers_page(self):
        begun = self.gateway.get("/auth/oidc/idp/login?return=/auth/me")
        self.assertEqual(begun.status, 302, begun)
        pending = begun.headers["set-cookie"].split(";")[0]
        target = self.visit(begun.headers["location"])
        self.assertEqual(self.gateway.get(target).status, 401, "another browser")
        back = self.gateway.get(target, headers={"Cookie": pending})
        self.assertEqual((back.status, back.headers["location"]), (303, "/auth/me"), back)

    def test_the_sign_in_page_leads_to_the_provider_and_back_to_where_one_was_going(self):
        page = self.gateway.get("/auth/login?next=/auth/me", "text/html").text()
        link = re.search(r'<a href="([^"]*)">Sign in with idp</a>', page)
        self.assertTrue(link, page)
        begun = self.gateway.get(html.unescape(link[1]))
        pending = begun.headers["set-cookie"].split(";")[0]
        back = self.gateway.get(self.visit(begun.headers["location"]), headers={"Cookie": pending})
        self.assertEqual((back.status, back.headers["location"]), (303, "/auth/me"), back)

    def test_a_state_that_is_another_sign_ins_is_refused(self):
        pending = self.gateway.get("/auth/oidc/idp/login").headers["set-cookie"].split(";")[0]
        other = self.visit(self.gateway.get("/auth/oidc/idp/login").headers["location"])
        self.assertEqual(self.gateway.get(other, headers={"Cookie": pending}).status, 401)

    def test_a_sign_in_does_not_end_at_another_server(self):
        for path in ["//evil.test", "https://evil.test/", "/%5Cevil.test"]:
            self.assertEqual(self.gateway.get("/auth/oidc/idp/login?return=" + path).status, 400, path)
        self.assertEqual(self.gateway.get("/auth/oidc/nobody/login").status, 404)

    def test_an_apps_token_opens_the_gateway_and_others_do_not(self):
        ours = {"aud": "https://gateway.test", "groups": ["staff"]}
        token = self.provider.sign(ours, {"typ": "at+jwt"})
        me = self.gateway.get("/auth/me", token=token)
        self.assertEqual((me.status, me.json().get("roles")), (200, ["member"]), me)
        self.assertTrue(me.json()["name"].endswith("@idp"))
        for claims, header in [
            ({"aud": "other"}, {}), ({"exp": 1}, {}), ({"iss": "https://evil.test"}, {}), ({}, {"typ": "JWT"}),
            ({}, {"kid": "r2"}), ({}, {"alg": "none"}), ({}, {"alg": "HS256"}),
        ]:
            token = self.provider.sign({**ours, **claims}, {"typ": "at+jwt", **header})
            self.assertEqual(self.gateway.get("/auth/me", token=token).status, 401, (claims, header))

    def visit(self, location):
        """What the browser is sent back to; the path and query of it."""

        class Stay(urllib.request.HTTPRedirectHandler):
            def redirect_request(self, *_):
                return None

        try:
            urllib.request.build_opener(Stay).open(location, timeout=60)
        except urllib.error.HTTPError as redirect:
            back = redirect.headers["Location"]
            self.assertTrue(back.startswith("http://gateway.test/auth/oidc/idp/callback?"), back)
            return back.removeprefix("http://gateway.test")
        self.fail("the provider's page did not redirect")


if __name__ == "__main__":
    unittest.main()
