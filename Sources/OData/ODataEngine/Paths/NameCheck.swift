import AdapterKit
import ODataLanguage
import ODataModel

/// Why the model has no meaning for a well-formed text.
public struct NameProblem: Error, Sendable, Equatable {
    /// The byte of the raw text where it stops meaning something.
    public let position: Int
    /// Safe to show.
    public let message: String
}

/// Checks parsed texts against a model: whether the names exist and the types fit, as a service of that model would
/// find when it plans the request.
///
/// A request is checked against the resource that it addresses. A single option or expression addresses nothing; it
/// passes if it is valid for one set or singleton. Constructs that services do not implement (function calls in
/// expressions, paths behind operations, cross joins) are not checked.
public struct NameCheck: Sendable {
    let tables: ServiceTables

    /// Throws where the model cannot be served.
    public init(model: EntityDataModel) throws(CSDLProblem) {
        tables = try ServiceTables(service: "service", model: model)
    }

    /// Throws ``NameProblem``. `tree` is what ``GrammarRule`` gives; trees of other rules than those for requests, options,
    /// expressions and context fragments name nothing. Where the service's root ends in an absolute URL is not written
    /// there: it ends before the first segment that the model knows.
    public func check(_ tree: Any, isAbsolute: Bool = false) throws(NameProblem) {
        switch tree {
        case let target as RequestTarget: try check(isAbsolute ? withoutRoot(target) : target)
        case let resource as RequestTarget.Resource: try check(RequestTarget(resource, options: []))
        case let options as [QueryOption]: try checkAnywhere(options)
        case let option as QueryOption: try checkAnywhere([option])
        case let expression as Expression: try checkAnywhere([Self.computing(expression)])
        case let fragment as ContextFragment: try check(fragment)
        case let path as MemberPath:
            try checkAnywhere([Self.computing(Expression(.path(path), path.range))])
        default: return
        }
    }

    /// An expression of any type, in the option that takes them all.
    private static func computing(_ expression: Expression) -> QueryOption {
        let (range, name) = (expression.range, SourceRange(0, 0))
        return QueryOption(
            .compute([ComputeItem(expression, name: "expression alone", nameRange: name)]), nameRange: name,
            range: range)
    }

    // MARK: Requests

    private func check(_ target: RequestTarget) throws(NameProblem) {
        guard case .path(let segments) = target.resource else { return }
        let address: ResourcePath
        do {
            address = try ResourcePathReader(tables: tables, options: target.options).resolved(segments)
        } catch {
            if error.isUnsupported { return }
            throw NameProblem(position: error.range?.start ?? 0, message: error.error.message)
        }
        switch address.target {
        case .entities(let collectionPath):
            try plan(collectionPath.table, collectionPath.type, base(of: collectionPath), target.options)
        case .entity(let entityPath): try plan(entityPath.table, entityPath.type, Self.one, target.options)
        case .stream(_, let name):
            guard name != "$value", let last = segments.last, case .value = last.form else { return }
            throw NameProblem(position: last.range.start, message: "\(name) is a stream and has no further value.")
        case .property, .operation: return
        }
    }

    private func withoutRoot(_ target: RequestTarget) -> RequestTarget {
        guard case .path(let segments) = target.resource else { return target }
        let start = segments.firstIndex { segment in segment.name.map { isRoot($0.name) } ?? false }
        return RequestTarget(.path(Array(segments[(start ?? 0)...])), options: target.options)
    }

    private func isRoot(_ name: String) -> Bool {
        let container = tables.model.container
        return tables[name] != nil || container.functionImport(name) != nil || container.actionImport(name) != nil
    }

    /// Some record: which one makes no difference to names.
    private static let one = EntityQuery.Base.record(RecordID(unchecked: "1"))

    private func base(of collectionPath: EntityCollectionPath) -> EntityQuery.Base {
        switch collectionPath.origin {
        case .all: .all
        case .related: .filtered(.all, Self.always)
        case .filtered(let outer, let condition): .filtered(base(of: outer), condition)
        }
    }

    private static let always = Expression(.literal(.boolean(true)), SourceRange(0, 0))

    // MARK: Options

    private func plan(
        _ table: RecordTable, _ type: StructuredType, _ base: EntityQuery.Base, _ options: [QueryOption]
    ) throws(NameProblem) {
        let query = EntityQuery(
            table.source, cast: type.name == table.type.name ? nil : type.name, base: base,
            options: options.filter(\.form.isOfNames), pageSize: 1, now: WireDate(secondsSince1970: 0))
        do {
            _ = try query.plan(in: tables)
        } catch {
            guard error.kind == .invalid else { return }
            throw NameProblem(position: error.range?.start ?? 0, message: error.message)
        }
    }

    /// Throws the problem that is furthest in the text.
    private func checkAnywhere(_ options: [QueryOption]) throws(NameProblem) {
        var furthest: NameProblem?
        for source in tables.sources {
            guard let table = tables[source] else { continue }
            do {
                return try plan(table, table.type, Self.one, options)
            } catch {
                if error.position >= furthest?.position ?? 0 { furthest = error }
            }
        }
        if let furthest { throw furthest }
    }
}

extension QueryOption.Form {
    /// Others hold texts that only the service that wrote them understands.
    fileprivate var isOfNames: Bool {
        switch self {
        case .skipToken, .deltaToken, .custom, .format, .schemaVersion, .id, .index: false
        default: true
        }
    }
}

/// Checks context fragments: the selected names must be in the model. Casts are qualified there.
extension NameCheck {
    func check(_ fragment: ContextFragment) throws(NameProblem) {
        guard let first = fragment.path.first else { return }
        guard var type = tables[first.name.name]?.type else {
            throw NameProblem(position: first.range.start, message: "There is no set or singleton \(first.name).")
        }
        for step in fragment.path.dropFirst() {
            guard let next = try self.type(after: type, step) else { return }
            type = next
        }
        try check(fragment.selection ?? [], of: type)
    }

    private func check(_ items: [ContextFragment.Item], of outer: StructuredType) throws(NameProblem) {
        for item in items {
            var type: StructuredType? = outer
            for step in item.path {
                guard let current = type else {
                    throw NameProblem(position: step.range.start, message: "Nothing is inside of this.")
                }
                type = try self.type(after: current, step)
            }
            if let type, !item.path.isEmpty { try check(item.selection ?? [], of: type) }
        }
    }

    /// The type that a property leads to or a cast names; nil for a property without members, and for an operation.
    private func type(
        after type: StructuredType, _ step: ContextFragment.Step
    ) throws(NameProblem) -> StructuredType? {
        let model = tables.model
        if let namespace = step.name.namespace {
            let name = model.resolve(QualifiedName(namespace, step.name.name))
            if let cast = model.structured(name), model.type(name, isA: type.name) { return cast }
            if model.operations[name] != nil { return nil }
        } else if let navigation = type.navigation(step.name.name) {
            return model.structured(navigation.target)
        } else if let property = type.property(step.name.name) {
            return model.structured(property.type.type)
        }
        throw NameProblem(
            position: step.range.start, message: "\(type.name.name) has no property \(step.name).")
    }
}
