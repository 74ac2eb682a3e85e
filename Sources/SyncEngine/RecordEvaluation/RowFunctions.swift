import AdapterKit
import Foundation

// Arithmetic, aggregates and functions of relations on values in memory. Null where an operand is null.
extension RowExpression.Arithmetic {
    func result(_ left: WireValue, _ right: WireValue) throws(PorticoError) -> WireValue {
        switch (left, right) {
        case (.null, _), (_, .null): return .null
        case (.date(let a), .date(let b)) where self == .subtract:
            return .decimal(a.decimalSeconds(since: b))
        case (.date(let instant), _) where self == .add || self == .subtract:
            guard let seconds = right.decimalValue else { throw Self.invalid }
            let shifted = instant.adding(decimalSeconds: self == .add ? seconds : seconds.negated)
            return shifted.flatMap { $0.isInCalendar ? .date($0) : nil } ?? .null
        case (.int64(let a), .int64(let b)): return integers(a, b)
        case (.double, _), (_, .double):
            guard let a = left.number, let b = right.number else { throw Self.invalid }
            let result = doubles(a, b)
            return result.isNaN ? .null : .double(result)
        default:
            guard left.decimalValue != nil, right.decimalValue != nil else { throw Self.invalid }
            guard let a = left.decimal, let b = right.decimal else { return .null }
            return decimals(a, b)
        }
    }

    private static var invalid: PorticoError {
        PorticoError(.requestInvalid, "Only numbers and dates can be computed with.")
    }

    private func integers(_ a: Int64, _ b: Int64) -> WireValue {
        if self == .divide || self == .remainder, b == 0 { return .null }
        let (result, overflows) =
            switch self {
            case .add: a.addingReportingOverflow(b)
            case .subtract: a.subtractingReportingOverflow(b)
            case .multiply: a.multipliedReportingOverflow(by: b)
            case .divide: a.dividedReportingOverflow(by: b)
            case .remainder: a.remainderReportingOverflow(dividingBy: b)
            }
        return overflows ? .double(doubles(Double(a), Double(b))) : .int64(result)
    }

    private func doubles(_ a: Double, _ b: Double) -> Double {
        switch self {
        case .add: a + b
        case .subtract: a - b
        case .multiply: a * b
        case .divide: a / b
        case .remainder: a.truncatingRemainder(dividingBy: b)
        }
    }

    private func decimals(_ a: Decimal, _ b: Decimal) -> WireValue {
        switch self {
        case .add: return WireValue(a + b)
        case .subtract: return WireValue(a - b)
        case .multiply: return WireValue(a * b)
        case .divide: return b.isZero ? .null : WireValue(a / b)
        case .remainder:
            if b.isZero { return .null }
            let quotient = a / b
            return WireValue(a - quotient.rounded(quotient < 0 ? .up : .down) * b)
        }
    }
}

extension RowExpression.Aggregate {
    /// The result for the values that are not null.
    func result(_ values: [WireValue]) throws(PorticoError) -> WireValue {
        if self == .count { return .int64(Int64(values.count)) }
        guard var result = values.first else { return .null }
        switch self {
        case .minimum, .maximum:
            for value in values.dropFirst() {
                let order = ValueOrder.withNull(value, result)
                if self == .minimum ? order < 0 : order > 0 { result = value }
            }
        case .sum, .average, .count:
            for value in values.dropFirst() { result = try RowExpression.Arithmetic.add.result(result, value) }
            guard self == .average else { return result }
            if case .decimal = result {
                return try RowExpression.Arithmetic.divide.result(result, .int64(Int64(values.count)))
            }
            return (result.number).map { .double($0 / Double(values.count)) } ?? .null
        }
        return result
    }
}

extension RowFunction {
    func result(_ arguments: [WireValue]) throws(PorticoError) -> WireValue {
        if arguments.contains(where: \.isNull) { return .null }
        let texts = arguments.compactMap(\.stringValue)
        switch self {
        case .contains, .startsWith, .endsWith, .indexOf, .length, .substring, .lowercase, .uppercase, .trim, .replace,
            .concatenate:
            guard let first = texts.first else { throw invalid }
            return try text(first, texts, arguments)
        case .round, .floor, .ceiling, .negate: return try rounded(arguments[0])
        case .bits:
            guard let a = arguments[0].int64Value, let b = arguments[1].int64Value else { throw invalid }
            return .int64(a & b)
        case .year, .month, .day, .hour, .minute, .second, .fractionalSecond, .dayOf, .timeOf, .dayPlus, .dayDifference:
            return calendar(arguments)
        case .toText, .toInteger, .toDecimal, .toDouble, .toDate: return converted(arguments[0])
        case .count:
            return (arguments[0].arrayValue?.count ?? arguments[0].dictionaryValue?.count).map { .int64(Int64($0)) }
                ?? .null
        case .listContains, .listStartsWith, .listEndsWith, .hasSubset, .hasSubsequence:
            guard let list = arguments[0].arrayValue, let part = arguments[1].arrayValue else { return .null }
            return .bool(compared(list, part))
        case .matches, .distance, .lineLength, .intersects:
            throw PorticoError(.adapterUnavailable, "\(rawValue) is not evaluated in memory.")
        }
    }

    /// Bytes, as in ``RowFunction/replace``.
    private static let longestReplacement = 1 << 20

    private var invalid: PorticoError { PorticoError(.requestInvalid, "\(rawValue) does not take such values.") }

    private func text(_ first: String, _ texts: [String], _ arguments: [WireValue]) throws(PorticoError) -> WireValue {
        let second = texts.count > 1 ? texts[1] : ""
        let place = { first.utf8.firstRange(of: second.utf8).map { first.unicodeScalars[..<$0.lowerBound].count } }
        switch self {
        case .contains: return .bool(second.isEmpty || place() != nil)
        case .startsWith: return .bool(first.utf8.starts(with: second.utf8))
        case .endsWith: return .bool(first.utf8.reversed().starts(with: second.utf8.reversed()))
        case .indexOf: return .int64(second.isEmpty ? 0 : place().map { Int64($0) } ?? -1)
        case .length: return .int64(Int64(first.unicodeScalars.count))
        case .lowercase: return .string(first.lowercased())
        case .uppercase: return .string(first.uppercased())
        case .trim:
            let scalars = first.unicodeScalars.drop { $0.properties.isWhitespace }.reversed()
            return .string(String(String.UnicodeScalarView(scalars.drop { $0.properties.isWhitespace }.reversed())))
        case .replace:
            guard texts.count == 3, !second.isEmpty else { return .string(first) }
            let replaced = first.replacing(second, with: texts[2])
            return replaced.utf8.count > Self.longestReplacement ? .null : .string(replaced)
        case .concatenate: return .string(texts.joined())
        default:
            guard let start = arguments[1].int64Value else { throw invalid }
            let scalars = Array(first.unicodeScalars)
            let begin = start < 0 ? max(0, Int64(scalars.count) + start) : min(start, Int64(scalars.count))
            let count = arguments.count > 2 ? max(0, arguments[2].int64Value ?? 0) : .max
            let taken = scalars.dropFirst(Int(begin)).prefix(Int(min(count, Int64(scalars.count))))
            return .string(String(String.UnicodeScalarView(taken)))
        }
    }

    private func rounded(_ value: WireValue) throws(PorticoError) -> WireValue {
        switch value {
        case .int64(let number): return self == .negate ? .int64(0 &- number) : value
        case .double(let number):
            return switch self {
            case .round: .double(number.rounded(.toNearestOrAwayFromZero))
            case .floor: .double(number.rounded(.down))
            case .ceiling: .double(number.rounded(.up))
            default: .double(-number)
            }
        default:
            guard let number = value.decimal else { throw invalid }
            return switch self {
            case .round: WireValue(number.rounded(.plain))
            case .floor: WireValue(number.rounded(.down))
            case .ceiling: WireValue(number.rounded(.up))
            default: WireValue(-number)
            }
        }
    }

    private func compared(_ list: [WireValue], _ part: [WireValue]) -> Bool {
        switch self {
        case .listStartsWith: return list.starts(with: part)
        case .listEndsWith: return list.reversed().starts(with: part.reversed())
        case .listContains:
            return part.isEmpty
                || list.indices.contains { list[$0...].starts(with: part, by: RelationEvaluator.isSame) }
        default:
            var rest = list
            return part.allSatisfy { element in
                guard let found = rest.firstIndex(of: element) else { return false }
                if self == .hasSubset { rest.remove(at: found) } else { rest = Array(rest.dropFirst(found + 1)) }
                return true
            }
        }
    }

    private func converted(_ value: WireValue) -> WireValue {
        switch (self, value) {
        case (.toText, .string), (.toInteger, .int64), (.toDecimal, .decimal), (.toDouble, .double), (.toDate, .date):
            return value
        case (.toText, .bool(let flag)): return .string(flag ? "true" : "false")
        case (.toText, .date(let instant)): return instant.rfc3339.map { .string($0) } ?? .null
        case (.toText, .double(let number)): return .string(number.description)
        case (.toText, _): return value.decimalValue.map { .string($0.description) } ?? .null
        case (.toInteger, .bool(let flag)): return .int64(flag ? 1 : 0)
        case (.toInteger, .string(let text)): return Int64(text).map { .int64($0) } ?? .null
        case (.toInteger, _):
            return value.number.flatMap { Int64(exactly: $0.rounded(.towardZero)) }.map { .int64($0) } ?? .null
        case (.toDecimal, .string(let text)): return WireDecimal(text).map { .decimal($0) } ?? .null
        case (.toDecimal, _): return value.decimalValue.map { .decimal($0) } ?? .null
        case (.toDouble, .string(let text)): return Double(text).map { .double($0) } ?? .null
        case (.toDouble, _): return value.number.map { .double($0) } ?? .null
        case (_, .string(let text)):
            return (WireDate(rfc3339: text) ?? WireDate(rfc3339: text + "T00:00:00Z")).map { .date($0) } ?? .null
        default: return .null
        }
    }
}

// Days and times of day.
extension RowFunction {
    private func calendar(_ arguments: [WireValue]) -> WireValue {
        guard let first = CalendarText(arguments[0]) else { return .null }
        let number = { (part: Substring?) -> WireValue in part.flatMap { Int64($0) }.map { .int64($0) } ?? .null }
        switch self {
        case .year: return number(first.day?[0])
        case .month: return number(first.day?[1])
        case .day: return number(first.day?[2])
        case .hour: return number(first.time?[0])
        case .minute: return number(first.time?[1])
        case .second: return number(first.time?[2].prefix { $0 != "." })
        case .fractionalSecond:
            let digits = first.time?[2].drop { $0 != "." }.dropFirst() ?? ""
            return WireDecimal("0.\(digits)0").map { .decimal($0) } ?? .null
        case .dayOf: return .string(String(first.text.prefix { $0 != "T" }))
        case .timeOf: return .string(String(first.text.drop { $0 != "T" }.dropFirst()))
        case .dayPlus:
            guard let start = first.start, let seconds = arguments[1].number,
                seconds.magnitude < 4e11
            else { return .null }
            let days = Int((seconds / 86_400).rounded(.towardZero))
            return CivilTime(secondsSinceReferenceDate: start + days * 86_400)
                .map { .string(String($0.description.prefix(10))) } ?? .null
        default:
            guard let left = first.start, let right = CalendarText(arguments[1])?.start else { return .null }
            return .decimal(WireDecimal(Int64(left - right)))
        }
    }
}

/// A day, a time of day, or both as text; an instant in UTC.
private struct CalendarText {
    let text: String
    let day: [Substring]?
    let time: [Substring]?

    init?(_ value: WireValue) {
        guard let text = value.stringValue ?? value.dateValue?.rfc3339.map({ String($0.dropLast()) }) else {
            return nil
        }
        self.text = text
        let parts = text.split(separator: "T", maxSplits: 1)
        let dayParts = parts.first.flatMap { $0.contains("-") ? $0.split(separator: "-") : nil }
        let timeParts = parts.last.flatMap { $0.contains(":") ? $0.split(separator: ":") : nil }
        guard dayParts.map({ $0.count == 3 }) ?? true, timeParts.map({ $0.count == 3 }) ?? true else { return nil }
        (day, time) = (dayParts, timeParts)
    }

    /// Seconds since 2001 at which the day begins.
    var start: Int? {
        guard let day, let year = Int(day[0]), let month = Int(day[1]), let number = Int(day[2]) else { return nil }
        return CivilTime(year: year, month: month, day: number, hour: 0, minute: 0, second: 0)?
            .secondsSinceReferenceDate
    }
}

extension WireValue {
    fileprivate init(_ decimal: Decimal) {
        self = WireDecimal(decimal.description).map { .decimal($0) } ?? .null
    }

    fileprivate var decimal: Decimal? { decimalValue.flatMap { Decimal(string: $0.description) } }
}

extension Decimal {
    fileprivate func rounded(_ mode: RoundingMode) -> Decimal {
        var (source, result) = (self, Decimal())
        NSDecimalRound(&result, &source, 0, mode)
        return result
    }
}
