import AdapterKit
import ODataModel
import ODataQueries
import ODataRecords

/// Control information of one row (JSON Format 4.01, section 4.6).
struct RowControl {
    private let writer: ResultWriter
    private var format: ResponseFormat { writer.format }

    init(_ writer: ResultWriter) {
        self.writer = writer
    }

    /// An entity that is a whole document says who it is and where its stream is even where that can be computed.
    func write(
        _ row: ResultRow, _ shape: ResultShape, _ type: StructuredType?, isDocument: Bool, to output: inout JSONOutput
    ) {
        guard format.metadata != .none, let table = shape.table, let type else { return }
        if format.metadata == .full || type.name != (shape.type ?? table.type.name) {
            output.member("@odata.type", "#\(type.name)")
        }
        let identity = RowIdentity(tables: writer.tables)
        // Within a collection, ids and addresses are computed by whoever reads it (section 4.6.9).
        let isTold = format.metadata == .full || isDocument
        let path = isTold || !shape.streams.isEmpty ? identity.path(row, shape) : nil
        if isTold, let path { output.member("@odata.id", writer.root + path) }
        if let tag = identity.tag(row, shape) { output.member("@odata.etag", tag) }
        guard let path else { return }
        if format.metadata == .full { output.member("@odata.editLink", writer.root + path) }
        media(row, shape, table, path, isDocument: isDocument, to: &output)
        guard format.metadata == .full else { return }
        for navigation in type.navigation {
            let link = "\(writer.root)\(path)/\(navigation.name)"
            output.member("\(navigation.name)@odata.associationLink", "\(link)/$ref")
            output.member("\(navigation.name)@odata.navigationLink", link)
        }
    }

    /// What a stream's bytes are cannot be computed, so it is told wherever control information is.
    private func media(
        _ row: ResultRow, _ shape: ResultShape, _ table: RecordTable, _ path: String, isDocument: Bool,
        to output: inout JSONOutput
    ) {
        for name in shape.streams {
            let (prefix, address) = (name == "$value" ? "" : name, "\(writer.root)\(path)/\(name)")
            if format.metadata == .full || name == "$value" && isDocument {
                output.member("\(prefix)@odata.mediaReadLink", address)
            }
            if format.metadata == .full, name != "$value" { output.member("\(prefix)@odata.mediaEditLink", address) }
            if let type = shape.mediaTypeColumns[name].flatMap({ row.values[$0].stringValue }) {
                output.member("\(prefix)@odata.mediaContentType", type)
            }
        }
    }

    /// Types that JSON does not tell by itself.
    static func annotate(_ name: String, _ type: TypeReference, to output: inout JSONOutput) {
        if type.isCollection {
            return output.member("\(name)@odata.type", "#Collection(\(short(type.type)))")
        }
        switch type.type {
        case .primitive(.string), .primitive(.boolean), .primitive(.double), .complex, .entity: return
        default: output.member("\(name)@odata.type", "#\(short(type.type))")
        }
    }

    private static func short(_ type: TypeName) -> String {
        if case .primitive(let primitive) = type { primitive.rawValue } else { "\(type)" }
    }
}
