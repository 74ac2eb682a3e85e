extension Shape {
    /// Throws `request.invalid` where the value is not of this shape, with the path of the part at fault as its target
    /// (`employees[3].email`); `path` is where the value itself stands, empty for the whole input.
    ///
    /// Values are typed already (a date is a date); only integers pass for doubles, and every finite number for a
    /// decimal. Texts that spell other values are the gateway's business, before this. Whatever the shape, a value that
    /// some wire format cannot carry is refused, so that a caller of another format is never refused because of it.
    public func check(_ value: WireValue, at path: String = "") throws(PorticoError) {
        do {
            try examine(value)
        } catch {
            throw error.asError(at: path)
        }
    }

    func examine(_ value: WireValue) throws(Violation) {
        switch (self, value) {
        case (.any, _): try value.examineCarried()
        case (.bool, .bool): return
        case (.integer(let limits), _): try limits.examine(value)
        case (.double, _): try Self.examineDouble(value)
        case (.decimal(let scale), _): try Self.examineDecimal(value, scale: scale)
        case (.string(let limits), .string(let text)): try limits.examine(text)
        case (.choice(let choices), .string(let text)): try Self.examine(text, isOneOf: choices)
        case (.date, .date(let instant)): try instant.examineCarried()
        case (.data(let maximum), .data(let bytes)):
            if bytes.count > maximum { throw Violation("must hold at most \(maximum) bytes") }
        case (.list(let element), .array(let items)): try Self.examine(items, areAll: element)
        case (.object(let shape), .dictionary(let members)): try shape.examine(members)
        default: throw Violation("must be \(words)")
        }
    }

    private static func examine(_ text: String, isOneOf choices: [String]) throws(Violation) {
        guard choices.contains(where: { $0.hasSameBytes(as: text) }) else {
            throw Violation("must be one of \(choices.joined(separator: ", "))")
        }
    }

    private static func examine(_ items: [WireValue], areAll element: Shape) throws(Violation) {
        for (position, item) in items.enumerated() {
            do { try element.examine(item) } catch { throw error.below(position) }
        }
    }
}
