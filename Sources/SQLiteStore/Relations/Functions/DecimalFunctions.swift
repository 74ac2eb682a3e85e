import AdapterKit

/// Arithmetic on decimals, given and made as ``DecimalSortKey``.
enum DecimalFunctions {
    static let all: [SQLFunction] = [
        .strict("decimal", 1) { arguments in
            let number =
                arguments.type(0) == SQLType.integer
                ? ExactDecimal(arguments.integer(0)) : ExactDecimal(arguments.real(0))
            return number.map { .blob($0.key) } ?? .null
        },
        .strict("double", 1) { arguments in arguments.decimal(0).map { .real($0.double) } ?? .null },
        binary("add") { $0 + $1 },
        binary("subtract") { $0 - $1 },
        binary("multiply") { $0 * $1 },
        binary("divide") { ExactDecimal.quotient($0, $1, digits: RelationLimits.divisionDigits) },
        binary("remainder") { ExactDecimal.remainder($0, $1) },
        unary("decimal_round") { $0.rounded(.halfAwayFromZero) },
        unary("decimal_floor") { $0.rounded(.down) },
        unary("decimal_ceiling") { $0.rounded(.up) },
        unary("negate") { -$0 },
    ]

    private static func binary(
        _ name: String, _ body: @escaping @Sendable (ExactDecimal, ExactDecimal) -> ExactDecimal?
    ) -> SQLFunction {
        .strict("decimal_\(name)", 2) { arguments in
            guard let left = arguments.decimal(0), let right = arguments.decimal(1) else { return .null }
            return body(left, right).map { .blob($0.key) } ?? .null
        }
    }

    private static func unary(_ name: String, _ body: @escaping @Sendable (ExactDecimal) -> ExactDecimal) -> SQLFunction
    {
        .strict(name, 1) { arguments in arguments.decimal(0).map { .blob(body($0).key) } ?? .null }
    }
}

extension SQLArguments {
    func decimal(_ position: Int) -> ExactDecimal? { ExactDecimal(key: blob(position)) }
}
