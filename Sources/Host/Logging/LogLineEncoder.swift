import Foundation
import Logging

/// Encodes log lines into one buffer. In JSON each line is an object; as text it has time, level and message, then
/// `key=value` for each member that is not empty. Members come in the order in which they are added.
///
/// Lines are bytes and not strings: a gateway that is busy logs more lines than anything else it does.
struct LogLineEncoder {
    private(set) var bytes: [UInt8] = []
    let form: LogFormat

    init(_ form: LogFormat) {
        self.form = form
    }

    mutating func open(_ time: [UInt8], _ level: Logger.Level, _ message: String) {
        guard form == .json else { return openText(time, level, message) }
        write("{\"time\":\"")
        bytes.append(contentsOf: time)
        bytes.append(UInt8(ascii: "\""))
        add("level", level.rawValue)
        add("message", message)
    }

    /// The key needs no escape.
    mutating func add(_ key: StaticString, _ value: some StringProtocol) {
        guard form == .json else { return addText("\(key)", value) }
        name(key)
        quote(value)
    }

    mutating func add(_ key: StaticString, _ number: Int64) {
        guard form == .json else { return addText("\(key)", "\(number)") }
        name(key)
        write(number)
    }

    /// A number or a truth value, which stand as they are.
    mutating func add(named key: String, literally value: some CustomStringConvertible) {
        guard form == .json else { return addText(key, value.description) }
        bytes.append(UInt8(ascii: ","))
        quote(key)
        bytes.append(UInt8(ascii: ":"))
        bytes.append(contentsOf: value.description.utf8)
    }

    mutating func add(named key: String, _ value: String) {
        guard form == .json else { return addText(key, value) }
        bytes.append(UInt8(ascii: ","))
        quote(key)
        bytes.append(UInt8(ascii: ":"))
        quote(value)
    }

    mutating func close() { write(form == .json ? "}\n" : "\n") }

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
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 20) { buffer in
            var (rest, start) = (number.magnitude, buffer.count)
            repeat {
                start -= 1
                buffer[start] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
                rest /= 10
            } while rest > 0
            if number < 0 { bytes.append(UInt8(ascii: "-")) }
            bytes.append(contentsOf: buffer[start...])
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

/// A line as text, for people at a terminal.
extension LogLineEncoder {
    /// The time of day in UTC: who watches knows the day.
    private mutating func openText(_ time: [UInt8], _ level: Logger.Level, _ message: String) {
        bytes.append(contentsOf: time.drop { $0 != UInt8(ascii: "T") }.dropFirst())
        bytes.append(UInt8(ascii: " "))
        bytes += level.rawValue.utf8
        for _ in level.rawValue.utf8.count..<9 { bytes.append(UInt8(ascii: " ")) }
        // Messages are constant texts of this program.
        writeText(message, quoted: false)
    }

    private mutating func addText(_ key: String, _ value: some StringProtocol) {
        guard !value.isEmpty else { return }
        bytes.append(UInt8(ascii: " "))
        writeText(key, quoted: false)
        bytes.append(UInt8(ascii: "="))
        let isPlain = value.utf8.allSatisfy { $0 > 0x20 && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "=") }
        writeText(value, quoted: !isPlain)
    }

    /// What a terminal would take for a command (C0, DEL and C1 of ECMA-48) is written as an escape, so that nothing a
    /// caller sends moves the cursor, begins a line or changes a title.
    private mutating func writeText(_ text: some StringProtocol, quoted: Bool) {
        if quoted { bytes.append(UInt8(ascii: "\"")) }
        for scalar in text.unicodeScalars {
            switch scalar.value {
            case 0x0A: bytes += "\\n".utf8
            case ..<0x20, 0x7F..<0xA0: bytes += "\\u{\(String(scalar.value, radix: 16))}".utf8
            case 0x22 where quoted: bytes += "\\\"".utf8
            case 0x5C where quoted: bytes += "\\\\".utf8
            default: bytes += Unicode.UTF8.encode(scalar) ?? Unicode.UTF8.encodedReplacementCharacter
            }
        }
        if quoted { bytes.append(UInt8(ascii: "\"")) }
    }
}

/// The time of a log line, as RFC 3339 has it, in UTC and with milliseconds. What the second shows is made once.
struct LogClock {
    private var second = -1
    /// Such as `2026-11-21T13:50:12.073Z`.
    private var text: [UInt8] = []

    mutating func text(of time: Date) -> [UInt8] {
        let milliseconds = Int((time.timeIntervalSince1970 * 1_000).rounded(.down))
        if milliseconds / 1_000 != second {
            second = milliseconds / 1_000
            let style = Date.ISO8601FormatStyle.iso8601.year().month().day().time(includingFractionalSeconds: false)
            text = Array("\(Date(timeIntervalSince1970: Double(second)).formatted(style)).000Z".utf8)
        }
        show(milliseconds % 1_000)
        return text
    }

    /// In the three digits before the last letter.
    private mutating func show(_ fraction: Int) {
        var rest = fraction
        for location in 2...4 {
            text[text.count - location] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
            rest /= 10
        }
    }
}

/// How a log line is written: as JSON for collectors, as text for people.
enum LogFormat: String, CaseIterable, Sendable {
    case json, text

    /// `log.format` that leaves the choice to where the log goes.
    static let automatic = "auto"

    /// ``automatic`` is text on a terminal and JSON everywhere else.
    init(_ configured: String, for file: FileHandle) {
        self = LogFormat(rawValue: configured) ?? (isatty(file.fileDescriptor) == 1 ? .text : .json)
    }
}
