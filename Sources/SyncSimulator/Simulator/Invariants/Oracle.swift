import AdapterKit
import SyncDevice

/// Who may see which rows, worked out anew from what the rows say: not by the engine's filters.
struct Oracle {
    let ledger: Ledger
    let roles: [String: Set<RoleName>]

    /// The revisions of all rows that a person may see.
    func visible(to person: String) -> [RecordKey: Int64] {
        ledger.rows.filter { sees(person, $0.key, $0.value.fields) }.mapValues(\.rev)
    }

    func sees(_ person: String, _ key: RecordKey, _ fields: WireDictionary) -> Bool {
        switch key.collection {
        case "notes": fields["owner"] == .string(person) || Self.list(fields["sharedWith"]).contains(person)
        case "tasks": isMember(person, of: fields["room"]?.stringValue ?? "")
        case "rooms": isMember(person, of: key.id)
        case "reports": roles[person]?.contains(Lab.auditor) ?? false
        default: true
        }
    }

    func isMember(_ person: String, of room: String) -> Bool {
        Self.list(ledger.rows[RecordKey("rooms", room)]?.fields["members"]).contains(person)
    }

    private static func list(_ value: WireValue?) -> [String] { (value?.arrayValue ?? []).compactMap(\.stringValue) }
}
