import AdapterKit
import ODataEngine
import ODataModel

/// Writes feeds and entries in Atom.
struct AtomWriter {
    private let scope: Version2Scope
    private let answer: AtomRows.Answer

    init(_ scope: Version2Scope) {
        self.scope = scope
        answer = AtomRows.Answer(scope)
    }

    func write(_ feed: Version2Feed, to output: inout XMLOutput) {
        let rows = AtomRows(feed.level, model: scope.model)
        begin(rows.source, count: feed.count, hasTombstones: !feed.removed.isEmpty, to: &output)
        for row in feed.rows { rows.level.write(row, answer, to: &output) }
        for address in feed.removed { tombstone(address, to: &output) }
        end(next: feed.next, delta: feed.delta, to: &output)
    }

    /// A feed up to its first entry.
    func begin(_ source: String, count: Int?, hasTombstones: Bool = false, to output: inout XMLOutput) {
        output.begin("feed", root)
        if hasTombstones { output.attribute("xmlns:at", AtomName.tombstones) }
        let path = String(scope.relative.prefix { $0 != "?" })
        head(id: scope.root + path, title: source, to: &output)
        output.element("link", [("rel", "self"), ("title", source), ("href", path)])
        if let count { output.element("m:count", text: String(count)) }
    }

    func end(next: String?, delta: String?, to output: inout XMLOutput) {
        if let next { output.element("link", [("rel", "next"), ("href", next)]) }
        if let delta { output.element("link", [("rel", "delta"), ("href", delta)]) }
        output.end()
    }

    func write(_ entry: Version2Entry, to output: inout XMLOutput) {
        output.begin("entry", root)
        if let tag = entry.level.tag(of: entry.row) { output.attribute("m:etag", tag) }
        let level = AtomRows(entry.level, model: scope.model).level
        level.template(of: entry.row).content(of: entry.row, answer, to: &output)
        output.end()
    }

    private var root: [(name: String, value: String)] {
        [
            ("xml:base", scope.root), ("xmlns", AtomName.atom), ("xmlns:m", Version2Namespace.metadata),
            ("xmlns:d", Version2Namespace.data),
        ]
    }

    private func head(id: String, title: String, to output: inout XMLOutput) {
        output.element("id", text: id)
        output.element("title", [("type", "text")], text: title)
        output.raw(answer.updated)
    }

    private func tombstone(_ address: String, to output: inout XMLOutput) {
        output.element(
            "at:deleted-entry", [("ref", address), ("when", scope.now.rfc3339 ?? "1970-01-01T00:00:00Z")])
    }
}

/// Writes a feed in Atom while its rows are read.
struct AtomFeed: Version2FeedWriter {
    private let writer: AtomWriter
    private let rows: AtomRows
    private let answer: AtomRows.Answer
    private var output: XMLOutput

    init(_ rows: AtomRows, in scope: Version2Scope, to sink: DocumentSink) {
        output = XMLOutput(capacity: 4_096, to: sink)
        writer = AtomWriter(scope)
        answer = AtomRows.Answer(scope)
        self.rows = rows
    }

    mutating func begin(count: Int?) { writer.begin(rows.source, count: count, to: &output) }

    mutating func write(_ row: ResultRow) {
        guard output.goesOn() else { return }
        rows.level.write(row, answer, to: &output)
    }

    mutating func write(_ row: FlatRow) throws { try rows.level.write(row, answer, to: &output) }

    mutating func end(next: String?, delta: String?) { writer.end(next: next, delta: delta, to: &output) }

    mutating func flush() throws {
        guard output.isRepresentable else { throw AtomFormat.notRepresentable }
        try output.flush()
    }
}

/// Writes the entries of a level in Atom.
struct AtomRows: Version2Rows {
    struct Answer: Sendable {
        let root: String
        /// When the entries changed is not kept; Atom wants an instant all the same.
        let updated: String

        init(_ scope: Version2Scope) {
            root = scope.root
            updated =
                "<updated>\(scope.now.rfc3339 ?? "1970-01-01T00:00:00Z")</updated><author><name/></author>"
        }
    }

    /// The set's name.
    let source: String
    let level: RowLevel<Form>

    init(_ level: Version2Level, model: EntityDataModel) {
        source = level.table.source
        self.level = AtomTemplate(level, model).rows
    }

    func feed(in scope: Version2Scope, to sink: DocumentSink) -> any Version2FeedWriter {
        AtomFeed(self, in: scope, to: sink)
    }

    /// Entries have their tags in their first tag.
    struct Form: RowFormat {
        static let root = 0
        static let updated = 1

        let level: Version2Level
        let values: AtomValues
        /// By the column that they are in.
        let properties: [AtomProperty?]

        func begin<Row: TemplateRow>(_ row: Row, to output: inout XMLOutput) throws(Row.Failure) {
            guard let column = level.shape.revisionColumn, case .int64(let revision) = try row.value(at: column) else {
                return output.raw("<entry>")
            }
            output.raw("<entry m:etag=\"W/&quot;")
            output.integer(revision)
            output.raw("&quot;\">")
        }

        func end(to output: inout XMLOutput) { output.raw("</entry>") }
        func address<Row: TemplateRow>(of row: Row) throws(Row.Failure) -> String {
            try level.address.path { column throws(Row.Failure) in try row.value(at: column) }
        }

        func given(_ part: Int, of answer: Answer, to output: inout XMLOutput) {
            part == Self.root ? output.text(answer.root) : output.raw(answer.updated)
        }

        func write(_ value: WireValue, at column: Int, to output: inout XMLOutput) {
            if let property = properties[column] { values.write(value, property, to: &output) }
        }

        func write(_ expanded: ExpandedRows, at position: Int, _ answer: Answer, to output: inout XMLOutput) {}
    }
}

/// How the values of a property are written in Atom.
final class AtomProperty: Sendable {
    let element: AtomElement
    let type: TypeReference
    let shape: Version2Shape
    let members: [[String]]?

    init(_ property: Version2Level.Property, _ model: EntityDataModel) {
        shape = model.version2Shape(of: property.type)
        element = AtomElement(property.name, shape)
        type = property.type
        members = property.members
    }
}

extension XMLOutput: RowOutput {
    mutating func ready(_ bytes: UnsafeBufferPointer<UInt8>) { raw(bytes) }
    mutating func digits(_ number: Int64) { integer(number) }
    mutating func value(_ text: String) { self.text(text) }
    mutating func value(_ text: UnsafeBufferPointer<UInt8>) { self.text(text) }
    mutating func control(_ text: String) { rawValue(text) }
}

/// Builds the row template of a level's entries in Atom.
struct AtomTemplate {
    private typealias Builder = RowTemplateBuilder<AtomRows.Form>

    private let level: Version2Level
    private let model: EntityDataModel

    init(_ level: Version2Level, _ model: EntityDataModel) {
        self.level = level
        self.model = model
    }

    var rows: RowLevel<AtomRows.Form> { .version2(level, template) }

    private func template(_ kind: Version2Level.Kind) -> RowTemplate<AtomRows.Form> {
        var builder = Builder()
        head(kind, to: &builder)
        for navigation in kind.navigation { related(navigation, to: &builder) }
        content(kind, to: &builder)
        builder.end()
        let properties = kind.byColumn { AtomProperty($0, model) }
        return RowTemplate(
            AtomRows.Form(level: level, values: AtomValues(model: model), properties: properties), builder)
    }

    private func head(_ kind: Version2Level.Kind, to builder: inout Builder) {
        builder.text("<id>")
        builder.given(AtomRows.Form.root)
        builder.address()
        builder.text("</id><title type=\"text\">")
        builder.address()
        builder.text("</title>")
        builder.given(AtomRows.Form.updated)
        builder.text(markup("category", [("term", kind.typeName), ("scheme", AtomName.scheme)]) + "/>")
        link([("rel", "edit"), ("title", kind.type.name.name)], suffix: "", end: "/>", to: &builder)
    }

    private func related(_ navigation: Version2Level.Navigation, to builder: inout Builder) {
        let name = navigation.name
        link(
            [
                ("rel", AtomName.related + name),
                ("type", "application/atom+xml;type=\(navigation.isCollection ? "feed" : "entry")"), ("title", name),
            ], suffix: "/\(name)", end: navigation.expansion == nil ? "/>" : "><m:inline>", to: &builder)
        guard let (position, inner) = navigation.expansion else { return }
        if navigation.isCollection { feed(of: inner, name, to: &builder) }
        let end = "</m:inline></link>"
        builder.level(
            AtomTemplate(inner, model).rows, at: position, isCollection: navigation.isCollection, before: "",
            after: navigation.isCollection ? "</feed>\(end)" : end, null: end)
    }

    /// Its begin.
    private func feed(of level: Version2Level, _ name: String, to builder: inout Builder) {
        builder.text("<feed><id>")
        builder.given(AtomRows.Form.root)
        builder.address()
        builder.text("/\(name)</id><title type=\"text\">\(level.table.source)</title>")
        builder.given(AtomRows.Form.updated)
    }

    private func content(_ kind: Version2Level.Kind, to builder: inout Builder) {
        guard kind.isMedia else {
            builder.text("<content type=\"application/xml\">")
            properties(kind, to: &builder)
            return builder.text("</content>")
        }
        builder.text("<link rel=\"edit-media\" type=\"")
        mediaType(to: &builder)
        builder.text("\" href=\"")
        builder.address()
        builder.text("/$value\"/><content type=\"")
        mediaType(to: &builder)
        builder.text("\" src=\"")
        builder.address()
        builder.text("/$value\"/>")
        properties(kind, to: &builder)
    }

    private func mediaType(to builder: inout Builder) {
        guard let column = level.mediaTypeColumn else { return builder.text(StreamHandler.standardType) }
        builder.value(.control, at: column, before: "", null: StreamHandler.standardType)
    }

    private func properties(_ kind: Version2Level.Kind, to builder: inout Builder) {
        guard !kind.properties.isEmpty else { return builder.text("<m:properties/>") }
        builder.text("<m:properties>")
        for property in kind.properties { value(property, to: &builder) }
        builder.text("</m:properties>")
    }

    /// The element of a complex value depends on what it is.
    private func value(_ property: Version2Level.Property, to builder: inout Builder) {
        let shape = model.version2Shape(of: property.type)
        let element = AtomElement(property.name, shape)
        let null = property.type.isCollection ? element.open + "[]" + element.close : element.null
        if case .complex = shape { return builder.value(.other, at: property.position, before: "", null: null) }
        builder.value(
            content(property.simple), at: property.position, before: element.open, after: element.close, null: null)
    }

    private func content(_ type: Version2Type?) -> RowPart.Content {
        switch type {
        case .string, .guid: .text
        case .int64, .int32, .int16, .byte, .sByte: .integer
        default: .other
        }
    }

    private func link(
        _ attributes: [(String, String)], suffix: String, end: String, to builder: inout Builder
    ) {
        builder.text(markup("link", attributes) + " href=\"")
        builder.address()
        builder.text("\(suffix)\"\(end)")
    }

    /// Of names that come from the model, which are XML names.
    private func markup(_ name: String, _ attributes: [(String, String)]) -> String {
        "<\(name)" + attributes.map { " \($0)=\"\($1)\"" }.joined()
    }
}

/// Writes stored values as elements of `m:properties` ([MS-ODATA], section 2.2.6.2.2).
struct AtomValues: Sendable {
    let model: EntityDataModel
    private var form: Version2ValueCodec { Version2ValueCodec(model: model) }

    /// A value within its property's element, or with it where that says what the value is. Null is not among them.
    func write(_ value: WireValue, _ property: AtomProperty, to output: inout XMLOutput) {
        let (shape, type) = (property.shape, property.type)
        if case .complex = shape { return write(value, property.element, shape, type, property.members, to: &output) }
        content(value, shape, type, property.members, to: &output)
    }

    /// A document with one property, or the items of a collection that a function answers.
    func document(_ property: Version2Property, to output: inout XMLOutput) {
        let namespaces = [("xmlns:d", Version2Namespace.data), ("xmlns:m", Version2Namespace.metadata)]
        let shape = model.version2Shape(of: property.type.item)
        output.begin("d:\(property.name)", namespaces)
        if property.type.isCollection {
            let element = AtomElement("element", shape)
            for item in property.value.arrayValue ?? [] {
                write(item, element, shape, property.type.item, nil, to: &output)
            }
        } else {
            if shape.typeName != Version2Type.string.description { output.attribute("m:type", shape.typeName) }
            if property.value.isNull { output.attribute("m:null", "true") }
            content(property.value, shape, property.type, nil, to: &output)
        }
        output.end()
    }

    private func write(
        _ value: WireValue, _ element: AtomElement, _ shape: Version2Shape, _ type: TypeReference,
        _ members: [[String]]?, to output: inout XMLOutput
    ) {
        let isEmptyList = value.isNull && type.isCollection
        guard !value.isNull || isEmptyList else { return output.raw(element.null) }
        if case .complex = shape, let actual = value["@type"]?.stringValue {
            output.raw(element.open(as: actual))
        } else {
            output.raw(element.open)
        }
        content(value, shape, type, members, to: &output)
        output.raw(element.close)
    }

    private func content(
        _ value: WireValue, _ shape: Version2Shape, _ type: TypeReference, _ members: [[String]]?,
        to output: inout XMLOutput
    ) {
        switch shape {
        case .simple(let simple): if let text = form.text(of: value, as: simple, type) { output.text(text) }
        case .complex(let name): complex(value, name, members, to: &output)
        case .document: if let text = form.document(value, type) { output.text(text) }
        }
    }

    private func complex(
        _ value: WireValue, _ name: QualifiedName, _ members: [[String]]?, to output: inout XMLOutput
    ) {
        let actual = value["@type"]?.stringValue.flatMap { QualifiedName($0) } ?? name
        for property in model.structured(actual)?.properties ?? [] {
            let selected = members?.filter { $0.first == property.name }.map { Array($0.dropFirst()) }
            if let selected, selected.isEmpty { continue }
            let shape = model.version2Shape(of: property.type)
            write(
                value[property.name] ?? .null, AtomElement(property.name, shape), shape, property.type,
                selected.flatMap { $0.contains([]) ? nil : $0 }, to: &output)
        }
    }
}

/// The element of a property: its name and type, the same for every entry.
struct AtomElement {
    private let name: String
    let open: String
    let close: String
    let null: String

    /// A text has no type: it is the default.
    init(_ name: String, _ shape: Version2Shape) {
        self.name = name
        let type = shape.typeName == "Edm.String" ? "" : " m:type=\"\(shape.typeName)\""
        open = "<d:\(name)\(type)>"
        close = "</d:\(name)>"
        null = "<d:\(name)\(type) m:null=\"true\"/>"
    }

    /// For a value of a type derived from the property's.
    func open(as type: String) -> String { "<d:\(name) m:type=\"\(type)\">" }
}
