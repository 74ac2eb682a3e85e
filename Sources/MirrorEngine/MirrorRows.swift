import AdapterKit

/// A field of another system's rows that is not as it was, or not as the entity declares it.
public struct FieldDrift: Sendable, Hashable, Comparable, CustomStringConvertible {
    /// The fate of a field.
    public enum Kind: String, Sendable {
        /// A member that is no field of the entity.
        case appeared
        /// No row has it any more, or a row lacks a value that is needed.
        case vanished
        /// Its values do not fit its shape.
        case changedType
    }

    /// The member's name, shortened, without characters that a log cannot show.
    public let field: String
    /// The fate of the field.
    public let kind: Kind

    /// Creates a drift with these values.
    public init(_ field: String, _ kind: Kind) {
        self.field = field
        self.kind = kind
    }

    /// As it is stored: the kind, a space, the name.
    public var description: String { "\(kind.rawValue) \(field)" }

    /// Reads ``description``.
    public init?(_ text: String) {
        let parts = text.split(separator: " ", maxSplits: 1)
        guard parts.count == 2, let kind = Kind(rawValue: String(parts[0])) else { return nil }
        self.init(String(parts[1]), kind)
    }

    public static func < (left: FieldDrift, right: FieldDrift) -> Bool { left.description < right.description }
}

/// Turns the rows of a source into records of its entity.
///
/// A value that does not fit its field is left out and reported; the other fields of its row are taken. Only a key or a
/// required field that does not fit refuses the row. No row fails the rest.
public struct MirrorRows: Sendable {
    /// Names that are reported of one refresh, so that a source that invents names fills no log.
    public static let mostDrifts = 100
    private static let longestName = 64

    /// The records of one page.
    public struct Page: Sendable, Equatable {
        /// Records as the source has them.
        public var rows: [RecordDraft] = []
        /// Records of which some values do not fit, by the fields whose values the records keep.
        public var incomplete: [Set<FieldName>: [RecordDraft]] = [:]
        /// Records that the source has in a form that cannot be taken.
        public var kept: [RecordID] = []
        /// Fields that no row of the page has any more: the records keep what they have.
        public var retained: Set<FieldName> = []
    }

    private let rules: EntityRules
    /// The field with the source's key.
    private let key: FieldName
    private let fieldsBefore: Set<String>
    private let authorship: Authorship
    /// Fields that are not as they were.
    public private(set) var drifts: Set<FieldDrift> = []
    /// The entity's fields that some row had.
    public private(set) var fields: Set<String> = []
    /// Rows that were not taken.
    public private(set) var refused = 0
    /// Rows of which at least one value was not taken.
    public private(set) var misfits: MirrorMisfits
    /// Whether there was a row whose key cannot be read: no record can be said to be missing then.
    public private(set) var hasUnreadableKey = false

    /// `key`: the field with the source's key; nil: the entity's own. `fieldsBefore`: those that the source had at the last
    /// refresh; empty: it is the first. `misfits`: known ones of rows that are not read again. Throws `server.internal` for an entity that contradicts itself.
    public init(
        of entity: Entity, key: FieldName? = nil, fieldsBefore: Set<String>, at time: WireDate,
        misfits: MirrorMisfits = MirrorMisfits()
    ) throws(PorticoError) {
        self.misfits = misfits
        rules = try EntityRules(entity)
        self.key = key ?? entity.key.field
        self.fieldsBefore = fieldsBefore
        authorship = Authorship(author: Principal.system.name, time: time, position: Revision(0))
    }

    /// The records of one page.
    public mutating func read(_ rows: [WireDictionary]) -> Page {
        var page = Page()
        guard !rows.isEmpty else { return page }
        var present: Set<String> = []
        for row in rows {
            for entry in row {
                // Names that a source invents are not gathered: there may be as many as there are bytes.
                if rules.entity.fields.contains(where: { $0.name.text == entry.key }) {
                    present.insert(entry.key)
                } else {
                    note(entry.key, .appeared)
                }
            }
        }
        fields.formUnion(present)
        for field in rules.entity.fields
        where fieldsBefore.contains(field.name.text) && !present.contains(field.name.text) {
            note(field.name.text, .vanished)
            page.retained.insert(field.name)
        }
        for row in rows { read(row, into: &page) }
        return page
    }

    private mutating func read(_ row: WireDictionary, into page: inout Page) {
        guard let sent = row[key.text], let id = id(ofKey: sent) else {
            hasUnreadableKey = true
            refused += 1
            note(key.text, row[key.text] == nil ? .vanished : .changedType)
            return
        }
        var taken = WireDictionary()
        var unfit: Set<FieldName> = []
        var isRefused = false
        for field in rules.entity.fields where isGiven(field) {
            let name = field.name.text
            guard let value = row[name], !value.isNull || field.isNullable else {
                guard field.isRequired, field.defaultValue == nil, !page.retained.contains(field.name) else { continue }
                note(name, .vanished)
                unfit.insert(field.name)
                isRefused = true
                continue
            }
            do throws(PorticoError) {
                try Shape.check(value, of: field)
                taken[name] = value
            } catch {
                note(name, .changedType)
                misfits.explain(
                    field.name, MirrorPage.reason(of: value) ?? "\(error.message) It was \(value.kindInWords).")
                unfit.insert(field.name)
                if field.isRequired { isRefused = true }
            }
        }
        // No path could name the record (``EntityRules/create(_:_:_:)`` refuses it).
        if key == rules.entity.key.field, id.text == "." || id.text == ".." {
            note(key.text, .changedType)
            unfit.insert(key)
            isRefused = true
        }
        misfits.note(unfit, of: id)
        guard !isRefused, let draft = try? rules.create(nil, taken, authorship) else {
            refused += 1
            page.kept.append(id)
            return
        }
        if unfit.isEmpty { page.rows.append(draft) } else { page.incomplete[unfit, default: []].append(draft) }
    }

    private func id(ofKey value: WireValue) -> RecordID? {
        guard key != rules.entity.key.field else { return try? rules.id(ofKey: value) }
        guard let field = rules.entity.field(key), (try? field.shape.check(value, at: key.text)) != nil else {
            return nil
        }
        return RecordID(value.int64Value.map { String($0) } ?? value.stringValue ?? "")
    }

    /// Whether the source gives the field. Where its key is not the record's, the server gives that.
    private func isGiven(_ field: Field) -> Bool {
        key == rules.entity.key.field || field.name != rules.entity.key.field
    }

    private mutating func note(_ name: String, _ kind: FieldDrift.Kind) {
        guard drifts.count < Self.mostDrifts else { return }
        let shown = name.unicodeScalars.prefix(Self.longestName).map { scalar in
            scalar.value > 0x20 && scalar.value < 0x7f ? Character(scalar) : "?"
        }
        drifts.insert(FieldDrift(String(shown), kind))
    }
}

extension Shape {
    fileprivate static func check(_ value: WireValue, of field: Field) throws(PorticoError) {
        if value.isNull { return }
        try field.shape.check(value, at: field.name.text)
    }
}
