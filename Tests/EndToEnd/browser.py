"""A headless Chromium, driven by the DevTools protocol over two pipes: messages in JSON, each with a zero byte behind it."""

import atexit
import fcntl
import json
import os
import queue
import shutil
import subprocess
import tempfile
import threading
import time

TIMEOUT = 60
_PROGRAMS = ("chromium", "chromium-browser", "google-chrome")


def program():
    """Chromium's path; None where this machine has none."""
    return next(filter(None, map(shutil.which, _PROGRAMS)), None)


def _above(descriptor):
    """The same descriptor under a number that is out of the way of 3 and 4."""
    moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 10)
    os.close(descriptor)
    return moved


class PageError(AssertionError):
    """What a page's script threw."""


class Browser:
    """One browser with a profile of its own, which is gone when it is closed."""

    def __init__(self):
        self.profile = tempfile.mkdtemp(prefix="portico-browser-")
        self.numbers, self.answers, self.events = iter(range(1, 10**9)), {}, queue.Queue()
        commands, self.commands = map(_above, os.pipe())
        self.messages, messages = map(_above, os.pipe())
        # Chromium takes commands on descriptor 3 and answers on 4; of shells only some know numbers of two digits.
        self.process = subprocess.Popen(
            ["bash", "-c", f'exec "$@" 3<&{commands} 4>&{messages}', "bash", program(), "--headless=new",
             "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
             "--disable-extensions", "--disable-background-networking", f"--user-data-dir={self.profile}", "about:blank"],
            pass_fds=(commands, messages), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(commands)
        os.close(messages)
        atexit.register(self.close)
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        rest = b""
        while True:
            try:
                chunk = os.read(self.messages, 1 << 16)
            except OSError:
                return
            if not chunk:
                return
            *whole, rest = (rest + chunk).split(b"\0")
            for message in map(json.loads, whole):
                waiting = self.answers.pop(message.get("id"), None)
                (waiting or self.events).put(message)

    def call(self, method, session=None, **parameters):
        number = next(self.numbers)
        answer = self.answers[number] = queue.Queue()
        message = {"id": number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        os.write(self.commands, json.dumps(message).encode() + b"\0")
        received = answer.get(timeout=TIMEOUT)
        if "error" in received:
            raise AssertionError(f"{method}: {received['error']}")
        return received["result"]

    def person(self):
        """Storage and cookies of its own, as if this were another browser."""
        return Person(self, self.call("Target.createBrowserContext")["browserContextId"])

    def close(self):
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait(timeout=TIMEOUT)
            os.close(self.commands)
            os.close(self.messages)
        shutil.rmtree(self.profile, ignore_errors=True)


class Person:
    """Whose tabs share storage and cookies, and nothing with other people's."""

    def __init__(self, browser, context):
        self.browser, self.context = browser, context

    def page(self, address="about:blank"):
        page = Page(self.browser, self.context)
        page.go(address)
        return page

    def leave(self):
        self.browser.call("Target.disposeBrowserContext", browserContextId=self.context)


class Page:
    """One tab."""

    def __init__(self, browser, context):
        self.browser = browser
        self.target = browser.call("Target.createTarget", url="about:blank", browserContextId=context)["targetId"]
        self.session = browser.call("Target.attachToTarget", targetId=self.target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method, **parameters):
        return self.browser.call(method, self.session, **parameters)

    def go(self, address):
        self.call("Page.navigate", url=address)
        self.until("document.readyState === 'complete'")

    def reload(self):
        self.run("globalThis.isOld = true")
        self.call("Page.reload")
        self.until("!globalThis.isOld && document.readyState === 'complete'")

    def run(self, script):
        """The value of an expression, or of a promise; `await` is allowed in it."""
        received = self.call(
            "Runtime.evaluate", expression=f"(async () => ({script}))()" if "await" in script else script,
            awaitPromise=True, returnByValue=True, userGesture=True)
        if "exceptionDetails" in received:
            thrown = received["exceptionDetails"]
            raise PageError(thrown.get("exception", {}).get("description") or thrown["text"])
        return received["result"].get("value")

    def until(self, condition):
        """Waits until an expression is true, and returns it."""
        end = time.monotonic() + TIMEOUT
        while True:
            try:
                if found := self.run(condition):
                    return found
            except (PageError, AssertionError) as error:
                if "context" not in str(error) and time.monotonic() > end:
                    raise
            if time.monotonic() > end:
                raise AssertionError(f"never true: {condition}\n{self.run('document.body?.innerText')}")
            time.sleep(0.05)

    def has_network(self, is_there):
        self.call(
            "Network.emulateNetworkConditions", offline=not is_there, latency=0, downloadThroughput=-1,
            uploadThroughput=-1)

    def screenshot(self, width, height):
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)
        return self.call("Page.captureScreenshot", format="png")["data"]

    def close(self):
        self.browser.call("Target.closeTarget", targetId=self.target)
