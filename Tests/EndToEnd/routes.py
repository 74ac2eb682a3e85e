"""The operations of /openapi.json, as calls to make."""

METHODS = {"get", "post", "put", "patch", "delete"}
SAMPLES = {"userId": "101", "name": "sonnets"}


class Route:
    def __init__(self, method, path, operation, document):
        self.method, self.template, self.document = method.upper(), path, document
        shared = document.get("components", {}).get("parameters", {})
        self.operation = {
            "security": document.get("security", []), **operation,
            "parameters": [shared[one["$ref"].rsplit("/", 1)[1]] if "$ref" in one else one
                           for one in operation.get("parameters", [])]}

    @property
    def path(self):
        return self.path_with(SAMPLES)

    def path_with(self, values, otherwise="x"):
        """The path with its parameters filled in, as given: a caller percent-encodes."""
        path = self.template
        for parameter in self.operation.get("parameters", []):
            if parameter["in"] == "path":
                path = path.replace("{" + parameter["name"] + "}", values.get(parameter["name"], otherwise))
        return path

    @property
    def body_types(self):
        return list(self.operation.get("requestBody", {}).get("content", {}))

    @property
    def needs_body(self):
        return bool(self.operation.get("requestBody", {}).get("required"))

    @property
    def schema(self):
        """Of a JSON body."""
        schema = self.operation["requestBody"]["content"]["application/json"]["schema"]
        return self.resolved(schema)

    def declares(self, status):
        """Whether the status is one of its answers, by itself or as one of a range, which lists those that it stands for."""
        answers = self.operation["responses"]
        if str(status) in answers:
            return True
        ranged = answers.get(f"{status // 100}XX")
        return ranged is not None and status in self.resolved(ranged)["x-portico-statuses"]

    @property
    def members(self):
        return list(self.schema.get("properties", {}))

    def resolved(self, value):
        """What it refers to, or itself."""
        while "$ref" in value:
            found = self.document
            for part in value["$ref"].removeprefix("#/").split("/"):
                found = found[part.replace("~1", "/").replace("~0", "~")]
            value = found
        return value

    def __repr__(self):
        return f"{self.method} {self.template}"


def routes(gateway, mounts=False):
    """All but the mounts, or those alone: their paths are a language of their own (test_odata.py, test_odata_v2.py)."""
    document = gateway.get("/openapi.json?formats=all").json()
    return [
        Route(method, path, operation, document)
        for path, operations in document["paths"].items()
        for method, operation in operations.items()
        if method in METHODS and path.startswith(("/odata/", "/sap/")) == mounts
    ]
