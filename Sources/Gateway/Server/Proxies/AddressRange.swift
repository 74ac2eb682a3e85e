import Glibc

/// A network such as `10.0.0.0/8` or `2001:db8::/32`, or one address.
public struct AddressRange: Sendable, Equatable {
    /// Sixteen bytes; IPv4 as `::ffff:a.b.c.d` (RFC 4291, section 2.5.5.2).
    private let bytes: [UInt8]
    private let bits: Int

    /// Nil where the text is no address, or its length none of the address's.
    public init?(_ text: String) {
        let (address, length) = text.splitOnce(at: "/")
        guard let bytes = Self.bytes(of: String(address)) else { return nil }
        let offset = address.contains(":") ? 0 : 96
        guard let length else {
            self.bytes = bytes
            bits = 128
            return
        }
        guard let number = Int(length), (0...(128 - offset)).contains(number) else { return nil }
        self.bytes = bytes
        bits = number + offset
    }

    /// Four or sixteen bytes; nil where the text is no address.
    public static func addressBytes(_ text: String) -> [UInt8]? {
        bytes(of: text).map { text.contains(":") ? $0 : Array($0[12...]) }
    }

    func contains(_ address: [UInt8]) -> Bool {
        let whole = bits / 8
        guard address.count == 16, bytes[..<whole] == address[..<whole] else { return false }
        let mask = UInt8(truncatingIfNeeded: 0xFF00 >> (bits % 8))
        return bits % 8 == 0 || (bytes[whole] ^ address[whole]) & mask == 0
    }

    /// Whom an address stands for where callers are counted: itself, or its /64 in IPv6, where everybody has that many.
    static func network(of text: String) -> String {
        guard text.contains(":"), let bytes = bytes(of: text) else { return text }
        return bytes[..<8].map { String($0, radix: 16) }.joined(separator: ":")
    }

    /// Nil where the text is not an address; names are not looked up.
    static func bytes(of text: String) -> [UInt8]? {
        // Bytes rather than C's structs: their initialisers belong to whichever C module is seen first, which differs
        // between builds for debugging and for release.
        var four = [UInt8](repeating: 0, count: 4)
        if inet_pton(AF_INET, text, &four) == 1 { return [UInt8](repeating: 0, count: 10) + [0xFF, 0xFF] + four }
        var six = [UInt8](repeating: 0, count: 16)
        return inet_pton(AF_INET6, text, &six) == 1 ? six : nil
    }
}
