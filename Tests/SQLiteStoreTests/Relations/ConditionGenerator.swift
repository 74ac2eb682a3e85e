import AdapterKit

/// Conditions on books, of every kind that logic has, and what they mean in the plainest code.
struct ConditionGenerator<Random: RandomNumberGenerator> {
    var random: Random

    mutating func condition(depth: Int) -> RowExpression {
        guard depth > 0, Int.random(in: 0..<4, using: &random) > 0 else { return leaf() }
        switch Int.random(in: 0..<5, using: &random) {
        case 0: return .not(condition(depth: depth - 1))
        case 1: return .isTrue(condition(depth: depth - 1))
        case 2: return .all(parts(depth))
        case 3: return .any(parts(depth))
        default:
            return .choose(
                [.init(when: condition(depth: depth - 1), then: condition(depth: depth - 1))],
                otherwise: condition(depth: depth - 1))
        }
    }

    private mutating func parts(_ depth: Int) -> [RowExpression] {
        (0..<Int.random(in: 0..<4, using: &random)).map { _ in condition(depth: depth - 1) }
    }

    private mutating func leaf() -> RowExpression {
        switch Int.random(in: 0..<6, using: &random) {
        case 0: return .field(1, "out")
        case 1: return .isNull(.field(1, field()))
        case 2: return .oneOf(.field(1, "stock"), [number(), number(), .null])
        case 3: return .same(operand(), operand())
        case 4: return .same(.field(1, "title"), .value(text()))
        default: return .compare(Comparison.allCases.randomElement(using: &random)!, operand(), operand())
        }
    }

    private mutating func operand() -> RowExpression {
        Bool.random(using: &random)
            ? .field(1, ["stock", "weight", "price"].randomElement(using: &random)!) : .value(number())
    }

    private mutating func field() -> FieldName {
        ["stock", "weight", "price", "title", "out"].randomElement(using: &random)!
    }

    /// Quarters, which every kind of number carries exactly, so that the evaluator may compare doubles.
    mutating func number() -> WireValue {
        let quarters = Int.random(in: -8...8, using: &random)
        switch Int.random(in: 0..<4, using: &random) {
        case 0: return .int64(Int64(quarters / 4))
        case 1: return .double(Double(quarters) / 4)
        case 2: return .decimal("\(Double(quarters) / 4)")
        default: return .null
        }
    }

    mutating func text() -> WireValue { ["a", "b", "", .null].randomElement(using: &random)! }

    mutating func book(_ id: Int) -> WireDictionary {
        let (stock, weight, price) = (number(), number(), number())
        return [
            "id": .int64(Int64(id)), "title": text(), "stock": stock.numeric.map { .int64(Int64($0)) } ?? .null,
            "weight": weight.numeric.map { .double($0) } ?? .null,
            "price": price.numeric.map { .decimal("\($0)") } ?? .null,
            "out": [true, false, .null].randomElement(using: &random)!, "author": .null, "owner": .null,
        ]
    }
}

extension RowExpression {
    /// True, false or neither.
    func holds(for book: WireDictionary) -> Bool? {
        switch self {
        case .field(_, let name): return book[name.text]?.boolValue
        case .isNull(let inner): return inner.operand(book).isNull
        case .isTrue(let inner): return inner.holds(for: book) == true
        case .not(let inner): return inner.holds(for: book).map { !$0 }
        case .all(let parts):
            let values = parts.map { $0.holds(for: book) }
            return values.contains(false) ? false : values.contains(nil) ? nil : true
        case .any(let parts):
            let values = parts.map { $0.holds(for: book) }
            return values.contains(true) ? true : values.contains(nil) ? nil : false
        case .choose(let branches, let otherwise):
            let branch = branches.first { $0.condition.holds(for: book) == true }
            return (branch?.value ?? otherwise).holds(for: book)
        case .same(let left, let right):
            let (a, b) = (left.operand(book), right.operand(book))
            return a.isNull || b.isNull ? a.isNull && b.isNull : a.order(b) == 0
        case .compare(let comparison, let left, let right):
            return left.operand(book).order(right.operand(book)).map { comparison.holds($0) }
        case .oneOf(let operand, let values):
            let value = operand.operand(book)
            return value.isNull ? nil : values.contains { value.order($0) == 0 }
        default: return nil
        }
    }

    private func operand(_ book: WireDictionary) -> WireValue {
        switch self {
        case .field(_, let name): book[name.text] ?? .null
        case .value(let value): value
        default: .null
        }
    }
}

extension Comparison {
    fileprivate func holds(_ order: Int) -> Bool {
        switch self {
        case .equal: order == 0
        case .notEqual: order != 0
        case .less: order < 0
        case .lessOrEqual: order <= 0
        case .greater: order > 0
        case .greaterOrEqual: order >= 0
        }
    }
}

extension WireValue {
    var numeric: Double? {
        if case .decimal(let number) = self { return Double(number.description) }
        return doubleValue
    }

    /// Nil where one is null.
    func order(_ other: WireValue) -> Int? {
        if let a = stringValue, let b = other.stringValue { return a == b ? 0 : a < b ? -1 : 1 }
        if let a = boolValue, let b = other.boolValue { return (a ? 1 : 0) - (b ? 1 : 0) }
        guard let a = numeric, let b = other.numeric else { return nil }
        return a == b ? 0 : a < b ? -1 : 1
    }
}
