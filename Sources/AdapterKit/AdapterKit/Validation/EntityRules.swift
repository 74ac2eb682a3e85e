/// The demands of an entity's declaration on its records; the one place that fills in and refuses fields.
public struct EntityRules: Sendable {
    /// The declaration that the rules are made from.
    public let entity: Entity
    let key: Field

    /// Throws `server.internal` for a declaration that contradicts itself; the message says where.
    public init(_ entity: Entity) throws(PorticoError) {
        self.entity = entity
        self.key = try EntityDeclarationCheck(entity).run()
    }

    /// The key field's value for a record id; nil where no record can have that id (`abc` for an integer key).
    public func keyValue(of id: RecordID) -> WireValue? {
        switch key.shape {
        case .integer(let limits):
            guard let number = Int64(id.text), String(number) == id.text, limits.range.contains(number) else {
                return nil
            }
            return .int64(number)
        default:
            return (try? key.shape.check(.string(id.text), at: "")) == nil ? nil : .string(id.text)
        }
    }

    /// The record id for a key field's value. Throws `request.invalid` for a value that cannot be a key.
    public func id(ofKey value: WireValue) throws(PorticoError) -> RecordID {
        try key.shape.check(value, at: key.name.text)
        let text = value.int64Value.map { String($0) } ?? value.stringValue ?? ""
        guard let id = RecordID(text) else {
            throw PorticoError(
                .requestInvalid,
                "\(key.name) must have 1 to 255 bytes, no control characters, and neither U+FFFE nor U+FFFF.",
                target: key.name.text)
        }
        return id
    }
}

extension EntityRules {
    /// The id that the caller of a creation chose; nil leaves it to the server.
    func chosenID(_ id: RecordID?, in fields: WireDictionary) throws(PorticoError) -> RecordID? {
        if let id {
            try checkKey(in: fields, against: id)
            return id
        }
        guard entity.key.chooser != .server, let sent = fields[key.name.text], !sent.isNull else {
            if entity.key.chooser == .caller { throw missing(key) }
            return nil
        }
        return try self.id(ofKey: sent)
    }

    /// Paths cannot name a record `.` or `..`: clients and proxies take them out of an address, escaped too (RFC 3986, section 5.2.4),
    /// so that a request would be for the folder above. One that is there already can be read and deleted.
    private func checkAddressable(_ id: RecordID) throws(PorticoError) {
        guard id.text == "." || id.text == ".." else { return }
        throw PorticoError(
            .requestInvalid, "`\(id)` cannot be a key of \(entity.name): no address can name it.",
            target: key.name.text)
    }

    /// The body may repeat the id that the path names, but not another one.
    func checkKey(in fields: WireDictionary, against id: RecordID) throws(PorticoError) {
        guard keyValue(of: id) != nil else {
            throw PorticoError(
                .requestInvalid, "`\(id)` cannot be a key of \(entity.name).", target: key.name.text)
        }
        guard let sent = fields[key.name.text], !sent.isNull else { return }
        guard try self.id(ofKey: sent).text.hasSameBytes(as: id.text) else {
            throw PorticoError(
                .requestInvalid, "\(key.name) is not the id of the record that is changed.", target: key.name.text)
        }
    }

    func checkKnown(_ fields: WireDictionary) throws(PorticoError) {
        for entry in fields where !entity.fields.contains(where: { $0.name.text.hasSameBytes(as: entry.key) }) {
            let name = entry.key.replacedForEveryFormat
            throw PorticoError(.requestInvalid, "\(entity.name) has no field `\(name)`.", target: name)
        }
    }

    func missing(_ field: Field) -> PorticoError {
        PorticoError(.requestInvalid, "\(field.name) is missing.", target: field.name.text)
    }
}

/// A record's fields as they will be written: checked, complete, in declared order.
public struct RecordDraft: Sendable, Equatable {
    /// Nil: the server has to choose one, see ``assigning(_:by:)``.
    public fileprivate(set) var id: RecordID?
    /// All fields, defaults filled in, in declared order.
    public fileprivate(set) var fields: WireDictionary

    /// The draft under an id that the server chose.
    public func assigning(_ id: RecordID, by rules: EntityRules) -> RecordDraft {
        var draft = self
        draft.id = id
        draft.fields[rules.key.name.text] = rules.keyValue(of: id) ?? .null
        return draft
    }
}

/// The author and the time of a write: what the fields are filled from that the server gives.
public struct Authorship: Sendable, Equatable {
    /// The name of the principal that writes.
    public let author: String
    /// The time of the transaction.
    public let time: WireDate
    /// The operation id of the change.
    public let position: Revision

    /// Creates an authorship with these values.
    public init(author: String, time: WireDate, position: Revision) {
        self.author = author
        self.time = time
        self.position = position
    }
}

// All throw `request.invalid`, and `request.limitExceeded` for a list that is too long, naming the field at fault. A null for a field that is neither required nor nullable means
// that the field is not given, so that a record can be sent back as it was read.
extension EntityRules {
    /// A new record.
    public func create(
        _ id: RecordID?, _ fields: WireDictionary, _ authorship: Authorship
    ) throws(PorticoError) -> RecordDraft {
        try checkKnown(fields)
        let id = try chosenID(id, in: fields)
        if let id { try checkAddressable(id) }
        return try draft(id) { (field) throws(PorticoError) in
            switch field.source {
            case .creator: .string(authorship.author)
            case .createdAt, .modifiedAt: .date(authorship.time)
            case .createdPosition: .int64(authorship.position.number)
            case .caller, .callerOnCreate, .rules: try set(field, fields)
            }
        }
    }

    /// The record with the named fields changed.
    public func update(
        _ existing: Record, _ fields: WireDictionary, _ authorship: Authorship
    ) throws(PorticoError) -> RecordDraft {
        try checkKnown(fields)
        try checkKey(in: fields, against: existing.id)
        return try draft(existing.id) { (field) throws(PorticoError) in
            switch field.source {
            case .creator, .createdAt, .createdPosition: existing[field.name]
            case .modifiedAt: .date(authorship.time)
            case .callerOnCreate: try existingValue(field, existing, fields)
            case .caller, .rules:
                fields[field.name.text] == nil ? existing[field.name] : try set(field, fields, over: existing)
            }
        }
    }

    /// The record with every field set anew; who created it and when stays.
    public func replace(
        _ existing: Record, _ fields: WireDictionary, _ authorship: Authorship
    ) throws(PorticoError) -> RecordDraft {
        try checkKnown(fields)
        try checkKey(in: fields, against: existing.id)
        return try draft(existing.id) { (field) throws(PorticoError) in
            switch field.source {
            case .creator, .createdAt, .createdPosition: existing[field.name]
            case .modifiedAt: .date(authorship.time)
            case .callerOnCreate: try existingValue(field, existing, fields)
            case .caller, .rules: try set(field, fields, over: existing)
            }
        }
    }
}

extension EntityRules {
    private func draft(
        _ id: RecordID?, _ value: (Field) throws(PorticoError) -> WireValue
    ) throws(PorticoError) -> RecordDraft {
        var entries: [WireDictionary.Entry] = []
        entries.reserveCapacity(entity.fields.count)
        for field in entity.fields {
            let isKey = field.name == key.name
            let content = isKey ? id.flatMap { keyValue(of: $0) } ?? .null : try value(field)
            entries.append(WireDictionary.Entry(key: field.name.text, value: content))
        }
        return RecordDraft(id: id, fields: WireDictionary(uncheckedUniqueKeys: entries))
    }

    /// The caller's value of a field, checked; nil where there is none.
    private func callerValue(
        _ field: Field, _ fields: WireDictionary, over existing: Record? = nil
    ) throws(PorticoError) -> WireValue? {
        guard let sent = fields[field.name.text] else { return nil }
        if sent.isNull {
            if field.isNullable { return .null }
            if !field.isRequired { return nil }
        }
        try field.shape.check(sent, at: field.name.text)
        try checkCount(of: sent, field, over: existing)
        return field.shape.canonical(sent)
    }

    /// A list that was longer already, since the limit was another then, may become shorter.
    private func checkCount(of value: WireValue, _ field: Field, over existing: Record?) throws(PorticoError) {
        guard let most = field.maximumCount, let count = value.arrayValue?.count, count > most,
            count >= existing?[field.name].arrayValue?.count ?? 0
        else { return }
        throw PorticoError(
            .requestLimitExceeded, "\(field.name) has at most \(most) values.", target: field.name.text)
    }

    private func set(
        _ field: Field, _ fields: WireDictionary, over existing: Record? = nil
    ) throws(PorticoError) -> WireValue {
        if let value = try callerValue(field, fields, over: existing) { return value }
        return try initial(field)
    }

    private func initial(_ field: Field) throws(PorticoError) -> WireValue {
        if let value = field.defaultValue { return field.shape.canonical(value) }
        guard !field.isRequired else { throw missing(field) }
        return .null
    }

    private func existingValue(
        _ field: Field, _ existing: Record, _ fields: WireDictionary
    ) throws(PorticoError) -> WireValue {
        let before = existing[field.name]
        guard let sent = try callerValue(field, fields), sent != before else { return before }
        throw PorticoError(
            .requestInvalid, "\(field.name) cannot be changed once the record is there.", target: field.name.text)
    }
}

extension Entity {
    /// Throws ``PorticoError`` where the entity contradicts itself, or refers to what the declaration does not have.
    public func check(in declaration: AdapterDeclaration) throws(PorticoError) {
        try EntityDeclarationCheck(self).run(in: declaration)
    }
}

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

    /// With what it refers to.
    func run(in declaration: AdapterDeclaration) throws(PorticoError) {
        for rule in [entity.rows.read, entity.rows.write] { try checkGroups(of: rule, in: declaration, level: 1) }
        _ = try run()
        for parent in entity.parents where declaration.entity(parent.entity) == nil {
            throw fault("a parent is of \(parent.entity), which is not declared")
        }
    }

    /// Levels of a row rule.
    private static let mostLevels = 16

    private func checkGroups(
        of rule: RowRule, in declaration: AdapterDeclaration, level: Int
    ) throws(PorticoError) {
        guard level <= Self.mostLevels else { throw fault("a row rule has more than \(Self.mostLevels) levels") }
        switch rule {
        case .memberOf(let name, _, let members):
            guard let group = declaration.entity(name) else {
                throw fault("a row rule names \(name), which is not declared")
            }
            guard case .list(.string)? = group.field(members)?.shape else {
                throw fault("a row rule takes \(name).\(members) for a list of names")
            }
        case .not(let rule): try checkGroups(of: rule, in: declaration, level: level + 1)
        case .any(let rules), .all(let rules):
            for rule in rules { try checkGroups(of: rule, in: declaration, level: level + 1) }
        default: return
        }
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
        PorticoError(.serverInternal, "The declaration of \(entity.name) is wrong: \(reason).")
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
