import Foundation

/// An address of the internet protocol as its bytes: 4 or 16. An IPv4 address in IPv6's clothes (RFC 4291, section
/// 2.5.5.2) is the IPv4 address.
public struct IPAddress: Sendable, Hashable, CustomStringConvertible {
    public let bytes: [UInt8]

    /// Nil for anything but the plain notations that inet_pton(3) reads.
    public init?(_ text: String) {
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
        guard bytes.count == 16 else { return bytes.map(String.init).joined(separator: ".") }
        return stride(from: 0, to: 16, by: 2).map {
            String(UInt16(bytes[$0]) << 8 | UInt16(bytes[$0 + 1]), radix: 16)
        }.joined(separator: ":")
    }
}
