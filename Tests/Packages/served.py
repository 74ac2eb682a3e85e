"""A gateway that a test started with the command line of a package, and requests to it."""

import http.client
import json
import subprocess

from debian_root import environment

START_SECONDS = 60


class Served:
    def __init__(self, command, port=8080):
        self.port = port
        self.process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment(),
            start_new_session=True)
        self.output = ""
        for line in self.process.stdout:
            self.output += line
            if line.startswith("listening on http://"):
                return
        raise AssertionError(f"it ended before it listened:\n{self.output}")

    def get(self, path, token=None):
        return self._request("GET", path, headers={"Authorization": f"Bearer {token}"} if token else {})

    def sign_in(self, name, password):
        """The access token."""
        body = json.dumps({"username": name, "password": password})
        status, answer = self._request("POST", "/auth/login", body, {"Content-Type": "application/json", "Accept": "application/json"})
        assert status == 200, (status, answer)
        return json.loads(answer)["accessToken"]

    def _request(self, method, path, body=None, headers=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        connection.request(method, path, body, headers or {})
        response = connection.getresponse()
        answer = response.read().decode()
        connection.close()
        return response.status, answer

    @property
    def gateway(self):
        """Its process id, as seen from here: the one child of the process that made its namespaces."""
        return subprocess.run(
            ["pgrep", "--parent", str(self.process.pid)], check=True, capture_output=True, text=True).stdout.strip()

    def stop(self):
        """SIGTERM to the gateway. The exit status."""
        subprocess.run(["kill", "-TERM", self.gateway], check=True)
        try:
            return self.process.wait(START_SECONDS)
        finally:
            self.kill()

    def kill(self):
        if self.process.poll() is None:
            # The gateway first: its end is what ends the process that waits for it, and what frees the port.
            subprocess.run(["pkill", "-KILL", "--parent", str(self.process.pid)], check=False)
            self.process.wait()
        self.process.stdout.close()
