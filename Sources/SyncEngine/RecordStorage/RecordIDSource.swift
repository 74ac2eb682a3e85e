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
        return RecordID(unchecked: Hexadecimal.uuid(bytes))
    }
}
