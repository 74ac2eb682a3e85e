import AdapterKit
import ODataLanguage
import ODataModel

// Canonical functions. URL Conventions 4.01, sections 5.1.1.5 to 5.1.1.12.
extension ExpressionReader {
    func call(
        _ function: BuiltInFunction, _ written: [Expression], _ range: SourceRange, on scope: ExpressionScope
    ) throws(QueryProblem) -> TypedExpression {
        guard function.argumentCounts.contains(written.count) else {
            throw QueryProblem("\(function.rawValue) takes another number of values.", at: range)
        }
        var arguments: [TypedExpression] = []
        for argument in written { arguments.append(try read(argument, on: scope)) }
        let types = arguments.map { $0.type.map { model.family(of: $0) } }
        guard function.accepts(types) else {
            throw QueryProblem("\(function.rawValue) does not take such values.", at: range)
        }
        let values = arguments.map(\.expression)
        if types.first == .some(.date), let midnight = function.partOfMidnight {
            return TypedExpression(Self.unlessNull(values[0], .value(midnight.value)), midnight.type)
        }
        if let simple = function.rowFunction {
            return TypedExpression(.call(simple.function, values), simple.result ?? arguments[0].type ?? .string)
        }
        return try special(function, arguments, values, types, range)
    }

    private func special(
        _ function: BuiltInFunction, _ arguments: [TypedExpression], _ values: [RowExpression], _ types: [TypeFamily?],
        _ range: SourceRange
    ) throws(QueryProblem) -> TypedExpression {
        let isList = types.first == .some(.collection)
        switch function {
        case .contains: return TypedExpression(.call(isList ? .listContains : .contains, values), .boolean)
        case .startswith: return TypedExpression(.call(isList ? .listStartsWith : .startsWith, values), .boolean)
        case .endswith: return TypedExpression(.call(isList ? .listEndsWith : .endsWith, values), .boolean)
        case .substringof: return TypedExpression(.call(.contains, [values[1], values[0]]), .boolean)
        case .length:
            return TypedExpression(.call(isList ? .count : .length, values), TypeReference(.primitive(.int32)))
        case .date: return types[0] == .date ? arguments[0] : TypedExpression(.call(.dayOf, values), .date)
        case .time: return types[0] == .timeOfDay ? arguments[0] : TypedExpression(.call(.timeOf, values), .timeOfDay)
        case .totalseconds: return TypedExpression(values[0], TypeReference(.primitive(.decimal)))
        case .totaloffsetminutes:
            return TypedExpression(Self.unlessNull(values[0], .value(0)), TypeReference(.primitive(.int32)))
        case .now:
            numbering.readsClock = true
            return TypedExpression(.value(.date(now)), .dateTimeOffset)
        case .mindatetime: return try natural(.dateTimeOffset("0001-01-01T00:00:00Z"), range)
        case .maxdatetime: return try natural(.dateTimeOffset("9999-12-31T23:59:59.999999999999Z"), range)
        default:
            throw QueryProblem("\(function.rawValue) is not supported.", at: range, kind: .notSupported)
        }
    }

    private static func unlessNull(_ value: RowExpression, _ result: RowExpression) -> RowExpression {
        .choose([RowExpression.Branch(when: .isNull(value), then: .value(.null))], otherwise: result)
    }
}

extension BuiltInFunction {
    /// The function of rows that answers it as it is; the result's type, nil for the first argument's.
    fileprivate var rowFunction: (function: RowFunction, result: TypeReference?)? {
        switch self {
        case .concat: (.concatenate, .string)
        case .indexof: (.indexOf, TypeReference(.primitive(.int32)))
        case .substring: (.substring, .string)
        case .tolower: (.lowercase, .string)
        case .toupper: (.uppercase, .string)
        case .trim: (.trim, .string)
        case .replace: (.replace, .string)
        case .matchesPattern: (.matches, .boolean)
        case .hassubset: (.hasSubset, .boolean)
        case .hassubsequence: (.hasSubsequence, .boolean)
        case .year: (.year, TypeReference(.primitive(.int32)))
        case .month: (.month, TypeReference(.primitive(.int32)))
        case .day: (.day, TypeReference(.primitive(.int32)))
        case .hour: (.hour, TypeReference(.primitive(.int32)))
        case .minute: (.minute, TypeReference(.primitive(.int32)))
        case .second: (.second, TypeReference(.primitive(.int32)))
        case .fractionalseconds: (.fractionalSecond, .decimal)
        case .round: (.round, nil)
        case .floor: (.floor, nil)
        case .ceiling: (.ceiling, nil)
        case .geoDistance: (.distance, .double)
        case .geoLength: (.lineLength, .double)
        case .geoIntersects: (.intersects, .boolean)
        default: nil
        }
    }

    /// The same of every day, which is an instant at its midnight in version 2.
    fileprivate var partOfMidnight: (value: WireValue, type: TypeReference)? {
        switch self {
        case .hour, .minute, .second: (0, TypeReference(.primitive(.int32)))
        case .fractionalseconds: (StoredValueCodec.decimal(WireDecimal(Int64(0))), .decimal)
        case .time: (StoredValueCodec.value(text: "00:00:00", .timeOfDay) ?? .null, .timeOfDay)
        default: nil
        }
    }

    /// Null is taken for every value.
    fileprivate func accepts(_ types: [TypeFamily?]) -> Bool {
        func all(_ allowed: TypeFamily...) -> Bool {
            types.allSatisfy { type in type.map { allowed.contains($0) || $0 == .untyped } ?? true }
        }
        switch self {
        case .contains, .startswith, .endswith, .length: return all(.string) || all(.collection)
        case .concat, .tolower, .toupper, .trim, .indexof, .matchesPattern, .substringof: return all(.string)
        case .replace: return all(.string)
        case .substring:
            return (types[0] ?? .string) == .string && types.dropFirst().allSatisfy { ($0 ?? .number) == .number }
        case .hassubset, .hassubsequence: return all(.collection)
        case .year, .month, .day: return all(.date, .dateTimeOffset)
        case .hour, .minute, .second, .fractionalseconds: return all(.timeOfDay, .dateTimeOffset, .date)
        case .totalseconds: return all(.duration)
        case .date: return all(.dateTimeOffset, .date)
        case .time: return all(.dateTimeOffset, .timeOfDay, .date)
        case .totaloffsetminutes: return all(.dateTimeOffset)
        case .round, .floor, .ceiling: return all(.number)
        case .geoDistance, .geoLength, .geoIntersects: return all(.spatial)
        case .mindatetime, .maxdatetime, .now: return true
        }
    }
}

extension TypeReference {
    static let date = TypeReference(.primitive(.date))
    static let timeOfDay = TypeReference(.primitive(.timeOfDay))
    static let dateTimeOffset = TypeReference(.primitive(.dateTimeOffset))
}

// Numbers, and days, instants and durations with each other.
extension ExpressionReader {
    func arithmetic(
        _ operation: BinaryOperator, _ left: TypedExpression, _ right: TypedExpression, _ range: SourceRange
    ) throws(QueryProblem) -> TypedExpression {
        guard let a = left.type, let b = right.type else {
            return TypedExpression(.value(.null), left.type ?? right.type)
        }
        let families = (model.family(of: a), model.family(of: b))
        if families == (.number, .number) { return try numbers(operation, left, right, range) }
        let (x, y) = (left.expression, right.expression)
        switch (families.0, operation, families.1) {
        case (.dateTimeOffset, .add, .duration): return TypedExpression(.arithmetic(.add, x, y), a)
        case (.duration, .add, .dateTimeOffset): return TypedExpression(.arithmetic(.add, y, x), b)
        case (.dateTimeOffset, .subtract, .duration): return TypedExpression(.arithmetic(.subtract, x, y), a)
        case (.dateTimeOffset, .subtract, .dateTimeOffset):
            return TypedExpression(.arithmetic(.subtract, x, y), .duration)
        case (.date, .add, .duration): return TypedExpression(.call(.dayPlus, [x, y]), a)
        case (.duration, .add, .date): return TypedExpression(.call(.dayPlus, [y, x]), b)
        case (.date, .subtract, .duration): return TypedExpression(.call(.dayPlus, [x, .call(.negate, [y])]), a)
        case (.date, .subtract, .date): return TypedExpression(.call(.dayDifference, [x, y]), .duration)
        case (.duration, .add, .duration), (.duration, .subtract, .duration):
            return TypedExpression(.arithmetic(operation.arithmetic, x, y), a)
        case (.duration, .multiply, .number), (.duration, .divide, .number), (.duration, .divideExactly, .number):
            return TypedExpression(.arithmetic(operation.arithmetic, x, .call(.toDecimal, [y])), a)
        case (.number, .multiply, .duration):
            return TypedExpression(.arithmetic(.multiply, .call(.toDecimal, [x]), y), b)
        default:
            throw QueryProblem("`\(operation.rawValue)` does not go with \(a) and \(b).", at: range)
        }
    }

    private func numbers(
        _ operation: BinaryOperator, _ left: TypedExpression, _ right: TypedExpression, _ range: SourceRange
    ) throws(QueryProblem) -> TypedExpression {
        guard let a = left.type, let b = right.type else { return .null }
        let kinds = (model.kind(of: a), model.kind(of: b))
        let isDouble = kinds.0 == .double || kinds.1 == .double
        let type: TypeReference =
            isDouble ? .double : kinds.0 == .decimal || kinds.1 == .decimal ? .decimal : .int64
        if !isDouble, [.divide, .divideExactly, .modulo].contains(operation), case .value(let value) = right.expression,
            value.decimalValue?.isZero == true
        {
            throw QueryProblem("Division by zero.", at: range)
        }
        if isDouble {
            return TypedExpression(
                .arithmetic(
                    operation.arithmetic, .call(.toDouble, [left.expression]), .call(.toDouble, [right.expression])),
                type)
        }
        if operation == .divideExactly, type == .int64 {
            return TypedExpression(
                .arithmetic(.divide, .call(.toDecimal, [left.expression]), right.expression), .decimal)
        }
        return TypedExpression(.arithmetic(operation.arithmetic, left.expression, right.expression), type)
    }

    func negated(_ inner: Expression, _ range: SourceRange, on scope: ExpressionScope) throws(QueryProblem)
        -> TypedExpression
    {
        let typed = try read(inner, on: scope)
        guard let type = typed.type else { return .null }
        guard [.number, .duration].contains(model.family(of: type)) else {
            throw QueryProblem("Only numbers and durations have an opposite.", at: range)
        }
        if case .number(let digits, let suffix)? = typed.literal {
            let turned = digits.hasPrefix("-") ? String(digits.dropFirst()) : "-\(digits)"
            return try natural(.number(turned, suffix: suffix), range)
        }
        return TypedExpression(.call(.negate, [typed.expression]), type)
    }
}

extension BinaryOperator {
    fileprivate var arithmetic: RowExpression.Arithmetic {
        switch self {
        case .subtract: .subtract
        case .multiply: .multiply
        case .divide, .divideExactly: .divide
        case .modulo: .remainder
        default: .add
        }
    }
}

extension TypeReference {
    static let duration = TypeReference(.primitive(.duration))
}
