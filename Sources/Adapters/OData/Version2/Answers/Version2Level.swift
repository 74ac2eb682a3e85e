import AdapterKit
import ODataAddresses
import ODataLanguage
import ODataModel
import ODataQueries
import ODataRecords

/// One level of an answer: the entries of a feed, or those of one expanded navigation property. Everything that is the
/// same for all its rows is found once, and the same for all answers to one question.
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
        /// The members of a complex value that are told, by path; nil: all.
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

    /// The entry's address below the root, as it stands in a URL: `Students(1)`.
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
        // Keys are among the columns whatever is selected; version 2 tells what was asked for, and `__metadata`.
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

    /// Names at this level; nil where everything is told.
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
