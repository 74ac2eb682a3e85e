"""Writes a stored database: `PORTICO_BUILD=… python3 -B Tests/EndToEnd/stored/write.py FOLDER` starts the gateway of that
build with FOLDER's gateway.yaml, has every kind of content written, and leaves the data directory and what clients hold
(state.json) in FOLDER. A database is written once, by the code whose format it stands for, and then kept.
"""

import hashlib
import json
import pathlib
import plistlib
import shutil
import sys
import tempfile

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.append(str(FOLDER.parent))
from harness import Gateway, run_portico  # noqa: E402
from sync_device import Device  # noqa: E402

NOTES, COMPANY = "/api/v1/notes/notes", "/odata/v4/company"
ATTACHMENT = b"An attachment of a note.\n" * 40
# By branch: the one above, and the amounts that were sold there.
BRANCHES = {"All": (None, []), "Europe": ("All", [1.5]), "North": ("Europe", [2, 32.25]), "Island": (None, [1234567.89])}
FEED = {"title": "Kept", "count": 3, "blob": b"\x00\xff", "nested": [{"a": 1.5}, []]}


def main():
    folder = pathlib.Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as data:
        gateway = Gateway(config=str(folder / "gateway.yaml"), data=data)
        try:
            state = write(gateway)
            assert gateway.stop() == 0
        finally:
            gateway.remove()
        shutil.rmtree(folder / "data", ignore_errors=True)
        shutil.copytree(data, folder / "data", ignore=shutil.ignore_patterns("*.log", "*.lock", "*.sock", "scratch"))
    (folder / "state.json").write_text(json.dumps(state, indent=1, sort_keys=True) + "\n")


def write(gateway):
    control(gateway, "accounts", "add", "dora", "--role", "member", stdin="a long password\n")
    with tempfile.NamedTemporaryFile(suffix=".plist") as file:
        file.write(plistlib.dumps(FEED))
        file.flush()
        control(gateway, "feeds", "publish", "kept", file.name)
        control(gateway, "feeds", "publish", "kept", file.name)
    for name, (above, amounts) in BRANCHES.items():
        sent(gateway, "POST", f"{COMPANY}/Branches", {"ID": name, "Name": f"The {name}", "AboveID": above}, 201)
        for number, amount in enumerate(amounts):
            sale = {"ID": number + 10 * list(BRANCHES).index(name), "Amount": amount, "BranchID": name}
            sent(gateway, "POST", f"{COMPANY}/Sales", sale, 201)
    room = sent(gateway, "POST", "/chat/v1/rooms", {"name": "plans", "members": ["bob"]}, 200)["room"]["id"]
    for number in range(3):
        sent(gateway, "POST", f"/chat/v1/rooms/{room}/messages", {"text": f"message {number} ✓"}, 200)
    return {"room": room, **notes(gateway)}


def notes(gateway):
    digest = hashlib.sha256(ATTACHMENT).hexdigest()
    answer = gateway.request("PUT", f"/sync/v1/attachments/{digest}", body=ATTACHMENT, user="alice")
    assert answer.status == 201, answer
    device = Device(gateway, "alice", collections=["notes"])
    for number in range(6):
        fields = {"title": f"note {number}", "text": "ä\U0001F600\n" * number, "sharedWith": ["bob"][:number % 2]}
        if number == 0:
            fields["attachments"] = [digest]
        assert device.change("create", f"note-{number}", fields)["outcome"] == "applied"
    assert device.pull() == []
    revs = {identifier: device.rev(identifier) for identifier in sorted(device.ids())}
    early = {"checkpoint": device.checkpoint, "revs": revs}
    last = device.mutation("update", "note-2", {"title": "changed"}, base=device.rev("note-2"))
    outcome = device.push(last)["outcomes"][0]
    assert outcome["outcome"] == "applied", outcome
    assert gateway.request("DELETE", f"{NOTES}/note-5", user="alice").status in (200, 204)
    stale = device.mutation("update", "note-2", {"title": "too late"}, base=revs["note-2"])
    conflict = device.push(stale)["outcomes"][0]
    return {
        "digest": digest, "early": early, "client": device.client, "last": last, "outcome": outcome,
        "stale": stale, "conflict": conflict}


def sent(gateway, method, path, value, status):
    answer = gateway.send(method, path, value, user="alice")
    assert answer.status == status, answer
    return answer.json()


def control(gateway, *arguments, stdin=None):
    done = run_portico(*arguments, "--data", gateway.data, program="porticoctl", stdin=stdin)
    assert done.returncode == 0, done


if __name__ == "__main__":
    main()
