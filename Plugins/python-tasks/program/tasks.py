"""Tasks that people write down and finish: records, and two operations."""

import datetime

from worker import AdapterError

TEXT = {"string": [1, 200]}
NAME = {"string": [1, 255]}
INTEGER = {"integer": [-(2**63), 2**63 - 1]}
MAXIMUM_ATTEMPTS = 5

ENTITY = {
    "name": "tasks",
    "summary": "A task of one account.",
    "key": {"field": "id"},
    "fields": [
        {"name": "id", "shape": NAME, "source": "callerOnCreate"},
        {"name": "title", "shape": TEXT, "isRequired": True},
        {"name": "done", "shape": "bool", "defaultValue": [False]},
        {"name": "due", "shape": "date", "isNullable": True},
        {"name": "owner", "shape": NAME, "source": "creator"},
        {"name": "modified", "shape": "date", "source": "modifiedAt"},
    ],
    "indexes": [{"fields": ["owner", "due"]}],
    "searchFields": ["title"],
    "rows": {"read": {"owner": "owner"}, "write": {"owner": "owner"}},
}

OPERATIONS = [
    {
        "name": "finish", "summary": "Marks a task as done.", "effect": "writes", "isIdempotent": True,
        "input": {"name": "Finish", "members": [{"name": "id", "shape": NAME, "isRequired": True}]},
        "output": {"object": {"name": "Finished", "members": [
            {"name": "id", "shape": NAME, "isRequired": True}, {"name": "done", "shape": "bool", "isRequired": True}]}},
    },
    {
        "name": "overview", "summary": "How many tasks are open, overdue and due soon.", "effect": "reads",
        "output": {"object": {"name": "Overview", "members": [
            {"name": name, "shape": INTEGER, "isRequired": True} for name in ("open", "overdue", "dueSoon")]}},
    },
]


def _now():
    return datetime.datetime.now(datetime.timezone.utc).replace(microsecond=0)


class Tasks:
    name, version = "python-tasks", "1.0.0"
    options = [{
        "path": "dueSoon", "kind": "duration", "defaultValue": [86_400],
        "summary": "A task that is due within this time is due soon."}]

    def __init__(self, now=_now):
        self._now, self._due_soon = now, datetime.timedelta(days=1)
        self.operations = {"finish": self.finish, "overview": self.overview}

    def declaration(self, values):
        return {
            "name": self.name, "title": "Tasks", "summary": "Tasks that people write down and finish.",
            "version": self.version, "entities": [ENTITY], "operations": OPERATIONS}

    def make(self, values):
        self._due_soon = datetime.timedelta(seconds=values.get("dueSoon", 86_400))

    def front_page(self):
        return [{"title": "Tasks", "path": "/api/v1/python-tasks/tasks", "summary": "One's own tasks."}]

    def finish(self, call):
        id = call.input["id"]
        for _ in range(MAXIMUM_ATTEMPTS):
            task = call.records.record("tasks", id)
            if task is None:
                raise AdapterError("record.notFound", "There is no such task.", target="id")
            if task["fields"].get("done"):
                return {"id": id, "done": True}
            change = {
                "entity": "tasks", "action": {"update": {"id": id, "fields": {"done": True}}},
                "condition": {"revision": task["revision"]}}
            try:
                call.records.apply(change)
            except AdapterError as error:
                if error.code != "record.preconditionFailed":
                    raise
                continue
            call.log("info", "task finished", task=id)
            return {"id": id, "done": True}
        raise AdapterError("record.conflict", "The task keeps changing; try again.", retry_after=1)

    def overview(self, call):
        now, is_open = self._now(), {"compare": ["done", "eq", False]}
        overdue = {"compare": ["due", "lt", now]}
        soon = {"compare": ["due", "lt", now + self._due_soon]}
        count = call.records.count
        return {
            "open": count("tasks", is_open),
            "overdue": count("tasks", {"all": [is_open, overdue]}),
            "dueSoon": count("tasks", {"all": [is_open, soon, {"not": overdue}]}),
        }
