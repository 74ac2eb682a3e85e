import AdapterKit

/// A row as it is, with what names it in the tables beside its own.
struct StoredRow {
    let record: Record
    let row: Int64
}

extension CollectionLayout {
    /// Reads the columns of ``selection``.
    func record(_ row: RowReader) throws -> Record {
        var entries: [WireDictionary.Entry] = []
        entries.reserveCapacity(cells.count)
        for place in cells.indices {
            let value = try cells[place].kind.value(row, Int32(truncatingIfNeeded: place))
            entries.append(WireDictionary.Entry(key: cells[place].name, value: value))
        }
        let fields = WireDictionary(uncheckedUniqueKeys: entries)
        return Record(
            id: id(of: fields.entries[keyPosition].value),
            revision: Revision(row.integer(Int32(truncatingIfNeeded: cells.count))), fields: fields)
    }

    func storedRow(_ row: RowReader) throws -> StoredRow {
        StoredRow(record: try record(row), row: row.integer(Int32(truncatingIfNeeded: columns.count + 1)))
    }

    /// Keys were checked when they were written.
    private func id(of key: WireValue) -> RecordID {
        RecordID(unchecked: key.stringValue ?? key.int64Value.map { String($0) } ?? "")
    }

    /// The condition that finds one record; nil where no record can have that id.
    func keyCondition(_ id: RecordID) -> SQLFragment? {
        guard let value = rules.keyValue(of: id) else { return nil }
        let bound: SQLValue = value.int64Value.map { .integer($0) } ?? .text(id.text)
        return SQLFragment("\(key.name) = ?", [bound])
    }
}
