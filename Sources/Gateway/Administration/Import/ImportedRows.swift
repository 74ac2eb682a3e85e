import AdapterKit
import ValueTree

/// The rows of a file that an operator loads, each with words for its place in the file.
struct ImportedRows: Sendable {
    struct Row: Sendable {
        /// `line 17` in a CSV file, `row 17` elsewhere, counted from 1.
        let place: String
        let value: WireValue
    }

    let rows: [Row]

    /// CSV by its media type; everything else through the wire formats: an array of dictionaries, or a dictionary whose
    /// one member is such an array. Where they are a part of a file, `first` is the place of the first of them: its line
    /// in a CSV file, its row elsewhere.
    init(_ bytes: [UInt8], contentType: String?, first: Int? = nil, bodies: BodyReader) throws(PorticoError) {
        if contentType?.lowercased().hasPrefix("text/csv") == true {
            rows = try Self.csv(bytes, first)
            return
        }
        let body = try bodies.read(bytes, contentType: contentType)
        guard
            let items = Self.items(of: body.value)
                ?? (body.coercion.textSpellsEverything ? Self.item(of: body.value) : nil)
        else {
            throw PorticoError(.requestInvalid, "The file is not a list of records.")
        }
        rows = items.enumerated().map { Row(place: "row \($0 + (first ?? 1))", value: $1) }
    }

    private static func csv(_ bytes: [UInt8], _ first: Int?) throws(PorticoError) -> [Row] {
        let lines = try CSVReader.read(bytes, firstLine: first)
        guard let header = lines.first else { throw PorticoError(.requestMalformed, "The file has no header line.") }
        var rows: [Row] = []
        for line in lines.dropFirst() {
            guard line.fields.count == header.fields.count else {
                throw PorticoError(
                    .requestInvalid,
                    "Line \(line.line) has \(line.fields.count) fields, the header has \(header.fields.count).")
            }
            let entries = zip(header.fields, line.fields).filter { !$0.1.isEmpty }
                .map { WireDictionary.Entry(key: $0.0, value: .string($0.1)) }
            guard let members = WireDictionary(uniqueKeys: entries) else {
                throw PorticoError(.requestMalformed, "The header names a field twice.")
            }
            rows.append(Row(place: "line \(line.line)", value: .dictionary(members)))
        }
        return rows
    }

    /// An XML document with one record: without a type attribute it reads as a dictionary whose one member is a dictionary.
    private static func item(of value: WireValue) -> [WireValue]? {
        guard let members = value.dictionaryValue, members.count == 1, let record = members.entries.first?.value else {
            return nil
        }
        return record.dictionaryValue == nil ? nil : [record]
    }

    private static func items(of value: WireValue) -> [WireValue]? {
        if let items = value.arrayValue { return items }
        guard let members = value.dictionaryValue else { return nil }
        let lists = members.entries.compactMap { $0.value.arrayValue }
        return lists.count == 1 ? lists[0] : nil
    }
}

extension ImportedRows {
    /// The rows in the types of `shape`. Throws `request.invalid` for the first row that does not fit, naming it.
    func values(of shape: Shape) throws(PorticoError) -> [WireValue] {
        var values: [WireValue] = []
        for row in rows {
            let value = Coercion.textual.coerce(row.value, to: shape)
            do {
                try shape.check(value, at: "")
            } catch {
                throw PorticoError(.requestInvalid, "\(row.place): \(error.message)", target: error.target)
            }
            values.append(value)
        }
        return values
    }

    /// An adapter's own complaint about `rows[n]`, in the words of the file.
    func renamed(_ error: PorticoError) -> PorticoError {
        guard let target = error.target, target.hasPrefix("rows["), let end = target.firstIndex(of: "]"),
            let number = Int(target.dropFirst(5).prefix(upTo: end)), rows.indices.contains(number)
        else { return error }
        let rest = target[target.index(after: end)...].drop { $0 == "." }
        return PorticoError(
            error.code, "\(rows[number].place): \(error.message)", target: rest.isEmpty ? nil : String(rest),
            logDetail: error.logDetail)
    }
}
