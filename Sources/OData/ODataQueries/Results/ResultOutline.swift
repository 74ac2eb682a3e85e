import ODataRecords

/// What a writer asks of a shape for each row, answered once for all of them.
public struct ResultOutline: Sendable {
    /// A column whose value is written.
    public struct Column: Sendable {
        /// Among the shape's columns.
        public let position: Int
        public let isKey: Bool
        /// Whether it is a property that the set's types declare, of which an entity of another type has no part.
        public let isDeclared: Bool
    }

    /// A part of the key.
    public struct KeyPart: Sendable {
        public let position: Int
        public let column: RecordColumn
    }

    /// In the order of the columns. Keys are told whatever is selected, so that clients know what they have (Protocol 4.01,
    /// section 11.2.5.1).
    public let told: [Column]
    /// In the key's order; nil where the rows do not hold the whole of it.
    public let key: [KeyPart]?

    init(_ columns: [ResultColumn], of table: RecordTable?) {
        let keys = table?.keyNames ?? []
        told = columns.indices.compactMap { position in
            let column = columns[position]
            let isKey = keys.contains(column.name)
            guard column.isVisible || isKey else { return nil }
            return Column(position: position, isKey: isKey, isDeclared: table?.columns[column.name] != nil)
        }
        let parts = keys.compactMap { name -> KeyPart? in
            guard let position = columns.firstIndex(where: { $0.path == [name] }) else { return nil }
            return table?.columns[name].map { KeyPart(position: position, column: $0) }
        }
        key = table != nil && parts.count == keys.count ? parts : nil
    }
}
