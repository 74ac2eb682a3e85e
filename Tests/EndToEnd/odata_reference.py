"""A client of the reference service, which is publicly writable."""

import json
import urllib.parse

from harness import GatewayTest

ROOT = "/odata/v4/reference/"


class ReferenceTest(GatewayTest):
    def request(self, method, path, body=None, status=200, **headers):
        """Percent-encodes what URLs have encoded; a header's name is written with underscores."""
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        if body is not None and "Content-Type" not in headers:
            headers["Content-Type"] = "application/json"
        text = body if body is None or isinstance(body, str) else json.dumps(body)
        address = ROOT + urllib.parse.quote(path, safe="/?&=$(),'@:;*!%+-._~")
        return self.expect(self.gateway.request(method, address, text, headers), status)

    def get(self, path, status=200, **headers):
        return self.request("GET", path, status=status, **headers)

    def values(self, path, **headers):
        return self.get(path, **headers).json()["value"]

    def names(self, path):
        return [row["Name"] for row in self.values(path)]

    def product(self, name, **properties):
        """Creates one."""
        return self.request("POST", "Products", {"Name": name, "Price": 1, "Status": "InStock", **properties}, 201).json()

    def refused(self, path, status=400, **headers):
        """The error, in OData's shape."""
        error = self.get(path, status, **headers).json()["error"]
        self.assertTrue(error["code"] and error["message"], error)
        return error
