import AdapterKit
import HostConfiguration
import WireFormats

/// A connection file made from an OpenAPI 3 document: an entity for each list that it describes. What the document does not
/// say is guessed by names and marked.
public struct OpenAPIDraft {
    /// Bytes of a document.
    public static let maximumBytes = 32 << 20
    /// References that lead to references, and schemas within schemas.
    private static let maximumDepth = 16
    private static let mostEntities = 200
    private static let mostFields = 200
    /// Schemas that are looked at, the same one again each time.
    private static let mostSchemas = 2_000_000
    /// Names in one comment.
    private static let mostListed = 50

    private let document: WireValue
    private let work = Work()

    private final class Work {
        var schemas = 0
    }

    /// An address or a path to show: without the user's name, the password, the query and the fragment of an address.
    public static func shown(_ source: String) -> String {
        guard let scheme = source.firstRange(of: "://") else { return source }
        let rest = source[scheme.upperBound...]
        let authority = rest.prefix { !"/?#\\".contains($0) }
        let host = authority.lastIndex(of: "@").map { authority[authority.index(after: $0)...] } ?? authority
        // A password with a slash in it is no address; nothing of it is shown.
        let name = host.first == "[" ? host.drop { $0 != "]" } : host
        let port = name.firstIndex(of: ":").map { name[name.index(after: $0)...] } ?? ""
        guard port.allSatisfy({ $0.isASCII && $0.isNumber }) else { return "\(source[..<scheme.upperBound])…" }
        let path = rest[authority.endIndex...].prefix { $0 != "?" && $0 != "#" }
        return "\(source[..<scheme.upperBound])\(host)\(path)"
    }

    /// The connection file. `source` names the document in errors; `upstream` is the name that the system gets. Throws a
    /// sentence for what is no such document, or describes no list.
    public static func text(_ bytes: [UInt8], source: String, upstream: String) throws(DraftProblem) -> String {
        let source = shown(source)
        let document = try document(bytes, source)
        guard let version = document["openapi"]?.stringValue, version.hasPrefix("3.") else {
            let isOlder = document["swagger"] != nil
            throw DraftProblem(
                "\(source) is no OpenAPI 3 document\(isOlder ? ", but one of version 2: convert it first" : "").")
        }
        let reader = OpenAPIDraft(document: document)
        let entities = reader.entities()
        guard reader.work.schemas <= mostSchemas else {
            throw DraftProblem("\(source) has schemas that refer to each other more than can be followed.")
        }
        guard !entities.isEmpty else { throw DraftProblem("\(source) describes no list that can be read by GET.") }
        let address = document["servers"]?.arrayValue?.first?["url"]?.stringValue.map { shown($0) } ?? "unknown"
        return ConnectionDraft(
            title: document["info"]?["title"]?.stringValue.flatMap { $0.isEmpty ? nil : $0 } ?? "Connected system",
            upstream: (name: upstream, note: "guess: its `url` in the configuration is \(address)"), entities: entities,
            notes: ["Made from \(source). What was guessed says so: look at it, then `porticoctl connect try`."]
                + reader.leftOut(besides: entities)
        ).text()
    }

    private static func document(_ bytes: [UInt8], _ source: String) throws(DraftProblem) -> WireValue {
        guard bytes.count <= maximumBytes else {
            throw DraftProblem("\(source) has more than \(maximumBytes) bytes.")
        }
        if let value = try? JSONFormat().read(bytes, limits: ReadingLimits(duplicateKeys: .keepLast)) { return value }
        guard let text = String(validating: bytes, as: UTF8.self) else { throw DraftProblem("\(source) is no text.") }
        do throws(ConfigurationError) {
            return try YAMLDocument.read(text, file: source, maximumBytes: maximumBytes, boundsAliases: false).value
        } catch {
            throw DraftProblem(error.description)
        }
    }

    private func entities() -> [ConnectionDraft.Entity] {
        var names: Set<String> = []
        var entities: [ConnectionDraft.Entity] = []
        for path in (document["paths"]?.dictionaryValue ?? [:]).entries
        where !path.key.contains("{") && entities.count < Self.mostEntities {
            guard let item = resolved(path.value), let operation = item["get"],
                var entity = entity(path.key, item, operation)
            else { continue }
            var number = 2
            let name = entity.name
            while !names.insert(entity.name.lowercased()).inserted {
                entity.name = "\(name)\(number)"
                number += 1
            }
            entities.append(entity)
        }
        return entities
    }

    private func entity(_ path: String, _ item: WireValue, _ operation: WireValue) -> ConnectionDraft.Entity? {
        guard let response = answer(of: operation), let found = list(in: response.schema, path) else { return nil }
        let (fields, left) = fields(of: found.items)
        let isMore = fields.count >= Self.mostFields
        let segment = path.split(separator: "/").last.map(String.init) ?? "list"
        guard !fields.isEmpty, let name = segment.draftName("_-") else { return nil }
        let parameters = ((item["parameters"]?.arrayValue ?? []) + (operation["parameters"]?.arrayValue ?? []))
            .compactMap { resolved($0) }.filter { $0["in"] == "query" }
        let named = recordParameter(path).flatMap { parameter in
            fields.first { $0.name == parameter && ["string", "integer"].contains($0.type) }?.name
        }
        let key = named ?? ConnectionDraft.key(of: fields, in: name)
        var entity = ConnectionDraft.Entity(
            name: name, path: path, summary: operation["summary"]?.stringValue,
            address: String(path.drop { $0 == "/" }),
            format: response.format, list: (path: found.path, note: found.note),
            key: (
                field: key,
                note: key == nil
                    ? "no field can be the key: choose one"
                    : named == nil ? "guess: by its name" : "guess: the parameter of a record's address"
            ),
            fields: fields)
        entity.paging = paging(parameters, response, fields, key)
        entity.changes = changes(parameters, fields)
        if let key { entity.record = record(path, key) }
        let needed = parameters.filter { $0["required"] == true }.compactMap { $0["name"]?.stringValue }
        if !left.isEmpty {
            entity.notes.append("Left out, because a field has one value or a list of texts: \(Self.listed(left)).")
        }
        if isMore { entity.notes.append("Left out: the fields after the first \(Self.mostFields).") }
        let changes = writes(path, item)
        if !changes.isEmpty {
            entity.notes.append("Left out: `write`, for which there are \(Self.listed(changes)).")
        }
        if !needed.isEmpty { entity.notes.append("The address needs `query` with \(needed.joined(separator: ", ")).") }
        return entity
    }

    /// Parts of the document that the connection file lacks: lists below a parameter, requests that are of no list's
    /// record, and lists that are read by no entity.
    private func leftOut(besides entities: [ConnectionDraft.Entity]) -> [String] {
        let taken = Set(entities.compactMap(\.path))
        var (parameters, others) = ([String](), [String]())
        for path in (document["paths"]?.dictionaryValue ?? [:]).entries where !taken.contains(path.key) {
            let isOfRecord = taken.contains { isRecord(path.key, below: $0) }
            let methods = ["get", "post", "put", "patch", "delete"].filter { method in
                // The record of a list, and what changes it, are in the entity or its notes.
                !isOfRecord && resolved(path.value)?[method] != nil
            }
            let requests = methods.map { "\($0.uppercased()) \(path.key)" }
            guard path.key.contains("{"), methods.contains("get") else {
                others += requests
                continue
            }
            parameters += requests
        }
        return [
            parameters.isEmpty
                ? nil : "Left out, because their addresses have a parameter: \(Self.listed(parameters)).",
            others.isEmpty ? nil : "Left out, because they are no list that GET reads: \(Self.listed(others)).",
        ].compactMap { $0 }
    }

    private static func listed(_ names: [String]) -> String {
        let more = names.count - mostListed
        return names.prefix(mostListed).joined(separator: ", ") + (more > 0 ? ", and \(more) more" : "")
    }

    // Answers

    private struct Response {
        let schema: WireValue
        let format: DocumentFormat
        let hasLink: Bool
    }

    private func answer(of operation: WireValue) -> Response? {
        let responses = operation["responses"]
        guard let response = (responses?["200"] ?? responses?["2XX"] ?? responses?["default"]).flatMap({ resolved($0) })
        else { return nil }
        let hasLink = (response["headers"]?.dictionaryValue ?? [:]).entries.contains { $0.key.lowercased() == "link" }
        for content in response["content"]?.dictionaryValue ?? [:] {
            let format: DocumentFormat? =
                DocumentFormat.json.isMediaType(content.key) || content.key == "*/*"
                ? .json : DocumentFormat.xml.isMediaType(content.key) ? .xml : nil
            if let format, let schema = content.value["schema"] {
                return Response(schema: schema, format: format, hasLink: hasLink)
            }
        }
        return nil
    }

    private static let listNames = [
        "data", "items", "results", "value", "values", "records", "rows", "entries", "content",
    ]

    private func list(in schema: WireValue, _ path: String) -> (path: String, items: WireValue, note: String?)? {
        guard let schema = resolved(schema) else { return nil }
        if let items = schema["items"] { return ("", items, nil) }
        let lists = properties(of: schema).filter { property in
            resolved(property.schema)?["items"].map { !properties(of: $0).isEmpty } ?? false
        }
        let segment = path.split(separator: "/").last.map(String.init) ?? ""
        let wanted = [segment] + Self.listNames
        guard
            let chosen = wanted.lazy.compactMap({ name in lists.first { $0.name == name } }).first
                ?? (lists.count == 1 ? lists[0] : nil), let items = resolved(chosen.schema)?["items"]
        else { return nil }
        return (DocumentPath(tokens: [chosen.name]).description, items, "guess: by its name")
    }

    // Schemas

    /// With its references followed; nil where they lead nowhere or in a circle.
    private func resolved(_ value: WireValue) -> WireValue? {
        var value = value
        for _ in 0..<Self.maximumDepth {
            guard let reference = value["$ref"]?.stringValue else { return value }
            guard reference.hasPrefix("#"), let path = DocumentPath(String(reference.dropFirst())),
                let found = path.value(in: document)
            else { return nil }
            value = found
        }
        return nil
    }

    private func properties(of schema: WireValue) -> [(name: String, schema: WireValue)] {
        var seen: Set<String> = []
        var found: [(name: String, schema: WireValue)] = []
        gather(schema, depth: 0, &seen, into: &found)
        return found
    }

    /// A schema that several `allOf` refer to has its properties once.
    private func gather(
        _ schema: WireValue, depth: Int, _ seen: inout Set<String>,
        into found: inout [(name: String, schema: WireValue)]
    ) {
        work.schemas += 1
        guard depth < Self.maximumDepth, work.schemas <= Self.mostSchemas else { return }
        if let reference = schema["$ref"]?.stringValue, !seen.insert(reference).inserted { return }
        guard let schema = resolved(schema) else { return }
        for part in (schema["allOf"]?.arrayValue ?? []).prefix(Self.maximumDepth) {
            gather(part, depth: depth + 1, &seen, into: &found)
        }
        found += (schema["properties"]?.dictionaryValue ?? [:]).entries.map { (name: $0.key, schema: $0.value) }
    }

    /// `left`: the places of what no field can have.
    private func fields(of schema: WireValue) -> (fields: [ConnectionDraft.Field], left: [String]) {
        var names: Set<String> = []
        var (fields, left) = ([ConnectionDraft.Field](), [String]())
        func add(_ schema: WireValue, _ path: [String]) {
            let required = Set((resolved(schema)?["required"]?.arrayValue ?? []).compactMap(\.stringValue))
            for property in properties(of: schema) where fields.count < Self.mostFields {
                let place = path + [property.name]
                guard let inner = resolved(property.schema).map(single) else {
                    left.append(DocumentPath(tokens: place).description)
                    continue
                }
                guard let type = type(of: inner) else {
                    if path.isEmpty, inner["items"] == nil, !properties(of: inner).isEmpty {
                        add(inner, place)
                    } else {
                        left.append(DocumentPath(tokens: place).description)
                    }
                    continue
                }
                guard let name = place.joined(separator: "_").draftName(), names.insert(name.lowercased()).inserted
                else {
                    left.append(DocumentPath(tokens: place).description)
                    continue
                }
                var field = ConnectionDraft.Field(name: name, type: type.name, form: type.form, values: type.values)
                if place != [name] { field.from = DocumentPath(tokens: place).description }
                if type.name == "string", let length = inner["maxLength"]?.int64Value,
                    (1...Int64(FieldType.longestText)).contains(length)
                {
                    field.maximumLength = length
                }
                // What the system gives itself is in its answers, and not in a record that a caller creates.
                let isGiven = property.schema["readOnly"] == true || inner["readOnly"] == true
                field.isRequired = path.isEmpty && required.contains(property.name) && !isGiven
                fields.append(field)
            }
        }
        add(schema, [])
        return (fields, left)
    }

    /// The one schema that says more than null or an empty text of what another is made of: `allOf` a reference, `anyOf` a
    /// reference and null. Of several with one type, that type.
    private func single(_ schema: WireValue) -> WireValue {
        var schema = schema
        for _ in 0..<Self.maximumDepth where schema["type"] == nil {
            let parts = ["allOf", "oneOf", "anyOf"].flatMap { schema[$0]?.arrayValue ?? [] }
                .compactMap { resolved($0) }.filter { part in
                    let isBlank = (part["enum"]?.arrayValue ?? ["a"]).allSatisfy { $0.isNull || $0 == "" }
                    return part["type"] != "null" && part["maxLength"] != 0 && !isBlank
                }
            guard let first = parts.first, schema["properties"] == nil else { break }
            guard parts.count > 1 else {
                schema = first
                continue
            }
            // Objects have their members in all of the parts.
            guard let type = first["type"]?.stringValue, type != "object",
                parts.allSatisfy({ $0["type"]?.stringValue == type })
            else { break }
            schema = ["type": .string(type)]
        }
        return schema
    }

    /// The requests of the list and of one record that change something.
    private func writes(_ path: String, _ item: WireValue) -> [String] {
        let methods = ["post", "put", "patch", "delete"]
        func found(_ path: String, _ item: WireValue) -> [String] {
            methods.filter { item[$0] != nil }.map { "\($0.uppercased()) \(path)" }
        }
        let below = (document["paths"]?.dictionaryValue ?? [:]).entries.filter { isRecord($0.key, below: path) }
        return found(path, item) + below.flatMap { other in resolved(other.value).map { found(other.key, $0) } ?? [] }
    }

    /// Whether the path has one more segment, a parameter. Both may end with a slash.
    private func isRecord(_ other: String, below path: String) -> Bool {
        let prefix = path.hasSuffix("/") ? path : path + "/"
        let segment = other.dropFirst(prefix.count)
        guard other.hasPrefix(prefix + "{"), segment.hasSuffix("}") || segment.hasSuffix("}/") else { return false }
        return segment.count(where: { $0 == "{" }) == 1
    }

    /// Nil for what is no single value.
    private func type(of schema: WireValue) -> (name: String, form: String?, values: [String])? {
        let types = schema["type"]?.arrayValue?.compactMap(\.stringValue) ?? [schema["type"]?.stringValue ?? ""]
        let format = schema["format"]?.stringValue
        switch types.first(where: { $0 != "null" }) {
        case "integer": return ("integer", nil, [])
        case "number": return ("number", nil, [])
        case "boolean": return ("boolean", nil, [])
        case "array":
            let items = schema["items"].flatMap { resolved($0) }
            return items?["type"]?.stringValue == "string" ? ("strings", nil, []) : nil
        case "string":
            if format == "date-time" { return ("date", nil, []) }
            if format == "date" { return ("date", "day", []) }
            let values = (schema["enum"]?.arrayValue ?? []).compactMap(\.stringValue)
            return values.isEmpty ? ("string", nil, []) : ("choice", nil, values)
        default: return nil
        }
    }

    // Pages

    private func paging(
        _ parameters: [WireValue], _ response: Response, _ fields: [ConnectionDraft.Field], _ key: String?
    ) -> (members: [(name: String, value: String)], note: String)? {
        func parameter(_ names: [String]) -> WireValue? {
            names.lazy.compactMap { name in
                parameters.first { $0["name"]?.stringValue?.lowercased() == name.lowercased() }
            }.first
        }
        func named(_ parameter: WireValue) -> String { parameter["name"]?.stringValue ?? "" }
        let limit = parameter([
            "limit", "per_page", "perPage", "page_size", "pageSize", "maxResults", "max_results", "size", "count",
            "top", "rows",
        ])
        var size: [(name: String, value: String)] = []
        if let limit {
            let schema = limit["schema"].flatMap { resolved($0) }
            let most = schema?["maximum"]?.int64Value ?? schema?["default"]?.int64Value ?? 100
            size = [("limit", named(limit)), ("size", String(min(max(most, 1), 1_000)))]
        }
        let top = properties(of: response.schema).map(\.name)
        let total = ["total", "totalCount", "total_count", "totalRows", "totalResults", "count"].first {
            top.contains($0)
        }
        let counted = total.map { [(name: "total", value: "/\($0)")] } ?? []
        let note = "guess: by the names of parameters"
        if response.hasLink { return ([("kind", "link")] + size, "guess: the answer has a field Link") }
        // What leads to the next page by itself needs no guess about parameters.
        if let next = nextAddress(response.schema) {
            return ([("kind", "link"), ("next", next)] + size, "guess: a member is the next page's address")
        }
        if let offset = parameter(["offset", "startAt", "skip", "start", "from"]) {
            return ([("kind", "offset"), ("query", named(offset))] + size + counted, note)
        }
        let next = ["next_cursor", "nextCursor", "nextPageToken", "next_page_token", "next"].first { top.contains($0) }
        let more = ["has_more", "hasMore"].first { top.contains($0) }
        if let cursor = parameter(["cursor", "page_token", "pageToken", "starting_after", "after"]),
            next != nil || key != nil
        {
            let place = next.map { [(name: "next", value: "/\($0)")] } ?? [(name: "last", value: key ?? "")]
            let further = more.map { [(name: "more", value: "/\($0)")] } ?? []
            return ([("kind", "cursor"), ("query", named(cursor))] + place + further + size, note)
        }
        if let page = parameter(["page", "pageNumber", "page_number", "pageIndex", "p"]) {
            return ([("kind", "page"), ("query", named(page))] + size + counted, note)
        }
        return next.map { ([("kind", "link"), ("next", "/\($0)")], "guess: by the name of a member") }
    }

    /// The place of the next page's address: a member that says that it is one by its format, its example or its name, at the
    /// top or in what holds links.
    private func nextAddress(_ schema: WireValue) -> String? {
        let names = ["next", "nextLink", "next_link", "nextUrl", "next_url", "next_page_url", "@odata.nextLink"]
        func place(_ schema: WireValue, _ path: [String]) -> String? {
            let members = properties(of: schema)
            for name in names {
                guard let member = members.first(where: { $0.name == name }),
                    let inner = resolved(member.schema).map(single)
                else { continue }
                let isLinks = !path.isEmpty && path != ["meta"] && path != ["pagination"] && path != ["paging"]
                if isAddress(inner) || (name != "next" && type(of: inner)?.name == "string")
                    || (isLinks && type(of: inner)?.name == "string")
                {
                    return DocumentPath(tokens: path + [name]).description
                }
                if !path.isEmpty, properties(of: inner).contains(where: { $0.name == "href" }) {
                    return DocumentPath(tokens: path + [name, "href"]).description
                }
            }
            return nil
        }
        if let found = place(schema, []) { return found }
        let members = properties(of: schema)
        for holder in ["links", "_links", "paging", "pagination", "meta"] {
            guard let member = members.first(where: { $0.name == holder }), let inner = resolved(member.schema),
                let found = place(inner, [holder])
            else { continue }
            return found
        }
        return nil
    }

    private func isAddress(_ schema: WireValue) -> Bool {
        if ["uri", "uri-reference", "url", "iri"].contains(schema["format"]?.stringValue ?? "") { return true }
        let example = schema["example"]?.stringValue ?? schema["examples"]?.arrayValue?.first?.stringValue ?? ""
        return example.hasPrefix("http://") || example.hasPrefix("https://") || example.hasPrefix("/")
    }

    private func changes(
        _ parameters: [WireValue], _ fields: [ConnectionDraft.Field]
    ) -> (field: String, query: String, note: String)? {
        let names = [
            "since", "updated_since", "updatedSince", "modified_since", "modifiedSince", "updated_after",
            "changed_since",
        ]
        let dates = [
            "updated_at", "updatedAt", "updated", "modified_at", "modifiedAt", "modified", "lastModified",
            "last_modified", "changed",
        ]
        guard let query = parameters.lazy.compactMap({ $0["name"]?.stringValue }).first(where: { names.contains($0) }),
            let field = dates.lazy.compactMap({ name in fields.first { $0.name == name && $0.type == "date" } }).first
        else { return nil }
        return (field.name, query, "guess: by their names")
    }

    /// The name of the parameter that the path of one record has.
    private func recordParameter(_ path: String) -> String? {
        let prefix = path.hasSuffix("/") ? path : path + "/"
        let other = (document["paths"]?.dictionaryValue ?? [:]).entries.first { isRecord($0.key, below: path) }
        return other.map { String($0.key.dropFirst(prefix.count).filter { !"{}/".contains($0) }) }
    }

    /// The path of one record, whose one parameter is taken for the key.
    private func record(_ path: String, _ key: String) -> (address: String, note: String)? {
        let prefix = path.hasSuffix("/") ? path : path + "/"
        for other in (document["paths"]?.dictionaryValue ?? [:]).entries
        where isRecord(other.key, below: path) && resolved(other.value)?["get"] != nil {
            let segment = other.key.dropFirst(prefix.count)
            let isClosed = segment.hasSuffix("/")
            return (
                String(prefix.drop { $0 == "/" }) + "{\(key)}" + (isClosed ? "/" : ""),
                "guess: `\(isClosed ? segment.dropLast() : segment)` is the key"
            )
        }
        return nil
    }
}

extension ConfigurationNode {
    /// As JSON would have it: plain scalars are numbers and truths where they can be.
    fileprivate var value: WireValue {
        switch content {
        case .null: return .null
        case .scalar(let text):
            guard isPlain else { return .string(text) }
            if text == "true" || text == "false" { return .bool(text == "true") }
            return Int64(text).map { .int64($0) } ?? .string(text)
        case .list(let items): return .array(items.map(\.value))
        case .mapping(let entries):
            var members = WireDictionary()
            for entry in entries { members[entry.key] = entry.value.value }
            return .dictionary(members)
        }
    }
}
