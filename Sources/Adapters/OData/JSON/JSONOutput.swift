import AdapterKit

/// JSON text written straight into bytes: commas are put by themselves.
struct JSONOutput {
    private(set) var bytes: [UInt8] = []
    private var needsComma = false

    init(capacity: Int = 1024) {
        bytes.reserveCapacity(capacity)
    }

    /// What was written since it was asked last; the document goes on.
    mutating func take() -> [UInt8] {
        let taken = bytes
        bytes = []
        // What follows is about as much.
        bytes.reserveCapacity(taken.count)
        return taken
    }

    mutating func beginObject() { open(UInt8(ascii: "{")) }
    mutating func endObject() { close(UInt8(ascii: "}")) }
    mutating func beginArray() { open(UInt8(ascii: "[")) }
    mutating func endArray() { close(UInt8(ascii: "]")) }

    mutating func key(_ name: String) {
        separate()
        quote(name)
        bytes.append(UInt8(ascii: ":"))
        needsComma = false
    }

    /// A name that was written before, with its colon.
    mutating func key(_ written: [UInt8], _ range: Range<Int>) {
        separate()
        bytes.append(contentsOf: written[range])
        needsComma = false
    }

    /// A text as ``key(_:)`` writes it, without a colon.
    static func text(of name: String) -> [UInt8] {
        var output = JSONOutput()
        output.string(name)
        return output.bytes
    }

    mutating func integer(_ number: Int64) {
        separate()
        digits(number)
        needsComma = true
    }

    /// An entity's, of its revision.
    mutating func tag(_ revision: Int64) {
        separate()
        bytes.append(contentsOf: Self.tagBegin)
        digits(revision)
        bytes.append(contentsOf: Self.tagEnd)
        needsComma = true
    }

    private static let tagBegin = Array(#""@odata.etag":"W/\""#.utf8)
    private static let tagEnd = Array(#"\"""#.utf8)

    private mutating func digits(_ number: Int64) {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 20) { digits in
            var (rest, start) = (number.magnitude, digits.count)
            repeat {
                start -= 1
                digits[start] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
                rest /= 10
            } while rest > 0
            if number < 0 {
                start -= 1
                digits[start] = UInt8(ascii: "-")
            }
            bytes.append(contentsOf: UnsafeBufferPointer(rebasing: digits[start...]))
        }
    }

    mutating func string(_ text: String) {
        separate()
        quote(text)
        needsComma = true
    }

    /// A number, `true`, `false` or `null` as it stands.
    mutating func raw(_ text: String) {
        separate()
        bytes.append(contentsOf: text.utf8)
        needsComma = true
    }

    mutating func null() { raw("null") }

    mutating func member(_ name: String, _ text: String) {
        key(name)
        string(text)
    }

    /// Any value in plain JSON.
    mutating func value(_ value: WireValue) {
        switch value {
        case .null: null()
        case .bool(let flag): raw(flag ? "true" : "false")
        case .int64(let number): raw(String(number))
        case .uint64(let number): raw(String(number))
        case .double(let number): raw(number.isFinite ? number.description : "null")
        case .decimal(let number): raw(number.description)
        case .string(let text): string(text)
        case .data(let data): string(String(decoding: Base64.encode(data), as: UTF8.self))
        case .date(let instant): string(instant.rfc3339 ?? "")
        case .uid(let number): raw(String(number))
        case .array(let items):
            beginArray()
            for item in items { self.value(item) }
            endArray()
        case .dictionary(let members):
            beginObject()
            for member in members {
                key(member.key)
                self.value(member.value)
            }
            endObject()
        }
    }

    private mutating func open(_ mark: UInt8) {
        separate()
        bytes.append(mark)
        needsComma = false
    }

    private mutating func close(_ mark: UInt8) {
        bytes.append(mark)
        needsComma = true
    }

    private mutating func separate() {
        if needsComma { bytes.append(UInt8(ascii: ",")) }
    }

    private mutating func quote(_ text: String) {
        bytes.append(UInt8(ascii: "\""))
        if !appendPlain(text) { appendEscaping(text) }
        bytes.append(UInt8(ascii: "\""))
    }

    /// Most texts need no escapes, and go in one piece.
    private mutating func appendPlain(_ text: String) -> Bool {
        text.utf8.withContiguousStorageIfAvailable { characters in
            for byte in characters where byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") {
                return false
            }
            bytes.append(contentsOf: characters)
            return true
        } ?? false
    }

    private mutating func appendEscaping(_ text: String) {
        for byte in text.utf8 {
            if byte >= 0x20, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\") {
                bytes.append(byte)
            } else {
                escape(byte)
            }
        }
    }

    private mutating func escape(_ byte: UInt8) {
        bytes.append(UInt8(ascii: "\\"))
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes.append(byte)
        case 0x0A: bytes.append(UInt8(ascii: "n"))
        case 0x0D: bytes.append(UInt8(ascii: "r"))
        case 0x09: bytes.append(UInt8(ascii: "t"))
        default:
            let digits = Array("0123456789abcdef".utf8)
            bytes.append(contentsOf: [0x75, 0x30, 0x30, digits[Int(byte >> 4)], digits[Int(byte & 15)]])
        }
    }
}
