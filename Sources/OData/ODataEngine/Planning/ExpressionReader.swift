import AdapterKit
import ODataLanguage
import ODataModel

/// Compiles OData expressions to expressions over rows: resolves names by the model, converts literals to the type that
/// they are compared with.
///
/// OData compares null with `eq` and `ne` as a value; every other comparison with null is false, so a comparison is
/// never null. All else follows SQL's three-valued logic (URL Conventions 4.01, section 5.1.1.1).
struct ExpressionReader {
    let tables: ServiceTables
    let numbering: SourceNumbering
    /// Values of parameter aliases, by name.
    let aliases: [String: Expression]
    let now: WireDate
    /// Aliases that are being read, so that one does not lead to itself.
    var openAliases: Set<String> = []

    var model: EntityDataModel { tables.model }

    func read(_ expression: Expression, on scope: ExpressionScope) throws(QueryProblem) -> TypedExpression {
        try numbering.count(at: expression.range)
        switch expression.form {
        case .literal(let literal): return try natural(literal, expression.range)
        case .path(let path): return try read(path, on: scope)
        case .not(let inner): return TypedExpression(.not(try condition(inner, on: scope)), .boolean)
        case .negated(let inner): return try negated(inner, expression.range, on: scope)
        case .binary(let operation, let left, let right):
            return try binary(operation, left, right, expression.range, on: scope)
        case .call(let function, let arguments): return try call(function, arguments, expression.range, on: scope)
        case .choice(let branches): return try choice(branches, on: scope)
        case .cast(let inner, let type): return try cast(inner, type, expression.range, on: scope)
        case .isOf(let inner, let type): return try isOf(inner, type, expression.range, on: scope)
        case .isDefined(let path):
            // What is defined is in the model: reading the path finds out.
            _ = try read(path, on: scope)
            return TypedExpression(.value(true), .boolean)
        case .list, .array, .object: return try tree(expression, on: scope)
        }
    }

    /// Throws where it is neither true nor false nor null.
    func condition(_ expression: Expression, on scope: ExpressionScope) throws(QueryProblem) -> RowExpression {
        let typed = try read(expression, on: scope)
        guard let type = typed.type else { return typed.expression }
        guard model.family(of: type) == .boolean else {
            throw QueryProblem("A condition is expected, this is of the type \(type).", at: expression.range)
        }
        return typed.expression
    }

    /// The criteria of `$orderby`. Throws where the values of one have no order.
    func order(_ items: [OrderItem], on scope: ExpressionScope) throws(QueryProblem) -> [RowOrder] {
        var order: [RowOrder] = []
        for item in items {
            let typed = try read(item.expression, on: scope)
            if let type = typed.type, model.kind(of: type) == .tree {
                throw QueryProblem("Values of the type \(type) have no order.", at: item.expression.range)
            }
            order.append(RowOrder(typed.expression, descending: item.descending))
        }
        return order
    }

    private func choice(_ branches: [Expression.Branch], on scope: ExpressionScope) throws(QueryProblem)
        -> TypedExpression
    {
        var read: [RowExpression.Branch] = []
        var type: TypeReference?
        for branch in branches {
            let value = try self.read(branch.value, on: scope)
            type = type ?? value.type
            let condition = try self.condition(branch.condition, on: scope)
            read.append(RowExpression.Branch(when: condition, then: value.expression))
        }
        return TypedExpression(.choose(read, otherwise: .value(.null)), type)
    }

    /// A list or an object in JSON, of literals.
    private func tree(_ expression: Expression, on scope: ExpressionScope) throws(QueryProblem) -> TypedExpression {
        let value = try constant(expression)
        return TypedExpression(
            .value(value), TypeReference(.abstract("Untyped"), isCollection: value.arrayValue != nil))
    }

    private func constant(_ expression: Expression) throws(QueryProblem) -> WireValue {
        switch expression.form {
        case .literal(let literal):
            guard case .value(let value) = try natural(literal, expression.range).expression else { return .null }
            return value
        case .list(let items), .array(let items):
            var values: [WireValue] = []
            for item in items { values.append(try constant(item)) }
            return .array(values)
        case .object(let members):
            var object = WireDictionary()
            for member in members { object[member.name] = try constant(member.value) }
            return .dictionary(object)
        case .negated(let inner):
            let value = try constant(inner)
            guard let number = value.decimalValue, let turned = WireDecimal("-\(number)") else { break }
            return StoredValueCodec.decimal(turned)
        default: break
        }
        throw QueryProblem("Only values can stand in a list or an object.", at: expression.range)
    }
}

extension BinaryOperator {
    /// The comparison with its sides exchanged.
    fileprivate var turned: BinaryOperator {
        switch self {
        case .less: .greater
        case .lessOrEqual: .greaterOrEqual
        case .greater: .less
        case .greaterOrEqual: .lessOrEqual
        default: self
        }
    }
}

extension TypeReference {
    static let boolean = TypeReference(.primitive(.boolean))
    static let int64 = TypeReference(.primitive(.int64))
    static let string = TypeReference(.primitive(.string))
    static let decimal = TypeReference(.primitive(.decimal))
    static let double = TypeReference(.primitive(.double))
}

// Operators. URL Conventions 4.01, sections 5.1.1.1 and 5.1.1.2.
extension ExpressionReader {
    func binary(
        _ operation: BinaryOperator, _ left: Expression, _ right: Expression, _ range: SourceRange,
        on scope: ExpressionScope
    ) throws(QueryProblem) -> TypedExpression {
        switch operation {
        case .and:
            return TypedExpression(.all([try condition(left, on: scope), try condition(right, on: scope)]), .boolean)
        case .or:
            return TypedExpression(.any([try condition(left, on: scope), try condition(right, on: scope)]), .boolean)
        case .isIn: return TypedExpression(try isAmong(left, right, range, on: scope), .boolean)
        default: break
        }
        let a = try read(left, on: scope)
        let (b, parts) = try numbering.counting { () throws(QueryProblem) in try read(right, on: scope) }
        if operation == .has {
            // It compares what is left of `b` with `b` itself.
            try numbering.count(parts, at: range)
            return try has(a, b, range)
        }
        if operation.isComparison { return TypedExpression(try compare(operation, a, b, range), .boolean) }
        return try arithmetic(operation, a, b, range)
    }

    private func compare(
        _ operation: BinaryOperator, _ left: TypedExpression, _ right: TypedExpression, _ range: SourceRange
    ) throws(QueryProblem) -> RowExpression {
        if let day = try dayCompared(operation, left, right, range) { return day }
        let (a, b) = try pair(left, right, range)
        if left.literal == .notANumber || right.literal == .notANumber { return .value(.bool(operation == .notEqual)) }
        switch operation {
        case .equal: return .same(a, b)
        case .notEqual: return .not(.same(a, b))
        case .less: return try ordered(.less, a, b, left, right, range)
        case .lessOrEqual: return try ordered(.lessOrEqual, a, b, left, right, range)
        case .greater: return try ordered(.greater, a, b, left, right, range)
        default: return try ordered(.greaterOrEqual, a, b, left, right, range)
        }
    }

    /// A day compared with an instant that is written in the request: a day is its midnight in UTC, so of an instant within
    /// a day that day is before it and the next one behind it. Version 2 has one type for both, and its clients write the
    /// end of a day as `T23:59:59`. Nil for any other comparison, and for midnight, which is a day itself.
    private func dayCompared(
        _ operation: BinaryOperator, _ left: TypedExpression, _ right: TypedExpression, _ range: SourceRange
    ) throws(QueryProblem) -> RowExpression? {
        guard let a = left.type, let b = right.type else { return nil }
        switch (left.literal, right.literal) {
        case (_, .dateTimeOffset(let text)?) where model.family(of: a) == .date:
            guard let day = Literal.dayWithin(Self.withOffset(text)) else { return nil }
            return try dayCompared(operation, left, day, range)
        case (.dateTimeOffset(let text)?, _) where model.family(of: b) == .date:
            guard let day = Literal.dayWithin(Self.withOffset(text)) else { return nil }
            return try dayCompared(operation.turned, right, day, range)
        default: return nil
        }
    }

    /// `instant`: the day that it is within, after its midnight.
    private func dayCompared(
        _ operation: BinaryOperator, _ day: TypedExpression, _ instant: String, _ range: SourceRange
    ) throws(QueryProblem) -> RowExpression {
        let limit = try natural(.date(instant), range).expression
        switch operation {
        case .equal: return .value(false)
        case .notEqual: return .value(true)
        case .less, .lessOrEqual: return .isTrue(.compare(.lessOrEqual, day.expression, limit))
        default: return .isTrue(.compare(.greater, day.expression, limit))
        }
    }

    private func ordered(
        _ comparison: Comparison, _ a: RowExpression, _ b: RowExpression, _ left: TypedExpression,
        _ right: TypedExpression,
        _ range: SourceRange
    ) throws(QueryProblem) -> RowExpression {
        for type in [left.type, right.type].compactMap({ $0 }) where model.kind(of: type) == .tree {
            throw QueryProblem("Values of the type \(type) have no order.", at: range)
        }
        if left.isNull || right.isNull { return .value(false) }
        return .isTrue(.compare(comparison, a, b))
    }

    /// Both of types that compare; a literal as a value of the other's type.
    func pair(
        _ left: TypedExpression, _ right: TypedExpression, _ range: SourceRange
    ) throws(QueryProblem) -> (RowExpression, RowExpression) {
        guard let a = left.type, let b = right.type else { return (left.expression, right.expression) }
        let isLeftLiteral = left.literal != nil && right.literal == nil
        let first = isLeftLiteral ? try fitted(left, to: b, range) : left.expression
        let second = right.literal != nil ? try fitted(right, to: a, range) : right.expression
        let families = (model.family(of: a), model.family(of: b))
        // Only literals become another expression; comparing others would go through all of their parts.
        let isFitted =
            isLeftLiteral && first != left.expression || right.literal != nil && second != right.expression
        // As a literal of one becomes the other.
        if !isFitted, families == (.date, .dateTimeOffset) { return (.call(.toDate, [first]), second) }
        if !isFitted, families == (.dateTimeOffset, .date) { return (first, .call(.toDate, [second])) }
        guard
            isFitted || Self.areComparable(families.0, families.1) || isUntyped(a, families.1)
                || isUntyped(b, families.0)
        else {
            throw QueryProblem("\(a) and \(b) cannot be compared.", at: range)
        }
        return (first, second)
    }

    /// Version 2 knows enumerations as numbers.
    private static func areComparable(_ left: TypeFamily, _ right: TypeFamily) -> Bool {
        switch (left, right) {
        case (.enumeration, .number), (.number, .enumeration), (.untyped, _), (_, .untyped): true
        default: left == right
        }
    }

    /// An object in JSON, beside what is structured.
    private func isUntyped(_ type: TypeReference, _ other: TypeFamily) -> Bool {
        type.type == .abstract("Untyped") && !type.isCollection && other == .structured
    }

    private func has(_ left: TypedExpression, _ right: TypedExpression, _ range: SourceRange) throws(QueryProblem)
        -> TypedExpression
    {
        guard let type = left.type, case .enumeration(let name) = model.family(of: type) else {
            if left.isNull { return .null }
            throw QueryProblem("`has` needs an enumeration on its left.", at: range)
        }
        let wanted = try fitted(right, to: type, range)
        if let other = right.type, right.literal == nil || wanted == right.expression,
            model.family(of: other) != .enumeration(name),
            model.family(of: other) != .number
        {
            throw QueryProblem("`has` needs a member of \(name) on its right.", at: range)
        }
        return TypedExpression(.compare(.equal, .call(.bits, [left.expression, wanted]), wanted), .boolean)
    }

    private func isAmong(
        _ operand: Expression, _ right: Expression, _ range: SourceRange, on scope: ExpressionScope
    ) throws(QueryProblem) -> RowExpression {
        let (left, parts) = try numbering.counting { () throws(QueryProblem) in try read(operand, on: scope) }
        switch right.form {
        case .list(let items), .array(let items): return try isOne(of: items, left, parts, on: scope)
        default: break
        }
        let list = try read(right, on: scope)
        if case .value(let value) = list.expression, let items = value.arrayValue {
            return .isTrue(.oneOf(left.expression, items))
        }
        guard let type = list.type, type.isCollection else {
            throw QueryProblem("`in` needs a list on its right.", at: right.range)
        }
        let element = numbering.next()
        let item = RowExpression.member(.element(element), [], model.kind(of: type.item))
        return .exists(
            Relation(
                .elements(of: list.expression, as: element), where: .same(item, left.expression),
                columns: [.value(1)]))
    }

    /// `parts`: of `left`, which is compared with each item that is null or no literal.
    private func isOne(
        of items: [Expression], _ left: TypedExpression, _ parts: Int, on scope: ExpressionScope
    ) throws(QueryProblem) -> RowExpression {
        var values: [WireValue] = []
        var others: [RowExpression] = []
        for item in items {
            let typed = try read(item, on: scope)
            let (own, other) = try pair(left, typed, item.range)
            if case .value(let value) = other, !value.isNull, left.literal == nil || own == left.expression {
                values.append(value)
            } else {
                try numbering.count(parts, at: item.range)
                others.append(.same(own, other))
            }
        }
        return .any([.isTrue(.oneOf(left.expression, values))] + others)
    }
}

// `cast` and `isof`. URL Conventions 4.01, section 5.1.1.10.
extension ExpressionReader {
    func cast(
        _ inner: Expression?, _ written: WrittenType, _ range: SourceRange, on scope: ExpressionScope
    ) throws(QueryProblem) -> TypedExpression {
        guard let inner else { throw QueryProblem("An entity is no value.", at: range, kind: .notSupported) }
        let typed = try read(inner, on: scope)
        let type = try self.type(written)
        guard let from = typed.type else { return TypedExpression(.value(.null), type) }
        let (old, new) = (model.family(of: from), model.family(of: type))
        if old == new {
            return TypedExpression(number(typed.expression, as: type, old), type)
        }
        switch new {
        case .string:
            return TypedExpression(.call(.toText, [typed.expression]), type)
        case .number where old == .string || old == .boolean:
            return TypedExpression(number(typed.expression, as: type, .number), type)
        case .dateTimeOffset where old == .string || old == .date:
            return TypedExpression(.call(.toDate, [typed.expression]), type)
        case .date where old == .dateTimeOffset: return TypedExpression(.call(.dayOf, [typed.expression]), type)
        case .timeOfDay where old == .dateTimeOffset: return TypedExpression(.call(.timeOf, [typed.expression]), type)
        case .enumeration where old == .number: return TypedExpression(.call(.toInteger, [typed.expression]), type)
        case .number:
            if case .enumeration = old { return TypedExpression(number(typed.expression, as: type, .number), type) }
        default: break
        }
        // What cannot be cast is null.
        return TypedExpression(.value(.null), type)
    }

    private func number(_ value: RowExpression, as type: TypeReference, _ family: TypeFamily) -> RowExpression {
        guard family == .number else { return value }
        switch model.kind(of: type) {
        case .integer: return .call(.toInteger, [value])
        case .double: return .call(.toDouble, [value])
        default: return .call(.toDecimal, [value])
        }
    }

    func isOf(
        _ inner: Expression?, _ written: WrittenType, _ range: SourceRange, on scope: ExpressionScope
    ) throws(QueryProblem) -> TypedExpression {
        let type = try self.type(written)
        guard let inner else {
            guard case .entity(let entity) = scope.current, let name = type.type.schemaName else {
                return TypedExpression(.value(false), .boolean)
            }
            return TypedExpression(isOf(name, entity), .boolean)
        }
        let typed = try read(inner, on: scope)
        guard let own = typed.type else { return TypedExpression(.value(false), .boolean) }
        guard model.family(of: own) == model.family(of: type), own.type == type.type || isNarrower(type, own) else {
            return TypedExpression(.value(false), .boolean)
        }
        return TypedExpression(.not(.isNull(typed.expression)), .boolean)
    }

    private func isNarrower(_ type: TypeReference, _ own: TypeReference) -> Bool {
        guard let name = type.type.schemaName, let ownName = own.type.schemaName else { return false }
        return model.type(ownName, isA: name)
    }

    /// Whether the entity is of that type or of one that derives from it.
    func isOf(_ type: QualifiedName, _ entity: EntitySource) -> RowExpression {
        if model.type(entity.table.type.name, isA: type) { return .value(true) }
        guard let field = entity.table.discriminator else { return .value(false) }
        let family = model.family(of: type).map { WireValue.string($0.description) }
        return .isTrue(.oneOf(.field(entity.source, field), family))
    }

    func type(_ written: WrittenType) throws(QueryProblem) -> TypeReference {
        if written.name.namespace == "Edm" {
            guard let primitive = PrimitiveType(rawValue: written.name.name) else {
                throw QueryProblem("There is no type \(written.name).", at: written.range)
            }
            return TypeReference(.primitive(primitive), isCollection: written.isCollection)
        }
        let name = resolved(written.name)
        switch model.types[name] {
        case .structured(let type): return TypeReference(type.typeName, isCollection: written.isCollection)
        case .enumeration: return TypeReference(.enumeration(name), isCollection: written.isCollection)
        case .definition: return TypeReference(.definition(name), isCollection: written.isCollection)
        case nil: throw QueryProblem("There is no type \(written.name).", at: written.range)
        }
    }
}

// Literals by themselves, and as the type that they meet.
extension ExpressionReader {
    func natural(_ literal: Literal, _ range: SourceRange) throws(QueryProblem) -> TypedExpression {
        func text(_ text: String, _ type: PrimitiveType) throws(QueryProblem) -> TypedExpression {
            guard let value = StoredValueCodec.value(text: text, type) else {
                throw QueryProblem("The value is out of range.", at: range)
            }
            return TypedExpression(.value(value), TypeReference(.primitive(type)), literal: literal)
        }
        switch literal {
        case .null: return .null
        case .boolean(let flag): return TypedExpression(.value(.bool(flag)), .boolean, literal: literal)
        case .number(let digits, let suffix): return try text(digits, Self.type(of: digits, suffix))
        // SQL has none: whatever is computed with it is null, and `compare` knows it.
        case .notANumber: return TypedExpression(.value(.null), .double, literal: literal)
        case .infinity(let isNegative):
            return TypedExpression(.value(.double(isNegative ? -.infinity : .infinity)), .double, literal: literal)
        case .string(let value): return TypedExpression(.value(.string(value)), .string, literal: literal)
        case .guid(let value): return try text(value, .guid)
        case .date(let value): return try text(value, .date)
        case .timeOfDay(let value): return try text(value, .timeOfDay)
        case .dateTimeOffset(let value): return try text(Self.withOffset(value), .dateTimeOffset)
        case .duration(let value): return try text(value, .duration)
        case .enumeration(let name, let members): return try enumeration(name, members, literal, range)
        case .binary(let bytes):
            return TypedExpression(.value(.data(bytes)), TypeReference(.primitive(.binary)), literal: literal)
        case .geography(let shape):
            return TypedExpression(.value(shape.geoJSON), TypeReference(.primitive(.geography)), literal: literal)
        case .geometry(let shape):
            return TypedExpression(.value(shape.geoJSON), TypeReference(.primitive(.geometry)), literal: literal)
        }
    }

    /// The literal as a value of that type, as records hold it.
    func fitted(_ typed: TypedExpression, to type: TypeReference, _ range: SourceRange) throws(QueryProblem)
        -> RowExpression
    {
        guard let literal = typed.literal, !typed.isNull, let own = typed.type else { return typed.expression }
        let (from, to) = (model.family(of: own), model.family(of: type))
        if case .number(let digits, _) = literal, to == .number {
            if model.kind(of: type) == .double { return .value(StoredValueCodec.value(text: digits, .double) ?? .null) }
            return typed.expression
        }
        if from == .dateTimeOffset, to == .date, let day = literal.version2Meaning(for: .date) {
            return try natural(day, range).expression
        }
        if case .string(let text) = literal, from != to, let value = fromText(text, to, type) { return .value(value) }
        if from == .date, to == .dateTimeOffset, case .date(let day) = literal {
            return .value(StoredValueCodec.value(text: "\(day)T00:00:00Z", .dateTimeOffset) ?? .null)
        }
        return typed.expression
    }

    /// Version 4.01 lets enumerations and durations be written as plain strings.
    private func fromText(_ text: String, _ family: TypeFamily, _ type: TypeReference) -> WireValue? {
        switch family {
        case .enumeration, .duration: StoredValueCodec(model: model).value(text: text, type: type.item)
        default: nil
        }
    }

    private func enumeration(
        _ name: WrittenName, _ members: [String], _ literal: Literal, _ range: SourceRange
    ) throws(QueryProblem) -> TypedExpression {
        guard let type = model.enumeration(resolved(name)) else {
            throw QueryProblem("There is no enumeration type \(name).", at: range)
        }
        guard let value = type.value(of: members.joined(separator: ",")) else {
            throw QueryProblem("\(name) has no such member.", at: range)
        }
        return TypedExpression(.value(.int64(value)), TypeReference(.enumeration(type.name)), literal: literal)
    }

    /// With the namespace of an alias, or of the type that there is of that name where none was written.
    func resolved(_ name: WrittenName) -> QualifiedName {
        if let namespace = name.namespace { return model.resolve(QualifiedName(namespace, name.name)) }
        let candidates = model.namespaces.map { QualifiedName($0, name.name) }
        return candidates.first { model.types[$0] != nil } ?? QualifiedName("", name.name)
    }

    private static func type(of digits: String, _ suffix: Literal.NumberSuffix?) -> PrimitiveType {
        switch suffix {
        case .long: return .int64
        case .decimal: return .decimal
        case .double: return .double
        case .single: return .single
        case nil: break
        }
        if Int64(digits) != nil { return .int64 }
        return digits.utf8.contains { $0 == UInt8(ascii: "e") || $0 == UInt8(ascii: "E") } ? .double : .decimal
    }

    /// Version 2's have no offset; they mean UTC.
    static func withOffset(_ text: String) -> String {
        let time = text.split(separator: "T").last ?? ""
        return time.contains(where: { $0 == "Z" || $0 == "+" || $0 == "-" }) ? text : text + "Z"
    }
}

extension SpatialLiteral {
    /// RFC 7946; what is not in the usual coordinate system carries its identifier as OData's JSON does.
    var geoJSON: WireValue {
        guard case .dictionary(var object) = shape.geoJSON else { return .null }
        if srid != 4326, srid != 0 {
            object["crs"] = ["type": "name", "properties": ["name": .string("EPSG:\(srid)")]]
        }
        return .dictionary(object)
    }
}

extension SpatialLiteral.Shape {
    fileprivate var geoJSON: WireValue {
        func position(_ position: SpatialLiteral.Position) -> WireValue { .array(position.map { .double($0) }) }
        func line(_ line: [SpatialLiteral.Position]) -> WireValue { .array(line.map(position)) }
        func area(_ area: [[SpatialLiteral.Position]]) -> WireValue { .array(area.map(line)) }
        func object(_ type: String, _ coordinates: WireValue) -> WireValue {
            ["type": .string(type), "coordinates": coordinates]
        }
        return switch self {
        case .point(let one): object("Point", position(one))
        case .lineString(let one): object("LineString", line(one))
        case .polygon(let one): object("Polygon", area(one))
        case .multiPoint(let all): object("MultiPoint", line(all))
        case .multiLineString(let all): object("MultiLineString", area(all))
        case .multiPolygon(let all): object("MultiPolygon", .array(all.map(area)))
        case .collection(let all): ["type": "GeometryCollection", "geometries": .array(all.map(\.geoJSON))]
        }
    }
}
