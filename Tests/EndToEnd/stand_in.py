"""A running `portico-stand-in`, and orders to it."""

import http.client
import json
import subprocess

from harness import BUILD, Answer

PROGRAM = BUILD / "portico-stand-in"


class StandIn:
    """One of its own port. Stopped by the test that started it."""

    def __init__(self, *arguments):
        self.process = subprocess.Popen(
            [str(PROGRAM), "--port", "0", *map(str, arguments)], stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        assert line.startswith("listening on http://127.0.0.1:"), line
        self.port = int(line.strip().rsplit(":", 1)[1])
        self.address = f"http://127.0.0.1:{self.port}"

    def stop(self):
        self.process.terminate()
        self.process.wait(timeout=60)
        self.process.stdout.close()

    def order(self, *arguments):
        """What `portico-stand-in fault` and its like print."""
        done = run(*arguments, "--port", self.port)
        assert done.returncode == 0, done
        return json.loads(done.stdout)

    def send(self, method, path, body=None, fields=None, timeout=60):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            content = json.dumps(body) if isinstance(body, (dict, list)) else body
            connection.request(method, path, content, fields or {})
            response = connection.getresponse()
            return Answer(response.status, {name.lower(): value for name, value in response.getheaders()}, response.read())
        finally:
            connection.close()

    def get(self, path, fields=None, timeout=60):
        return self.send("GET", path, fields=fields, timeout=timeout)


def run(*arguments):
    return subprocess.run(
        [str(PROGRAM), *map(str, arguments)], check=False, capture_output=True, text=True, timeout=120)
