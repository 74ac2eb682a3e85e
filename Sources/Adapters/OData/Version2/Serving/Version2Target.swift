import AdapterKit
import ODataLanguage
import ODataModel
import ODataRecords

/// Addresses of version 2 in the terms of version 4: parsed, with the names that SAP's services have for their sets, and
/// with the parameters of operations where version 4 has them.
struct Version2Target: Sendable {
    let tables: ServiceTables
    let limits: LanguageLimits

    /// Throws `request.invalid` with the failing position in the message.
    func target(_ relative: String) throws(PorticoError) -> RequestTarget {
        let target = try TargetReader.target(relative, language: .v2, limits: limits)
        guard case .path(var segments) = target.resource, let first = segments.first, let name = first.name else {
            return target
        }
        if let set = set(name.name) {
            segments[0] = PathSegment(.name(WrittenName(nil, set)), first.range)
        } else if let call = arguments(of: name.name, target.options) {
            segments.insert(PathSegment(.arguments(.named(call)), first.range), at: 1)
        }
        let isOperation = tables.model.container.functionImport(name.name) != nil
        return RequestTarget(
            .path(segments), options: isOperation ? target.options : target.options.map(Self.searching))
    }

    /// SAP's `search`: what somebody typed, of which every word is to be found. An empty text looks for nothing.
    private static func searching(_ option: QueryOption) -> QueryOption {
        guard case .custom("search", let text?, _) = option.form else { return option }
        let words = text.split(whereSeparator: \.isWhitespace).map { SearchExpression.phrase(String($0)) }
        guard let first = words.first else { return option }
        let all = words.dropFirst().reduce(first) { .and($0, $1) }
        return QueryOption(.search(all), nameRange: option.nameRange, range: option.range)
    }

    /// `StudentCollection` is the set of students, by its type's name or by its own. Nil for a set's own name.
    private func set(_ name: String) -> String? {
        guard tables[name] == nil, name.hasSuffix("Collection") else { return nil }
        let stem = name.dropLast("Collection".count)
        if tables[stem] != nil { return String(stem) }
        let candidates = tables.model.container.entitySets.filter { $0.type.name == stem }
        return candidates.count == 1 ? candidates[0].name : nil
    }

    /// The options that are named like a function's parameters, as literals.
    private func arguments(of name: String, _ options: [QueryOption]) -> [NamedArgument]? {
        guard let imported = tables.model.container.functionImport(name) else { return nil }
        let overloads = (tables.model.operations[imported.operation] ?? []).filter { !$0.isBound }
        let names = Set(overloads.flatMap { $0.parameters.map(\.name) })
        return Version2Arguments(options: options).literals.filter { names.contains($0.name) }.map { argument in
            NamedArgument(
                name: argument.name, nameRange: argument.range,
                value: Expression(.literal(argument.literal), argument.range))
        }
    }
}

/// The application's own options of a query that are literals: what operations are called with.
struct Version2Arguments: Sendable {
    let literals: [(name: String, literal: Literal, range: SourceRange)]

    init(options: [QueryOption]) {
        literals = options.compactMap { option in
            guard case .custom(let name, let value?, let range) = option.form,
                let literal = Version2Literal.read(value)
            else { return nil }
            return (name, literal, range)
        }
    }
}
