/// Whether a declaration makes sense in itself: everything it names is there and has the shape its use needs.
struct EntityDeclarationCheck {
    private let entity: Entity

    init(_ entity: Entity) {
        self.entity = entity
    }

    /// The key's field.
    func run() throws(PorticoError) -> Field {
        try checkNames()
        for field in entity.fields { try check(field) }
        for index in entity.indexes { try check(index) }
        for name in entity.searchFields { try checkIsText(name, as: "search") }
        for name in entity.attachments { try checkIsTextOrList(name) }
        for parent in entity.parents { try check(parent) }
        for name in entity.historyFields { _ = try field(name, as: "history") }
        try check(entity.rows.read)
        try check(entity.rows.write)
        return try key()
    }

    private func key() throws(PorticoError) -> Field {
        let field = try field(entity.key.field, as: "the key")
        switch field.shape {
        case .string, .choice, .integer: return field
        default: throw fault("`\(field.name)` is the key and must be a text or an integer")
        }
    }

    /// SQL takes names that differ in case only for one.
    private func checkNames() throws(PorticoError) {
        let names = Set(entity.fields.map { $0.name.text.lowercased() })
        guard names.count == entity.fields.count else { throw fault("two fields have one name, case aside") }
    }

    private func check(_ field: Field) throws(PorticoError) {
        switch (field.source, field.shape) {
        case (.caller, _), (.callerOnCreate, _), (.rules, _), (.creator, .string), (.createdAt, .date),
            (.modifiedAt, .date),
            (.createdPosition, .integer):
            break
        default: throw fault("the server gives `\(field.name)` a value of another shape")
        }
        if let most = field.maximumCount {
            guard case .list = field.shape, most >= 0 else {
                throw fault("`\(field.name)` has a largest count and must be a list")
            }
        }
        guard let value = field.defaultValue, !value.isNull else { return }
        do { try field.shape.check(value, at: field.name.text) } catch {
            throw fault("default value: \(error.message)")
        }
    }

    private func check(_ parent: ParentReference) throws(PorticoError) {
        switch try field(parent.field, as: "a parent").shape {
        case .string, .choice, .integer: return
        default: throw fault("`\(parent.field)` holds a parent's id and must be a text or an integer")
        }
    }

    private func check(_ index: Index) throws(PorticoError) {
        if index.fields.isEmpty { throw fault("an index has no fields") }
        for name in index.fields {
            guard try field(name, as: "an index").shape.isScalar else {
                throw fault("`\(name)` is indexed and must be a single value")
            }
        }
    }

    private func check(_ rule: RowRule) throws(PorticoError) {
        switch rule {
        case .everyone, .nobody, .hasRole, .signedIn: return
        case .owner(let name), .attributeEquals(let name, _): try checkIsText(name, as: "a row rule")
        case .sharedWith(let name):
            guard case .list(.string) = try field(name, as: "a row rule").shape else {
                throw fault("`\(name)` is shared with and must be a list of texts")
            }
        case .memberOf(_, let name, _), .fieldIsOneOf(let name, _): _ = try field(name, as: "a row rule")
        case .not(let rule): try check(rule)
        case .any(let rules), .all(let rules):
            for rule in rules { try check(rule) }
        }
    }

    private func checkIsTextOrList(_ name: FieldName) throws(PorticoError) {
        switch try field(name, as: "attachments").shape {
        case .string, .list(of: .string): return
        default: throw fault("`\(name)` names attachments and must be a text or a list of texts")
        }
    }

    private func checkIsText(_ name: FieldName, as use: String) throws(PorticoError) {
        switch try field(name, as: use).shape {
        case .string, .choice: return
        default: throw fault("`\(name)` is used by \(use) and must be a text")
        }
    }

    private func field(_ name: FieldName, as use: String) throws(PorticoError) -> Field {
        guard let field = entity.field(name) else { throw fault("\(use) names `\(name)`, which is no field") }
        return field
    }

    private func fault(_ reason: String) -> PorticoError {
        PorticoError(
            .serverInternal, "The declaration of \(entity.name) is wrong: \(reason).", target: entity.name.text)
    }
}

extension Shape {
    /// One value that can be compared and ordered.
    public var isScalar: Bool {
        switch self {
        case .bool, .integer, .double, .decimal, .string, .choice, .date, .data: true
        case .any, .list, .object: false
        }
    }
}
