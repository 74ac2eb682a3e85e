extension IntegerRange {
    func examine(_ value: WireValue) throws(Violation) {
        guard let number = value.int64Value, range.contains(number) else { throw Violation("must be \(words)") }
    }
}

extension TextLimits {
    func examine(_ text: String) throws(Violation) {
        if !allow(text) { throw Violation("must be \(words)") }
        try text.examineCarried()
    }
}

extension Shape {
    static func examineDouble(_ value: WireValue) throws(Violation) {
        switch value {
        case .double(let number):
            // SQLite and PostgreSQL disagree on what a NaN is, and JSON has neither that nor infinities.
            if !number.isFinite { throw Violation("must be a finite number") }
        case .int64, .uint64, .decimal:
            if value.exactDouble == nil { throw Violation("has more digits than a double carries") }
        default: throw Violation("must be a number")
        }
    }

    static func examineDecimal(_ value: WireValue, scale: Int?) throws(Violation) {
        guard let number = value.exactDecimal else { throw Violation("must be a finite number") }
        try number.examineCarried()
        if let scale, -number.exponent > scale { throw Violation("must have at most \(scale) digits after the point") }
    }
}

extension WireValue {
    /// The number as a double, where a double carries it exactly.
    var exactDouble: Double? {
        if case .decimal(let number) = self { number.exactDouble } else { doubleValue }
    }

    /// Any finite number as a decimal; a double as the shortest decimal that reads back as it.
    var exactDecimal: WireDecimal? {
        switch self {
        case .decimal(let number): number
        case .int64(let number): WireDecimal(number)
        case .uint64(let number): WireDecimal(number)
        case .double(let number): number.isFinite ? WireDecimal(number.description) : nil
        default: nil
        }
    }
}
