"""Lists of what a rule still allows, each in a file; they only get shorter."""

import json


def allowed(repository, path):
    return json.loads(repository.text(path)) if path in repository.files else {}


def module_of(path):
    return "/".join(path.split("/")[:2])


def excesses(repository, path, places):
    """Modules that have more places than the list allows: module, places and how many are allowed."""
    counts = allowed(repository, path)
    for module, found in sorted(places.items()):
        if len(found) > counts.get(module, 0):
            yield module, found, counts.get(module, 0)


def lower(repository, path, places):
    """Writes the list anew, with no module's count raised and none of zero."""
    lowered = {
        module: min(len(places[module]), most)
        for module, most in sorted(allowed(repository, path).items()) if places.get(module)}
    (repository.root / path).write_text(json.dumps(lowered, indent=4) + "\n")
