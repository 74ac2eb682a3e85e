"""What other people's generators make of a description: their modules, and a way to make each call that they have.

A generator's client is asked for one route at a time. What it says of the answer is an ``Outcome``; where it could not decode
an answer, or could not be used at all, it throws.
"""

import importlib
import inspect
import json
import os
import pathlib
import subprocess
import sys
import typing

BIN = pathlib.Path(sys.executable).parent
# Generators know JSON and texts. What is no JSON is a text to them where they can be told so.
TEXTS = {"application/xml": "text/plain", "application/x-plist": "text/plain", "*/*": "text/plain"}
STREAM_SECONDS, SECONDS = 2, 30


class Outcome(typing.NamedTuple):
    status: int
    decoded: typing.Any


class Beyond(Exception):
    """This generator's clients have no way to make the call, or to read what is answered; their docstring says so."""


class StreamGoesOn(Exception):
    """A stream of events does not end, and these clients read answers to their end."""


def folded(name):
    """The same for a name in every language's case."""
    return "".join(letter for letter in name.lower() if letter.isalnum())


def model_in(annotation):
    """The class that a body's values are made of; None where they stay as they are."""
    found = [annotation, *typing.get_args(annotation)]
    return next((one for one in found if isinstance(one, type) and hasattr(one, "from_dict")), None) or next(
        (one for one in found if isinstance(one, type) and hasattr(one, "model_fields")), None)


def arguments(function, values):
    """Those of the values that the function takes, by its own names."""
    given = {folded(name): value for name, value in values.items()}
    names = inspect.signature(function).parameters
    return {name: given[folded(name)] for name in names if folded(name) in given}


class Generator:
    """One generator and the client that it has made in a folder of its own."""

    package = None

    def __init__(self, description, folder, address):
        self.folder, self.address = folder, address
        folder.mkdir()
        self.generate(description)
        sys.path.insert(0, str(folder))

    def run(self, *command):
        # Generators call a formatter by its name.
        environment = os.environ | {"PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}
        done = subprocess.run(
            [BIN / command[0], *command[1:]], cwd=self.folder, capture_output=True, text=True, timeout=600, env=environment)
        if done.returncode:
            raise AssertionError(f"{self.package}: {done.stdout[-4000:]}\n{done.stderr[-4000:]}")

    def module_names(self):
        root = self.folder / self.package
        for path in sorted(root.rglob("*.py")):
            yield ".".join(path.relative_to(self.folder).with_suffix("").parts).removesuffix(".__init__")

    def broken_modules(self):
        """How many modules there are, and what those say that cannot be imported."""
        count, broken = 0, {}
        for name in self.module_names():
            count += 1
            try:
                importlib.import_module(name)
            except Exception as error:
                broken[name] = f"{type(error).__name__}: {error}"
        return count, broken


class PythonClient(Generator):
    """openapi-python-client: a module for each call, models of attrs."""

    package = "python_client"

    def generate(self, description):
        (self.folder / "config.yaml").write_text(json.dumps({"content_type_overrides": TEXTS}))
        # A warning means that it has left something out.
        self.run(
            "openapi-python-client", "generate", "--path", description, "--config", "config.yaml", "--meta", "none",
            "--output-path", self.package, "--fail-on-warning")

    def calls(self):
        prefix = f"{self.package}.api."
        modules = (importlib.import_module(name) for name in self.module_names() if name.startswith(prefix))
        return {folded(one.__name__.split(".")[-1]): one.sync_detailed for one in modules if hasattr(one, "sync_detailed")}

    @staticmethod
    def is_anything(function):
        """Whether every answer may be any value, as below the root of a service with a language of its own; it leaves that to
        the caller."""
        return typing.get_args(typing.get_type_hints(function)["return"]) == (typing.Any,)

    def call(self, function, values, body, token, seconds):
        import httpx

        given = arguments(function, values)
        if "body" in inspect.signature(function).parameters and body is not None:
            model = model_in(typing.get_type_hints(function)["body"])
            given["body"] = model.from_dict(body) if model else body
        # It asks for no format by itself, and some contracts answer XML then.
        client = importlib.import_module(f"{self.package}.client").AuthenticatedClient(
            base_url=self.address, token=token, timeout=httpx.Timeout(seconds), raise_on_unexpected_status=True,
            headers={"Accept": "application/json, */*;q=0.5"})
        try:
            answer = function(client=client, **given)
        except httpx.ReadTimeout as error:
            raise StreamGoesOn from error
        if answer.content and answer.parsed is None and not self.is_anything(function):
            raise AssertionError(f"{answer.status_code} is not decoded: {answer.content[:200]}")
        return Outcome(int(answer.status_code), answer.parsed)


class OpenAPIGenerator(Generator):
    """openapi-generator, its client for Python: a class for each tag, models of pydantic. It reads JSON and
    texts."""

    package = "openapi_client"

    def generate(self, description):
        self.run("openapi-generator-cli", "generate", "-g", "python", "-i", description, "-o", ".")

    def calls(self):
        client = importlib.import_module(self.package)
        found = {}
        for name in self.module_names():
            if not name.startswith(f"{self.package}.api."):
                continue
            for _, kind in inspect.getmembers(importlib.import_module(name), inspect.isclass):
                if kind.__module__ == name:
                    found |= {
                        folded(method.removesuffix("_with_http_info")): (client, kind, method)
                        for method in vars(kind) if method.endswith("_with_http_info")}
        return found

    def call(self, function, values, body, token, seconds):
        import urllib3

        client, kind, method = function
        configuration = client.Configuration(host=self.address, access_token=token, retries=False)
        api = getattr(kind(client.ApiClient(configuration)), method)
        given = arguments(api, values)
        hints = typing.get_type_hints(inspect.unwrap(api))
        left = [name for name in inspect.signature(api).parameters if name not in given and not name.startswith("_")]
        models = {name: model_in(hints[name]) for name in left}
        if body is not None:
            given |= {name: model.from_dict(body) for name, model in models.items() if model}
        try:
            answer = api(**given, _request_timeout=seconds)
        except client.ApiException as error:
            if error.status == 0:
                raise (Beyond if "content type" in str(error.reason) else StreamGoesOn)(error) from error
            return Outcome(error.status, error.data if error.data is not None else error.body)
        except urllib3.exceptions.HTTPError as error:
            raise StreamGoesOn from error
        return Outcome(answer.status_code, answer.data)


class PythonGenerator(Generator):
    """openapi-python-generator: a function for each call, models of pydantic. It reads every answer as JSON, knows one
    successful status of a call, takes null for no required member, and writes neither dates nor calls without a header
    field that may be left out."""

    package = "python_generator"

    def generate(self, description):
        self.run("openapi-python-generator", description, self.package)

    def calls(self):
        found = {}
        for name in self.module_names():
            if name.startswith(f"{self.package}.services.") and ".async_" not in name:
                module = importlib.import_module(name)
                functions = inspect.getmembers(module, inspect.isfunction)
                found |= {folded(one): function for one, function in functions if function.__module__ == name}
        return found

    def call(self, function, values, body, token, seconds):
        import httpx
        import pydantic

        config = importlib.import_module(f"{self.package}.api_config")
        given = arguments(function, values)
        if "data" in inspect.signature(function).parameters:
            given["data"] = model_in(typing.get_type_hints(function)["data"])(**(body or {}))
        own = config.APIConfig(base_path=self.address, access_token=token)
        try:
            return Outcome(200, function(own, **given))
        except config.HTTPException as error:
            return Outcome(error.status_code, error.message)
        except (json.JSONDecodeError, TypeError, pydantic.ValidationError) as error:
            raise Beyond(error) from error
        except httpx.ReadTimeout as error:
            raise StreamGoesOn from error


GENERATORS = (PythonClient, OpenAPIGenerator, PythonGenerator)
