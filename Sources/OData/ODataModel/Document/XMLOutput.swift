/// An XML 1.0 document in UTF-8, written straight into bytes: elements are closed in the order in which they were
/// opened, texts are escaped. Names are taken as they come.
public struct XMLOutput: DocumentOutput {
    public private(set) var bytes: [UInt8] = []
    /// False once a text had a character that XML 1.0 cannot carry (section 2.2).
    public private(set) var isRepresentable = true
    private var open: [String] = []
    private var tagIsOpen = false

    public let sink: DocumentSink?

    public init(capacity: Int = 1024, to sink: DocumentSink? = nil) {
        self.sink = sink
        bytes.reserveCapacity(capacity)
        bytes += Array("<?xml version=\"1.0\" encoding=\"utf-8\"?>".utf8)
    }

    public var size: Int { bytes.count }

    /// Takes what was written since it was asked last; the document goes on.
    public mutating func take() -> [UInt8] {
        let taken = bytes
        bytes = []
        // What follows is about as much.
        bytes.reserveCapacity(taken.count)
        return taken
    }

    public mutating func begin(_ name: String, _ attributes: [(name: String, value: String)] = []) {
        finishTag()
        bytes.append(UInt8(ascii: "<"))
        bytes.append(contentsOf: name.utf8)
        open.append(name)
        tagIsOpen = true
        for attribute in attributes { self.attribute(attribute.name, attribute.value) }
    }

    /// Writes an attribute of the element that was begun last, before it has content.
    public mutating func attribute(_ name: String, _ value: String) {
        bytes.append(UInt8(ascii: " "))
        bytes.append(contentsOf: name.utf8)
        bytes.append(contentsOf: [UInt8(ascii: "="), UInt8(ascii: "\"")])
        escape(value, isAttribute: true)
        bytes.append(UInt8(ascii: "\""))
    }

    public mutating func text(_ text: String) {
        finishTag()
        escape(text, isAttribute: false)
    }

    /// The same as UTF-8.
    public mutating func text(_ text: UnsafeBufferPointer<UInt8>) {
        finishTag()
        escape(text, isAttribute: false)
    }

    /// Markup that is known to be well-formed with what is around it: for what every row of a document has.
    public mutating func raw(_ markup: String) {
        finishTag()
        bytes.append(contentsOf: markup.utf8)
    }

    /// The same as bytes that stand ready.
    public mutating func raw(_ markup: UnsafeBufferPointer<UInt8>) {
        finishTag()
        bytes.append(contentsOf: markup)
    }

    /// Digits, where an element's or a raw attribute's text stands.
    public mutating func integer(_ number: Int64) { Digits.append(number, to: &bytes) }

    /// Text that is known to need no escapes, where an element's or a raw attribute's text stands.
    public mutating func plain(_ text: String) { bytes.append(contentsOf: text.utf8) }

    /// Text between the quotes of an attribute whose name and quotes are raw.
    public mutating func rawValue(_ text: String) { escape(text, isAttribute: true) }

    public mutating func end() {
        let name = open.removeLast()
        if tagIsOpen {
            bytes.append(contentsOf: [UInt8(ascii: "/"), UInt8(ascii: ">")])
            tagIsOpen = false
        } else {
            bytes.append(contentsOf: [UInt8(ascii: "<"), UInt8(ascii: "/")])
            bytes.append(contentsOf: name.utf8)
            bytes.append(UInt8(ascii: ">"))
        }
    }

    public mutating func element(_ name: String, _ attributes: [(name: String, value: String)] = []) {
        begin(name, attributes)
        end()
    }

    public mutating func element(_ name: String, _ attributes: [(name: String, value: String)] = [], text: String) {
        begin(name, attributes)
        self.text(text)
        end()
    }

    private mutating func finishTag() {
        guard tagIsOpen else { return }
        bytes.append(UInt8(ascii: ">"))
        tagIsOpen = false
    }

    /// Whole runs of what may stand as it is are copied at once.
    private mutating func escape(_ text: String, isAttribute: Bool) {
        var text = text
        text.withUTF8 { escape($0, isAttribute: isAttribute) }
    }

    private mutating func escape(_ characters: UnsafeBufferPointer<UInt8>, isAttribute: Bool) {
        var start = 0
        for (position, byte) in characters.enumerated() where Self.isSpecial(byte) {
            let replaced = replacement(of: byte, isAttribute, after: characters[..<position])
            guard let replaced else { continue }
            bytes.append(contentsOf: characters[start..<position])
            append(replaced)
            start = position + 1
        }
        bytes.append(contentsOf: characters[start...])
    }

    @inline(__always)
    private static func isSpecial(_ byte: UInt8) -> Bool {
        guard byte < 0x3F || byte >= 0xBE else { return false }
        switch byte {
        case 0..<0x20, UInt8(ascii: "&"), UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: "\""), 0xBE, 0xBF:
            return true
        default: return false
        }
    }

    /// Nil where the byte stands as it is. What XML cannot carry is left out, and noted.
    private mutating func replacement(
        of byte: UInt8, _ isAttribute: Bool, after earlier: Slice<UnsafeBufferPointer<UInt8>>
    ) -> StaticString? {
        switch byte {
        case UInt8(ascii: "&"): return "&amp;"
        case UInt8(ascii: "<"): return "&lt;"
        case UInt8(ascii: ">"): return "&gt;"
        case UInt8(ascii: "\""): return isAttribute ? "&quot;" : nil
        case 0x09: return isAttribute ? "&#9;" : nil
        case 0x0A: return isAttribute ? "&#10;" : nil
        case 0x0D: return "&#13;"
        case 0xBE, 0xBF:
            // The last byte of U+FFFE and U+FFFF.
            if earlier.suffix(2).elementsEqual([0xEF, 0xBF]) { isRepresentable = false }
            return nil
        default:
            isRepresentable = false
            return ""
        }
    }

    private mutating func append(_ text: StaticString) {
        text.withUTF8Buffer { bytes.append(contentsOf: $0) }
    }
}

/// Where a document goes while it is written, part by part, so that no more of it than a part is in memory.
///
/// The first failure is kept, and nothing is written after it: writers check ``isOpen`` between rows, and throws the
/// failure at the end.
public final class DocumentSink {
    /// Bytes from which on a part is given on.
    public static let partSize = 64 << 10

    private let put: (_ part: [UInt8]) throws -> Void
    private var failure: (any Error)?

    public init(_ put: @escaping (_ part: [UInt8]) throws -> Void) {
        self.put = put
    }

    public var isOpen: Bool { failure == nil }

    func take(_ part: [UInt8]) {
        guard isOpen else { return }
        do { try put(part) } catch { failure = error }
    }

    func check() throws {
        if let failure { throw failure }
    }
}

/// A document that is written straight into bytes, and may have a sink.
public protocol DocumentOutput {
    var sink: DocumentSink? { get }
    /// Bytes that are written and not taken yet.
    var size: Int { get }
    /// Takes what was written since it was asked last; the document goes on.
    mutating func take() -> [UInt8]
}

extension DocumentOutput {
    /// To be asked between rows: gives on what is written where that is a part. False: nothing more is wanted.
    public mutating func goesOn() -> Bool {
        guard let sink else { return true }
        if size >= DocumentSink.partSize { sink.take(take()) }
        return sink.isOpen
    }

    /// Gives on what is written. Throws what the sink did.
    public mutating func flush() throws {
        guard let sink else { return }
        if size > 0 { sink.take(take()) }
        try sink.check()
    }
}
