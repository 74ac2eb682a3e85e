import ODataLanguage
import ODataModel
import ODataRecords

/// What `$select` tells of one type, before it becomes columns.
struct Selection {
    /// All structural properties.
    private(set) var isEverything = false
    private(set) var names: [String] = []
    /// By property: the paths within it that are told; a property that is told whole has none.
    private(set) var members: [String: [[String]]] = [:]

    /// Throws for what the type does not have; `computed` are the names that `$compute` gives.
    init(
        _ items: [SelectItem], type: QualifiedName, _ reader: ExpressionReader, computed: Set<String>
    ) throws(QueryProblem) {
        for item in items { try add(item, type, reader, computed) }
    }

    private mutating func add(
        _ item: SelectItem, _ type: QualifiedName, _ reader: ExpressionReader, _ computed: Set<String>
    ) throws(QueryProblem) {
        var type = type
        var segments = item.path.segments[...]
        while let first = segments.first {
            if case .star = first.form {
                isEverything = true
                return
            }
            guard let name = first.name else { break }
            guard name.namespace != nil else { break }
            guard let cast = reader.model.structured(reader.resolved(name)) else {
                return try Self.checkOperations(name, first.range, reader.model)
            }
            guard reader.model.type(cast.name, isA: type) else {
                throw QueryProblem("\(cast.name) does not derive from \(type).", at: first.range)
            }
            type = cast.name
            segments = segments.dropFirst()
        }
        guard let first = segments.first, let name = first.name?.name else {
            throw QueryProblem("$select names properties.", at: item.path.range)
        }
        try add(name, segments.dropFirst(), item, first.range, type, reader, computed)
    }

    /// `Namespace.*` and names of operations: which are told is not the data's concern, but that they are there.
    private static func checkOperations(
        _ name: WrittenName, _ range: SourceRange, _ model: EntityDataModel
    ) throws(QueryProblem) {
        let namespace = name.namespace ?? ""
        let isKnown =
            name.name == "*"
            ? model.namespaces.contains(model.aliases[namespace] ?? namespace)
            : model.operations[model.resolve(QualifiedName(namespace, name.name))] != nil
        guard isKnown else { throw QueryProblem("The model has no \(name).", at: range) }
    }

    private mutating func add(
        _ name: String, _ rest: ArraySlice<PathSegment>, _ item: SelectItem, _ range: SourceRange,
        _ type: QualifiedName, _ reader: ExpressionReader, _ computed: Set<String>
    ) throws(QueryProblem) {
        let structured = reader.model.structured(type)
        let isKnown =
            computed.contains(name) || structured?.navigation(name) != nil || structured?.isOpen == true
        guard let property = structured?.property(name) else {
            guard isKnown else { throw QueryProblem("\(type.name) has no property \(name).", at: range) }
            guard item.options.isEmpty else {
                throw QueryProblem("\(name) is selected without options.", at: item.path.range, kind: .notSupported)
            }
            if structured?.navigation(name) != nil, let further = rest.first {
                throw QueryProblem("What \(name) leads to is selected in $expand.", at: further.range)
            }
            return note(name, nil)
        }
        if !item.options.isEmpty, !property.type.isCollection, !property.type.type.isStructured, rest.isEmpty {
            throw QueryProblem("\(name) is one value and takes no options.", at: SourceRange(range.end, range.end))
        }
        var paths: [[String]] = rest.isEmpty ? [] : [rest.compactMap { $0.name?.name }]
        paths = try Self.paths(item.options, behind: paths)
        for path in paths { try check(path, property.type, reader, range) }
        note(name, paths.isEmpty || paths.contains([]) ? nil : paths)
    }

    /// The paths that nested options select behind one, each from the property on. Of the other options none is answered.
    private static func paths(
        _ options: [QueryOption], behind paths: [[String]]
    ) throws(QueryProblem) -> [[String]] {
        guard let first = options.first else { return paths }
        guard options.count == 1, case .select(let items) = first.form else {
            let other = options.first { if case .select = $0.form { false } else { true } } ?? first
            throw QueryProblem(
                "Within $select, \(other.form.name ?? "this option") is not answered.", at: other.range,
                kind: .notSupported)
        }
        var selected: [[String]] = []
        for item in items {
            let names = item.path.segments.compactMap { $0.name?.name }
            let own = (paths.isEmpty ? [[]] : paths).map { $0 + names }
            selected += try Self.paths(item.options, behind: own)
        }
        return selected
    }

    private func check(
        _ path: [String], _ type: TypeReference, _ reader: ExpressionReader, _ range: SourceRange
    ) throws(QueryProblem) {
        var type = type
        for name in path {
            guard case .complex(let own) = type.type, let next = reader.model.structured(own)?.property(name) else {
                throw QueryProblem("\(type) has no property \(name).", at: range)
            }
            type = next.type
        }
    }

    private mutating func note(_ name: String, _ paths: [[String]]?) {
        let isNew = !names.contains(name)
        if isNew { names.append(name) }
        guard let paths else {
            members[name] = []
            return
        }
        if isNew { members[name] = paths } else if members[name]?.isEmpty == false { members[name]? += paths }
    }

    func contains(_ name: String) -> Bool { isEverything || names.contains(name) }

    /// Nil: the property is told whole.
    func members(of name: String) -> [[String]]? {
        members[name].flatMap { $0.isEmpty ? nil : $0 }
    }
}
