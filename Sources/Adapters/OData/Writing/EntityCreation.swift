import AdapterKit
import ODataEngine
import ODataModel

/// Creates entities with what is nested in them and bound to them (Protocol 4.01, section 11.4.2).
struct EntityCreation: Sendable {
    let tables: ServiceTables
    let records: any RecordStore
    let links: EntityLinks
    let discriminators: [String: String]
    let limits: ServiceLimits

    private var form: StoredValueCodec { StoredValueCodec(model: tables.model) }

    /// Adds the creation to the changes. `given` are fields that a relation from a parent fixes.
    func create(
        _ payload: EntityPayload, in table: RecordTable, given: [FieldName: WireValue] = [:], id: RecordID? = nil,
        streams: WireDictionary = [:], depth: Int = 0, _ changes: inout ChangeSet
    ) async throws -> RecordReference {
        guard depth < limits.insertDepth, changes.changes.count < limits.insertEntities else {
            throw PorticoError(.requestLimitExceeded, "Too many entities are nested in one request.")
        }
        guard !payload.type.isAbstract else {
            throw PorticoError(.requestInvalid, "\(payload.type.name) is abstract.", target: "@odata.type")
        }
        let type = resolvedType(payload, table)
        var fields = fields(of: payload, type, table)
        for (field, value) in given { fields[field.text] = value }
        for member in streams { fields[member.key] = member.value }
        try await principals(payload, table, depth, &fields, &changes)
        let key = try await identify(table, id: id, &fields)
        changes.create(key, fields, in: table.entity)
        let record = RecordReference(key, fields, of: table)
        try await dependents(payload, table, record, depth, &changes)
        return record
    }

    private func fields(of payload: EntityPayload, _ type: StructuredType, _ table: RecordTable) -> WireDictionary {
        var fields = WireDictionary()
        let makesKeys = table.makesKeys(tables.model)
        for (property, value) in payload.values where !(makesKeys && type.isKey(property)) {
            if let column = table.columns[property] { fields[column.field.text] = value }
        }
        if let discriminator = table.discriminator { fields[discriminator.text] = .string(type.name.description) }
        if let property = discriminators[table.source], let column = table.columns[property] {
            fields[column.field.text] = .string(type.name.name)
        }
        if let dynamic = table.dynamicField, !payload.dynamic.isEmpty {
            fields[dynamic.text] = .dictionary(payload.dynamic)
        }
        return fields
    }

    /// The type that a discriminating property names, where nothing else says one.
    private func resolvedType(_ payload: EntityPayload, _ table: RecordTable) -> StructuredType {
        guard let property = discriminators[table.source], payload.type.name == table.type.name,
            let name = payload.values[property]?.stringValue,
            let named = table.family.first(where: { $0.name == name })
        else { return payload.type }
        return tables.model.structured(named) ?? payload.type
    }

    /// Single-valued navigation: what it leads to must be there first.
    private func principals(
        _ payload: EntityPayload, _ table: RecordTable, _ depth: Int, _ fields: inout WireDictionary,
        _ changes: inout ChangeSet
    ) async throws {
        for navigation in payload.type.navigation where !navigation.isCollection {
            guard case .fields(let target, let pairs, _)? = table.relations[navigation.name],
                let far = tables[target], owns(pairs, table)
            else { continue }
            var principal: RecordReference?
            if let address = payload.bound[navigation.name]?.last {
                principal = try await links.record(at: address, in: far, changes, target: navigation.name)
            } else if let nested = payload.nested[navigation.name]?.first {
                let inner = try EntityPayload(
                    nested, of: far, declared: tables.model.structured(navigation.target) ?? far.type,
                    model: tables.model)
                principal = try await create(inner, in: far, depth: depth + 1, &changes)
            }
            if let principal {
                for pair in pairs { fields[pair.near.text] = principal[pair.far] }
            }
        }
    }

    /// Whether the record itself holds what the relation goes by, so that setting it is this record's change.
    private func owns(_ pairs: [RecordRelation.Pair], _ table: RecordTable) -> Bool {
        pairs.allSatisfy { $0.near != table.keyField } || table.keyNames.count > 1
    }

    /// Everything else: what is linked to the new record or belongs to it.
    private func dependents(
        _ payload: EntityPayload, _ table: RecordTable, _ record: RecordReference, _ depth: Int,
        _ changes: inout ChangeSet
    ) async throws {
        for navigation in payload.type.navigation {
            guard let relation = table.relations[navigation.name], let far = tables[relation.target] else { continue }
            if case .fields(_, let pairs, false) = relation, owns(pairs, table) { continue }
            for address in payload.bound[navigation.name] ?? [] {
                let other = try await links.record(at: address, in: far, changes, target: navigation.name)
                links.link(record, to: other, by: relation, &changes)
            }
            for nested in payload.nested[navigation.name] ?? [] {
                let inner = try EntityPayload(
                    nested, of: far, declared: tables.model.structured(navigation.target) ?? far.type,
                    model: tables.model)
                let given = EntityLinks.given(by: relation, from: record)
                let child = try await create(inner, in: far, given: given, depth: depth + 1, &changes)
                if case .links = relation { links.link(record, to: child, by: relation, &changes) }
            }
        }
    }

    /// The record's id: what was sent, or one that the server makes up: a random GUID, the next integer.
    private func identify(
        _ table: RecordTable, id: RecordID?, _ fields: inout WireDictionary
    ) async throws -> RecordID {
        if case .property(let name) = table.key, let column = table.columns[name],
            fields[column.field.text] == nil
        {
            if let id {
                fields[column.field.text] = keyValue(id, column)
            } else if records is any ChangedElsewhere {
                // The other system chooses it: none is sent, and the one of its answer is taken.
                return RecordID(unchecked: table.source)
            } else {
                fields[column.field.text] = try await newKey(table, column)
            }
        }
        guard let key = id ?? table.recordID(fields: fields, form: form) else {
            throw PorticoError(.requestInvalid, "The key is missing.", target: table.keyNames.first)
        }
        if table.columns.values.allSatisfy({ $0.field != table.keyField }) {
            fields[table.keyField.text] = .string(key.text)
        }
        return key
    }

    private func keyValue(_ id: RecordID, _ column: RecordColumn) -> WireValue {
        tables.model.primitive(behind: column.type.type)?.isInteger == true
            ? .int64(Int64(id.text) ?? 0) : .string(id.text)
    }

    private func newKey(_ table: RecordTable, _ column: RecordColumn) async throws -> WireValue {
        switch tables.model.primitive(behind: column.type.type) {
        case .guid: return .string(RandomGUID.next())
        case .string?:
            throw PorticoError(.requestInvalid, "\(column.property) is missing.", target: column.property)
        default:
            let order = [SortKey(column.field, descending: true)]
            let last = try await records.query(Query(order: order, limit: 1), in: table.entity).records.first
            return .int64((last?[column.field].int64Value ?? 0) + 1)
        }
    }
}

/// Random GUIDs (RFC 9562, version 4).
enum RandomGUID {
    static func next() -> String {
        var bytes = (0..<16).map { _ in UInt8.random(in: .min ... .max) }
        bytes[6] = bytes[6] & 0x0F | 0x40
        bytes[8] = bytes[8] & 0x3F | 0x80
        return Hexadecimal.uuid(bytes)
    }
}

/// The record changes of one request in the order of execution; they are applied as one transaction.
struct ChangeSet: Sendable {
    private(set) var changes: [RecordChange] = []
    /// Records that it creates, by entity: references to them need no look-up.
    private var created: [EntityName: [RecordID: WireDictionary]] = [:]

    mutating func create(_ id: RecordID, _ fields: WireDictionary, in entity: EntityName) {
        changes.append(RecordChange(entity, .create(id, fields)))
        created[entity, default: [:]][id] = fields
    }

    mutating func add(_ change: RecordChange) { changes.append(change) }

    func fields(of id: RecordID, in entity: EntityName) -> WireDictionary? { created[entity]?[id] }
}

/// A record that a change refers to: an existing one, or one that the same transaction creates.
struct RecordReference: Sendable {
    let id: RecordID
    /// The key field's value, of which the id is the text.
    let key: WireValue
    let fields: WireDictionary

    init(_ id: RecordID, _ fields: WireDictionary, of table: RecordTable) {
        self.id = id
        self.fields = fields
        key = fields[table.keyField.text] ?? .string(id.text)
    }

    subscript(field: FieldName) -> WireValue { fields[field.text] ?? .null }
}

/// Properties of a media entity that is created from its bytes alone. By convention of this adapter `ContentType`,
/// `Size` and `Name` (from `Slug`) are set; other required texts are empty.
struct MediaDescription {
    let type: String
    let name: String?
    let size: Int

    /// - Parameter slug: the field's value: UTF-8 of which what is not printable ASCII is percent-encoded (RFC 5023, section
    ///   9.7.1). A percent sign that begins no escape stands for itself.
    /// - Throws: `request.invalid` where that is no UTF-8.
    init(type: String, slug: String?, size: Int) throws(PorticoError) {
        self.type = type
        self.size = size
        name = try slug.map { slug throws(PorticoError) in try Self.text(of: slug) }
    }

    private static func text(of slug: String) throws(PorticoError) -> String {
        var bytes: [UInt8] = []
        var rest = Array(slug.utf8)[...]
        while let byte = rest.popFirst() {
            let digits = rest.prefix(2).compactMap { Character(Unicode.Scalar($0)).hexDigitValue }
            if byte == UInt8(ascii: "%"), digits.count == 2 {
                bytes.append(UInt8(truncatingIfNeeded: digits[0] << 4 | digits[1]))
                rest = rest.dropFirst(2)
            } else {
                bytes.append(byte)
            }
        }
        // Bytes of a field that are no UTF-8 have become replacement characters.
        guard let text = String(validating: bytes, as: UTF8.self), !text.contains("\u{FFFD}") else {
            throw PorticoError(.requestInvalid, "The field Slug is no UTF-8.", target: "Slug")
        }
        return text
    }

    func describe(_ payload: inout EntityPayload, model: EntityDataModel) {
        for property in payload.type.properties where payload.values[property.name] == nil {
            let primitive = model.primitive(behind: property.type.type)
            switch (property.name, primitive) {
            case ("ContentType", .string): payload.values[property.name] = .string(type)
            case ("Size", _) where primitive?.isInteger == true: payload.values[property.name] = .int64(Int64(size))
            case ("Name", .string): payload.values[property.name] = .string(name ?? "")
            case (_, .string):
                guard !property.type.isNullable, property.defaultValue == nil, !payload.type.isKey(property.name) else {
                    continue
                }
                payload.values[property.name] = ""
            default: continue
            }
        }
    }
}
