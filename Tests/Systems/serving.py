"""A WSGI application at a port, until the process ends."""

import signal
import threading
from wsgiref.simple_server import WSGIRequestHandler, make_server

CLOSE, SERVE = signal.SIGUSR1, signal.SIGUSR2


class Quiet(WSGIRequestHandler):
    def log_message(self, *arguments):
        pass


def serve(port, application):
    """Says `serving`, and after SIGUSR1 `closed`: then nothing listens until SIGUSR2, and what is held in memory stays."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {CLOSE, SERVE})
    while True:
        server = make_server("127.0.0.1", port, application, handler_class=Quiet)
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        print("serving", flush=True)
        signal.sigwait({CLOSE})
        server.shutdown()
        server.server_close()
        thread.join()
        print("closed", flush=True)
        signal.sigwait({SERVE})
