import AdapterKit
import ODataLanguage
import ODataModel
import ODataRecords

/// Keys and arguments.
extension AddressReader {
    func entity(
        of place: EntityCollectionPath, _ arguments: Arguments, _ segment: PathSegment
    ) throws(AddressProblem) -> EntityPlace {
        let names = place.table.keyNames
        var values: [String: WireValue] = [:]
        switch arguments {
        case .single(let expression):
            guard names.count == 1 else { throw wrongKey(place, segment.range) }
            values[names[0]] = try keyValue(expression, names[0], place)
        case .named(let parts):
            guard parts.count == names.count else { throw wrongKey(place, segment.range) }
            for part in parts {
                guard names.contains(part.name), values[part.name] == nil else { throw wrongKey(place, segment.range) }
                values[part.name] = try keyValue(part.value, part.name, place)
            }
        case .names: throw wrongKey(place, segment.range)
        }
        return try entity(of: place, values, segment)
    }

    /// A key as a segment of its own (URL Conventions 4.01, section 4.3.6).
    func entity(
        of place: EntityCollectionPath, keySegment text: String, _ segment: PathSegment
    ) throws(AddressProblem) -> EntityPlace {
        let names = place.table.keyNames
        guard names.count == 1, let type = place.table.keyType(names[0]),
            let value = StoredForm(model: tables.model).value(text: text, type: type)
        else { throw nothing(segment) }
        return try entity(of: place, [names[0]: value], segment)
    }

    private func entity(
        of place: EntityCollectionPath, _ values: [String: WireValue], _ segment: PathSegment
    ) throws(AddressProblem) -> EntityPlace {
        guard let id = place.table.recordID(key: values, form: StoredForm(model: tables.model)) else {
            throw wrongKey(place, segment.range)
        }
        if case .all = place.origin { return EntityPlace(table: place.table, type: place.type, origin: .key(id)) }
        return EntityPlace(table: place.table, type: place.type, origin: .member(of: place, id))
    }

    private func keyValue(
        _ expression: Expression, _ name: String, _ place: EntityCollectionPath
    ) throws(AddressProblem) -> WireValue {
        guard let type = place.table.keyType(name), let literal = literal(expression),
            let value = LiteralText(model: tables.model).value(literal, as: type), !value.isNull
        else { throw wrongKey(place, expression.range) }
        return value
    }

    /// A literal, or the one that an alias stands for.
    public func literal(_ expression: Expression) -> Literal? {
        switch expression.form {
        case .literal(let literal): return literal
        case .path(let path):
            guard case .alias(let name) = path.start, path.segments.isEmpty, let value = aliases[name] else {
                return nil
            }
            if case .literal(let literal) = value.form { return literal }
            return nil
        default: return nil
        }
    }

    private func wrongKey(_ place: EntityCollectionPath, _ range: SourceRange) -> AddressProblem {
        AddressProblem(
            PorticoError(
                .requestInvalid, "The key of \(place.table.source) is \(place.table.keyNames.joined(separator: ", ")).",
                target: place.table.source), at: range)
    }

    /// Chooses among functions by the parameters that are named; actions take none in the URL.
    func call(
        _ overloads: [SchemaOperation], _ binding: OperationCall.Binding, set: String?, _ segment: PathSegment,
        _ rest: inout ArraySlice<PathSegment>
    ) throws(AddressProblem) -> OperationCall {
        guard overloads.first?.kind == .function else {
            return OperationCall(overloads: overloads, binding: binding, arguments: [:], importedSet: set)
        }
        var given: [String: Expression] = [:]
        var isExplicit = false
        if case .arguments(let arguments)? = rest.first?.form {
            rest.removeFirst()
            isExplicit = true
            guard case .named(let parts) = arguments else { throw noOverload(overloads, segment) }
            for part in parts { given[part.name] = part.value }
        }
        // Options named like a parameter of any overload are meant as parameters, so that they tell overloads apart.
        let implicit = isExplicit && !given.isEmpty ? [] : try implicitNames(overloads, segment)
        for overload in overloads where fits(overload, implicit.union(given.keys)) {
            if let values = values(of: overload, given) {
                return OperationCall(overloads: [overload], binding: binding, arguments: values, importedSet: set)
            }
        }
        throw noOverload(overloads, segment)
    }

    /// Parameters that stand in the query. An option there that might be one and is none is a mistake: a function that
    /// passed over it would answer another question.
    private func implicitNames(
        _ overloads: [SchemaOperation], _ segment: PathSegment
    ) throws(AddressProblem) -> Set<String> {
        let names = Set(overloads.flatMap { $0.callParameters.map(\.name) })
        for option in customOptions.keys where !names.contains(option) {
            let isName = option.allSatisfy { $0 == "_" || $0.isLetter || $0.isNumber }
            if isName, option != "format" { throw noOverload(overloads, segment) }
        }
        return names.intersection(Set(customOptions.keys).union(aliases.keys))
    }

    private func fits(_ overload: SchemaOperation, _ given: Set<String>) -> Bool {
        let names = Set(overload.callParameters.map(\.name))
        let required = Set(overload.callParameters.filter { !$0.isOptional }.map(\.name))
        return given.isSubset(of: names) && required.isSubset(of: given)
    }

    private func values(
        of overload: SchemaOperation, _ given: [String: Expression]
    ) -> [String: WireValue]? {
        var values: [String: WireValue] = [:]
        for parameter in overload.callParameters {
            if let expression = given[parameter.name] {
                guard let value = argument(expression, parameter.type) else { return nil }
                values[parameter.name] = value
            } else if let expression = aliases[parameter.name] {
                guard let value = argument(expression, parameter.type) else { return nil }
                values[parameter.name] = value
            } else if let text = customOptions[parameter.name] {
                let inner = text.hasPrefix("'") && text.hasSuffix("'") ? String(text.dropFirst().dropLast()) : text
                guard let value = StoredForm(model: tables.model).value(text: inner, type: parameter.type) else {
                    return nil
                }
                values[parameter.name] = value
            }
        }
        return values
    }

    private func argument(_ expression: Expression, _ type: TypeReference) -> WireValue? {
        if type.isCollection, case .array(let items) = resolved(expression).form {
            var values: [WireValue] = []
            for item in items {
                guard let value = argument(item, type.item) else { return nil }
                values.append(value)
            }
            return .array(values)
        }
        return literal(expression).flatMap { LiteralText(model: tables.model).value($0, as: type) }
    }

    private func resolved(_ expression: Expression) -> Expression {
        if case .path(let path) = expression.form, case .alias(let name) = path.start, let value = aliases[name] {
            return value
        }
        return expression
    }

    private func noOverload(_ overloads: [SchemaOperation], _ segment: PathSegment) -> AddressProblem {
        let name = overloads.first?.name.name ?? "the function"
        return AddressProblem(
            PorticoError(.requestInvalid, "No overload of \(name) has these parameters."), at: segment.range)
    }
}
