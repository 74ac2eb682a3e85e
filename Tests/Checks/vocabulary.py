"""The metaphors that names and documents do without, and where one of the words is the field's own term.

Each word stands with the term to use instead.
"""

import re

# Words of a name in camel case.
METAPHORS = {
    "Doors?": "mount, listener, request validation",
    "Desks?": "handler",
    "Vestibules?": "load shedding",
    "Houses?": "fixture, gateway",
    "Rooms?": "module (of code), capacity, chat room",
    "Turnstiles?": "semaphore, mutex",
    "Shel(?:f|ves)": "store",
    "AtHand": "cached, buffered",
    "Moments?": "snapshot, time",
    "News": "changes",
    "Standings?": "status, state",
    "Whoever": "the caller",
    "Somebody": "the caller",
    "Arrivals?": "inbound queue, pending",
    "Patience": "idle timeout",
    "Admittances?": "validated head",
    "AtAGlance": "peek",
    "Bonds?": "token binding",
    "Judges?": "resolver",
    "Rosters?": "subscriptions",
    "Climates?": "fault rates",
    "Noon": "fixed clock",
    "Everything": "what is meant",
}

# Words of a document, in either case.
REFUSED_WORDS = {
    r"front doors?|doors?": "listener, mount, request validation",
    r"desks?": "handler",
    r"vestibules?": "load shedding",
    r"houses?": "gateway, host",
    r"rooms?": "module (of code), capacity, chat room",
    r"turnstiles?": "semaphore, mutex",
    r"shel(?:f|ves)": "store",
    r"at hand": "cached, buffered",
    r"(?:read )?moments?": "snapshot, time, instant",
    r"news": "changes",
}

# Words of a document or of a comment in the sources.
VAGUE_WORDS = {
    r"whoever(?:'s)?|whomever": "the caller, the client",
    r"some(?:body|one)(?:'s)?": "the caller, another account",
    r"(?:every|any|no)body(?:'s)?": "every caller, any client, no caller",
    r"told": "reported, returned, notified",
}

# A chat has rooms, in every name and document that is about it.
_CHAT = re.compile(r"chat|twaddle", re.IGNORECASE)
_ROOM = re.compile(r"Rooms?(?=[A-Z+_0-9]|$)")


def is_allowed(path, name):
    """Whether a name with a refused word is the field's term: a chat's room, in a file or a name about the chat."""
    return bool(_ROOM.search(name)) and bool(_CHAT.search(path) or _CHAT.search(name))
