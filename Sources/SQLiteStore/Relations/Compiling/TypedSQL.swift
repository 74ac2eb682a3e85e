import AdapterKit

/// A piece of SQL and what its values are.
struct TypedSQL {
    var fragment: SQLFragment
    /// Nil for a null of no kind.
    let kind: RowKind?
    /// Another piece whose value is the same as it was written: a decimal's text beside what it is compared by.
    var written: SQLFragment?

    init(_ fragment: SQLFragment, _ kind: RowKind?, written: SQLFragment? = nil) {
        self.fragment = fragment
        self.kind = kind
        self.written = written
    }

    init(_ sql: String, _ kind: RowKind?, _ values: [SQLValue] = []) {
        self.init(SQLFragment(sql, values), kind)
    }

    /// What a caller of the whole statement gets.
    var output: SQLFragment { written ?? fragment }
}

extension RowKind {
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
    static func common(_ left: RowKind?, _ right: RowKind?) -> RowKind?? {
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
            result.append((position > 0 ? separator : "") + part.sql, part.values)
        }
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
