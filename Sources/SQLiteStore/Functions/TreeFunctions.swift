import AdapterKit

/// Members of lists and dictionaries, and comparisons of lists.
enum TreeFunctions {
    static let all: [SQLFunction] = [
        /// (kind, tree, step …): integers are positions, texts are names.
        SQLFunction("member", -1) { arguments in
            guard arguments.count >= 2, !arguments.isNull(1), let kind = RowValueType(rawValue: arguments.text(0))
            else {
                return .null
            }
            var value: WireValue? = try EncodedValue.decode(arguments.blob(1))
            for step in 2..<arguments.count { value = value.flatMap { member(of: $0, arguments, step) } }
            return value.flatMap { $0.isNull ? nil : kind.stored($0) } ?? .null
        },
        .strict("positions", 1) { arguments in
            guard let list = try EncodedValue.decode(arguments.blob(0)).arrayValue else { return .null }
            return .text("[\(list.indices.map(String.init).joined(separator: ","))]")
        },
        .strict("count", 1) { arguments in
            switch try EncodedValue.decode(arguments.blob(0)) {
            case .array(let list): .integer(Int64(list.count))
            case .dictionary(let members): .integer(Int64(members.count))
            default: .null
            }
        },
        lists("listContains") { list, part, spend in
            guard part.count <= list.count else { return false }
            return try (0...(list.count - part.count)).contains { start in
                try spend(costOfComparison * part.count)
                return list[start...].starts(with: part)
            }
        },
        lists("listStartsWith") { list, part, _ in list.starts(with: part) },
        lists("listEndsWith") { list, part, _ in list.reversed().starts(with: part.reversed()) },
        lists("hasSubset") { list, part, spend in
            var rest = list
            return try part.allSatisfy { element in
                try spend(costOfComparison * rest.count)
                guard let found = rest.firstIndex(of: element) else { return false }
                rest.remove(at: found)
                return true
            }
        },
        lists("hasSubsequence") { list, part, _ in
            var rest = list[...]
            return part.allSatisfy { element in
                guard let found = rest.firstIndex(of: element) else { return false }
                rest = rest[(found + 1)...]
                return true
            }
        },
    ]

    private static func member(of value: WireValue, _ arguments: SQLArguments, _ step: Int) -> WireValue? {
        if arguments.type(step) == SQLType.text { return value.dictionaryValue?[arguments.text(step)] }
        guard let list = value.arrayValue else { return nil }
        let asked = arguments.integer(step)
        let position = asked < 0 ? Int64(list.count) + asked : asked
        return position >= 0 && position < list.count ? list[Int(position)] : nil
    }

    /// The cost of comparing two elements, in bytes that are looked at once.
    private static let costOfComparison = 16

    private static func lists(
        _ name: String,
        _ body: @escaping @Sendable ([WireValue], [WireValue], _ spend: (Int) throws -> Void) throws -> Bool
    ) -> SQLFunction {
        .strict(name, 2) { arguments in
            guard let left = try EncodedValue.decode(arguments.blob(0)).arrayValue,
                let right = try EncodedValue.decode(arguments.blob(1)).arrayValue
            else { return .null }
            return .flag(try body(left, right, arguments.spend))
        }
    }
}
