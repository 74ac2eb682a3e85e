import AdapterKit
import GRDB
import RecordStorage

extension SchemaChange {
    /// A pure function of what is installed and what is declared. `retired`: collections that are declared no longer.
    public init(
        from installed: InstalledSchema, to declared: [CollectionDeclaration], retiring retired: [CollectionID] = []
    ) {
        self.init(
            declared.flatMap { Self.items(installed, $0) }
                + retired.compactMap { id in
                    installed.collections[id].map {
                        Item(collection: id, field: nil, effect: .collectionKept(records: $0.records))
                    }
                })
    }

    private static func items(_ schema: InstalledSchema, _ declaration: CollectionDeclaration) -> [Item] {
        let id = declaration.id
        func item(_ field: String?, _ effect: Effect) -> Item { Item(collection: id, field: field, effect: effect) }
        guard let installed = schema.collections[id] else {
            return [item(nil, schema.namesakes[id].map { .nameTaken(by: $0) } ?? .collectionAdded)]
        }
        let key = declaration.entity.key.field.text
        var found: [Item] = []
        for field in declaration.entity.fields {
            let (name, stored) = (field.name.text, ColumnKind(field.shape))
            let kind = stored.text
            let known = installed.fields[name]
            if name == key {
                if installed.key != key || known?.kind != kind { found.append(item(installed.key, .keyChanged)) }
                continue
            }
            let hasDefault = field.defaultValue.map { !$0.isNull } ?? false
            let valued: Int
            switch known {
            case nil:
                found.append(item(name, .fieldAdded(defaulted: hasDefault ? installed.records : 0)))
                valued = hasDefault ? installed.records : 0
            case let known? where known.kind != kind && known.kind != stored.formerText:
                found.append(item(name, .kindChanged(from: known.kind, to: kind, records: known.records)))
                valued = hasDefault ? installed.records : 0
            case let known?:
                let isFilled = known.isHidden && hasDefault && !field.isNullable
                valued = isFilled ? installed.records : known.records
                if known.isHidden {
                    found.append(item(name, .fieldShown(records: known.records, defaulted: valued - known.records)))
                }
            }
            if field.isRequired, !field.isNullable, valued < installed.records {
                found.append(item(name, .lacking(records: installed.records - valued)))
            }
        }
        let declared = Set(declaration.entity.fields.map(\.name.text))
        for (name, field) in installed.fields.sorted(by: { $0.key < $1.key })
        where !field.isHidden && !declared.contains(name) {
            found.append(item(name, .fieldHidden(records: field.records)))
        }
        return found
    }
}

/// The installed schema of some collections, as far as a change of their declarations depends on it.
public struct InstalledSchema: Sendable, Equatable {
    /// A field, hidden ones too.
    public struct Field: Sendable, Equatable {
        /// The kind as it is stored.
        public var kind: String
        /// Declared no longer.
        public var isHidden: Bool
        /// The number of records that have a value.
        public var records: Int

        /// Takes these values.
        public init(kind: String, isHidden: Bool, records: Int) {
            self.kind = kind
            self.isHidden = isHidden
            self.records = records
        }
    }

    /// A collection.
    public struct Collection: Sendable, Equatable {
        /// The field that identifies a record.
        public var key: String
        /// By name.
        public var fields: [String: Field]
        /// The number of records.
        public var records: Int

        /// Takes these values.
        public init(key: String, fields: [String: Field], records: Int) {
            self.key = key
            self.fields = fields
            self.records = records
        }
    }

    /// The collections that are there.
    public var collections: [CollectionID: Collection]
    /// For those that are not there: another one whose name differs in case only.
    public var namesakes: [CollectionID: String]

    /// Takes these values.
    public init(collections: [CollectionID: Collection], namesakes: [CollectionID: String] = [:]) {
        self.collections = collections
        self.namesakes = namesakes
    }
}

extension InstalledSchema {
    /// Reads every row of the collections.
    init(of database: Database, for declared: [CollectionDeclaration], and retired: [CollectionID]) throws {
        self.init(collections: [:])
        let registry = SchemaRegistry(database: database)
        for id in declared.map(\.id) + retired {
            guard let installed = try registry.collection(id) else {
                namesakes[id] = try registry.namesake(of: id)
                continue
            }
            collections[id] = try Self.counted(installed, TableNames(id).main.quotedIdentifier, database)
        }
    }

    private static func counted(
        _ installed: SchemaRegistry.InstalledCollection, _ table: String, _ database: Database
    ) throws -> Collection {
        let names = installed.fields.keys.sorted()
        let counts = names.map { ", count(\($0.quotedIdentifier))" }.joined()
        let numbers = try database.row("SELECT count(*)\(counts) FROM \(table)") { row in
            (0...names.count).map { Int(row.integer(Int32(truncatingIfNeeded: $0))) }
        }
        var collection = Collection(key: installed.key, fields: [:], records: numbers?.first ?? 0)
        for (name, records) in zip(names, numbers?.dropFirst() ?? []) {
            guard let field = installed.fields[name] else { continue }
            collection.fields[name] = Field(kind: field.kind, isHidden: field.isHidden, records: records)
        }
        return collection
    }
}

extension CollectionDeclaration {
    /// The declaration by which records can be read and written while some callers still know that of `layout`: it has
    /// the fields of both. Where both declare something, this one's holds; what the other alone has is optional.
    ///
    /// `scopeFields`: this declaration's.
    func covering(_ layout: CollectionLayout, scopeFields: [FieldName]) -> CollectionDeclaration {
        let (old, names) = (layout.entity, Set(entity.fields.map(\.name)))
        let retained = old.fields.filter { !names.contains($0.name) }.map { field in
            Field(
                field.name, field.shape, isNullable: true, defaultValue: field.defaultValue, source: field.source,
                maximumCount: field.maximumCount, summary: field.summary)
        }
        // A field that is declared otherwise may be one that cannot be indexed.
        func isSame(_ name: FieldName) -> Bool {
            !names.contains(name) || entity.field(name)?.shape == old.field(name)?.shape
        }
        let indexes = old.indexes.filter { index in
            !index.isUnique && !entity.indexes.contains(index) && index.fields.allSatisfy(isSame)
        }
        let history = entity.historyFields + layout.scopeFields.filter { !scopeFields.contains($0) }
        let covering = Entity(
            entity.name, summary: entity.summary, key: entity.key, fields: entity.fields + retained,
            indexes: entity.indexes + indexes,
            searchFields: entity.searchFields.isEmpty ? old.searchFields.filter(isSame) : entity.searchFields,
            attachments: entity.attachments, historyFields: history, parents: entity.parents, rows: entity.rows,
            readers: entity.readers, writers: entity.writers, conflictPolicy: entity.conflictPolicy,
            exposure: entity.exposure)
        return CollectionDeclaration(adapter: id.adapter, entity: covering)
    }
}
