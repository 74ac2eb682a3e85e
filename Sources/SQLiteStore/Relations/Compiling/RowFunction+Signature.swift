import AdapterKit

/// What a function takes and gives.
struct FunctionSignature {
    enum Parameter {
        case kind(RowKind)
        /// Any kind of number.
        case number
        /// An instant, or a text that spells a day or a time of day.
        case calendar
        case any
    }

    let parameters: [Parameter]
    /// How many of the parameters, from the end, may be left out.
    var optional = 0
    /// Whether the last parameter may come again.
    var repeats = false
    /// Nil: the kind of the first value.
    let result: RowKind?

    /// The values as the function gets them; nil where it does not take them.
    func fitted(_ values: [TypedSQL]) -> [TypedSQL]? {
        guard values.count >= parameters.count - optional, repeats || values.count <= parameters.count else {
            return nil
        }
        var fitted: [TypedSQL] = []
        for (position, value) in values.enumerated() {
            let parameter = parameters[min(position, parameters.count - 1)]
            guard let one = parameter.fitted(value) else { return nil }
            fitted.append(one)
        }
        return fitted
    }
}

extension FunctionSignature.Parameter {
    fileprivate func fitted(_ value: TypedSQL) -> TypedSQL? {
        guard let kind = value.kind else { return value }
        switch self {
        case .any: return value
        case .number: return kind.isNumber ? value : nil
        case .calendar: return kind == .date || kind == .text ? value : nil
        case .kind(let wanted):
            if kind == wanted { return value }
            return kind.isNumber && (wanted == .decimal || wanted == .double) ? value.converted(to: wanted) : nil
        }
    }
}

extension RowFunction {
    var signature: FunctionSignature {
        switch self {
        case .contains, .startsWith, .endsWith, .matches: Self.kinds(.text, .text, .bool)
        case .length: Self.kinds(.text, .integer)
        case .indexOf: Self.kinds(.text, .text, .integer)
        case .substring:
            FunctionSignature(parameters: [.kind(.text), .kind(.integer), .kind(.integer)], optional: 1, result: .text)
        case .lowercase, .uppercase, .trim: Self.kinds(.text, .text)
        case .replace: Self.kinds(.text, .text, .text, .text)
        case .concatenate: FunctionSignature(parameters: [.kind(.text)], repeats: true, result: .text)
        case .round, .floor, .ceiling, .negate: FunctionSignature(parameters: [.number], result: nil)
        case .bits: Self.kinds(.integer, .integer, .integer)
        case .year, .month, .day, .hour, .minute, .second:
            FunctionSignature(parameters: [.calendar], result: .integer)
        case .fractionalSecond: FunctionSignature(parameters: [.calendar], result: .decimal)
        case .dayOf, .timeOf: Self.kinds(.date, .text)
        case .dayPlus: Self.kinds(.text, .decimal, .text)
        case .dayDifference: Self.kinds(.text, .text, .decimal)
        case .toText: FunctionSignature(parameters: [.any], result: .text)
        case .toInteger: FunctionSignature(parameters: [.any], result: .integer)
        case .toDecimal: FunctionSignature(parameters: [.any], result: .decimal)
        case .toDouble: FunctionSignature(parameters: [.any], result: .double)
        case .toDate: FunctionSignature(parameters: [.any], result: .date)
        case .count: Self.kinds(.tree, .integer)
        case .listContains, .listStartsWith, .listEndsWith, .hasSubset, .hasSubsequence:
            Self.kinds(.tree, .tree, .bool)
        case .distance: Self.kinds(.tree, .tree, .double)
        case .lineLength: Self.kinds(.tree, .double)
        case .intersects: Self.kinds(.tree, .tree, .bool)
        }
    }

    /// The last one is the result's.
    private static func kinds(_ all: RowKind...) -> FunctionSignature {
        FunctionSignature(parameters: all.dropLast().map { .kind($0) }, result: all.last)
    }
}
