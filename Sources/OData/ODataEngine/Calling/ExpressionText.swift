import AdapterKit
import ODataLanguage
import ODataModel

/// Writes expressions as the OData service of another system is asked them, in the version that it has.
///
/// Only what has the same meaning there is written. Everything else throws ``QueryProblem`` of the kind
/// ``QueryProblem/Kind/notSupported``, which names the part. The expression was checked against the model before
/// (``EntityQuery/plan(in:limits:)``).
public struct ExpressionText {
    /// Bytes of one option at most: the address that it becomes a part of has its own limit.
    public static let maximumLength = 6_000

    let tables: ServiceTables
    let table: RecordTable
    let version: ServableModel.Version
    let aliases: [String: Expression]
    let now: WireDate
    /// Aliases that are being read, so that one does not lead to itself.
    private var openAliases: Set<String> = []

    public init(
        _ tables: ServiceTables, of table: RecordTable, version: ServableModel.Version,
        aliases: [String: Expression] = [:], now: WireDate
    ) {
        self.tables = tables
        self.table = table
        self.version = version
        self.aliases = aliases
        self.now = now
    }

    private var model: EntityDataModel { tables.model }
    private var isVersion4: Bool { version == .version4 }

    /// A part of an expression.
    private struct Part {
        var text: String
        /// Nil: null.
        var type: TypeReference?
        var literal: Literal?
        /// Whether it needs no parentheses beside an operator.
        var isAtomic = true

        /// As an operand.
        var operand: String { isAtomic ? text : "(\(text))" }
    }

    /// The text of `$filter`, not percent-encoded.
    public func condition(_ expression: Expression) throws(QueryProblem) -> String { try part(expression).text }

    /// The text of `$orderby`, with the key behind it, so that pages are stable.
    public func order(_ items: [OrderItem]) throws(QueryProblem) -> String {
        var criteria: [String] = []
        var named: Set<String> = []
        for item in items {
            let text = try part(item.expression).text
            // A second time it decides nothing, and some services refuse it.
            guard named.insert(text).inserted else { continue }
            criteria.append(item.descending ? "\(text) desc" : "\(text) asc")
        }
        let ending = items.last?.descending ?? false ? "desc" : "asc"
        for key in table.keyNames where !named.contains(key) { criteria.append("\(key) \(ending)") }
        return try bounded(criteria.joined(separator: ","), items.first?.expression.range)
    }

    private func part(_ expression: Expression) throws(QueryProblem) -> Part {
        let range = expression.range
        var part: Part
        switch expression.form {
        case .literal(let literal): part = try natural(literal, range)
        case .path(let path): part = try self.path(path)
        case .not(let inner):
            part = Part(text: "not (\(try self.part(inner).text))", type: .boolean, isAtomic: false)
        case .negated(let inner): part = try negated(inner, range)
        case .binary(let operation, let left, let right): part = try binary(operation, left, right, range)
        case .call(let function, let arguments): part = try call(function, arguments, range)
        case .choice: throw Self.different("`case`", range)
        case .cast: throw Self.different("`cast`", range)
        case .isOf: throw Self.different("`isof`", range)
        case .isDefined: throw Self.different("`isdefined`", range)
        case .list, .array, .object: throw Self.different("a list or an object", range)
        }
        part.text = try bounded(part.text, range)
        return part
    }

    static func different(_ what: String, _ range: SourceRange?) -> QueryProblem {
        QueryProblem(
            "The system that has these entities cannot be asked for \(what) with the same meaning.", at: range,
            kind: .notSupported)
    }

    private func bounded(_ text: String, _ range: SourceRange?) throws(QueryProblem) -> String {
        guard text.utf8.count <= Self.maximumLength else { throw Self.tooLong(range) }
        return text
    }

    static func tooLong(_ range: SourceRange?) -> QueryProblem {
        QueryProblem(
            "The system that has these entities is asked with at most \(maximumLength) bytes.", at: range,
            kind: .limitExceeded)
    }

    // MARK: Paths

    private func path(_ path: MemberPath) throws(QueryProblem) -> Part {
        switch path.start {
        case .current, .it, .this: break
        case .alias(let name): return try alias(name, path)
        case .root: throw Self.different("`$root`", path.range)
        case .these: throw Self.different("`$these`", path.range)
        }
        guard let first = path.segments.first?.name, first.namespace == nil,
            let property = table.type.property(first.name), let column = table.columns[first.name]
        else { throw unwritten(path) }
        var (type, names) = (property.type, [column.property])
        for segment in path.segments.dropFirst() {
            guard let name = segment.name, name.namespace == nil, !type.isCollection,
                case .complex(let own) = type.type, let next = model.structured(own)?.property(name.name)
            else { throw unwritten(path) }
            names.append(name.name)
            type = next.type
        }
        return Part(text: names.joined(separator: "/"), type: type)
    }

    private func unwritten(_ path: MemberPath) -> QueryProblem {
        for segment in path.segments {
            switch segment.form {
            case .any: return Self.different("`any`", segment.range)
            case .all: return Self.different("`all`", segment.range)
            default: continue
            }
        }
        for segment in path.segments {
            switch segment.form {
            case .count: return Self.different("`$count` in an expression", segment.range)
            case .name(let name) where name.namespace != nil: return Self.different("\(name)", segment.range)
            case .name(let name) where table.relations[name.name] != nil:
                return Self.different("the navigation property \(name) in an expression", segment.range)
            default: continue
            }
        }
        let names = path.segments.compactMap { $0.name?.description }.joined(separator: "/")
        return Self.different(names.isEmpty ? "this path" : names, path.range)
    }

    private func alias(_ name: String, _ path: MemberPath) throws(QueryProblem) -> Part {
        guard let expression = aliases[name] else { return Part(text: "null") }
        guard path.segments.isEmpty, !openAliases.contains(name) else {
            throw Self.different("the alias @\(name) here", path.range)
        }
        var inner = self
        inner.openAliases.insert(name)
        return try inner.part(expression)
    }

    /// The list that stands to the right of `in`, by itself or by an alias.
    private func items(_ expression: Expression) throws(QueryProblem) -> [Expression] {
        switch expression.form {
        case .list(let items), .array(let items): return items
        case .path(let path):
            if case .alias(let name) = path.start, path.segments.isEmpty, !openAliases.contains(name),
                let inner = aliases[name]
            {
                var other = self
                other.openAliases.insert(name)
                return try other.items(inner)
            }
        default: break
        }
        throw Self.different("`in` with a list that is no list of values", expression.range)
    }

    // MARK: Literals

    private func natural(_ literal: Literal, _ range: SourceRange) throws(QueryProblem) -> Part {
        if literal == .null { return Part(text: "null") }
        let reader = ExpressionReader(tables: tables, numbering: SourceNumbering(), aliases: [:], now: now)
        let typed = try reader.natural(literal, range)
        guard case .value(let value) = typed.expression, !value.isNull, let type = typed.type,
            let text = text(value, type)
        else { throw Self.different("such a value", range) }
        return Part(text: text, type: type, literal: literal)
    }

    private func text(_ value: WireValue, _ type: TypeReference) -> String? {
        guard isVersion4 else { return Version2ValueCodec(model: model).literal(value, type) }
        return LiteralText(model: model).plain(value, as: type)
    }

    /// A literal as a value of the type that it is compared with; as it is where it is none of its values, but compares.
    private func fitted(_ part: Part, to type: TypeReference, _ range: SourceRange) throws(QueryProblem) -> Part {
        guard var literal = part.literal else { return part }
        if case .dateTimeOffset(let text) = literal { literal = .dateTimeOffset(ExpressionReader.withOffset(text)) }
        if let primitive = model.primitive(behind: type.type) {
            literal = literal.version2Meaning(for: primitive) ?? literal
        }
        if let value = LiteralText(model: model).value(literal, as: type), !value.isNull {
            guard let text = text(value, type) else { throw Self.different("a value of the type \(type)", range) }
            return Part(text: text, type: type, literal: part.literal)
        }
        guard let own = part.type, model.family(of: own) == .number, model.family(of: type) == .number else {
            throw Self.different("such a value of the type \(type)", range)
        }
        return part
    }

    // MARK: Operators

    private func binary(
        _ operation: BinaryOperator, _ left: Expression, _ right: Expression, _ range: SourceRange
    ) throws(QueryProblem) -> Part {
        if operation == .isIn { return try isOne(of: try items(right), left, range) }
        let (a, b) = (try part(left), try part(right))
        switch operation {
        case .and, .or:
            return Part(text: "\(a.operand) \(operation.rawValue) \(b.operand)", type: .boolean, isAtomic: false)
        case .has:
            guard isVersion4, let type = a.type else { throw Self.different("`has`", range) }
            let flag = try fitted(b, to: type, range)
            return Part(text: "\(a.operand) has \(flag.operand)", type: .boolean, isAtomic: false)
        default: break
        }
        return operation.isComparison
            ? try compared(operation, a, b, range) : try arithmetic(operation, a, b, range)
    }

    private func compared(
        _ operation: BinaryOperator, _ a: Part, _ b: Part, _ range: SourceRange
    ) throws(QueryProblem) -> Part {
        func made(_ a: Part, _ operation: String, _ b: Part) -> Part {
            Part(text: "\(a.operand) \(operation) \(b.operand)", type: .boolean, isAtomic: false)
        }
        guard let left = a.type, let right = b.type else {
            guard [.equal, .notEqual].contains(operation), a.literal == nil, b.literal == nil else {
                throw Self.different("this comparison with null", range)
            }
            return made(a, operation.rawValue, b)
        }
        if let day = try day(operation, a, b, range) { return day }
        let first = a.literal != nil && b.literal == nil ? try fitted(a, to: right, range) : a
        let second = b.literal != nil ? try fitted(b, to: left, range) : b
        let families = (model.family(of: first.type ?? left), model.family(of: second.type ?? right))
        guard families.0 == families.1, ![.structured, .collection, .untyped, .spatial].contains(families.0) else {
            throw Self.different("a comparison of \(left) with \(right)", range)
        }
        return made(first, operation.rawValue, second)
    }

    /// A day compared with an instant within a day (``ExpressionReader``); nil for any other comparison.
    private func day(
        _ operation: BinaryOperator, _ a: Part, _ b: Part, _ range: SourceRange
    ) throws(QueryProblem) -> Part? {
        func isDay(_ part: Part) -> Bool { part.type.map { model.family(of: $0) == .date } ?? false }
        func instant(_ part: Part) -> String? {
            guard case .dateTimeOffset(let text)? = part.literal else { return nil }
            return Literal.dayWithin(ExpressionReader.withOffset(text))
        }
        let (day, text, isTurned): (Part, String, Bool)
        if isDay(a), let found = instant(b) {
            (day, text, isTurned) = (a, found, false)
        } else if isDay(b), let found = instant(a) {
            (day, text, isTurned) = (b, found, true)
        } else {
            return nil
        }
        let limit = try natural(.date(text), range).text
        switch (operation, isTurned) {
        case (.equal, _): throw Self.different("a day that is an instant within it", range)
        case (.notEqual, _): throw Self.different("a day that is an instant within it", range)
        case (.less, false), (.lessOrEqual, false), (.greater, true), (.greaterOrEqual, true):
            return Part(text: "\(day.operand) le \(limit)", type: .boolean, isAtomic: false)
        default: return Part(text: "\(day.operand) gt \(limit)", type: .boolean, isAtomic: false)
        }
    }

    /// `in`, which neither version 2 nor version 4.0 has, as a list of `or`.
    private func isOne(
        of items: [Expression], _ operand: Expression, _ range: SourceRange
    ) throws(QueryProblem) -> Part {
        let left = try part(operand)
        guard !items.isEmpty else { throw Self.different("`in` with an empty list", range) }
        var comparisons: [String] = []
        var length = 0
        for item in items {
            let comparison = try compared(.equal, left, try part(item), item.range).text
            length += comparison.utf8.count + 4
            guard length <= Self.maximumLength else { throw Self.tooLong(range) }
            comparisons.append(comparison)
        }
        return Part(text: comparisons.joined(separator: " or "), type: .boolean, isAtomic: false)
    }

    /// Sums and products of numbers, and quotients of whole ones: of others the digits differ from system to system.
    private func arithmetic(
        _ operation: BinaryOperator, _ a: Part, _ b: Part, _ range: SourceRange
    ) throws(QueryProblem) -> Part {
        guard let left = a.type, let right = b.type, model.family(of: left) == .number,
            model.family(of: right) == .number
        else { throw Self.different("`\(operation.rawValue)` with such values", range) }
        let kinds = [model.kind(of: left), model.kind(of: right)]
        switch operation {
        case .add, .subtract, .multiply: break
        case .divide, .modulo:
            guard kinds.allSatisfy({ $0 == .integer }) else {
                throw Self.different("`\(operation.rawValue)` of numbers with a fraction", range)
            }
        default: throw Self.different("`\(operation.rawValue)`", range)
        }
        let type: TypeReference =
            kinds.contains(.double) ? .double : kinds.contains(.decimal) ? .decimal : .int64
        return Part(text: "\(a.operand) \(operation.rawValue) \(b.operand)", type: type, isAtomic: false)
    }

    private func negated(_ inner: Expression, _ range: SourceRange) throws(QueryProblem) -> Part {
        let part = try part(inner)
        guard let type = part.type, model.family(of: type) == .number else {
            throw Self.different("this opposite", range)
        }
        if case .number(let digits, let suffix)? = part.literal {
            return try natural(
                .number(digits.hasPrefix("-") ? String(digits.dropFirst()) : "-\(digits)", suffix: suffix), range)
        }
        return Part(text: "-(\(part.text))", type: type, isAtomic: false)
    }

    // MARK: Functions

    private func call(
        _ function: BuiltInFunction, _ written: [Expression], _ range: SourceRange
    ) throws(QueryProblem) -> Part {
        func instant(_ text: String) throws(QueryProblem) -> Part { try natural(.dateTimeOffset(text), range) }
        switch function {
        case .now: return try instant(now.rfc3339 ?? "2001-01-01T00:00:00Z")
        case .mindatetime: return try instant("0001-01-01T00:00:00Z")
        case .maxdatetime: return try instant("9999-12-31T23:59:59.999999999999Z")
        default: break
        }
        var arguments: [Part] = []
        for argument in written { arguments.append(try part(argument)) }
        let families = arguments.map { $0.type.map { model.family(of: $0) } }
        guard let first = arguments.first, families.allSatisfy({ $0 != nil }),
            let result = result(function, families[0] ?? .untyped, of: first)
        else { throw Self.different("`\(function.rawValue)`", range) }
        var (name, texts) = (function.rawValue, arguments.map(\.text))
        if function == .contains || function == .substringof {
            // The same with its arguments exchanged.
            if isVersion4 == (function == .substringof) { texts.reverse() }
            name = isVersion4 ? BuiltInFunction.contains.rawValue : BuiltInFunction.substringof.rawValue
        }
        return Part(text: "\(name)(\(texts.joined(separator: ",")))", type: result)
    }

    /// The type of what the function gives; nil where it means something else there, or nothing.
    private func result(_ function: BuiltInFunction, _ family: TypeFamily, of first: Part) -> TypeReference? {
        let int32 = TypeReference(.primitive(.int32))
        switch function {
        case .contains, .substringof, .startswith, .endswith: return family == .string ? .boolean : nil
        case .concat, .substring, .tolower, .toupper, .trim: return family == .string ? .string : nil
        case .replace: return family == .string && !isVersion4 ? .string : nil
        case .length, .indexof: return family == .string ? int32 : nil
        case .year, .month, .day: return [.date, .dateTimeOffset].contains(family) ? int32 : nil
        case .hour, .minute, .second: return [.timeOfDay, .dateTimeOffset].contains(family) ? int32 : nil
        case .floor, .ceiling: return family == .number ? first.type : nil
        // Version 2 does not say which way a half goes.
        case .round: return family == .number && isVersion4 ? first.type : nil
        case .date: return family == .dateTimeOffset && isVersion4 ? .date : nil
        case .time: return family == .dateTimeOffset && isVersion4 ? .timeOfDay : nil
        default: return nil
        }
    }
}
