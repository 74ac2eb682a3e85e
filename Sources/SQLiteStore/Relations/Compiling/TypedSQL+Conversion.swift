import AdapterKit

// Values of one kind where another is asked for.
extension TypedSQL {
    /// As numbers of that kind; everything else as it is.
    func converted(to wanted: RowKind?) -> TypedSQL {
        guard let wanted, let kind, kind != wanted else { return TypedSQL(fragment, self.kind ?? wanted) }
        switch (kind, wanted) {
        case (.integer, .decimal), (.double, .decimal):
            return TypedSQL(.build("portico_decimal($)", [fragment]), .decimal)
        case (.decimal, .double): return TypedSQL(.build("portico_double($)", [fragment]), .double)
        case (.integer, .double): return TypedSQL(.build("CAST($ AS REAL)", [fragment]), .double)
        default: return self
        }
    }

    /// A value as it is bound where it meets expressions of that kind; nil where the two have nothing to do with each
    /// other.
    static func literal(_ value: WireValue, for kind: RowKind?) -> TypedSQL? {
        if value.isNull { return TypedSQL("?", kind, [.null]) }
        let own = RowKind(of: value)
        guard let kind else { return own.flatMap { literal(value, for: $0) } }
        switch kind {
        case .tree: return (try? EncodedValue.encode(value)).map { TypedSQL("?", .tree, [.blob($0)]) }
        case .integer: return number(value)
        case .double:
            if case .decimal(let number) = value {
                return Double(number.description).map { TypedSQL("?", .double, [.real($0)]) }
            }
            return bound(value, .double)
        default: return bound(value, kind)
        }
    }

    /// Where integers meet a number of another kind: SQLite compares them with doubles exactly, so a decimal that is a
    /// double's value becomes one.
    private static func number(_ value: WireValue) -> TypedSQL? {
        guard case .decimal(let number) = value else {
            return bound(value, value.int64Value == nil ? .double : .integer)
        }
        guard let narrowed = number.narrowed else { return bound(value, .decimal) }
        return bound(narrowed, narrowed.int64Value == nil ? .double : .integer)
    }

    private static func bound(_ value: WireValue, _ kind: RowKind) -> TypedSQL? {
        kind.scalar?.comparable(value).map { TypedSQL("?", kind, [$0]) }
    }
}

extension RowKind {
    /// Nil for null.
    init?(of value: WireValue) {
        switch value {
        case .null: return nil
        case .bool: self = .bool
        case .int64, .uid: self = .integer
        case .uint64, .decimal: self = .decimal
        case .double: self = .double
        case .string: self = .text
        case .data: self = .data
        case .date: self = .date
        case .array, .dictionary: self = .tree
        }
    }
}
