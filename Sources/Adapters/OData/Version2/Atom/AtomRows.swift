import AdapterKit
import ODataModel
import ODataQueries
import ODataRecords

/// A level's entries in Atom.
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
    struct Form: RowForm {
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

/// What values of a property are written in, and how.
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
