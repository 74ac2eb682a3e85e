/// Addresses that begin with the same bits: `10.0.0.0/8`, `fd00::/8`.
public struct AddressRange: Sendable, Hashable, ExpressibleByStringLiteral {
    private let base: IPAddress
    private let bits: Int

    public init?(_ text: String) {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let base = IPAddress(String(parts[0])) else { return nil }
        let width = base.bytes.count * 8
        guard parts.count == 1 || Int(parts[1]).map((0...width).contains) ?? false else { return nil }
        self.base = base
        bits = parts.count == 1 ? width : Int(parts[1]) ?? width
    }

    public init(stringLiteral value: String) {
        // Cannot trap: literals in source code.
        guard let range = AddressRange(value) else { preconditionFailure("not a range of addresses: \(value)") }
        self = range
    }

    public func contains(_ address: IPAddress) -> Bool {
        guard address.bytes.count == base.bytes.count else { return false }
        return zip(address.bytes, base.bytes).enumerated().allSatisfy { index, pair in
            let counted = min(8, max(0, bits - index * 8))
            return (pair.0 ^ pair.1) & UInt8(truncatingIfNeeded: 0xff00 >> counted) == 0
        }
    }
}
