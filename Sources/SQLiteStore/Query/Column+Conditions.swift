import AdapterKit

// Conditions on one column; NULL where the column is.
extension Column {
    /// A comparison with null is never true.
    func condition(_ comparison: Comparison, _ value: WireValue) throws(PorticoError) -> SQLFragment {
        let scalar = try scalar()
        if value.isNull { return SQLFragment("0") }
        return SQLFragment("\(comparisonName) \(comparison.sqlOperator) ?", [try comparable(value, scalar)])
    }

    func condition(oneOf values: [WireValue]) throws(PorticoError) -> SQLFragment {
        let scalar = try scalar()
        var bound: [SQLValue] = []
        for value in values where !value.isNull { bound.append(try comparable(value, scalar)) }
        if bound.isEmpty { return SQLFragment("0") }
        let places = Array(repeating: "?", count: bound.count).joined(separator: ", ")
        return SQLFragment("\(comparisonName) IN (\(places))", bound)
    }

    /// A range, so that an index is used; `LIKE` would read every row.
    func condition(hasPrefix text: String) throws(PorticoError) -> SQLFragment {
        try checkIsText()
        guard let end = Self.end(ofPrefix: Array(text.utf8)) else { return SQLFragment("\(name) IS NOT NULL") }
        return SQLFragment("(\(name) >= ? AND \(name) < ?)", [.text(text), .textBytes(end)])
    }

    /// As bytes, so that case, accents and NUL characters count.
    func condition(hasSuffix text: String) throws(PorticoError) -> SQLFragment {
        try checkIsText()
        let bytes = Array(text.utf8)
        if bytes.isEmpty { return SQLFragment("\(name) IS NOT NULL") }
        return SQLFragment(
            "substr(CAST(\(name) AS BLOB), ?) = ?", [.integer(-Int64(bytes.count)), .blob(bytes)])
    }

    func condition(contains text: String) throws(PorticoError) -> SQLFragment {
        try checkIsText()
        if text.isEmpty { return SQLFragment("\(name) IS NOT NULL") }
        return SQLFragment("instr(CAST(\(name) AS BLOB), ?) > 0", [.blob(Array(text.utf8))])
    }

    /// Throws `request.invalid` where the value cannot be compared with this column's.
    func comparable(_ value: WireValue, _ scalar: ScalarKind) throws(PorticoError) -> SQLValue {
        guard let bound = scalar.comparable(value) else {
            throw PorticoError(
                .requestInvalid, "`\(field.name)` cannot be compared with such a value.", target: field.name.text)
        }
        return bound
    }

    func scalar() throws(PorticoError) -> ScalarKind {
        guard case .scalar(let scalar) = kind else {
            throw PorticoError(.requestInvalid, "`\(field.name)` is no single value.", target: field.name.text)
        }
        return scalar
    }

    private func checkIsText() throws(PorticoError) {
        guard kind == .scalar(.text) else {
            throw PorticoError(.requestInvalid, "`\(field.name)` is no text.", target: field.name.text)
        }
    }

    /// The smallest bytes that are larger than everything with this prefix. UTF-8 has no byte 0xFF, so only the empty
    /// prefix has no end.
    private static func end(ofPrefix bytes: [UInt8]) -> [UInt8]? {
        guard let last = bytes.last else { return nil }
        return bytes.dropLast() + [last + 1]
    }
}

extension Comparison {
    var sqlOperator: String {
        switch self {
        case .equal: "="
        case .notEqual: "<>"
        case .less: "<"
        case .lessOrEqual: "<="
        case .greater: ">"
        case .greaterOrEqual: ">="
        }
    }
}
