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
        if text.utf8.contains(where: Self.needsEscape) {
            for byte in text.utf8 { escape(byte) }
        } else {
            bytes += text.utf8
        }
        bytes.append(UInt8(ascii: "\""))
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
