import AdapterKit
import ODataModel
import ODataQueries

/// A level's entries in version 2's JSON.
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

    struct Form: RowForm {
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
        builder.value(content(property.simple), at: property.position, before: key, null: key + "null")
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
