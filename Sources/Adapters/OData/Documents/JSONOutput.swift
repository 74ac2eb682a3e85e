import AdapterKit
import ODataEngine
import ODataModel

/// Writes JSON text into a byte buffer and inserts the commas.
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

    /// A text as a JSON string, with its quotes.
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

    /// A number, `true`, `false` or `null`, written verbatim.
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

/// Writes stored values in OData's JSON (JSON Format 4.01, section 7).
struct ValueWriter: Sendable {
    let model: EntityDataModel
    let format: ResponseFormat

    /// `members` are the written parts of a complex value, by path; nil: all.
    func write(
        _ value: WireValue, _ type: TypeReference, members: [[String]]? = nil, to output: inout JSONOutput
    ) {
        guard type.isCollection else { return single(value, type, members, to: &output) }
        output.beginArray()
        for item in value.arrayValue ?? [] { single(item, type, members, to: &output) }
        output.endArray()
    }

    private func single(
        _ value: WireValue, _ type: TypeReference, _ members: [[String]]?, to output: inout JSONOutput
    ) {
        guard !value.isNull else { return output.null() }
        switch type.type {
        case .primitive(let primitive): self.primitive(value, primitive, to: &output)
        case .definition(let name): self.primitive(value, model.definition(name)?.underlying ?? .string, to: &output)
        case .enumeration(let name):
            output.string(value.int64Value.flatMap { model.enumeration(name)?.text(of: $0) } ?? "")
        case .complex(let name): complex(value, name, members, to: &output)
        case .entity, .abstract: output.value(value)
        }
    }

    private func primitive(_ value: WireValue, _ type: PrimitiveType, to output: inout JSONOutput) {
        switch type {
        case .boolean: output.raw(value == .bool(true) ? "true" : "false")
        case .int64, .decimal:
            let text = StoredValueCodec.text(of: value, type) ?? "null"
            format.isIEEE754Compatible ? output.string(text) : output.raw(text)
        case .byte, .sByte, .int16, .int32: output.raw(StoredValueCodec.text(of: value, type) ?? "null")
        case .double, .single:
            let text = StoredValueCodec.text(of: value, type) ?? "null"
            value.doubleValue?.isFinite == false ? output.string(text) : output.raw(text)
        case .stream: output.null()
        default:
            if type.isSpatial {
                output.value(value)
            } else {
                output.string(StoredValueCodec.text(of: value, type) ?? "")
            }
        }
    }

    private func complex(
        _ value: WireValue, _ name: QualifiedName, _ members: [[String]]?, to output: inout JSONOutput
    ) {
        output.beginObject()
        self.members(value, name, selected: members, to: &output)
        output.endObject()
    }

    /// Whether the value is left out.
    func isLeftOut(_ value: WireValue, _ type: TypeReference, of property: StructuralProperty?) -> Bool {
        format.omitted?.leavesOut(value, type, of: property, StoredValueCodec(model: model)) ?? false
    }

    /// A complex value's members, inside of an object that is open.
    func members(
        _ value: WireValue, _ name: QualifiedName, selected members: [[String]]? = nil, to output: inout JSONOutput
    ) {
        let actual = value["@type"]?.stringValue.flatMap { QualifiedName($0) } ?? name
        if format.metadata != .none, actual != name || format.metadata == .full {
            output.member("@odata.type", "#\(actual)")
        }
        for property in model.structured(actual)?.properties ?? [] {
            let selected = members?.filter { $0.first == property.name }.map { Array($0.dropFirst()) }
            if let selected, selected.isEmpty { continue }
            if isLeftOut(value[property.name] ?? .null, property.type, of: property) { continue }
            output.key(property.name)
            let inner = selected.flatMap { $0.contains([]) ? nil : $0 }
            write(
                value[property.name] ?? (property.type.isCollection ? [] : .null), property.type, members: inner,
                to: &output)
        }
    }
}

/// The values that `Prefer: omit-values` leaves out (Protocol 4.01, section 8.2.8.6). Collections are always written.
enum OmittedValues: String, Sendable {
    case nulls
    /// The default values of the model; null where it has none.
    case defaults

    /// A value of what is no property, such as a computed one, has no default but null.
    func leavesOut(
        _ value: WireValue, _ type: TypeReference, of property: StructuralProperty?, _ form: StoredValueCodec
    )
        -> Bool
    {
        guard !type.isCollection else { return false }
        guard self == .defaults, let text = property?.defaultValue else { return value.isNull }
        return value == form.value(text: text, type: type)
    }
}

/// The variant of JSON of a response (JSON Format 4.01, section 3), negotiated by `$format` or `Accept`.
struct ResponseFormat: Sendable, Equatable {
    enum Metadata: String, Sendable {
        case none, minimal, full
    }

    var metadata = Metadata.minimal
    var isIEEE754Compatible = false
    /// `Prefer: omit-values`; nil: all values are written.
    var omitted: OmittedValues?
    /// `4.0` where the caller knows no later one.
    var version = "4.01"

    var mediaType: String {
        var type = "application/json;odata.metadata=\(metadata.rawValue)"
        if isIEEE754Compatible { type += ";IEEE754Compatible=true" }
        return type
    }

    /// Throws `request.notAcceptable` where JSON is not wanted.
    static func negotiate(format: String?, accept: String?) throws(PorticoError) -> ResponseFormat {
        if let format {
            guard let chosen = read(format == "json" ? "application/json" : format) else {
                throw PorticoError(.notAcceptable, "The answer can be had as application/json.", target: "$format")
            }
            return chosen
        }
        guard let accept, !accept.isEmpty else { return ResponseFormat() }
        let ranges = accept.split(separator: ",").map { String($0) }
            .map { (text: $0, weight: weight($0)) }.filter { $0.weight > 0 }.sorted { $0.weight > $1.weight }
        for range in ranges {
            if let chosen = read(range.text) { return chosen }
        }
        throw PorticoError(.notAcceptable, "The answer can be had as application/json.")
    }

    private static func weight(_ range: String) -> Double {
        for piece in range.split(separator: ";").dropFirst() {
            let text = piece.filter { !$0.isFieldWhitespace }
            if text.hasPrefix("q=") { return Double(text.dropFirst(2)) ?? 0 }
        }
        return 1
    }

    /// Nil for another type, and for parameters that no answer of ours can have.
    private static func read(_ text: String) -> ResponseFormat? {
        let parts = text.split(separator: ";").map { $0.filter { !$0.isFieldWhitespace } }
        guard let type = parts.first?.lowercased(), ["application/json", "application/*", "*/*"].contains(type) else {
            return nil
        }
        var format = ResponseFormat()
        for part in parts.dropFirst() {
            let pair = part.split(separator: "=", maxSplits: 1).map { String($0).lowercased() }
            guard pair.count == 2 else { continue }
            switch pair[0] {
            case "odata.metadata", "metadata":
                guard let metadata = Metadata(rawValue: pair[1]) else { return nil }
                format.metadata = metadata
            case "ieee754compatible":
                guard pair[1] == "true" || pair[1] == "false" else { return nil }
                format.isIEEE754Compatible = pair[1] == "true"
            case "charset":
                guard pair[1] == "utf-8" || pair[1] == "\"utf-8\"" else { return nil }
            default: continue
            }
        }
        return format
    }
}
