import ValueTree
import WireFormats

/// A format that carries fewer digits of an instant than records have: a property list. What comes back as the format has a
/// record's instant is that instant, so that a record which is read, changed in another field and sent back keeps its dates.
struct CoarseDates: Sendable {
    private let format: any WireFormat

    /// Nil for a format that carries every digit.
    init?(_ format: any WireFormat) {
        guard format.name == .plist || format.name == .bplist else { return nil }
        self.format = format
    }

    /// The fields that were sent, with the record's own instants where they are what the format makes of them.
    func restored(_ sent: WireDictionary, from known: WireDictionary) -> WireDictionary {
        WireDictionary(
            uncheckedUniqueKeys: sent.map { member in
                WireDictionary.Entry(
                    key: member.key, value: known[member.key].map { restored(member.value, from: $0) } ?? member.value)
            })
    }

    private func restored(_ sent: WireValue, from known: WireValue) -> WireValue {
        switch (sent, known) {
        case (.date(let date), .date(let own)): date != own && carriedDate(own) == date ? known : sent
        case (.dictionary(let members), .dictionary(let own)): .dictionary(restored(members, from: own))
        case (.array(let items), .array(let own)) where items.count == own.count:
            .array(zip(items, own).map { restored($0, from: $1) })
        default: sent
        }
    }

    /// The date that a reader of the format gets.
    private func carriedDate(_ date: WireDate) -> WireDate? {
        guard let bytes = try? format.write(.date(date), options: WritingOptions.response(nulls: .error)) else {
            return nil
        }
        return try? format.read(bytes).dateValue
    }
}

extension WireValue {
    /// Whether an instant is in it.
    var hasDates: Bool {
        switch self {
        case .date: true
        case .array(let items): items.contains(where: \.hasDates)
        case .dictionary(let members): members.hasDates
        default: false
        }
    }
}

extension WireDictionary {
    /// Whether an instant is in it.
    var hasDates: Bool { contains { $0.value.hasDates } }
}
