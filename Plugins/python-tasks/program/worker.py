"""The worker's side of Portico's adapter protocol (docs/protocol/adapter.md), version 2: frames, requests, records.

What an adapter without mounted paths and upstreams needs. Calls run in threads; the thread that reads answers `ping`, so a
slow call stops no heartbeat. Only Python's standard library.
"""

import concurrent.futures
import itertools
import os
import socket
import struct
import threading
import traceback

import cbor

VERSION = 2
MAXIMUM_FRAME = 33_554_432
# The host allows 4,096 requests under way; further ones wait for a thread.
THREADS = 16


class AdapterError(Exception):
    """For the caller: a code of the gateway's registry, and a sentence that may be shown."""

    def __init__(self, code, message, target=None, retry_after=None):
        super().__init__(f"{code}: {message}")
        self.code, self.message, self.target, self.retry_after = code, message, target, retry_after

    def value(self):
        error = {"code": self.code, "message": self.message}
        if self.target is not None:
            error["target"] = self.target
        if self.retry_after is not None:
            error["retryAfter"] = self.retry_after
        return {"error": error}


class ProtocolError(Exception):
    """The other side broke the protocol. The connection is of no use any more."""


class Records:
    """The records of the adapter; those of a call as far as its caller may see and change them."""

    def __init__(self, connection, call=None):
        self._connection, self._call = connection, call

    def _ask(self, method, **params):
        if self._call is not None:
            params["as"] = "caller"
        return self._connection.request(method, params, self._call)

    def record(self, entity, id):
        return self._ask("record", entity=entity, id=id)

    def query(self, entity, **query):
        return self._ask("query", entity=entity, query=query)

    def count(self, entity, filter=None):
        return self._ask("count", entity=entity, **({} if filter is None else {"filter": filter}))

    def apply(self, *changes):
        """All changes, or none. Returns the records as stored, None where one was deleted."""
        return self._ask("apply", changes=list(changes))["records"]


class Call:
    """A call of an operation: its input is of the declared shape."""

    def __init__(self, connection, number, params):
        self.operation, self.input, self.caller = params["operation"], params["input"], params["caller"]
        self.records = Records(connection, number)
        self._connection, self._number = connection, number

    def log(self, level, text, **values):
        self._connection.log(level, text, self._number, **values)


class Connection:
    """The socket of the host. `methods` maps the names of the host's requests to functions of (number, parameters)."""

    def __init__(self, end, methods):
        self._socket, self._methods = end, methods
        self._sending, self._waiting = threading.Lock(), {}
        self._numbers = itertools.count(1)
        self._threads = concurrent.futures.ThreadPoolExecutor(THREADS)

    # Sending

    def _send(self, message):
        frame = cbor.dumps(message)
        with self._sending:
            self._socket.sendall(struct.pack(">I", len(frame)) + frame)

    def request(self, method, params, call=None):
        """The host's answer. Raises AdapterError as the host does, and ProtocolError where the host has gone."""
        answer = concurrent.futures.Future()
        with self._sending:
            number = next(self._numbers)
            self._waiting[number] = answer
            message = {"request": number, "method": method, "params": params}
            if call is not None:
                message["for"] = call
            frame = cbor.dumps(message)
            self._socket.sendall(struct.pack(">I", len(frame)) + frame)
        return answer.result()

    def log(self, level, text, call=None, **values):
        message = {"level": level, "text": text, "values": [[name, value] for name, value in values.items()]}
        event = {"event": "log", "params": {"message": message}}
        if call is not None:
            event["for"] = call
        self._send(event)

    # Receiving

    def run(self):
        """Reads until the host closes the socket."""
        try:
            while (message := self._receive()) is not None:
                self._take(message)
        finally:
            for answer in list(self._waiting.values()):
                answer.set_exception(ProtocolError("the host has gone"))
            self._threads.shutdown(wait=False, cancel_futures=True)

    def _receive(self):
        head = self._read(4)
        if not head:
            return None
        (length,) = struct.unpack(">I", head)
        if length > MAXIMUM_FRAME:
            raise ProtocolError("a frame is too long")
        return cbor.loads(self._read(length))

    def _read(self, count):
        """So many bytes; none at the end of all frames."""
        data = bytearray()
        while len(data) < count:
            part = self._socket.recv(count - len(data))
            if not part:
                if data or count > 4:
                    raise ProtocolError("the host ended within a frame")
                return b""
            data += part
        return bytes(data)

    def _take(self, message):
        if "response" in message:
            self._answer(message)
        elif "request" in message:
            number, method = message["request"], message["method"]
            if method == "ping":
                self._send({"response": number, "result": None})
            else:
                self._threads.submit(self._perform, number, method, message.get("params") or {})
        elif not {"cancel", "event", "stream", "credit", "stop"} & message.keys():
            raise ProtocolError(f"a message of another kind: {sorted(message)}")

    def _answer(self, message):
        answer = self._waiting.pop(message["response"], None)
        if answer is None:
            raise ProtocolError("a response to no request")
        if "error" in message:
            answer.set_exception(_error(message["error"]))
        else:
            answer.set_result(message.get("result"))

    def _perform(self, number, method, params):
        try:
            function = self._methods.get(method)
            if function is None:
                raise AdapterError("adapter.unavailable", f"This adapter does not know {method}.")
            response = {"response": number, "result": function(number, params)}
        except AdapterError as error:
            response = {"response": number, "error": error.value()}
        except Exception:
            failure = {"code": "server.internal", "message": "Something went wrong on the server.",
                       "logDetail": traceback.format_exc(limit=8)}
            response = {"response": number, "error": {"error": failure}}
        try:
            self._send(response)
        except OSError:
            pass  # The host has gone, and the thread that reads learns of it.


def _error(value):
    error = value.get("error") if isinstance(value, dict) else None
    if error:
        return AdapterError(error["code"], error["message"], error.get("target"), error.get("retryAfter"))
    return AdapterError("adapter.unavailable", f"The host could not do this: {value}")


def serve(adapter, end=None):
    """Serves an adapter until the host ends the connection.

    The adapter has `name`, `version`, `options`, `declaration(values)`, `make(values)`, `operations` (names to functions of
    a Call, each returning a value) and `front_page()`. `end` is the socket; that of the process where none is given.
    """
    if end is None:
        end = socket.socket(fileno=int(os.environ.get("PORTICO_WORKER_SOCKET", "3")))

    def hello(_, params):
        if VERSION not in params["versions"]:
            raise AdapterError("request.versionUnsupported", f"This worker speaks version {VERSION} of the protocol.")
        return {"version": VERSION, "name": adapter.name, "program": adapter.version, "options": adapter.options}

    def declare(_, params):
        return {"declaration": adapter.declaration(params["configuration"]["values"])}

    def make(_, params):
        adapter.make(params["configuration"]["values"])
        return {"services": []}

    def call(number, params):
        made = Call(connection, number, params)
        operation = adapter.operations.get(made.operation)
        if operation is None:
            raise AdapterError("route.notFound", f"There is no operation {made.operation}.")
        return {"content": {"value": operation(made)}}

    connection = Connection(end, {
        "hello": hello, "declare": declare, "make": make, "call": call, "start": lambda *_: None,
        "stop": lambda *_: None, "frontPage": lambda *_: adapter.front_page(),
    })
    connection.run()
