import AdapterKit

extension ItemGenerator {
    private static let single: [FieldName] = [
        "id", "name", "note", "rank", "ratio", "price", "active", "at", "bytes", "group",
    ]

    mutating func query() -> Query {
        let order = (0..<number(0...3)).map { _ in SortKey(pick(Self.single), descending: chance(50)) }
        let filter = chance(85) ? self.filter(depth: 3) : nil
        let start: Query.Start = chance(20) ? .offset(Int(number(0...20))) : .first
        return Query(filter, order: order, limit: Int(number(1...12)), start: start, countsAll: chance(50))
    }

    mutating func filter(depth: Int) -> Filter {
        guard depth > 0, chance(50) else { return leaf() }
        switch number(0...2) {
        case 0: return .all((0..<number(0...3)).map { _ in filter(depth: depth - 1) })
        case 1: return .any((0..<number(0...3)).map { _ in filter(depth: depth - 1) })
        default: return .not(filter(depth: depth - 1))
        }
    }

    private mutating func leaf() -> Filter {
        switch number(0...9) {
        case 0: return .isNull(pick(Self.single + ["tags", "extra"]))
        case 1:
            let field = pick(Self.single)
            return .oneOf(field, (0..<number(0...3)).map { _ in chance(10) ? .null : value(of: field) })
        case 2: return .hasPrefix(pick(["name", "note", "group"]), text())
        case 3: return .hasSuffix(pick(["name", "note"]), text())
        case 4: return .containsText(pick(["name", "note"]), text())
        case 5:
            return chance(50) ? .listContains("tags", .string(text())) : .listContains("marks", .int64(number(0...3)))
        case 6: return .search(words: (0..<number(1...2)).map { _ in word() })
        case 7: return .related("group", "groups", chance(50) ? .listContains("members", "ann") : .isNull("secret"))
        default: return comparison()
        }
    }

    private mutating func comparison() -> Filter {
        let field = pick(Self.single)
        return .compare(field, pick(Comparison.allCases), chance(5) ? .null : value(of: field))
    }
}
