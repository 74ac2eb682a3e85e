import AdapterKit
import ODataLanguage
import ODataModel
import ODataRecords

// `cast` and `isof`. URL Conventions 4.01, section 5.1.1.10.
extension ExpressionReader {
    func cast(
        _ inner: Expression?, _ written: WrittenType, _ range: SourceRange, on ground: ExpressionScope
    ) throws(QueryProblem) -> TypedExpression {
        guard let inner else { throw QueryProblem("An entity is no value.", at: range, kind: .notSupported) }
        let meaning = try read(inner, on: ground)
        let type = try self.type(written)
        guard let from = meaning.type else { return TypedExpression(.value(.null), type) }
        let (old, new) = (model.family(of: from), model.family(of: type))
        if old == new {
            return TypedExpression(number(meaning.expression, as: type, old), type)
        }
        switch new {
        case .string:
            return TypedExpression(.call(.toText, [meaning.expression]), type)
        case .number where old == .string || old == .boolean:
            return TypedExpression(number(meaning.expression, as: type, .number), type)
        case .dateTimeOffset where old == .string || old == .date:
            return TypedExpression(.call(.toDate, [meaning.expression]), type)
        case .date where old == .dateTimeOffset: return TypedExpression(.call(.dayOf, [meaning.expression]), type)
        case .timeOfDay where old == .dateTimeOffset: return TypedExpression(.call(.timeOf, [meaning.expression]), type)
        case .enumeration where old == .number: return TypedExpression(.call(.toInteger, [meaning.expression]), type)
        case .number:
            if case .enumeration = old { return TypedExpression(number(meaning.expression, as: type, .number), type) }
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
        _ inner: Expression?, _ written: WrittenType, _ range: SourceRange, on ground: ExpressionScope
    ) throws(QueryProblem) -> TypedExpression {
        let type = try self.type(written)
        guard let inner else {
            guard case .entity(let place) = ground.current, let name = type.type.schemaName else {
                return TypedExpression(.value(false), .boolean)
            }
            return TypedExpression(isOf(name, place), .boolean)
        }
        let meaning = try read(inner, on: ground)
        guard let own = meaning.type else { return TypedExpression(.value(false), .boolean) }
        guard model.family(of: own) == model.family(of: type), own.type == type.type || isNarrower(type, own) else {
            return TypedExpression(.value(false), .boolean)
        }
        return TypedExpression(.not(.isNull(meaning.expression)), .boolean)
    }

    private func isNarrower(_ type: TypeReference, _ own: TypeReference) -> Bool {
        guard let name = type.type.schemaName, let ownName = own.type.schemaName else { return false }
        return model.type(ownName, isA: name)
    }

    /// Whether the entity is of that type or of one that derives from it.
    func isOf(_ type: QualifiedName, _ place: EntityPlace) -> RowExpression {
        if model.type(place.table.type.name, isA: type) { return .value(true) }
        guard let field = place.table.discriminator else { return .value(false) }
        let family = model.family(of: type).map { WireValue.string($0.description) }
        return .isTrue(.oneOf(.field(place.source, field), family))
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
