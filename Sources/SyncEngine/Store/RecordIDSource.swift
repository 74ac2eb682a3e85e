import AdapterKit

/// Makes ids for records whose key the server chooses. Passed in, so that tests know them beforehand.
public protocol RecordIDSource: Sendable {
    /// An id that was never given before and that nobody can guess.
    func next() -> RecordID
}

/// Random UUIDs (RFC 9562, version 4), in lower case. Version 7 was rejected: it tells when a record was made.
public struct RandomRecordIDs: RecordIDSource {
    public init() {}

    public func next() -> RecordID {
        var bytes = (0..<16).map { _ in UInt8.random(in: .min ... .max) }
        bytes[6] = bytes[6] & 0x0F | 0x40
        bytes[8] = bytes[8] & 0x3F | 0x80
        return RecordID(unchecked: Self.text(bytes))
    }

    private static func text(_ bytes: [UInt8]) -> String {
        let digits = Array("0123456789abcdef".utf8)
        var text: [UInt8] = []
        for (position, byte) in bytes.enumerated() {
            if [4, 6, 8, 10].contains(position) { text.append(UInt8(ascii: "-")) }
            text.append(digits[Int(byte >> 4)])
            text.append(digits[Int(byte & 15)])
        }
        return String(decoding: text, as: UTF8.self)
    }
}
