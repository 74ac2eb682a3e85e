/// Bytes as hexadecimal digits, two for each, in lower case.
public enum Hexadecimal {
    private static let digits = [UInt8]("0123456789abcdef".utf8)

    public static func text(_ bytes: some Sequence<UInt8>) -> String {
        String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }

    /// Sixteen bytes in the groups of a UUID (RFC 9562, section 4).
    public static func uuid(_ bytes: [UInt8]) -> String {
        [0..<4, 4..<6, 6..<8, 8..<10, 10..<16].map { text(bytes[$0]) }.joined(separator: "-")
    }
}
