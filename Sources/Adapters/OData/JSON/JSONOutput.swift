import AdapterKit
import ODataModel

/// JSON text written straight into bytes: commas are put by themselves.
struct JSONOutput: DocumentOutput {
    let sink: DocumentSink?
    private(set) var bytes: [UInt8] = []
    /// Whether another item or member has a comma before it.
    private(set) var needsComma = false

    init(capacity: Int = 1024, to sink: DocumentSink? = nil) {
        self.sink = sink
        bytes.reserveCapacity(capacity)
    }

    /// A document that goes on after another output.
    init(after needsComma: Bool) {
        sink = nil
        self.needsComma = needsComma
    }

    var size: Int { bytes.count }

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

    /// A text with its quotes, as it stands in the document.
    static func text(of text: String) -> String {
        var output = JSONOutput(capacity: text.utf8.count + 2)
        output.string(text)
        return String(decoding: output.bytes, as: UTF8.self)
    }

    /// A name with its colon.
    static func key(of name: String) -> String { text(of: name) + ":" }

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
        if !appendPlain(text) { appendEscaping(text.utf8) }
        bytes.append(UInt8(ascii: "\""))
    }

    /// Most texts need no escapes, and go in one piece.
    private mutating func appendPlain(_ text: String) -> Bool {
        text.utf8.withContiguousStorageIfAvailable { appendPlain($0) } ?? false
    }

    private mutating func appendPlain(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
        for byte in text where byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") {
            return false
        }
        bytes.append(contentsOf: text)
        return true
    }

    private mutating func appendEscaping(_ text: some Sequence<UInt8>) {
        for byte in text {
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

// Rows by their template: what it has ready has its commas in it.
extension JSONOutput: RowOutput {
    /// An item of an array, or what follows another member.
    mutating func beginRow() { separate() }
    mutating func endRow() { needsComma = true }

    mutating func ready(_ bytes: UnsafeBufferPointer<UInt8>) {
        self.bytes.append(contentsOf: bytes)
        needsComma = false
    }

    mutating func digits(_ number: Int64) { Digits.append(number, to: &bytes) }
    mutating func value(_ text: String) { quote(text) }

    mutating func value(_ text: UnsafeBufferPointer<UInt8>) {
        bytes.append(UInt8(ascii: "\""))
        if !appendPlain(text) { appendEscaping(text) }
        bytes.append(UInt8(ascii: "\""))
    }

    mutating func control(_ text: String) { quote(text) }
    mutating func plain(_ text: String) { bytes.append(contentsOf: text.utf8) }
}
