import AdapterKit
import WireFormats

/// One request of another system with fields in its address, its query and its body.
struct RequestTemplate: Sendable, Equatable {
    let method: UpstreamRequest.Method
    let address: Template
    let query: [QueryMember]
    let body: BodyTemplate?
    /// Whether members of an update's body whose fields do not change are left out.
    let changedOnly: Bool
    /// Whether the record is read before, and the change made only where it still has the `ETag` that it had then.
    var ifMatch = false
    /// Where the record stands in the answer.
    let item: DocumentPath

    struct QueryMember: Sendable, Equatable {
        let name: String
        let value: Template
    }

    /// `changed`: the fields that an update changes; nil: all are sent. `omitsNulls`: members of the body whose field has no
    /// value are left out, as for a new record. `document`: what the body replaces, whose other members are kept. Throws ``Template/Problem`` for values that cannot stand where they are to.
    func request(
        of upstream: any Upstream, _ values: TemplateValues, changed: Set<FieldName>? = nil,
        omitsNulls: Bool = false, over document: WireValue? = nil, more: [(name: String, value: String)] = []
    ) throws -> UpstreamRequest {
        var pairs: [(name: String, value: String)] = []
        for member in query {
            // What was not given is not asked for.
            if let field = member.value.onlyField, values.value(field).isNull { continue }
            pairs.append((name: member.name, value: try values.render(member.value)))
        }
        pairs += more
        let path = try values.render(address, .path)
        guard var target = upstream.url.resolving(path), target.origin == upstream.url.origin else {
            throw Template.Problem("The address cannot be made.")
        }
        if !pairs.isEmpty { target = target.adding(FormFields(pairs)) }
        var request = UpstreamRequest(method, target)
        if let body {
            let sent = changedOnly || document != nil ? changed : nil
            request.body = try body.bytes(
                values, changed: omitsNulls ? body.fieldsWithValue(values) : sent,
                over: document)
            request.fields["Content-Type"] = body.format.mediaType
        }
        return request
    }
}

/// The format of a body.
enum BodyFormat: String, Sendable, CaseIterable {
    case json
    case form
    case plist
    case xml

    var mediaType: String {
        switch self {
        case .json: "application/json"
        case .form: "application/x-www-form-urlencoded"
        case .plist: "application/x-plist"
        case .xml: "application/xml; charset=utf-8"
        }
    }
}

/// A request's body.
struct BodyTemplate: Sendable, Equatable {
    indirect enum Content: Sendable, Equatable {
        case literal(WireValue)
        case text(Template)
        case list([Content])
        case members([(name: String, content: Content)])

        static func == (left: Content, right: Content) -> Bool {
            switch (left, right) {
            case (.literal(let a), .literal(let b)): a == b
            case (.text(let a), .text(let b)): a == b
            case (.list(let a), .list(let b)): a == b
            case (.members(let a), .members(let b)):
                a.count == b.count && zip(a, b).allSatisfy { $0.name == $1.name && $0.content == $1.content }
            default: false
            }
        }
    }

    let format: BodyFormat
    let content: Content

    /// `document`: what the body replaces, in JSON and plists.
    func bytes(_ values: TemplateValues, changed: Set<FieldName>?, over document: WireValue? = nil) throws -> [UInt8] {
        func value() throws -> WireValue {
            guard let document else { return try content.value(values, changed) }
            return try content.value(values, changed, over: document)
        }
        do {
            switch format {
            case .json: return try JSONFormat().write(value())
            case .plist:
                return try XMLPropertyListFormat().write(
                    value(), options: WritingOptions(nulls: .omitMember))
            case .xml:
                guard case .text(let template) = content else { return [] }
                return Array(try values.render(template, .xml).utf8)
            case .form:
                let members = try content.value(values, changed).dictionaryValue ?? [:]
                return UpstreamRequest(
                    posting: FormFields(
                        members.entries.compactMap { entry in
                            entry.value.isNull ? nil : (name: entry.key, value: entry.value.formText)
                        }), to: Self.anywhere
                ).body
            }
        } catch let error as WireFormatError {
            throw Template.Problem("The body cannot be written: \(error.kind).")
        }
    }

    // Cannot trap: a literal.
    private static let anywhere = UpstreamAddress("http://localhost/")!

    /// The fields that stand in it.
    var fields: [FieldName] { content.fields }

    /// The fields that have a value, or a text in its place.
    fileprivate func fieldsWithValue(_ values: TemplateValues) -> Set<FieldName> {
        let withDefault = Set(content.templates.flatMap(\.fieldsWithDefault))
        return Set(fields.filter { !values.value($0).isNull || withDefault.contains($0) })
    }
}

extension BodyTemplate.Content {
    fileprivate var templates: [Template] {
        switch self {
        case .literal: []
        case .text(let template): [template]
        case .list(let items): items.flatMap(\.templates)
        case .members(let members): members.flatMap(\.content.templates)
        }
    }

    var fields: [FieldName] {
        switch self {
        case .literal: []
        case .text(let template): template.fields
        case .list(let items): items.flatMap(\.fields)
        case .members(let members): members.flatMap(\.content.fields)
        }
    }

    /// `changed`: members of the body that have fields and none of these are left out.
    func value(_ values: TemplateValues, _ changed: Set<FieldName>? = nil) throws -> WireValue {
        switch self {
        case .literal(let value): return value
        case .text(let template):
            if let field = template.onlyField { return values.value(field) }
            return .string(try values.render(template))
        case .list(let items): return .array(try items.map { try $0.value(values, changed) })
        case .members(let members):
            var written = WireDictionary()
            for member in members {
                let fields = member.content.fields
                if let changed, !fields.isEmpty, changed.isDisjoint(with: fields) { continue }
                written[member.name] = try member.content.value(values, changed)
            }
            return .dictionary(written)
        }
    }

    /// The document with the body's members in it. `changed`: what has other fields stays as the document has it; nil: every
    /// member is replaced.
    func value(_ values: TemplateValues, _ changed: Set<FieldName>?, over document: WireValue) throws -> WireValue {
        guard case .members(let members) = self, var written = document.dictionaryValue else {
            return try value(values)
        }
        for member in members {
            let fields = member.content.fields
            let found = written[member.name]
            if let changed, found != nil, !fields.isEmpty, changed.isDisjoint(with: fields) { continue }
            written[member.name] = try member.content.value(values, changed, over: found ?? .null)
        }
        return .dictionary(written)
    }
}

extension WireValue {
    fileprivate var formText: String {
        switch self {
        case .string(let text): text
        case .bool(let flag): flag ? "true" : "false"
        case .int64(let number): String(number)
        case .uint64(let number): String(number)
        case .double(let number): number.description
        case .decimal(let number): number.description
        case .array(let items): items.map(\.formText).joined(separator: ",")
        default: ""
        }
    }
}
