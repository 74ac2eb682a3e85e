import Logging

/// Lines of the log on their way to the file, each a JSON object whose members come in the order of their adding.
///
/// They are written as bytes into one buffer: a gateway that is busy logs more lines than anything else it does.
struct LogLines {
    private(set) var bytes: [UInt8] = []

    mutating func open(_ time: String, _ level: Logger.Level, _ message: String) {
        bytes += "{\"time\":\"".utf8
        bytes += time.utf8
        bytes.append(UInt8(ascii: "\""))
        add("level", level.rawValue)
        add("message", message)
    }

    mutating func add(_ key: String, _ value: some StringProtocol) {
        name(key)
        quote(value)
    }

    mutating func add(_ key: String, _ number: some BinaryInteger) {
        name(key)
        quote(String(number))
    }

    mutating func close() { bytes += "}\n".utf8 }

    /// The buffer stays: the next lines need it again.
    mutating func removeAll() { bytes.removeAll(keepingCapacity: true) }

    private mutating func name(_ key: String) {
        bytes.append(UInt8(ascii: ","))
        quote(key)
        bytes.append(UInt8(ascii: ":"))
    }

    private mutating func quote(_ text: some StringProtocol) {
        bytes.append(UInt8(ascii: "\""))
        if text.utf8.withContiguousStorageIfAvailable({ write($0) }) == nil { write(Array(text.utf8)) }
        bytes.append(UInt8(ascii: "\""))
    }

    /// Nearly no text needs an escape, so all of it is looked at first, without a branch at each byte.
    private mutating func write(_ text: some Collection<UInt8>) {
        var escapes: UInt8 = 0
        for byte in text { escapes |= Self.needsEscape(byte) ? 1 : 0 }
        guard escapes != 0 else { return bytes.append(contentsOf: text) }
        for byte in text { escape(byte) }
    }

    private mutating func escape(_ byte: UInt8) {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes += [UInt8(ascii: "\\"), byte]
        case UInt8(ascii: "\n"): bytes += "\\n".utf8
        case 0..<0x10: bytes += "\\u000\(String(byte, radix: 16))".utf8
        case 0x10..<0x20: bytes += "\\u00\(String(byte, radix: 16))".utf8
        default: bytes.append(byte)
        }
    }

    private static func needsEscape(_ byte: UInt8) -> Bool {
        byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
    }
}
