import Logging

/// Lines of the log on their way to the file, each a JSON object whose members come in the order of their adding.
///
/// They are written as bytes into one buffer: a gateway that is busy logs more lines than anything else it does.
struct LogLines {
    private(set) var bytes: [UInt8] = []

    mutating func open(_ time: [UInt8], _ level: Logger.Level, _ message: String) {
        write("{\"time\":\"")
        bytes.append(contentsOf: time)
        bytes.append(UInt8(ascii: "\""))
        add("level", level.rawValue)
        add("message", message)
    }

    /// The key needs no escape.
    mutating func add(_ key: StaticString, _ value: some StringProtocol) {
        name(key)
        quote(value)
    }

    mutating func add(_ key: StaticString, _ number: Int64) {
        name(key)
        write(number)
    }

    /// A number or a truth value, which stand as they are.
    mutating func add(named key: String, literally value: some CustomStringConvertible) {
        bytes.append(UInt8(ascii: ","))
        quote(key)
        bytes.append(UInt8(ascii: ":"))
        bytes.append(contentsOf: value.description.utf8)
    }

    mutating func add(named key: String, _ value: String) {
        bytes.append(UInt8(ascii: ","))
        quote(key)
        bytes.append(UInt8(ascii: ":"))
        quote(value)
    }

    mutating func close() { write("}\n") }

    /// The buffer stays: the next lines need it again.
    mutating func removeAll() { bytes.removeAll(keepingCapacity: true) }

    private mutating func name(_ key: StaticString) {
        write(",\"")
        write(key)
        write("\":")
    }

    private mutating func write(_ text: StaticString) {
        bytes.append(contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    private mutating func write(_ number: Int64) {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 20) { room in
            var (rest, start) = (number.magnitude, room.count)
            repeat {
                start -= 1
                room[start] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
                rest /= 10
            } while rest > 0
            if number < 0 { bytes.append(UInt8(ascii: "-")) }
            bytes.append(contentsOf: room[start...])
        }
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
