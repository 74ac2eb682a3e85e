import Foundation

/// An IPv4 or IPv6 address as its 4 or 16 bytes. An IPv4-mapped IPv6 address (RFC 4291, section 2.5.5.2) is the IPv4
/// address.
public struct IPAddress: Sendable, Hashable, CustomStringConvertible {
    public let bytes: [UInt8]

    /// Nil for anything but the notations that inet_pton(3) reads: no port, no zone, no name.
    public init?(_ text: String) {
        // Bytes rather than C's structs: their initialisers belong to whichever C module is seen first, which differs
        // between builds for debugging and for release.
        var v4 = [UInt8](repeating: 0, count: 4)
        var v6 = [UInt8](repeating: 0, count: 16)
        if inet_pton(AF_INET, text, &v4) == 1 {
            self.init(bytes: v4)
        } else if inet_pton(AF_INET6, text, &v6) == 1 {
            self.init(bytes: v6)
        } else {
            return nil
        }
    }

    private init(bytes: [UInt8]) {
        let isMapped = bytes.count == 16 && bytes.prefix(10).allSatisfy { $0 == 0 } && bytes[10...11] == [0xff, 0xff]
        self.bytes = isMapped ? Array(bytes.suffix(4)) : bytes
    }

    public var description: String {
        bytes.count == 16 ? Self.groups(bytes) : bytes.map(String.init).joined(separator: ".")
    }

    /// The unit by which clients are counted: the IPv4 address, or the /64 network of an IPv6 address, because one
    /// household or server has a whole /64 to choose addresses from.
    public var clientNetwork: String {
        bytes.count == 16 ? Self.groups(bytes[..<8]) + "::/64" : description
    }

    private static func groups(_ bytes: some RandomAccessCollection<UInt8>) -> String {
        let bytes = Array(bytes)
        return stride(from: 0, to: bytes.count, by: 2).map {
            String(UInt16(bytes[$0]) << 8 | UInt16(bytes[$0 + 1]), radix: 16)
        }.joined(separator: ":")
    }
}

/// A network in CIDR notation, such as `10.0.0.0/8` or `fd00::/8`, or one address.
///
/// A range holds addresses of its own family only: `::/0` holds no IPv4 address.
public struct AddressRange: Sendable, Hashable, ExpressibleByStringLiteral {
    private let base: IPAddress
    private let bits: Int

    /// Nil where the text holds no address, or a prefix length that its family does not have.
    public init?(_ text: String) {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let address = parts.first, let base = IPAddress(String(address)) else { return nil }
        let width = base.bytes.count * 8
        // The prefix length of an IPv4-mapped network counts the 96 bits before the IPv4 address.
        let offset = width == 32 && address.contains(":") ? 96 : 0
        self.base = base
        guard parts.count == 2 else {
            bits = width
            return
        }
        guard let length = Int(parts[1]), (offset...offset + width).contains(length) else { return nil }
        bits = length - offset
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
