import AdapterKit
import ODataLanguage
import ODataModel
import ODataRecords

/// Reads a path's segments by the model, one after the other.
public struct AddressReader {
    let tables: ServiceTables
    let aliases: [String: Expression]
    /// Functions' parameters that stand in the query instead of the path.
    let customOptions: [String: String]
    private var model: EntityDataModel { tables.model }

    public init(tables: ServiceTables, options: [QueryOption]) {
        self.tables = tables
        var aliases: [String: Expression] = [:]
        var custom: [String: String] = [:]
        for option in options {
            if case .alias(let name, let value) = option.form { aliases[name] = value }
            if case .custom(let name, let value?, _) = option.form { custom[name] = value }
            // Without its `$`, `format` may as well be a parameter's name.
            if case .format(let value) = option.form,
                option.nameRange.end - option.nameRange.start == "format".utf8.count
            {
                custom["format"] = value
            }
        }
        self.aliases = aliases
        customOptions = custom
    }

    /// Throws `record.notFound` for a path that leads nowhere, and `request.invalid` for keys and arguments that are none.
    public func address(_ segments: [PathSegment]) throws(PorticoError) -> Address {
        do { return try resolved(segments) } catch { throw error.error }
    }

    /// As ``address(_:)``, with the place where the path goes wrong.
    public func resolved(_ segments: [PathSegment]) throws(AddressProblem) -> Address {
        var rest = segments[...]
        guard let first = rest.popFirst(), let name = first.name else { throw nothing(segments.first) }
        var target = try root(name, first, &rest)
        var suffix = Address.Suffix.none
        var last = first
        while let segment = rest.first {
            guard suffix == .none else { throw nothing(segment) }
            switch segment.form {
            case .count: suffix = .count
            case .ref: suffix = .ref
            case .value: (target, suffix) = try value(of: target, segment)
            default:
                target = try step(from: target, &rest)
                continue
            }
            last = rest.removeFirst()
        }
        return try checked(Address(target: target, suffix: suffix), last)
    }

    private func root(
        _ name: WrittenName, _ segment: PathSegment, _ rest: inout ArraySlice<PathSegment>
    ) throws(AddressProblem) -> Address.Target {
        if name.namespace == nil, let table = tables[name.name] {
            guard table.isSingleton else {
                return .entities(EntityCollectionPath(table: table, type: table.type, origin: .all))
            }
            return .entity(EntityPlace(table: table, type: table.type, origin: .key(RecordID(unchecked: table.source))))
        }
        let imported =
            model.container.functionImport(name.name) ?? model.container.actionImport(name.name)
        guard name.namespace == nil, let imported else { throw nothing(segment) }
        let overloads = (model.operations[imported.operation] ?? []).filter { !$0.isBound }
        return .operation(try call(overloads, .none, set: imported.entitySet, segment, &rest))
    }

    private func step(
        from target: Address.Target, _ rest: inout ArraySlice<PathSegment>
    ) throws(AddressProblem) -> Address.Target {
        let segment = rest.removeFirst()
        switch target {
        case .entities(let place): return try step(from: place, segment, &rest)
        case .entity(let place): return try step(from: place, segment, &rest)
        case .property(let place, let property): return try step(from: property, of: place, segment)
        case .operation: throw nothing(segment, isUnsupported: true)
        case .stream: throw nothing(segment)
        }
    }

    private func step(
        from place: EntityCollectionPath, _ segment: PathSegment, _ rest: inout ArraySlice<PathSegment>
    ) throws(AddressProblem) -> Address.Target {
        switch segment.form {
        case .arguments(let arguments): return .entity(try entity(of: place, arguments, segment))
        case .text(let text): return .entity(try entity(of: place, keySegment: text, segment))
        case .filter(let condition):
            return .entities(
                EntityCollectionPath(table: place.table, type: place.type, origin: .filtered(place, condition)))
        case .each, .query: throw nothing(segment, isUnsupported: true)
        case .name(let name):
            if let type = try cast(name, of: place.table, from: place.type, segment) {
                return .entities(EntityCollectionPath(table: place.table, type: type, origin: place.origin))
            }
            let overloads = bound(name) { $0.type.isCollection && $0.type.type.schemaName == place.table.type.name }
            if !overloads.isEmpty { return .operation(try call(overloads, .entities(place), set: nil, segment, &rest)) }
            guard name.namespace == nil else { throw nothing(segment) }
            return .entity(try entity(of: place, keySegment: name.name, segment))
        default: throw nothing(segment)
        }
    }

    private func step(
        from place: EntityPlace, _ segment: PathSegment, _ rest: inout ArraySlice<PathSegment>
    ) throws(AddressProblem) -> Address.Target {
        guard case .name(let name) = segment.form else { throw nothing(segment) }
        if name.namespace == nil {
            if let navigation = place.type.navigation(name.name) { return try follow(navigation, from: place, segment) }
            if let property = place.type.property(name.name) {
                guard let column = place.table.columns[property.name] else {
                    return .stream(place, name: property.name)
                }
                return .property(place, PropertyPath(column: column, inner: [], type: property.type))
            }
        }
        if let type = try cast(name, of: place.table, from: place.type, segment) {
            return .entity(EntityPlace(table: place.table, type: type, origin: place.origin))
        }
        let overloads = bound(name) { parameter in
            !parameter.type.isCollection
                && parameter.type.type.schemaName.map { model.type(place.type.name, isA: $0) } == true
        }
        guard !overloads.isEmpty else { throw nothing(segment) }
        return .operation(try call(overloads, .entity(place), set: nil, segment, &rest))
    }

    private func step(
        from property: PropertyPath, of place: EntityPlace, _ segment: PathSegment
    ) throws(AddressProblem) -> Address.Target {
        guard case .name(let name) = segment.form, !property.type.isCollection,
            case .complex(let complex) = property.type.type
        else { throw nothing(segment) }
        if let type = QualifiedName("\(name)").map(model.resolve), model.structured(type) != nil,
            model.type(type, isA: complex)
        {
            return .property(
                place,
                PropertyPath(column: property.column, inner: property.inner, type: TypeReference(.complex(type))))
        }
        guard let inner = model.structured(complex)?.property(name.name) else { throw nothing(segment) }
        return .property(
            place,
            PropertyPath(column: property.column, inner: property.inner + [inner.name], type: inner.type))
    }

    private func follow(
        _ navigation: NavigationProperty, from place: EntityPlace, _ segment: PathSegment
    ) throws(AddressProblem) -> Address.Target {
        guard let relation = place.table.relations[navigation.name], let table = tables[relation.target],
            let type = model.structured(navigation.target)
        else { throw nothing(segment) }
        guard navigation.isCollection else {
            return .entity(
                EntityPlace(
                    table: table, type: type, origin: .related(to: place, by: relation, name: navigation.name)))
        }
        return .entities(
            EntityCollectionPath(
                table: table, type: type, origin: .related(to: place, by: relation, name: navigation.name)))
    }

    /// `$value` of a media entity is its stream; of a property, its raw value.
    private func value(
        of target: Address.Target, _ segment: PathSegment
    ) throws(AddressProblem) -> (Address.Target, Address.Suffix) {
        switch target {
        case .entity(let place):
            guard place.table.streams["$value"] != nil else {
                throw AddressProblem(
                    PorticoError(.requestInvalid, "The entity is no media entity.", target: "$value"), at: segment.range
                )
            }
            return (.stream(place, name: "$value"), .none)
        case .property, .operation: return (target, .value)
        case .stream: return (target, .none)
        case .entities: throw nothing(segment)
        }
    }

    private func checked(_ address: Address, _ last: PathSegment) throws(AddressProblem) -> Address {
        switch (address.target, address.suffix) {
        case (.entities, .none), (.entities, .count), (.entities, .ref), (.entity, .none), (.entity, .ref),
            (.stream, .none), (.operation, _):
            return address
        case (.property(_, let property), .count): if property.type.isCollection { return address }
        case (.property(_, let property), .value):
            if !property.type.isCollection, !property.type.type.isStructured { return address }
        case (.property, .none): return address
        default: break
        }
        throw nothing(last)
    }

    private func cast(
        _ name: WrittenName, of table: RecordTable, from type: StructuredType, _ segment: PathSegment
    ) throws(AddressProblem) -> StructuredType? {
        guard let namespace = name.namespace else { return nil }
        let qualified = model.resolve(QualifiedName(namespace, name.name))
        guard let target = model.structured(qualified), target.isEntity else { return nil }
        guard model.type(qualified, isA: type.name) || model.type(type.name, isA: qualified) else {
            throw AddressProblem(
                PorticoError(.recordNotFound, "\(qualified) is no type of these entities.", target: table.source),
                at: segment.range)
        }
        return target
    }

    private func bound(
        _ name: WrittenName, _ fits: (SchemaOperation.Parameter) -> Bool
    ) -> [SchemaOperation] {
        let names =
            name.namespace.map { [model.resolve(QualifiedName($0, name.name))] }
            ?? model.namespaces.map { QualifiedName($0, name.name) }
        return names.flatMap { model.operations[$0] ?? [] }.filter { $0.bindingParameter.map(fits) == true }
    }

    func nothing(_ segment: PathSegment?, isUnsupported: Bool = false) -> AddressProblem {
        AddressProblem(
            PorticoError(.recordNotFound, "There is no such resource in this service."), at: segment?.range,
            isUnsupported: isUnsupported)
    }
}
