"""nginx with one worker, which answers each call with the gateway's own bytes out of memory."""

import socket

from processes import Server

_CONFIGURATION = """
daemon off; user root; master_process on; worker_processes 1; pid {folder}/nginx.pid; error_log {folder}/error.log;
events {{ worker_connections 1024; }}
http {{
    access_log {folder}/access.log combined buffer=64k flush=1s;
    client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
    keepalive_requests 1000000000; sendfile on; tcp_nopush on; open_file_cache max=100 inactive=1h; types {{ }}
    server {{
        listen 127.0.0.1:{port};
        root {folder}/answers;
        {locations}
    }}
}}
"""
# A GET is a file of a file system in memory, with nginx's own validators; what only POST asks for is a constant.
_FILE = "location = {path} {{ default_type '{type}'; try_files /{file} =404; }}"
_CONSTANT = "location = {path} {{ default_type '{type}'; return 200 '{body}'; }}"


class Nginx(Server):
    name = "nginx"

    def __init__(self, folder, answers):
        super().__init__(folder)
        self.port = free_port()
        self.base = f"http://127.0.0.1:{self.port}"
        (self.folder / "answers").mkdir()
        locations = {call.path: self._location(number, call, answers[call]) for number, call in enumerate(answers)}
        configuration = _CONFIGURATION.format(
            folder=self.folder, port=self.port, locations="\n        ".join(locations.values()))
        (self.folder / "nginx.conf").write_text(configuration)

    def command(self):
        return ["nginx", "-c", self.folder / "nginx.conf", "-p", self.folder]

    def _location(self, number, call, answer):
        if call.method == "POST":
            body = answer.body.decode().replace("\\", "\\\\").replace("'", "\\'")
            assert "$" not in body, "nginx would take it for a variable"
            return _CONSTANT.format(path=call.path, type=answer.type, body=body)
        (self.folder / f"answers/{number}").write_bytes(answer.body)
        return _FILE.format(path=call.path, type=answer.type, file=number)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
