import AdapterKit
import Foundation
import ODataModel

/// The tables of all sets and singletons of one service. A class, because requests share it.
public final class ServiceTables: Sendable {
    /// The service's name in paths, which begins the names of its entities.
    public let service: String
    public let model: EntityDataModel
    /// By set's or singleton's name.
    public let tables: [String: RecordTable]
    /// Sets and singletons in the document's order.
    public let sources: [String]
    /// Entities that keep which records belong together.
    public let links: [LinkTable]
    /// Navigation properties that cannot be kept.
    public let leftOut: [LeftOut]

    public subscript(source: some StringProtocol) -> RecordTable? { tables[String(source)] }

    /// Throws ``CSDLProblem`` where something of the model cannot be kept. `leavesOut`: a navigation property whose links would
    /// have too long a name is left out instead.
    public init(service: String, model: EntityDataModel, leavesOut: Bool = false) throws(CSDLProblem) {
        var builder = TableBuilder(service: service, model: model)
        let container = model.container
        for set in container.entitySets { try builder.add(set.name, type: set.type, isSingleton: false) }
        for singleton in container.singletons {
            try builder.add(singleton.name, type: singleton.type, isSingleton: true)
        }
        let relations = try RelationBuilder(builder: builder).relations(leavesOut: leavesOut)
        leftOut = relations.leftOut
        self.service = service
        self.model = model
        sources = container.entitySets.map(\.name) + container.singletons.map(\.name)
        tables = builder.tables.mapValues { $0.table(relations: relations.bySource[$0.source] ?? [:]) }
        links = relations.links
    }
}

/// The records that link two entities of a navigation property without a referential constraint.
public struct LinkTable: Sendable, Hashable {
    public static let near: FieldName = "fromKey"
    public static let far: FieldName = "toKey"
    /// Both keys, so that a pair is there once: each one's length in bytes, a colon, and the key.
    public static let key: FieldName = "pair"

    public let entity: EntityName
    public let source: String
    public let target: String

    /// The key of a pair's record.
    public static func pair(_ near: RecordID, _ far: RecordID) -> String {
        "\(near.text.utf8.count):\(near.text)\(far.text)"
    }

    /// The keys of a pair, by its record's; nil for what is none.
    public static func keys(of pair: RecordID) -> (near: RecordID, far: RecordID)? {
        let parts = pair.text.utf8.split(separator: UInt8(ascii: ":"), maxSplits: 1)
        guard parts.count == 2, let count = Int(Substring(parts[0])), count > 0, parts[1].count > count else {
            return nil
        }
        let near = RecordID(String(Substring(parts[1].prefix(count))))
        let far = RecordID(String(Substring(parts[1].dropFirst(count))))
        return near.flatMap { near in far.map { (near, $0) } }
    }
}

extension ServiceTables {
    /// The declarations of the service's records. `rights` says of each set by whom they are read and changed at all;
    /// `searched` and `unique` name properties by set, `indexes` those of each further index. `areMirrors`: their truth is in
    /// another system.
    public func entities(
        rights: (String) -> AccessRights = { _ in AccessRights() }, policy: ConflictPolicy = .merge,
        searched: [String: [String]] = [:], unique: [String: [String]] = [:], indexes: [String: [[String]]] = [:],
        areMirrors: Bool = false
    ) -> [Entity] {
        sources.compactMap { tables[$0] }.map { table in
            entity(
                table, rights(table.source), policy: policy, searched: searched[table.source] ?? [],
                unique: unique[table.source] ?? [], declared: indexes[table.source] ?? [], isMirror: areMirrors)
        } + links.map { link(declaration: $0, rights($0.source)) }
    }

    private func entity(
        _ table: RecordTable, _ rights: AccessRights, policy: ConflictPolicy, searched: [String], unique: [String],
        declared: [[String]], isMirror: Bool
    ) -> Entity {
        let rows = isReadOnly(table) ? RowRules(read: .everyone, write: .nobody) : .everyone
        let description = table.type.annotations[CoreTerm.description]?.stringValue
        return Entity(
            table.entity, summary: description ?? "\(table.source) of the service \(service).",
            // Another system would not know a key that is made up here.
            key: EntityKey(table.keyField, chosenBy: isMirror ? .caller : chooser(table)), fields: fields(of: table),
            indexes: indexes(table, declared)
                + unique.compactMap { table.columns[$0].map { Index([$0.field], isUnique: true) } },
            searchFields: model.restrictions(of: table.source).isSearchable
                ? searched.compactMap { table.columns[$0]?.field } : [], attachments: [],
            historyFields: referring(table), rows: rows, readers: rights.read, writers: rights.write,
            conflictPolicy: policy)
    }

    /// The fields that relate its records to owners.
    private func referring(_ table: RecordTable) -> [FieldName] {
        let fields = tables.values.flatMap(\.relations.values).flatMap { relation -> [FieldName] in
            guard case .fields(table.source, let pairs, _) = relation else { return [] }
            return pairs.map(\.far)
        }
        return Set(fields.filter { $0 != table.keyField }).sorted()
    }

    /// Whether the model's capabilities exclude every change of the set. Where they exclude some, the adapter's rules know
    /// which.
    private func isReadOnly(_ table: RecordTable) -> Bool {
        let annotations = model.container.entitySet(table.source)?.annotations
        let restrictions = [
            (CoreTerm.insertRestrictions, "Insertable"), (CoreTerm.updateRestrictions, "Updatable"),
            (CoreTerm.deleteRestrictions, "Deletable"),
        ]
        return restrictions.allSatisfy { annotations?[$0]?[$1]?.boolValue == false }
    }

    /// Only a text can be made up.
    private func chooser(_ table: RecordTable) -> EntityKey.Chooser {
        guard case .property(let name) = table.key, let type = table.columns[name]?.type.type else { return .caller }
        return model.primitive(behind: type) == .guid ? .either : .caller
    }

    /// The fields of a set's records.
    public func fields(of table: RecordTable) -> [Field] {
        var fields: [Field] = []
        if table.keyField == HiddenField.key {
            fields.append(Field(HiddenField.key, .string(maximumLength: 255), summary: "The key's parts."))
        }
        let shapes = FieldShapes(model: model)
        for type in table.family.compactMap({ model.structured($0) }) {
            for property in type.properties {
                guard let column = table.columns[property.name], !fields.contains(where: { $0.name == column.field })
                else { continue }
                fields.append(
                    shapes.field(
                        property, column, of: table.source, isKey: column.field == table.keyField,
                        isDerived: type.name != table.type.name))
            }
        }
        return fields + hidden(table)
    }

    private func hidden(_ table: RecordTable) -> [Field] {
        var fields: [Field] = []
        if let discriminator = table.discriminator {
            fields.append(
                Field(
                    discriminator, .choice(table.family.map(\.description)),
                    defaultValue: .string(table.type.name.description), summary: "The entity's type."))
        }
        for (_, stream) in table.streams.sorted(by: { $0.key < $1.key }) {
            fields.append(Field(stream.content, .data(maximumBytes: Self.maximumStreamBytes), isNullable: true))
            fields.append(Field(stream.mediaType, .string(maximumLength: 255), isNullable: true))
        }
        if let dynamic = table.dynamicField { fields.append(Field(dynamic, .any, isNullable: true)) }
        return fields
    }

    /// The largest stream that a record holds.
    public static let maximumStreamBytes = 16 << 20

    /// What relations look records up by, and what is declared besides; each once.
    private func indexes(_ table: RecordTable, _ declared: [[String]]) -> [Index] {
        let own = table.relations.values.compactMap { relation -> [FieldName]? in
            if case .fields(_, let pairs, _) = relation { pairs.map(\.near) } else { nil }
        }
        let further = declared.map { $0.compactMap { table.columns[$0]?.field } }
        let distinct = Set((own + further).filter { !$0.isEmpty && $0 != [table.keyField] })
        return distinct.sorted { $0.description < $1.description }.map { Index($0) }
    }

    private func link(declaration link: LinkTable, _ rights: AccessRights) -> Entity {
        Entity(
            link.entity, summary: "Which of \(link.source) lead to which of \(link.target).",
            key: EntityKey(LinkTable.key, chosenBy: .caller),
            fields: [
                Field(LinkTable.key, .string(maximumLength: 600)),
                Field(LinkTable.near, keyShape(link.source), isRequired: true),
                Field(LinkTable.far, keyShape(link.target), isRequired: true),
            ],
            indexes: [Index([LinkTable.near]), Index([LinkTable.far])], readers: rights.read,
            writers: rights.write, conflictPolicy: .lastWriterWins)
    }

    private func keyShape(_ source: String) -> Shape {
        guard let table = tables[source], case .property(let name) = table.key, let column = table.columns[name] else {
            return .string(maximumLength: 255)
        }
        return FieldShapes(model: model).shape(column.type.item)
    }
}

/// How the entities of one set or singleton are stored: one record each, with one field for each structural property of
/// the set's type and its derived types. A class, because plans and shapes share it.
public final class RecordTable: Sendable {
    /// The set's or singleton's name.
    public let source: String
    public let isSingleton: Bool
    public let entity: EntityName
    /// The set's declared type.
    public let type: StructuredType
    /// The declared type and those derived from it, the declared one first.
    public let family: [QualifiedName]
    /// The record's key field.
    public let keyField: FieldName
    public let key: RecordKey
    public let hasIntegerKey: Bool
    /// Holds the entity's qualified type name; nil where nothing derives from the set's type.
    public let discriminator: FieldName?
    /// By property name. `Edm.Stream` properties have none.
    public let columns: [String: RecordColumn]
    /// By navigation property name, those of derived types too. One whose target is in no set is not there.
    public let relations: [String: RecordRelation]
    /// Stream properties, and `$value` for a media entity: each has a hidden field that names an attachment.
    public let streams: [String: StreamFields]
    /// Holds the properties that an open type's entity has beyond the declared ones, as a dictionary in JSON's terms.
    public let dynamicField: FieldName?

    init(
        source: String, isSingleton: Bool, entity: EntityName, type: StructuredType, family: [QualifiedName],
        keyField: FieldName, key: RecordKey, hasIntegerKey: Bool, discriminator: FieldName?,
        columns: [String: RecordColumn], relations: [String: RecordRelation], streams: [String: StreamFields],
        dynamicField: FieldName?
    ) {
        self.source = source
        self.isSingleton = isSingleton
        self.entity = entity
        self.type = type
        self.family = family
        self.keyField = keyField
        self.key = key
        self.hasIntegerKey = hasIntegerKey
        self.discriminator = discriminator
        self.columns = columns
        self.relations = relations
        self.streams = streams
        self.dynamicField = dynamicField
    }

    /// The key field's value in the record with this id; null where it can be none's.
    public func keyValue(of id: RecordID) -> WireValue {
        guard hasIntegerKey else { return .string(id.text) }
        return Int64(id.text).map { .int64($0) } ?? .null
    }

    public func column(_ property: some StringProtocol) -> RecordColumn? { columns[String(property)] }
}

/// The fields of one stream: its bytes and their media type.
public struct StreamFields: Sendable, Hashable {
    public let content: FieldName
    public let mediaType: FieldName
}

/// Derives a record's id from an entity's key.
public enum RecordKey: Sendable, Hashable {
    /// The key property's value is the record's key: a text (strings, and GUIDs in lower case) or an integer.
    case property(String)
    /// The key field holds the parts' canonical texts, joined by commas; a comma, a percent sign or a control character
    /// within one is percent-encoded.
    case joined([String])
    /// A singleton's record has this key, its key properties are ordinary fields.
    case fixed(String)
}

/// The field that stores a property.
public struct RecordColumn: Sendable, Hashable {
    public let property: String
    public let field: FieldName
    public let type: TypeReference
}

/// How a navigation property is resolved: by equal fields or by link records.
public enum RecordRelation: Sendable, Hashable {
    /// The related records' `far` fields equal this record's `near` fields, pair by pair.
    case fields(target: String, pairs: [Pair], isCollection: Bool)
    /// Records of `through` tell which belong together: `near` holds this record's key field's value, `far` the other's.
    case links(target: String, through: EntityName, near: FieldName, far: FieldName, isCollection: Bool)

    public struct Pair: Sendable, Hashable {
        public let near: FieldName
        public let far: FieldName

        public init(near: FieldName, far: FieldName) {
            self.near = near
            self.far = far
        }
    }

    public var target: String {
        switch self {
        case .fields(let target, _, _), .links(let target, _, _, _, _): target
        }
    }

    public var isCollection: Bool {
        switch self {
        case .fields(_, _, let isCollection), .links(_, _, _, _, let isCollection): isCollection
        }
    }
}

extension RecordTable {
    /// The record of the entity with these key values (stored form, by property). Nil where a part is missing or cannot
    /// be a key.
    public func recordID(key values: [String: WireValue], form: StoredValueCodec) -> RecordID? {
        switch key {
        case .fixed(let text): return RecordID(text)
        case .property(let name): return values[name].flatMap { RecordID(key: $0) }
        case .joined(let names):
            var parts: [String] = []
            for name in names {
                guard let value = values[name], let type = keyType(name),
                    let text = form.text(of: value, type: type)
                else { return nil }
                parts.append(Self.escaped(text))
            }
            return RecordID(parts.joined(separator: ","))
        }
    }

    /// The same of a record's or an entity's fields.
    public func recordID(fields: WireDictionary, form: StoredValueCodec) -> RecordID? {
        switch key {
        case .fixed(let text): return RecordID(text)
        case .property(let name):
            return columns[name].flatMap { fields[$0.field.text] }.flatMap { RecordID(key: $0) }
        case .joined(let names):
            // Not through a dictionary of the key's values: an import makes one id for each row.
            var id = ""
            for (position, name) in names.enumerated() {
                guard let column = columns[name], let value = fields[column.field.text],
                    let text = form.text(of: value, type: column.type)
                else { return nil }
                if position > 0 { id += "," }
                id += Self.escaped(text)
            }
            return RecordID(id)
        }
    }

    /// The key properties' fields in the record with this id, as far as the id contains them, also of a deleted record.
    public func keyFields(of id: RecordID, form: StoredValueCodec) -> WireDictionary {
        var fields = WireDictionary()
        switch key {
        case .fixed: break
        case .property: fields[keyField.text] = keyValue(of: id)
        case .joined(let names):
            let parts = id.text.split(separator: ",", omittingEmptySubsequences: false)
            for (name, part) in zip(names, parts) {
                guard let column = columns[name] else { continue }
                let text = part.removingPercentEncoding ?? String(part)
                fields[column.field.text] = form.value(text: text, type: column.type) ?? .string(text)
            }
        }
        return fields
    }

    /// The key properties, in order.
    public var keyNames: [String] {
        switch key {
        case .property(let name): [name]
        case .joined(let names): names
        case .fixed: type.key.map { $0.path.joined(separator: "/") }
        }
    }

    public func keyType(_ name: String) -> TypeReference? { columns[name]?.type }

    private static func escaped(_ text: String) -> String {
        guard text.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F || $0 == 0x2C || $0 == 0x25 }) else { return text }
        let digits = Array("0123456789ABCDEF".utf8)
        var output: [UInt8] = []
        for byte in text.utf8 {
            if byte < 0x20 || byte == 0x7F || byte == 0x2C || byte == 0x25 {
                output += [0x25, digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            } else {
                output.append(byte)
            }
        }
        return String(decoding: output, as: UTF8.self)
    }
}
