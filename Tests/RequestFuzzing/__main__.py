"""Sends damaged requests of every kind to a gateway for a while: `make fuzz-requests SECONDS=… SEED=…`.

A finding is: the process ends, health does not answer, a request stays without an answer, or a status of 500. Findings
are kept below `--keep`, one file each, and told with what the gateway logged. The exit status is 1 where there is one.
`--seed` and the number of a request make the same request again: `--only NUMBER` sends that one alone.
"""

import argparse
import base64
import collections
import hashlib
import pathlib
import random
import re
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "EndToEnd")]

import accounts  # noqa: E402
import corpus  # noqa: E402
import exchange  # noqa: E402
from harness import Gateway  # noqa: E402
from mutation import Mutator  # noqa: E402
from test_tls import SecureGateway  # noqa: E402

SETTINGS = [
    "--set", "adapters.odata.services.admissions.access=public", "--set", "identity.tokens.accessLifetime=1d",
    "--set", "http.deadlines.request=20s", "--set", "log.level=warning",
]
REMEMBERED = 40
# The share of requests that carry a token.
SIGNED_IN = 0.9


class Run:
    def __init__(self, options):
        self.options, self.number, self.findings, self.seen, self.statuses = options, 0, [], {}, collections.Counter()
        self.recent, self.late = [], []
        self.plain = self.start(Gateway)
        self.secure = self.start(SecureGateway) if options.http2 else None
        self.seeds = corpus.seeds(self.plain)
        self.sign_in()

    def start(self, kind):
        # The last of a setting counts: the harness gives a deadline of its own.
        return kind(*SETTINGS)

    def sign_in(self):
        self.sessions = {gateway: accounts.Sessions(gateway) for gateway in (self.plain, self.secure) if gateway}
        self.lines = exchange.Plain(self.plain.port)
        self.frames = exchange.Framed(self.secure.port) if self.secure else None

    def call(self, number):
        """The request of that number: it depends on the seed and its number alone."""
        chance = random.Random(f"{self.options.seed}.{number}")
        call = Mutator(chance).mutated(chance.choice(self.seeds), self.seeds)
        return call, chance

    def one(self, number):
        call, chance = self.call(number)
        account = chance.choice(accounts.NAMES) if chance.random() < SIGNED_IN else None
        gateway = self.secure if self.frames and chance.random() < 0.15 else self.plain
        token = self.sessions[gateway].token(account)
        data = exchange.raw(call, token)
        if gateway is self.secure:
            answer = self.frames.send(call, token)
        else:
            if chance.random() < 0.05:
                at = chance.randrange(max(1, min(len(data), 400)))
                data = data[:at] + bytes([chance.randrange(256)]) + data[at + 1:]
            self.recent = [*self.recent[-REMEMBERED:], (number, data)]
            try:
                answer = self.lines.send(data, call.method)
            except exchange.Silence:
                answer = None
                self.lines.close()
                # A body that is announced and not sent is waited for.
                if not any(name.lower() in ("content-length", "expect", "transfer-encoding") for name, _ in call.headers):
                    self.find("silence", f"no answer in {exchange.SECONDS} s", number, data)
            except ConnectionRefusedError:
                answer = None
        status = answer.status if answer else None
        self.statuses[status] += 1
        if status == 401 and account:
            # The damaged request may have signed its own caller out, or carry other credentials.
            self.sessions[gateway].renew(account)
        if status == 504:
            self.late.append(number)
        if gateway.process.poll() is not None:
            return self.died(gateway, number, data)
        if answer and (status == 500 or b'"status":500' in answer.body):
            time.sleep(0.1)
            self.find("500", self.logged(gateway), number, data)

    def logged(self, gateway):
        lines = [line for line in gateway.log().splitlines() if "request failed" in line]
        return lines[-1] if lines else "nothing logged"

    def died(self, gateway, number, data):
        text = gateway.log()
        why = re.findall(r"^.*(?:Fatal error|fatal error|Crash|stack overflow).*$", text, re.M)
        self.find("ended", f"status {gateway.process.returncode}: {why[-1:]}", number, data, "\n".join(
            base64.b64encode(each).decode() for _, each in self.recent[-8:]))
        gateway.remove()
        if gateway is self.plain:
            self.plain = self.start(Gateway)
        else:
            self.secure = self.start(SecureGateway)
        self.sign_in()

    def find(self, kind, detail, number, data, before=""):
        # One finding for all requests that fail alike: what is theirs alone is left out.
        alike = kind + re.sub(r'\d+|"requestId":"[^"]*"|"time":"[^"]*"|request=\S+', "", detail)[-300:]
        name = hashlib.sha256(alike.encode()).hexdigest()[:12]
        self.seen[name] = self.seen.get(name, 0) + 1
        if self.seen[name] > 1:
            return
        self.findings.append(name)
        self.options.keep.mkdir(parents=True, exist_ok=True)
        (self.options.keep / f"{kind}-{name}").write_text(
            f"{detail}\nseed {self.options.seed} number {number}\n{data[:4000]!r}\n{base64.b64encode(data).decode()}\n{before}\n")
        print(f"{kind}: {detail[:600]}\n  seed {self.options.seed}, number {number}: {data[:300]!r}", flush=True)

    def check_health(self):
        began = time.monotonic()
        try:
            status = self.plain.get("/health/live").status
        except OSError as error:
            status = error
        if status != 200 or time.monotonic() - began > 10:
            self.find("health", f"health answered {status} after a while", self.number, b"")

    def run(self):
        end = time.monotonic() + self.options.seconds
        numbers = self.options.only or None
        while numbers or (not self.options.only and time.monotonic() < end):
            self.one(numbers.pop(0) if numbers else self.number)
            self.number += 1
            if self.number % 100 == 0:
                self.check_health()
        used = ", ".join(f"{gateway.resident('VmHWM') >> 20} MiB" for gateway in self.sessions)
        signed_in = sum(sessions.count for sessions in self.sessions.values())
        self.plain.remove()
        if self.secure:
            self.secure.remove()
        sent = sum(self.statuses.values())
        shares = ", ".join(f"{status}: {count} ({count / sent:.1%})" for status, count in self.statuses.most_common())
        print(f"{sent} requests, seed {self.options.seed}, {len(self.findings)} findings; statuses {shares}")
        print(f"signed in {signed_in} times; the most memory {used}")
        # Slow requests are no failures; they are printed for information.
        print(f"not in time: {self.late[:50]}")
        return 1 if self.findings else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", default=str(random.SystemRandom().randrange(1 << 32)))
    parser.add_argument("--keep", type=pathlib.Path, default=pathlib.Path(".build/fuzz/requests"))
    parser.add_argument("--only", type=int, nargs="*", default=[])
    parser.add_argument("--http2", action=argparse.BooleanOptionalAction, default=True)
    return Run(parser.parse_args()).run()


if __name__ == "__main__":
    sys.exit(main())
