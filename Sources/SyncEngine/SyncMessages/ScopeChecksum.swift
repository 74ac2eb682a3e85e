/// Tells whether two sides have the same revisions of the same records, whatever way and order they came in.
///
/// The sum, modulo 2^64, of one number for each record: FNV-1a over the UTF-8 of collection, id and the revision's
/// decimal digits with a zero byte after each, its bits then mixed by SplitMix64's last steps. A sum, so that records
/// are added and taken away one by one; ids and revisions alone, so that no wire format can change it. It finds
/// accidents, not forgeries.
public struct ScopeChecksum: Sendable, Equatable {
    public private(set) var count: Int
    public private(set) var sum: UInt64

    /// Goes on from what was written down.
    public init(count: Int = 0, sum: UInt64 = 0) {
        self.count = count
        self.sum = sum
    }

    public mutating func add(collection: String, id: String, rev: Int64) {
        count += 1
        sum &+= Self.number(collection, id, rev)
    }

    public mutating func remove(collection: String, id: String, rev: Int64) {
        count -= 1
        sum &-= Self.number(collection, id, rev)
    }

    /// Sixteen hexadecimal digits, in lower case.
    public var text: String {
        let digits = String(sum, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }

    private static func number(_ collection: String, _ id: String, _ rev: Int64) -> UInt64 {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for part in [collection, id, String(rev)] {
            for byte in part.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
            hash = hash &* 0x100_0000_01B3
        }
        hash = (hash ^ (hash >> 30)) &* 0xBF58_476D_1CE4_E5B9
        hash = (hash ^ (hash >> 27)) &* 0x94D0_49BB_1331_11EB
        return hash ^ (hash >> 31)
    }
}
