import AdapterKit

/// The rows of a source with values that do not fit their fields, by the record's id.
///
/// At most ``mostRows`` rows are named; further ones are counted.
public struct MirrorMisfits: Sendable, Equatable {
    /// Rows that are named.
    public static let mostRows = 100

    /// The fields of each named row.
    public private(set) var rows: [String: Set<String>] = [:]
    /// Rows beyond those that are named. Rows of increments that fit again are not subtracted from it.
    public private(set) var unnamed = 0

    /// The rule that a value of each field broke, and the kind that it came as, by the first one that did; values are not shown.
    public private(set) var rules: [String: String] = [:]
    private static let mostRules = 64

    /// Creates a value without rows.
    public init() {}

    /// Rows in all.
    public var count: Int { rows.count + unnamed }

    /// Replaces what is known of a record's row; without fields the row fits.
    public mutating func note(_ fields: Set<FieldName>, of id: RecordID) {
        guard !fields.isEmpty else {
            rows[id.text] = nil
            return
        }
        guard rows[id.text] != nil || rows.count < Self.mostRows else {
            unnamed += 1
            return
        }
        rows[id.text] = Set(fields.map(\.text))
    }

    /// Remembers why a field's value was not taken.
    mutating func explain(_ field: FieldName, _ rule: String) {
        guard rules[field.text] == nil, rules.count < Self.mostRules else { return }
        rules[field.text] = String(rule.prefix(200))
    }

    /// Forgets rows that are gone.
    mutating func remove(_ ids: Set<RecordID>) {
        for id in ids { rows[id.text] = nil }
    }

    /// Reads ``stored``.
    init(_ stored: WireValue?) {
        for entry in stored?["rows"]?.dictionaryValue ?? [:] where rows.count < Self.mostRows {
            rows[entry.key] = Set((entry.value.arrayValue ?? []).compactMap(\.stringValue))
        }
        for entry in stored?["rules"]?.dictionaryValue ?? [:] where rules.count < Self.mostRules {
            rules[entry.key] = entry.value.stringValue
        }
        unnamed = Int(clamping: max(0, stored?["unnamed"]?.int64Value ?? 0))
    }

    /// As it is stored and shown.
    public var stored: WireValue {
        var shown = WireDictionary()
        for row in rows.sorted(by: { $0.key < $1.key }) {
            shown[row.key] = .array(row.value.sorted().map { .string($0) })
        }
        var members: WireDictionary = ["rows": .dictionary(shown), "unnamed": .int64(Int64(unnamed))]
        if !rules.isEmpty {
            var shown = WireDictionary()
            for rule in rules.sorted(by: { $0.key < $1.key }) { shown[rule.key] = .string(rule.value) }
            members["rules"] = .dictionary(shown)
        }
        return .dictionary(members)
    }
}
