import AdapterKit
import ODataLanguage
import ODataModel

/// The resource that a path addresses, resolved by the model. No record is looked up yet.
public struct ResourcePath: Sendable {
    public indirect enum Target: Sendable {
        case entities(EntityCollectionPath)
        case entity(EntityPath)
        /// A structural property, perhaps inside of complex ones.
        case property(EntityPath, PropertyPath)
        /// A stream property, or a media entity's stream (`$value`).
        case stream(EntityPath, name: String)
        case operation(OperationCall)
    }

    public enum Suffix: Sendable, Equatable {
        case none, count, ref, value
    }

    public let target: Target
    public let suffix: Suffix

    public init(target: Target, suffix: Suffix) {
        self.target = target
        self.suffix = suffix
    }
}

/// The path of a collection of entities: a set, a navigation property, or a filtered collection.
public struct EntityCollectionPath: Sendable {
    public let table: RecordTable
    /// The type to which the path narrowed them.
    public let type: StructuredType
    public let origin: Origin

    public init(table: RecordTable, type: StructuredType, origin: Origin) {
        self.table = table
        self.type = type
        self.origin = origin
    }

    public indirect enum Origin: Sendable {
        case all
        case related(to: EntityPath, by: RecordRelation, name: String)
        /// `$filter(…)` as a segment.
        case filtered(EntityCollectionPath, Expression)
    }
}

/// The path of one entity: by key, by a navigation property, or by a key within a collection.
public struct EntityPath: Sendable {
    public let table: RecordTable
    public let type: StructuredType
    public let origin: Origin

    public init(table: RecordTable, type: StructuredType, origin: Origin) {
        self.table = table
        self.type = type
        self.origin = origin
    }

    public indirect enum Origin: Sendable {
        case key(RecordID)
        case related(to: EntityPath, by: RecordRelation, name: String)
        /// The one with the key among these.
        case member(of: EntityCollectionPath, RecordID)
    }
}

/// The path of a structural property within an entity's type.
public struct PropertyPath: Sendable {
    public let column: RecordColumn
    /// Within complex values, after the column's own name.
    public let inner: [String]
    public let type: TypeReference

    public var path: String { ([column.property] + inner).joined(separator: "/") }
}

/// A call of a function or an action: what it is bound to, and the arguments in the URL.
public struct OperationCall: Sendable {
    /// The overloads that may be meant; an action's body selects one.
    public let overloads: [SchemaOperation]
    public let binding: Binding
    /// By parameter, in stored form.
    public let arguments: [String: WireValue]
    public let importedSet: String?

    public enum Binding: Sendable {
        case none
        case entity(EntityPath)
        case entities(EntityCollectionPath)
    }
}

/// Why a path addresses no resource, with the position in the raw text.
public struct ResourcePathProblem: Error, Sendable {
    public let error: PorticoError
    public let range: SourceRange?
    /// Whether it may be right and is only nothing that services answer.
    public let isUnsupported: Bool

    init(_ error: PorticoError, at range: SourceRange?, isUnsupported: Bool = false) {
        self.error = error
        self.range = range
        self.isUnsupported = isUnsupported
    }
}

/// Resolves the segments of a resource path by the model, from left to right.
public struct ResourcePathReader {
    let tables: ServiceTables
    let aliases: [String: Expression]
    /// Functions' parameters that are in the query instead of the path.
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
    public func address(_ segments: [PathSegment]) throws(PorticoError) -> ResourcePath {
        do { return try resolved(segments) } catch { throw error.error }
    }

    /// As ``address(_:)``, with the place where the path goes wrong.
    public func resolved(_ segments: [PathSegment]) throws(ResourcePathProblem) -> ResourcePath {
        var rest = segments[...]
        guard let first = rest.popFirst(), let name = first.name else { throw nothing(segments.first) }
        var target = try root(name, first, &rest)
        var suffix = ResourcePath.Suffix.none
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
        return try checked(ResourcePath(target: target, suffix: suffix), last)
    }

    private func root(
        _ name: WrittenName, _ segment: PathSegment, _ rest: inout ArraySlice<PathSegment>
    ) throws(ResourcePathProblem) -> ResourcePath.Target {
        if name.namespace == nil, let table = tables[name.name] {
            guard table.isSingleton else {
                return .entities(EntityCollectionPath(table: table, type: table.type, origin: .all))
            }
            return .entity(EntityPath(table: table, type: table.type, origin: .key(RecordID(unchecked: table.source))))
        }
        let imported =
            model.container.functionImport(name.name) ?? model.container.actionImport(name.name)
        guard name.namespace == nil, let imported else { throw nothing(segment) }
        let overloads = (model.operations[imported.operation] ?? []).filter { !$0.isBound }
        return .operation(try call(overloads, .none, set: imported.entitySet, segment, &rest))
    }

    private func step(
        from target: ResourcePath.Target, _ rest: inout ArraySlice<PathSegment>
    ) throws(ResourcePathProblem) -> ResourcePath.Target {
        let segment = rest.removeFirst()
        switch target {
        case .entities(let collectionPath): return try step(from: collectionPath, segment, &rest)
        case .entity(let entityPath): return try step(from: entityPath, segment, &rest)
        case .property(let entityPath, let property): return try step(from: property, of: entityPath, segment)
        case .operation: throw nothing(segment, isUnsupported: true)
        case .stream: throw nothing(segment)
        }
    }

    private func step(
        from collectionPath: EntityCollectionPath, _ segment: PathSegment, _ rest: inout ArraySlice<PathSegment>
    ) throws(ResourcePathProblem) -> ResourcePath.Target {
        switch segment.form {
        case .arguments(let arguments): return .entity(try entity(of: collectionPath, arguments, segment))
        case .text(let text): return .entity(try entity(of: collectionPath, keySegment: text, segment))
        case .filter(let condition):
            return .entities(
                EntityCollectionPath(
                    table: collectionPath.table, type: collectionPath.type, origin: .filtered(collectionPath, condition)
                ))
        case .each, .query: throw nothing(segment, isUnsupported: true)
        case .name(let name):
            if let type = try cast(name, of: collectionPath.table, from: collectionPath.type, segment) {
                return .entities(
                    EntityCollectionPath(table: collectionPath.table, type: type, origin: collectionPath.origin))
            }
            let overloads = bound(name) {
                $0.type.isCollection && $0.type.type.schemaName == collectionPath.table.type.name
            }
            if !overloads.isEmpty {
                return .operation(try call(overloads, .entities(collectionPath), set: nil, segment, &rest))
            }
            guard name.namespace == nil else { throw nothing(segment) }
            return .entity(try entity(of: collectionPath, keySegment: name.name, segment))
        default: throw nothing(segment)
        }
    }

    private func step(
        from entityPath: EntityPath, _ segment: PathSegment, _ rest: inout ArraySlice<PathSegment>
    ) throws(ResourcePathProblem) -> ResourcePath.Target {
        guard case .name(let name) = segment.form else { throw nothing(segment) }
        if name.namespace == nil {
            if let navigation = entityPath.type.navigation(name.name) {
                return try follow(navigation, from: entityPath, segment)
            }
            if let property = entityPath.type.property(name.name) {
                guard let column = entityPath.table.columns[property.name] else {
                    return .stream(entityPath, name: property.name)
                }
                return .property(entityPath, PropertyPath(column: column, inner: [], type: property.type))
            }
        }
        if let type = try cast(name, of: entityPath.table, from: entityPath.type, segment) {
            return .entity(EntityPath(table: entityPath.table, type: type, origin: entityPath.origin))
        }
        let overloads = bound(name) { parameter in
            !parameter.type.isCollection
                && parameter.type.type.schemaName.map { model.type(entityPath.type.name, isA: $0) } == true
        }
        guard !overloads.isEmpty else { throw nothing(segment) }
        return .operation(try call(overloads, .entity(entityPath), set: nil, segment, &rest))
    }

    private func step(
        from property: PropertyPath, of entityPath: EntityPath, _ segment: PathSegment
    ) throws(ResourcePathProblem) -> ResourcePath.Target {
        guard case .name(let name) = segment.form, !property.type.isCollection,
            case .complex(let complex) = property.type.type
        else { throw nothing(segment) }
        if let type = QualifiedName("\(name)").map(model.resolve), model.structured(type) != nil,
            model.type(type, isA: complex)
        {
            return .property(
                entityPath,
                PropertyPath(column: property.column, inner: property.inner, type: TypeReference(.complex(type))))
        }
        guard let inner = model.structured(complex)?.property(name.name) else { throw nothing(segment) }
        return .property(
            entityPath,
            PropertyPath(column: property.column, inner: property.inner + [inner.name], type: inner.type))
    }

    private func follow(
        _ navigation: NavigationProperty, from entityPath: EntityPath, _ segment: PathSegment
    ) throws(ResourcePathProblem) -> ResourcePath.Target {
        guard let relation = entityPath.table.relations[navigation.name], let table = tables[relation.target],
            let type = model.structured(navigation.target)
        else { throw nothing(segment) }
        guard navigation.isCollection else {
            return .entity(
                EntityPath(
                    table: table, type: type, origin: .related(to: entityPath, by: relation, name: navigation.name)))
        }
        return .entities(
            EntityCollectionPath(
                table: table, type: type, origin: .related(to: entityPath, by: relation, name: navigation.name)))
    }

    /// `$value` of a media entity is its stream; of a property, its raw value.
    private func value(
        of target: ResourcePath.Target, _ segment: PathSegment
    ) throws(ResourcePathProblem) -> (ResourcePath.Target, ResourcePath.Suffix) {
        switch target {
        case .entity(let entityPath):
            guard entityPath.table.streams["$value"] != nil else {
                throw ResourcePathProblem(
                    PorticoError(.requestInvalid, "The entity is no media entity.", target: "$value"), at: segment.range
                )
            }
            return (.stream(entityPath, name: "$value"), .none)
        case .property, .operation: return (target, .value)
        case .stream: return (target, .none)
        case .entities: throw nothing(segment)
        }
    }

    private func checked(_ address: ResourcePath, _ last: PathSegment) throws(ResourcePathProblem) -> ResourcePath {
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
    ) throws(ResourcePathProblem) -> StructuredType? {
        guard let namespace = name.namespace else { return nil }
        let qualified = model.resolve(QualifiedName(namespace, name.name))
        guard let target = model.structured(qualified), target.isEntity else { return nil }
        guard model.type(qualified, isA: type.name) || model.type(type.name, isA: qualified) else {
            throw ResourcePathProblem(
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

    func nothing(_ segment: PathSegment?, isUnsupported: Bool = false) -> ResourcePathProblem {
        ResourcePathProblem(
            PorticoError(.recordNotFound, "There is no such resource in this service."), at: segment?.range,
            isUnsupported: isUnsupported)
    }
}

/// Keys and arguments.
extension ResourcePathReader {
    func entity(
        of collectionPath: EntityCollectionPath, _ arguments: Arguments, _ segment: PathSegment
    ) throws(ResourcePathProblem) -> EntityPath {
        let names = collectionPath.table.keyNames
        var values: [String: WireValue] = [:]
        switch arguments {
        case .single(let expression):
            guard names.count == 1 else { throw wrongKey(collectionPath, segment.range) }
            values[names[0]] = try keyValue(expression, names[0], collectionPath)
        case .named(let parts):
            guard parts.count == names.count else { throw wrongKey(collectionPath, segment.range) }
            for part in parts {
                guard names.contains(part.name), values[part.name] == nil else {
                    throw wrongKey(collectionPath, segment.range)
                }
                values[part.name] = try keyValue(part.value, part.name, collectionPath)
            }
        case .names: throw wrongKey(collectionPath, segment.range)
        }
        return try entity(of: collectionPath, values, segment)
    }

    /// A key as a segment of its own (URL Conventions 4.01, section 4.3.6).
    func entity(
        of collectionPath: EntityCollectionPath, keySegment text: String, _ segment: PathSegment
    ) throws(ResourcePathProblem) -> EntityPath {
        let names = collectionPath.table.keyNames
        guard names.count == 1, let type = collectionPath.table.keyType(names[0]),
            let value = StoredValueCodec(model: tables.model).value(text: text, type: type)
        else { throw nothing(segment) }
        return try entity(of: collectionPath, [names[0]: value], segment)
    }

    private func entity(
        of collectionPath: EntityCollectionPath, _ values: [String: WireValue], _ segment: PathSegment
    ) throws(ResourcePathProblem) -> EntityPath {
        guard let id = collectionPath.table.recordID(key: values, form: StoredValueCodec(model: tables.model)) else {
            throw wrongKey(collectionPath, segment.range)
        }
        if case .all = collectionPath.origin {
            return EntityPath(table: collectionPath.table, type: collectionPath.type, origin: .key(id))
        }
        return EntityPath(
            table: collectionPath.table, type: collectionPath.type, origin: .member(of: collectionPath, id))
    }

    private func keyValue(
        _ expression: Expression, _ name: String, _ collectionPath: EntityCollectionPath
    ) throws(ResourcePathProblem) -> WireValue {
        guard let type = collectionPath.table.keyType(name), let literal = literal(expression),
            let value = LiteralText(model: tables.model).value(literal, as: type), !value.isNull
        else { throw wrongKey(collectionPath, expression.range) }
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

    private func wrongKey(_ collectionPath: EntityCollectionPath, _ range: SourceRange) -> ResourcePathProblem {
        ResourcePathProblem(
            PorticoError(
                .requestInvalid,
                "The key of \(collectionPath.table.source) is \(collectionPath.table.keyNames.joined(separator: ", ")).",
                target: collectionPath.table.source), at: range)
    }

    /// Chooses among functions by the parameters that are named; actions take none in the URL.
    func call(
        _ overloads: [SchemaOperation], _ binding: OperationCall.Binding, set: String?, _ segment: PathSegment,
        _ rest: inout ArraySlice<PathSegment>
    ) throws(ResourcePathProblem) -> OperationCall {
        guard overloads.first?.kind == .function else {
            return OperationCall(overloads: overloads, binding: binding, arguments: [:], importedSet: set)
        }
        var given: [String: Expression] = [:]
        if case .arguments(let arguments)? = rest.first?.form {
            rest.removeFirst()
            guard case .named(let parts) = arguments else { throw noOverload(overloads, segment) }
            for part in parts { given[part.name] = part.value }
        }
        // Options named like a parameter of any overload are meant as parameters, so that they select an overload.
        let implicit = given.isEmpty ? try implicitNames(overloads, segment) : []
        for overload in overloads where fits(overload, implicit.union(given.keys)) {
            if let values = values(of: overload, given) {
                return OperationCall(overloads: [overload], binding: binding, arguments: values, importedSet: set)
            }
        }
        throw noOverload(overloads, segment)
    }

    /// Parameters in the query. An option that looks like a parameter and is none is an error: a function that
    /// ignored it would compute something else.
    private func implicitNames(
        _ overloads: [SchemaOperation], _ segment: PathSegment
    ) throws(ResourcePathProblem) -> Set<String> {
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
                guard let value = StoredValueCodec(model: tables.model).value(text: inner, type: parameter.type) else {
                    return nil
                }
                values[parameter.name] = value
            }
        }
        return values
    }

    private func argument(_ expression: Expression, _ type: TypeReference) -> WireValue? {
        if type.isCollection {
            guard case .array(let items) = resolved(expression).form else { return nil }
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

    private func noOverload(_ overloads: [SchemaOperation], _ segment: PathSegment) -> ResourcePathProblem {
        let name = overloads.first?.name.name ?? "the function"
        return ResourcePathProblem(
            PorticoError(.requestInvalid, "No overload of \(name) has these parameters."), at: segment.range)
    }
}
