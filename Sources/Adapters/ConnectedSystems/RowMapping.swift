import AdapterKit
import CSV

/// From a document of another system to rows of an entity.
struct RowMapping: Sendable, Equatable {
    /// Rows of one page.
    static let mostRows = 1_000_000

    let format: DocumentFormat
    let success: DocumentPath?
    let list: DocumentPath
    let fields: [FieldMapping]
    let key: FieldName?
    let deleted: DocumentPath?
    /// Media types that answers have besides those of the format, in lower case.
    var mediaTypes: Set<String> = []
    /// The separator of fields in CSV.
    var separator = CSVSeparator.comma

    /// Throws ``MirrorRefusal`` for bytes that are no document of the format.
    func read(_ bytes: [UInt8]) throws -> WireValue { try format.read(bytes, separator: separator) }

    /// Whether a body with this `Content-Type` is read as a document of the format.
    func takes(_ contentType: String) -> Bool {
        format.isMediaType(contentType) || mediaTypes.contains(contentType.mediaTypeName)
    }

    /// The rows of a document, and the keys of those that are gone.
    struct Rows: Equatable {
        var rows: [WireDictionary] = []
        var removed: [RecordID] = []
        /// Rows of both kinds.
        var count = 0
        var lastRow: WireDictionary?
        /// A fingerprint of the keys, in their order.
        var fingerprint: UInt64 = 0
    }

    /// Throws ``MirrorRefusal`` for a document that has no such list.
    func rows(_ document: WireValue) throws -> Rows {
        let items = try items(document)
        guard items.count <= Self.mostRows else {
            throw MirrorRefusal(.unexpected, "the answer has more than \(Self.mostRows) rows")
        }
        var found = Rows()
        found.count = items.count
        found.rows.reserveCapacity(items.count)
        var fingerprint = Fingerprint()
        for item in items {
            var row = try row(item)
            if let key { fingerprint.add(row[key.text].map { "\($0)" } ?? "") }
            found.lastRow = row
            let says = deletion(item)
            if says == .unreadable, let deleted { row[deleted.description] = true }
            if says == .deleted {
                if let id = id(of: row) { found.removed.append(id) }
            } else {
                found.rows.append(row)
            }
        }
        found.fingerprint = fingerprint.value
        return found
    }

    /// The items of the list, as they stand in the document.
    func items(_ document: WireValue) throws -> [WireValue] {
        try checkSuccess(document)
        if format == .csv { return try tableRows(document) }
        guard let found = list.value(in: document, isXML: format == .xml) else {
            // XML writes a list without items as no element, where the element around it is there.
            guard format == .xml, isEmptyList(document) else {
                throw MirrorRefusal(.unexpected, "the answer has no list at \(shown)")
            }
            return []
        }
        if let items = found.arrayValue { return items }
        // Some systems write an empty list as null. A document that is null as a whole says nothing.
        if found.isNull, !list.tokens.isEmpty { return [] }
        guard format == .xml else { throw MirrorRefusal(.unexpected, "what stands at \(shown) is no list") }
        // One element.
        return [found]
    }

    /// Another table than this one has other columns.
    private func tableRows(_ document: WireValue) throws -> [WireValue] {
        let columns = (document[CSVDocument.columns]?.arrayValue ?? []).compactMap(\.stringValue)
        let required = fields.filter { $0.isRequired || $0.name == key }.compactMap(\.from.tokens.first)
        do { try CSVColumns(known: nil, required: required).check(columns) } catch {
            throw MirrorRefusal(.unexpected, error.phrase)
        }
        return document[CSVDocument.rows]?.arrayValue ?? []
    }

    private var shown: String { list.tokens.isEmpty ? "its root" : list.description }

    private func isEmptyList(_ document: WireValue) -> Bool {
        let parent = DocumentPath(tokens: Array(list.tokens.dropLast())).value(in: document, isXML: true)
        switch parent {
        case .string(let text): return text.isEmpty
        case .dictionary: return !list.tokens.isEmpty && list.tokens.count > 1
        default: return false
        }
    }

    /// Throws ``MirrorRefusal`` where the answer says that it failed.
    func checkSuccess(_ document: WireValue) throws {
        guard let success else { return }
        guard Paging.isTrue(success.value(in: document, isXML: format == .xml)) == true else {
            throw MirrorRefusal(.unexpected, "the answer says at \(success) that it failed")
        }
    }

    /// One row. Throws ``MirrorRefusal`` for what has no members.
    func row(_ item: WireValue) throws -> WireDictionary {
        guard item.dictionaryValue != nil || (format == .xml && item.stringValue != nil) else {
            throw MirrorRefusal(.unexpected, "a row is no dictionary")
        }
        var row = WireDictionary()
        for field in fields {
            if let value = field.value(in: item, format) { row[field.name.text] = value }
        }
        return row
    }

    /// The meaning of a row's value at `deleted`.
    enum Deletion: Equatable {
        case present
        case deleted
        /// Neither. The row is kept, and the place is reported as a field that has appeared.
        case unreadable
    }

    func deletion(_ item: WireValue) -> Deletion {
        guard let deleted, let found = deleted.value(in: item, isXML: format == .xml) else { return .present }
        switch format.hasTypes ? found : found.withoutAttributes {
        case .null, .bool(false), .int64(0), .string(""), .string("false"), .string("0"): return .present
        case .bool(true), .int64(1), .string("true"), .string("1"), .date: return .deleted
        case let value:
            let isDate = [DateForm.rfc3339, .day].contains { $0.decoded(value) != nil }
            return isDate ? .deleted : .unreadable
        }
    }

    /// The key of a row; nil: it has none that can be one.
    func id(of row: WireDictionary) -> RecordID? {
        guard let key, let value = row[key.text] else { return nil }
        return RecordID(value.int64Value.map { String($0) } ?? value.stringValue ?? "")
    }
}
