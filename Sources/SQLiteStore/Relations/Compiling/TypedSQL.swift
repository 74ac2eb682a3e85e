import AdapterKit
import RecordStorage

/// A piece of SQL and what its values are.
struct TypedSQL {
    var fragment: SQLFragment
    /// Nil for a null of no kind.
    let kind: RowValueType?
    /// Another piece whose value is the same as it was written: a decimal's text beside what it is compared by.
    var written: SQLFragment?

    init(_ fragment: SQLFragment, _ kind: RowValueType?, written: SQLFragment? = nil) {
        self.fragment = fragment
        self.kind = kind
        self.written = written
    }

    init(_ sql: String, _ kind: RowValueType?, _ values: [SQLValue] = []) {
        self.init(SQLFragment(sql, values), kind)
    }

    /// What a caller of the whole statement gets.
    var output: SQLFragment { written ?? fragment }
}

extension RowValueType {
    init(_ scalar: ScalarKind) {
        self =
            switch scalar {
            case .bool: .bool
            case .integer: .integer
            case .double: .double
            case .text: .text
            case .date: .date
            case .data: .data
            case .decimal: .decimal
            }
    }

    /// Nil for a tree.
    var scalar: ScalarKind? { ScalarKind(rawValue: rawValue) }

    var isNumber: Bool { self == .integer || self == .decimal || self == .double }

    /// In which two numbers meet; equal kinds stay. Nil where the two have nothing to do with each other.
    static func common(_ left: RowValueType?, _ right: RowValueType?) -> RowValueType?? {
        guard let left else { return .some(right) }
        guard let right else { return .some(left) }
        if left == right { return .some(left) }
        guard left.isNumber, right.isNumber else { return nil }
        return .some(left == .double || right == .double ? .double : .decimal)
    }
}

extension SQLFragment {
    /// `sql` with each `$` replaced by the next of the parts.
    ///
    /// By bytes: a statement is made of hundreds of pieces, and looking for a character takes ten times as long.
    static func build(_ sql: String, _ parts: [SQLFragment]) -> SQLFragment {
        var result = SQLFragment()
        var next = parts.makeIterator()
        var rest = sql.utf8[...]
        while let mark = rest.firstIndex(of: UInt8(ascii: "$")) {
            result.sql += Substring(rest[..<mark])
            if let part = next.next() { result.append(part.sql, part.values) }
            rest = rest[rest.index(after: mark)...]
        }
        result.sql += Substring(rest)
        return result
    }

    static func list(_ parts: [SQLFragment], separator: String = ", ") -> SQLFragment {
        var result = SQLFragment()
        for (position, part) in parts.enumerated() {
            if position > 0 { result.sql += separator }
            result.append(part.sql, part.values)
        }
        return result
    }

    /// Two operands with what is between them, in parentheses.
    static func binary(_ left: SQLFragment, _ connective: String, _ right: SQLFragment) -> SQLFragment {
        var result = SQLFragment("(", left.values)
        result.sql.reserveCapacity(left.sql.utf8.count + connective.utf8.count + right.sql.utf8.count + 2)
        result.sql += left.sql
        result.sql += connective
        result.append(right.sql, right.values)
        result.sql += ")"
        return result
    }

    /// A chain in parentheses; a long one in parts, because SQLite limits how deep an expression goes, which a chain's
    /// length is.
    static func balanced(_ parts: [SQLFragment], _ connective: String) -> SQLFragment {
        guard parts.count > longestChain else { return .build("($)", [list(parts, separator: connective)]) }
        let chains = stride(from: 0, to: parts.count, by: longestChain).map {
            balanced(Array(parts[$0..<min($0 + longestChain, parts.count)]), connective)
        }
        return balanced(chains, connective)
    }

    private static let longestChain = 128
}

// Values of one kind where another is asked for.
extension TypedSQL {
    /// As numbers of that kind; everything else as it is.
    func converted(to wanted: RowValueType?) -> TypedSQL {
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
    static func literal(_ value: WireValue, for kind: RowValueType?) -> TypedSQL? {
        if value.isNull { return TypedSQL("?", kind, [.null]) }
        let own = RowValueType(of: value)
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

    private static func bound(_ value: WireValue, _ kind: RowValueType) -> TypedSQL? {
        kind.scalar?.comparable(value).map { TypedSQL("?", kind, [$0]) }
    }
}

extension RowValueType {
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
