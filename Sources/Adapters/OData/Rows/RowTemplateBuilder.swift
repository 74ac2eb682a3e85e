import ODataQueries

/// Puts a row's template together, in the order in which it is written.
struct RowTemplateBuilder<Form: RowForm> {
    private(set) var bytes: [UInt8] = []
    private(set) var parts: [RowPart] = []
    private(set) var levels: [RowLevel<Form>] = []
    /// What is written before the next part.
    private var ready: [UInt8] = []

    mutating func text(_ text: String) { ready += text.utf8 }

    mutating func given(_ part: Int) {
        parts.append(RowPart(content: .given, position: part, before: place(taken())))
    }

    mutating func address() { parts.append(RowPart(content: .address, before: place(taken()))) }

    /// A column's value with what is around it, or what stands for all of it where it is null.
    mutating func value(
        _ content: RowPart.Content, at column: Int, before: String, after: String = "", null: String
    ) {
        let start = taken()
        parts.append(
            RowPart(
                content: content, position: column, before: place(start + before.utf8), after: place(Array(after.utf8)),
                null: place(start + null.utf8)))
    }

    /// What was expanded, one row behind the other. Of what is no collection, `null` says that there is none.
    mutating func level(
        _ level: RowLevel<Form>, at position: Int, isCollection: Bool, count: String = "", before: String,
        after: String, null: String
    ) {
        end()
        levels.append(level)
        parts.append(
            RowPart(
                content: .level, position: position, before: place(Array(before.utf8)), after: place(Array(after.utf8)),
                null: place(Array(null.utf8)), count: place(Array(count.utf8)), isCollection: isCollection,
                level: levels.count - 1))
    }

    /// What was expanded, as the form writes it.
    mutating func expanded(at position: Int) {
        end()
        parts.append(RowPart(content: .expanded, position: position, before: 0..<0))
    }

    /// Nothing more is written before another part.
    mutating func end() {
        if !ready.isEmpty { parts.append(RowPart(content: .nothing, before: place(taken()))) }
    }

    private mutating func taken() -> [UInt8] {
        defer { ready = [] }
        return ready
    }

    private mutating func place(_ piece: [UInt8]) -> Range<Int> {
        let start = bytes.count
        bytes += piece
        return start..<bytes.count
    }
}
