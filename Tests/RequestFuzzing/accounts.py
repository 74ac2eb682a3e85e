"""Keeps accounts signed in while damaged requests sign them out."""

import http.client
import json
import socket

from test_tls import SecureGateway

# The corpus signs in as others, so that failed attempts do not lock these.
NAMES = ("bob", "carol")
# Failed attempts of damaged requests count against 127.0.0.1.
ADDRESS = "127.0.0.2"


class Sessions:
    """A token for each account at one gateway."""

    def __init__(self, gateway):
        self.gateway, self.count = gateway, 0
        self.tokens = {name: self.sign_in(name) for name in NAMES}

    def token(self, name):
        return self.tokens[name] if name else None

    def renew(self, name):
        """Signs in again where the token is no longer accepted."""
        if self.exchange("GET", "/auth/me", token=self.tokens[name])[0] == 401:
            self.tokens[name] = self.sign_in(name)

    def sign_in(self, name):
        status, body = self.exchange("POST", "/auth/login", {"username": name, "password": "portico-demo"})
        assert status == 200, f"{name} cannot sign in: {status} {body[:300]!r}"
        self.count += 1
        return json.loads(body)["accessToken"]

    def exchange(self, method, path, value=None, token=None):
        connection = http.client.HTTPConnection("localhost", self.gateway.port)
        connection.sock = socket.create_connection(("127.0.0.1", self.gateway.port), timeout=60, source_address=(ADDRESS, 0))
        if isinstance(self.gateway, SecureGateway):
            connection.sock = self.gateway.trust().wrap_socket(connection.sock, server_hostname="localhost")
        try:
            headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
            connection.request(method, path, json.dumps(value) if value else None, headers)
            response = connection.getresponse()
            return response.status, response.read()
        finally:
            connection.close()
