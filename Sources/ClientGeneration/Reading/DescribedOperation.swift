import ValueTree

/// One operation as the description has it, not taken apart yet.
struct DescribedOperation {
    struct Parameter {
        let name: String
        let schema: WireValue
        let isRequired: Bool
        let isInPath: Bool
        let summary: String
    }

    struct Answer {
        /// Nil: without a body.
        let schema: WireValue?
    }

    let service: String
    /// `notes.share`, `notes.notes.list`.
    let name: String
    let path: String
    let method: String
    private let value: WireValue

    static func all(in document: WireValue) -> [DescribedOperation] {
        (document["paths"]?.dictionaryValue?.entries ?? []).flatMap { path in
            (path.value.dictionaryValue?.entries ?? []).compactMap { method in
                guard let service = method.value["x-portico-adapter"]?.stringValue,
                    let name = method.value["x-portico-name"]?.stringValue
                else { return nil }
                return DescribedOperation(
                    service: service, name: name, path: path.key, method: method.key.uppercased(), value: method.value)
            }
        }
    }

    var summary: String { value["summary"]?.stringValue ?? "" }

    /// The entity whose records it is about; nil for an operation of the adapter's own.
    var entity: String? {
        let parts = path.split(separator: "/")
        guard parts.count >= 4, parts[0] == "api", parts[1] == "v1", parts[3] != "operations" else { return nil }
        return String(parts[3])
    }

    /// What the operation is called in a program: `share`, `listNotes`, `readNote`.
    var methodName: String {
        let parts = name.split(separator: ".").map(String.init)
        guard entity != nil, parts.count == 3 else { return Words(parts.last ?? name).lowerCamel }
        let object = Words(parts[1])
        return parts[2] + (parts[2] == "list" ? object.upperCamel : object.singular.upperCamel)
    }

    func typeName(_ role: String) -> String { Words(methodName).upperCamel + role }

    var parameters: [Parameter] {
        (value["parameters"]?.arrayValue ?? []).compactMap { parameter in
            guard let name = parameter["name"]?.stringValue, let place = parameter["in"]?.stringValue,
                place == "path" || place == "query"
            else { return nil }
            return Parameter(
                name: name, schema: parameter["schema"] ?? [:], isRequired: parameter["required"]?.boolValue ?? false,
                isInPath: place == "path", summary: parameter["description"]?.stringValue ?? "")
        }
    }

    /// Nil where the path ends in what takes several segments.
    var pathParts: [ServiceOperation.PathPart]? {
        path.split(separator: "/", omittingEmptySubsequences: true).map { part in
            part.first == "{" && part.last == "}"
                ? .parameter(String(part.dropFirst().dropLast())) : .literal(String(part))
        }
    }

    var bodySchema: WireValue? {
        value["requestBody"]?["content"]?["application/json"]?["schema"]
    }

    /// Of the first successful status; nil where that is no value.
    var answer: Answer? {
        let successes = (value["responses"]?.dictionaryValue?.entries ?? []).filter { $0.key.hasPrefix("2") }
        guard let first = successes.min(by: { $0.key < $1.key })?.value else { return nil }
        guard let content = first["content"] else { return Answer(schema: nil) }
        return content["application/json"]?["schema"].map { Answer(schema: $0) }
    }
}
