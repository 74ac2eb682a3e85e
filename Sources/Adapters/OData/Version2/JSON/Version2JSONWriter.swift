import AdapterKit
import ODataEngine
import ODataModel

/// Writes whole documents in version 2's JSON.
struct Version2JSONWriter: Sendable {
    let scope: Version2Scope
    private let values: Version2JSONValues
    private let answer: Version2JSONRows.Answer

    init(scope: Version2Scope) {
        self.scope = scope
        values = Version2JSONValues(model: scope.model)
        answer = Version2JSONRows.Answer(root: scope.root)
    }

    func bytes(_ content: Version2Content) -> [UInt8] {
        var output = JSONOutput()
        output.beginObject()
        output.key("d")
        write(content, to: &output)
        output.endObject()
        return output.bytes
    }

    private func write(_ content: Version2Content, to output: inout JSONOutput) {
        switch content {
        case .service(let sets):
            output.beginObject()
            output.key("EntitySets")
            output.beginArray()
            for set in sets { output.string(set) }
            output.endArray()
            output.endObject()
        case .feed(let feed): write(feed, to: &output)
        case .entry(let entry):
            let rows = Version2JSONRows(entry.level, model: scope.model)
            rows.level.write(entry.row, answer, to: &output)
        case .property(let property): write(property, to: &output)
        case .links(let links): write(links, to: &output)
        case .nothing, .raw, .stored, .written: output.null()
        }
    }

    private func write(_ feed: Version2Feed, to output: inout JSONOutput) {
        begin(count: feed.count, to: &output)
        let rows = Version2JSONRows(feed.level, model: scope.model)
        for row in feed.rows { rows.level.write(row, answer, to: &output) }
        for address in feed.removed { removed(address, feed.level, to: &output) }
        end(next: feed.next, delta: feed.delta, to: &output)
    }

    /// A feed up to its first entry.
    func begin(count: Int?, to output: inout JSONOutput) {
        output.beginObject()
        if let count { output.member("__count", String(count)) }
        output.key("results")
        output.beginArray()
    }

    func end(next: String?, delta: String?, to output: inout JSONOutput) {
        output.endArray()
        if let next { output.member("__next", next) }
        if let delta { output.member("__delta", delta) }
        output.endObject()
    }

    /// Version 2 defines nothing for it, and SAP's own gateway omits it in JSON; these are version 4's members as Olingo's
    /// services of version 2 say them.
    private func removed(_ address: String, _ level: Version2Level, to output: inout JSONOutput) {
        output.beginObject()
        output.member("@odata.context", "$metadata#\(level.table.source)/$deletedEntity")
        output.member("id", address)
        output.endObject()
    }

    private func write(_ property: Version2Property, to output: inout JSONOutput) {
        output.beginObject()
        output.key(property.name)
        values.write(property.value, property.type, to: &output)
        output.endObject()
    }

    private func write(_ links: Version2Links, to output: inout JSONOutput) {
        guard links.isCollection else { return link(links.addresses.first ?? "", to: &output) }
        output.beginObject()
        if let count = links.count { output.member("__count", String(count)) }
        output.key("results")
        output.beginArray()
        for address in links.addresses { link(address, to: &output) }
        output.endArray()
        if let next = links.next { output.member("__next", next) }
        output.endObject()
    }

    private func link(_ address: String, to output: inout JSONOutput) {
        output.beginObject()
        output.member("uri", address)
        output.endObject()
    }
}

/// Writes a feed in version 2's JSON while its rows are read.
struct Version2JSONFeed: Version2FeedWriter {
    private let writer: Version2JSONWriter
    private let level: RowLevel<Version2JSONRows.Form>
    private let answer: Version2JSONRows.Answer
    private var output: JSONOutput

    init(_ level: RowLevel<Version2JSONRows.Form>, in scope: Version2Scope, to sink: DocumentSink) {
        output = JSONOutput(to: sink)
        writer = Version2JSONWriter(scope: scope)
        answer = Version2JSONRows.Answer(root: scope.root)
        self.level = level
    }

    mutating func begin(count: Int?) {
        output.beginObject()
        output.key("d")
        writer.begin(count: count, to: &output)
    }

    mutating func write(_ row: ResultRow) {
        guard output.goesOn() else { return }
        level.write(row, answer, to: &output)
    }

    mutating func write(_ row: FlatRow) throws { try level.write(row, answer, to: &output) }

    mutating func end(next: String?, delta: String?) {
        writer.end(next: next, delta: delta, to: &output)
        output.endObject()
    }

    mutating func flush() throws { try output.flush() }
}

/// Writes the entries of a level in version 2's JSON.
struct Version2JSONRows: Version2Rows {
    /// The root of the addresses, as a text of JSON without its quotes.
    struct Answer: Sendable {
        let root: String

        init(root: String) {
            self.root = String(JSONOutput.text(of: root).dropFirst().dropLast())
        }
    }

    let level: RowLevel<Form>

    init(_ level: Version2Level, model: EntityDataModel) {
        self.level = Self.rows(level, model)
    }

    func feed(in scope: Version2Scope, to sink: DocumentSink) -> any Version2FeedWriter {
        Version2JSONFeed(level, in: scope, to: sink)
    }

    struct Form: RowFormat {
        fileprivate let level: Version2Level
        fileprivate let values: Version2JSONValues
        /// By the column that they are in.
        fileprivate let properties: [Version2Level.Property?]

        func begin(_ row: some TemplateRow, to output: inout JSONOutput) { output.beginRow() }
        func end(to output: inout JSONOutput) { output.endRow() }
        func address<Row: TemplateRow>(of row: Row) throws(Row.Failure) -> String {
            try level.address.path { column throws(Row.Failure) in try row.value(at: column) }
        }

        func given(_ part: Int, of answer: Answer, to output: inout JSONOutput) { output.plain(answer.root) }
        func write(_ expanded: ExpandedRows, at position: Int, _ answer: Answer, to output: inout JSONOutput) {}

        func write(_ value: WireValue, at column: Int, to output: inout JSONOutput) {
            guard let property = properties[column] else { return output.null() }
            values.write(value, property, to: &output)
        }
    }
}

// How the templates are put together.
extension Version2JSONRows {
    private typealias Builder = RowTemplateBuilder<Form>

    private static func rows(_ level: Version2Level, _ model: EntityDataModel) -> RowLevel<Form> {
        .version2(level) { kind in
            var builder = Builder()
            metadata(level, kind, to: &builder)
            for property in kind.properties { value(property, to: &builder) }
            for navigation in kind.navigation { related(navigation, model, to: &builder) }
            builder.text("}")
            builder.end()
            return RowTemplate(
                Form(
                    level: level, values: Version2JSONValues(model: model),
                    properties: kind.byColumn(\.self)), builder)
        }
    }

    private static func metadata(_ level: Version2Level, _ kind: Version2Level.Kind, to builder: inout Builder) {
        builder.text(#"{"__metadata":{"id":""#)
        uri(to: &builder)
        builder.text(#"","uri":""#)
        uri(to: &builder)
        builder.text(#"","type":"# + JSONOutput.text(of: kind.typeName))
        if let column = level.shape.revisionColumn {
            builder.value(.integer, at: column, before: #","etag":"W/\""#, after: #"\"""#, null: "")
        }
        if kind.isMedia { media(level, to: &builder) }
        builder.text("}")
    }

    private static func media(_ level: Version2Level, to builder: inout Builder) {
        let standard = JSONOutput.text(of: StreamHandler.standardType)
        let key = #","content_type":"#
        if let column = level.mediaTypeColumn {
            builder.value(.control, at: column, before: key, null: key + standard)
        } else {
            builder.text(key + standard)
        }
        for name in ["media_src", "edit_media"] {
            builder.text(",\(JSONOutput.key(of: name))\"")
            uri(to: &builder)
            builder.text("/$value\"")
        }
    }

    private static func value(_ property: Version2Level.Property, to builder: inout Builder) {
        let key = "," + JSONOutput.key(of: property.name)
        let null = property.type.isCollection ? #""[]""# : "null"
        builder.value(content(property.simple), at: property.position, before: key, null: key + null)
    }

    private static func content(_ type: Version2Type?) -> RowPart.Content {
        switch type {
        case .string, .guid: .text
        case .int32, .int16, .byte, .sByte: .integer
        default: .other
        }
    }

    private static func related(
        _ navigation: Version2Level.Navigation, _ model: EntityDataModel, to builder: inout Builder
    ) {
        let key = "," + JSONOutput.key(of: navigation.name)
        guard let (position, level) = navigation.expansion else {
            builder.text(key + #"{"__deferred":{"uri":""#)
            uri(to: &builder)
            return builder.text("/\(navigation.name)\"}}")
        }
        builder.level(
            rows(level, model), at: position, isCollection: navigation.isCollection,
            before: key + (navigation.isCollection ? #"{"results":["# : ""), after: navigation.isCollection ? "]}" : "",
            null: key + "null")
    }

    private static func uri(to builder: inout Builder) {
        builder.given(0)
        builder.address()
    }
}

/// Writes stored values in version 2's JSON.
struct Version2JSONValues: Sendable {
    private let model: EntityDataModel
    private let form: Version2ValueCodec

    init(model: EntityDataModel) {
        self.model = model
        form = Version2ValueCodec(model: model)
    }

    /// Most values need no look at the model.
    func write(_ value: WireValue, _ property: Version2Level.Property, to output: inout JSONOutput) {
        switch (property.simple, value) {
        case (_, .null) where !property.type.isCollection: output.null()
        case (.string, .string(let text)), (.guid, .string(let text)): output.string(text)
        case (.int32, .int64(let number)), (.int16, .int64(let number)), (.byte, .int64(let number)),
            (.sByte, .int64(let number)):
            output.raw(String(number))
        case (.int64, .int64(let number)): output.string(String(number))
        case (.boolean, .bool(let flag)): output.raw(flag ? "true" : "false")
        default:
            guard let simple = property.simple, let json = form.json(value, as: simple, property.type) else {
                return write(value, property.type, members: property.members, to: &output)
            }
            write(json, to: &output)
        }
    }

    /// `members` are the written parts of a complex value, by path; nil: all.
    func write(
        _ value: WireValue, _ type: TypeReference, members: [[String]]? = nil, to output: inout JSONOutput
    ) {
        guard let json = form.json(value, type) else { return composite(value, type, members, to: &output) }
        write(json, to: &output)
    }

    private func write(_ json: Version2JSON, to output: inout JSONOutput) {
        switch json {
        case .plain(let text): output.raw(text)
        case .text(let text): output.string(text)
        }
    }

    private func composite(
        _ value: WireValue, _ type: TypeReference, _ members: [[String]]?, to output: inout JSONOutput
    ) {
        guard !value.isNull || type.isCollection else { return output.null() }
        guard !type.isCollection, case .complex(let name) = type.type else {
            return form.document(value, type).map { output.string($0) } ?? output.null()
        }
        let actual = value["@type"]?.stringValue.flatMap { QualifiedName($0) } ?? name
        output.beginObject()
        output.key("__metadata")
        output.beginObject()
        output.member("type", actual.description)
        output.endObject()
        for property in model.structured(actual)?.properties ?? [] {
            let selected = members?.filter { $0.first == property.name }.map { Array($0.dropFirst()) }
            if selected?.isEmpty == true { continue }
            output.key(property.name)
            let inner = selected.flatMap { $0.contains([]) ? nil : $0 }
            write(value[property.name] ?? .null, property.type, members: inner, to: &output)
        }
        output.endObject()
    }
}
