"""Generators of clients that the gateway's description is for: every module of what they make can be imported, and every call
is made against the demo and its answer decoded.

    .build/generators-venv/bin/python -B -m unittest discover -s Tests/Generators

Needs .build/generators-venv (`make .build/generators-venv/done`) and the debug build.
"""

import collections
import json
import pathlib
import shutil
import sys
import tempfile
import unittest
import urllib.parse

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "EndToEnd"))

import access
import generated_clients
from generated_clients import GENERATORS, SECONDS, STREAM_SECONDS, Beyond, StreamGoesOn, folded
from harness import GatewayTest
from routes import METHODS, routes

# Of the paths below a service's root, what is there for a reader.
BELOW = "$metadata"


class Generators(GatewayTest):
    # Everyday texts must not lock the caller out, however many calls are made.
    settings = ("--set", "identity.login.backoff=1ms", "--set", "limits.requestsPerMinute=100000")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        folder = pathlib.Path(tempfile.mkdtemp(prefix="portico-generators-"))
        cls.addClassCleanup(shutil.rmtree, folder)
        description = folder / "openapi.json"
        description.write_bytes(cls.gateway.get("/openapi.json").body)
        address = f"http://127.0.0.1:{cls.gateway.port}"
        cls.made = [kind(description, folder / kind.__name__, address) for kind in GENERATORS]
        document = json.loads(description.read_text())
        cls.identifiers = {
            (method.upper(), path): operation["operationId"] for path, methods in document["paths"].items()
            for method, operation in methods.items() if method in METHODS}
        cls.routes = routes(cls.gateway) + routes(cls.gateway, mounts=True)

    def test_every_module_imports(self):
        for made in self.made:
            with self.subTest(made.package):
                count, broken = made.broken_modules()
                self.assertEqual(broken, {})
                self.assertGreater(count, 20)

    def test_every_call_is_made_and_its_answer_decoded(self):
        for made in self.made:
            caller = access.Caller(self.gateway, "admin", ["member", "admin"])
            functions, statuses = made.calls(), collections.Counter()
            self.assertEqual({folded(one) for one in self.identifiers.values()} - set(functions), set(), made.package)
            for route in self.routes:
                with self.subTest(client=made.package, route=route):
                    function = functions[folded(self.identifiers[route.method, route.template])]
                    statuses[self.outcome(made, function, route, caller) // 100] += 1
            # A client whose calls are all refused would have shown little.
            self.assertGreater(statuses[2] * 5, len(self.routes) * 2, (made.package, statuses))

    def outcome(self, made, function, route, caller):
        """The status that the client says."""
        values, body = self.input(route, caller)
        try:
            seconds = STREAM_SECONDS if access.is_stream(route) else SECONDS
            outcome = made.call(function, values, body, caller.token, seconds)
        except StreamGoesOn:
            self.assertTrue(access.is_stream(route), f"{route} has not been answered")
            return 200
        except Beyond as error:
            self.assertTrue(self.is_beyond(made, route, body), error)
            return 200
        self.assertLess(outcome.status, 500, outcome)
        if f"{route}" in access.ENDING or f"{route}" in ("POST /auth/refresh", "POST /auth/password"):
            caller.sign_in()
        return outcome.status

    def input(self, route, caller):
        """Values of the parameters that lead somewhere, and a body."""
        target = access.path_of(route, caller) if not route.template.endswith("{rest}") else route.path_with({"rest": BELOW})
        path, _, query = target.partition("?")
        parts = dict(zip(route.template.split("/"), path.split("/"), strict=True))
        values = {part[1:-1]: urllib.parse.unquote(value) for part, value in parts.items() if part.startswith("{")}
        if access.is_record(route):
            values["id"] = self.record(route, caller)
        values |= dict(urllib.parse.parse_qsl(query, keep_blank_values=True))
        for parameter in route.operation.get("parameters", []):
            name = parameter["name"]
            if name in values and "integer" in parameter["schema"].get("type", ""):
                values[name] = int(values[name])
        body = access.body_of(route, caller)
        return values, None if isinstance(body, bytes) else body

    def record(self, route, caller):
        """The id of a record that is there; where none can be made, one that is not."""
        collection = route.template.removesuffix("/{id}")
        maker = next((one for one in self.routes if f"{one}" == f"POST {collection}"), None)
        if maker is None:
            return "x"
        made = access.call(self.gateway, "POST", collection, access.body_of(maker, caller), caller.headers)
        return urllib.parse.unquote(made.headers["location"].split("/")[-1]) if made.status == 201 else "x"

    def is_beyond(self, made, route, body):
        """Whether the generator is one that has no way to make this call: its docstring says what it lacks."""
        answers = [route.resolved(one) for status, one in route.operation["responses"].items() if status.startswith("2")]
        is_json = all("application/json" in answer.get("content", {"application/json": {}}) for answer in answers)
        if isinstance(made, generated_clients.OpenAPIGenerator):
            return not is_json
        schemas = [route.resolved(answer["content"]["application/json"]["schema"]) for answer in answers if is_json and "content" in answer]
        has_nulls = any("null" in member.get("type", []) for one in schemas for member in one.get("properties", {}).values())
        has_fields = any(one["in"] == "header" for one in route.operation.get("parameters", []))
        return isinstance(made, generated_clients.PythonGenerator) and (
            not is_json or has_nulls or has_fields or body is not None)


if __name__ == "__main__":
    unittest.main()
