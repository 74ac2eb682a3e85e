import AdapterKit
import ODataEngine
import ODataLanguage
import ODataModel

/// One level of a response: the entries of a feed or of one expanded navigation property. It holds what all rows have
/// in common and is shared by all responses to one query.
final class Version2Level: Sendable {
    /// What entries of one type have.
    struct Kind: Sendable {
        let type: StructuredType
        /// `Namespace.Type`
        let typeName: String
        let isMedia: Bool
        let properties: [Property]
        let navigation: [Navigation]
    }

    final class Property: Sendable {
        let name: String
        let type: TypeReference
        /// Version 2's name for it; nil for what is not simple.
        let simple: Version2Type?
        /// Where the value is in a row.
        let position: Int
        /// The written members of a complex value, by path; nil: all.
        let members: [[String]]?

        init(name: String, type: TypeReference, simple: Version2Type?, position: Int, members: [[String]]?) {
            self.name = name
            self.type = type
            self.simple = simple
            self.position = position
            self.members = members
        }
    }

    struct Navigation: Sendable {
        let name: String
        let isCollection: Bool
        let target: QualifiedName
        /// Where the related rows are among a row's `expanded`, and what they are; nil: the property is deferred.
        let expansion: (position: Int, level: Version2Level)?
    }

    let table: RecordTable
    let shape: ResultShape
    let standard: Kind
    /// By qualified name, where the level may have several.
    let kinds: [String: Kind]
    let address: EntryAddress

    /// The level of a query's rows; nil where they are no entities. `options` are those of the level.
    init?(_ shape: ResultShape, options: [QueryOption], model: EntityDataModel) {
        guard let table = shape.table else { return nil }
        let type = shape.type.flatMap { model.structured($0) } ?? table.type
        let kinds = Version2Kinds(shape: shape, table: table, options: options, model: model)
        self.table = table
        self.shape = shape
        address = EntryAddress(table: table, shape: shape, model: model)
        standard = kinds.kind(type)
        guard shape.typeColumn != nil else {
            self.kinds = [:]
            return
        }
        self.kinds = Dictionary(
            table.family.compactMap { model.structured($0) }.map { ($0.name.description, kinds.kind($0)) },
            uniquingKeysWith: { $1 })
    }

    /// The entry's address below the root, percent-encoded: `Students(1)`.
    func path(of row: ResultRow) -> String { address.path { row.values[$0] } }

    /// Where the type of a media entity's stream is.
    var mediaTypeColumn: Int? { shape.mediaTypeColumns["$value"] }

    func tag(of row: ResultRow) -> String? {
        shape.revisionColumn.flatMap { row.values[$0].int64Value }.map { EntityTag.text(Revision($0)) }
    }
}

/// Makes the kinds of a level.
private struct Version2Kinds {
    let shape: ResultShape
    let table: RecordTable
    let options: [QueryOption]
    let model: EntityDataModel

    func kind(_ type: StructuredType) -> Version2Level.Kind {
        Version2Level.Kind(
            type: type, typeName: type.name.description, isMedia: table.streams["$value"] != nil,
            properties: properties(type), navigation: navigation(type))
    }

    private func properties(_ type: StructuredType) -> [Version2Level.Property] {
        // Keys are always among the columns; version 2 writes only what was selected, and `__metadata`.
        let selected = self.selected
        return shape.columns.enumerated().compactMap { position, column in
            guard column.isVisible, selected?.contains(column.name) ?? true, column.path.count == 1,
                type.property(column.name) != nil
            else { return nil }
            return Version2Level.Property(
                name: column.name, type: column.type, simple: simple(column.type), position: position,
                members: column.members)
        }
    }

    private func simple(_ type: TypeReference) -> Version2Type? {
        if case .simple(let simple) = model.version2Shape(of: type) { simple } else { nil }
    }

    private func navigation(_ type: StructuredType) -> [Version2Level.Navigation] {
        let selected = self.selected
        return type.navigation.compactMap { navigation in
            guard table.relations[navigation.name] != nil else { return nil }
            let expansion = expansion(navigation.name)
            guard expansion != nil || selected?.contains(navigation.name) ?? true else { return nil }
            return Version2Level.Navigation(
                name: navigation.name, isCollection: navigation.isCollection, target: navigation.target,
                expansion: expansion)
        }
    }

    /// The selected names of this level; nil: all.
    private var selected: Set<String>? {
        for option in options {
            guard case .select(let items) = option.form else { continue }
            let isEverything = items.contains { item in
                if case .star? = item.path.segments.first?.form { true } else { false }
            }
            return isEverything ? nil : Set(items.compactMap { $0.path.segments.first?.name?.name })
        }
        return nil
    }

    private func expansion(_ name: String) -> (position: Int, level: Version2Level)? {
        guard let position = shape.expansions.firstIndex(where: { $0.property == name }) else { return nil }
        let inner = items.first { $0.path.segments.first?.name?.name == name }?.options ?? []
        return Version2Level(shape.expansions[position].shape, options: inner, model: model)
            .map { (position, $0) }
    }

    private var items: [ExpandItem] {
        for option in options {
            if case .expand(let items) = option.form { return items }
        }
        return []
    }
}

/// Makes the addresses of entries from their key values.
struct EntryAddress: Sendable {
    private let set: String
    /// Up to the key's value.
    private let begin: String
    private let parts: [ResultOutline.KeyPart]
    private let isSingleton: Bool
    private let form: Version2ValueCodec
    /// Whether the key is one number whose digits are its literal.
    private let isDigits: Bool

    init(table: RecordTable, shape: ResultShape, model: EntityDataModel) {
        set = table.source
        begin = "\(table.source)("
        isSingleton = table.isSingleton
        form = Version2ValueCodec(model: model)
        parts = shape.outline.key ?? []
        let types = parts.map { model.version2Shape(of: $0.column.type) }
        isDigits = types.count == 1 && [.int32, .int16, .byte, .sByte].contains { types[0] == .simple($0) }
    }

    /// Of the row that has these values by their columns.
    func path<Failure>(_ values: (Int) throws(Failure) -> WireValue) throws(Failure) -> String {
        guard !isSingleton else { return set }
        if isDigits, case .int64(let number) = try values(parts[0].position) { return "\(begin)\(number))" }
        if parts.count == 1 { return try begin + literal(parts[0], values) + ")" }
        let named = try parts.map { part throws(Failure) in
            "\(part.column.property)=\(try literal(part, values))"
        }
        return "\(set)(\(named.joined(separator: ",")))"
    }

    private func literal<Failure>(
        _ part: ResultOutline.KeyPart, _ values: (Int) throws(Failure) -> WireValue
    ) throws(Failure) -> String {
        form.address(try values(part.position), part.column.type)
    }
}

extension Version2ValueCodec {
    /// A value as a URL has it, percent-encoded.
    func address(_ value: WireValue, _ type: TypeReference) -> String {
        literal(value, type).map(LiteralText.escaped) ?? "null"
    }
}

/// Writes the rows of one level in one format.
protocol Version2Rows: Sendable {
    func feed(in scope: Version2Scope, to sink: DocumentSink) -> any Version2FeedWriter
}

extension Version2Level.Kind {
    /// Its properties by the column that they are in.
    func byColumn<Of>(_ make: (Version2Level.Property) -> Of) -> [Of?] {
        let count = (properties.map(\.position).max() ?? -1) + 1
        return properties.reduce(into: Array(repeating: nil, count: count)) { $0[$1.position] = make($1) }
    }
}

extension RowLevel {
    /// A level's rows, with those that are expanded, as `template` makes them of what entries of one type have.
    static func version2(_ level: Version2Level, _ template: (Version2Level.Kind) -> RowTemplate<Form>) -> RowLevel {
        RowLevel(
            template(level.standard), byType: level.kinds.mapValues(template), at: level.shape.typeColumn)
    }
}
