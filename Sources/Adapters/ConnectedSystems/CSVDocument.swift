import AdapterKit
import CSV

/// Comma-separated values as `rows`, dictionaries of texts by the header's names, and these names as `columns`.
enum CSVDocument {
    static let columns = "columns"
    static let rows = "rows"

    /// Throws ``MirrorRefusal`` for bytes that are no such document.
    static func read(_ bytes: [UInt8]) throws(MirrorRefusal) -> WireValue {
        let lines: [CSVReader.Row]
        do { lines = try CSVReader.read(bytes) } catch {
            guard String(validating: bytes, as: UTF8.self) == nil else {
                throw MirrorRefusal(.malformed, error.message)
            }
            let line = bytes.split(separator: 0x0a, omittingEmptySubsequences: false).firstIndex {
                String(validating: $0, as: UTF8.self) == nil
            }
            throw MirrorRefusal(
                .malformed, "line \((line ?? 0) + 1) has bytes that are not UTF-8: save the file as UTF-8")
        }
        guard let header = lines.first else { throw MirrorRefusal(.malformed, "there is no header line") }
        if header.fields.count == 1, let other = header.fields[0].first(where: { $0 == ";" || $0 == "\t" }) {
            throw MirrorRefusal(
                .malformed,
                "the header has one field with \(other == ";" ? "`;`" : "a tab") in it: fields are separated by commas")
        }
        // A reader of lines that end with CR alone would take the whole table for its header.
        let single = header.fields.count == 1 ? lines[...] : lines.prefix(1)
        if let line = single.first(where: { $0.fields.contains(where: \.hasLoneCarriageReturn) }) {
            throw MirrorRefusal(.malformed, "line \(line.line) has a CR without LF: lines end with LF or CRLF")
        }
        guard WireDictionary(uniqueKeys: header.fields.map { .init(key: $0, value: .null) }) != nil else {
            throw MirrorRefusal(.malformed, "the header names a field twice")
        }
        var rows: [WireValue] = []
        rows.reserveCapacity(lines.count)
        for line in lines.dropFirst() {
            guard line.fields.count == header.fields.count else {
                throw MirrorRefusal(
                    .malformed,
                    "line \(line.line) has \(line.fields.count) fields, the header has \(header.fields.count)")
            }
            rows.append(
                .dictionary(
                    WireDictionary(
                        uncheckedUniqueKeys: zip(header.fields, line.fields).map { .init(key: $0, value: .string($1)) })
                ))
        }
        return [Self.columns: .array(header.fields.map { .string($0) }), Self.rows: .array(rows)]
    }
}

extension String {
    fileprivate var hasLoneCarriageReturn: Bool {
        let scalars = unicodeScalars
        return scalars.indices.contains { index in
            guard scalars[index] == "\r" else { return false }
            let next = scalars.index(after: index)
            return next == scalars.endIndex || scalars[next] != "\n"
        }
    }
}
