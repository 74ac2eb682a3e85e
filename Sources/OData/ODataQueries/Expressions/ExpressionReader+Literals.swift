import AdapterKit
import ODataLanguage
import ODataModel
import ODataRecords

// Literals by themselves, and as the type that they meet.
extension ExpressionReader {
    func natural(_ literal: Literal, _ range: SourceRange) throws(QueryProblem) -> TypedExpression {
        func text(_ text: String, _ type: PrimitiveType) throws(QueryProblem) -> TypedExpression {
            guard let value = StoredForm.value(text: text, type) else {
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
    func fitted(_ meaning: TypedExpression, to type: TypeReference, _ range: SourceRange) throws(QueryProblem)
        -> RowExpression
    {
        guard let literal = meaning.literal, !meaning.isNull, let own = meaning.type else { return meaning.expression }
        let (from, to) = (model.family(of: own), model.family(of: type))
        if case .number(let digits, _) = literal, to == .number {
            if model.kind(of: type) == .double { return .value(StoredForm.value(text: digits, .double) ?? .null) }
            return meaning.expression
        }
        if from == .dateTimeOffset, to == .date, let day = literal.version2Meaning(for: .date) {
            return try natural(day, range).expression
        }
        if case .string(let text) = literal, from != to, let value = fromText(text, to, type) { return .value(value) }
        if from == .date, to == .dateTimeOffset, case .date(let day) = literal {
            return .value(StoredForm.value(text: "\(day)T00:00:00Z", .dateTimeOffset) ?? .null)
        }
        return meaning.expression
    }

    /// Version 4.01 lets enumerations and durations be written as plain strings.
    private func fromText(_ text: String, _ family: TypeFamily, _ type: TypeReference) -> WireValue? {
        switch family {
        case .enumeration, .duration: StoredForm(model: model).value(text: text, type: type.item)
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
    private static func withOffset(_ text: String) -> String {
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
