"""The gateway under measurement: the demo's configuration on a free port, with a log in a file."""

import json
import os
import re
import urllib.request
from pathlib import Path

from processes import Server

REPOSITORY = Path(__file__).resolve().parents[2]
# Another build's folder, to try a benchmark with. The gateway takes variables of such names for keys.
BUILD = Path(os.environ.pop("PORTICO_BUILD", REPOSITORY / ".build/release"))


class Portico(Server):
    name = "portico"

    def __init__(self, folder, data, *settings):
        super().__init__(folder)
        self.data, self.settings = data, settings
        self.configuration = REPOSITORY / "Config/demo.yaml"

    def command(self):
        program = BUILD / "portico"
        return [
            program, "serve", "--config", self.configuration, "--data", self.data, "--set", "http.port=0", *self.settings]

    @property
    def base(self):
        found = re.search(r"listening on (https?://\S+)", self.said())
        return found and found.group(1)

    def log_in(self, account="alice"):
        """A bearer token of one of the demo's accounts."""
        return self.json("/auth/login", {"username": account, "password": "portico-demo"})["accessToken"]

    def records(self, path, token):
        """All records of an entity."""
        found, page = [], {"next": None}
        while "next" in page:
            page = self.json(f"{path}?limit=500" + (f"&cursor={page['next']}" if page["next"] else ""), token=token)
            found += page["items"]
        return found

    def json(self, path, body=None, token=None):
        headers = {"Accept": "application/json", "Content-Type": "application/json"}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.base + path, data, headers)
        with urllib.request.urlopen(request, timeout=30, context=self.trust) as answer:
            return json.load(answer)
