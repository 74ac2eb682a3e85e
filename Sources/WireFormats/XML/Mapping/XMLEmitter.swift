import ValueTree

/// Writes generic XML with its types, compact, indented or canonical.
struct XMLEmitter: ValueEmitter {
    static let carriesNull = true
    let options: WritingOptions
    /// The names of the open elements, and of the one that is about to open, one behind the other.
    private var names: [UInt8] = []
    private var starts: [Int] = []
    /// The open containers.
    private var containers: [ContainerKind] = []
    /// A key that is no element's name.
    private var escapedKey: [UInt8]?
    private var hasMembers = false

    init(options: WritingOptions) {
        self.options = options
    }

    private var isPretty: Bool { options.layout == .pretty && !options.xml.isCanonical }
    private var textEscaping: XMLEscaping { options.xml.isCanonical ? .canonicalText : .text }
    private var attributeEscaping: XMLEscaping { options.xml.isCanonical ? .canonicalAttribute : .attribute }

    mutating func start(_ output: inout OutputBuffer) {
        if !options.xml.isCanonical { output.append("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n") }
    }

    mutating func finish(_ output: inout OutputBuffer) {
        if isPretty { output.append(0x0A) }
    }

    mutating func begin(_ container: ContainerKind, count: Int?, to output: inout OutputBuffer) throws(WireFormatError)
    {
        try open(container == .array ? .array : .dictionary, &output)
        containers.append(container)
        hasMembers = false
    }

    mutating func end(_ container: ContainerKind, to output: inout OutputBuffer) {
        containers.removeLast()
        if isPretty, hasMembers { breakLine(&output) }
        close(&output)
        hasMembers = true
    }

    mutating func key(_ text: UnsafeBufferPointer<UInt8>, to output: inout OutputBuffer) throws(WireFormatError) {
        starts.append(names.count)
        if XMLElementNames.isPlain(text) {
            names.append(contentsOf: text)
        } else {
            names.append(UInt8(ascii: "_"))
            escapedKey = Array(text)
        }
    }

    /// Writes a start tag up to its `>`.
    @inline(__always)
    private mutating func open(_ type: XMLValueType, _ output: inout OutputBuffer) throws(WireFormatError) {
        let isRoot = containers.isEmpty
        if isRoot { push(options.xml.rootName.text.utf8) } else if containers.last == .array { push("item".utf8) }
        if isPretty, !isRoot { breakLine(&output) }
        output.append(UInt8(ascii: "<"))
        appendName(&output)
        if isRoot { output.append(" xmlns:v=\"urn:portico:value\"") }
        if let key = escapedKey { try appendKey(key, &output) }
        if type != .string || isRoot {
            output.append(" v:type=\"")
            output.append(type.word)
            output.append(UInt8(ascii: "\""))
        }
        output.append(UInt8(ascii: ">"))
        hasMembers = true
    }

    private mutating func close(_ output: inout OutputBuffer) {
        output.append("</")
        appendName(&output)
        output.append(UInt8(ascii: ">"))
        names.removeLast(names.count - starts.removeLast())
    }
}

extension XMLEmitter {
    private mutating func push(_ name: some Sequence<UInt8>) {
        starts.append(names.count)
        names.append(contentsOf: name)
    }

    @inline(__always)
    private func appendName(_ output: inout OutputBuffer) {
        names.withUnsafeBufferPointer { output.append(UnsafeBufferPointer(rebasing: $0[starts[starts.count - 1]...])) }
    }

    private mutating func appendKey(_ key: [UInt8], _ output: inout OutputBuffer) throws(WireFormatError) {
        escapedKey = nil
        output.append(" v:key=\"")
        try output.appendXML(String(decoding: key, as: UTF8.self), attributeEscaping)
        output.append(UInt8(ascii: "\""))
    }

    private func breakLine(_ output: inout OutputBuffer) {
        output.append(0x0A)
        for _ in 0..<containers.count { output.append("  ") }
    }

    @inline(__always)
    mutating func element(
        _ type: XMLValueType, _ output: inout OutputBuffer, _ content: (inout OutputBuffer) -> Void
    ) throws(WireFormatError) {
        try open(type, &output)
        content(&output)
        close(&output)
    }

    mutating func string(_ text: UnsafeBufferPointer<UInt8>, to output: inout OutputBuffer) throws(WireFormatError) {
        if options.xml.unrepresentableText == .data, !XMLElementNames.isText(text) {
            return try data(text, to: &output)
        }
        try open(.string, &output)
        try output.appendXML(text, textEscaping)
        close(&output)
    }
}

extension XMLEmitter {
    mutating func null(to output: inout OutputBuffer) throws(WireFormatError) {
        try element(.null, &output) { _ in }
    }

    mutating func bool(_ flag: Bool, to output: inout OutputBuffer) throws(WireFormatError) {
        try element(.bool, &output) { $0.append(flag ? "true" : "false") }
    }

    mutating func int64(_ number: Int64, to output: inout OutputBuffer) throws(WireFormatError) {
        try element(.int, &output) { $0.appendDecimal(number) }
    }

    mutating func uint64(_ number: UInt64, to output: inout OutputBuffer) throws(WireFormatError) {
        try element(.int, &output) { $0.appendDecimal(number) }
    }

    mutating func double(_ number: Double, to output: inout OutputBuffer) throws(WireFormatError) {
        try element(.real, &output) { output in
            if number.isFinite {
                output.append(utf8: number.description)
            } else {
                output.append(number.isNaN ? "NaN" : number < 0 ? "-INF" : "INF")
            }
        }
    }

    mutating func decimal(_ number: WireDecimal, to output: inout OutputBuffer) throws(WireFormatError) {
        try element(.decimal, &output) { $0.append(utf8: number.description) }
    }

    mutating func data(_ bytes: UnsafeBufferPointer<UInt8>, to output: inout OutputBuffer) throws(WireFormatError) {
        try element(.data, &output) { $0.append(Base64.encode(bytes)) }
    }

    mutating func date(_ instant: WireDate, to output: inout OutputBuffer) throws(WireFormatError) {
        guard instant.isFinite else {
            throw WireFormatError(.notRepresentable, "XML cannot carry a date that is not finite")
        }
        try element(.date, &output) {
            $0.append(utf8: instant.rfc3339 ?? instant.decimalSeconds(since: .referenceDate).description)
        }
    }

    mutating func uid(_ number: UInt64, to output: inout OutputBuffer) throws(WireFormatError) {
        try element(.uid, &output) { $0.appendDecimal(number) }
    }
}

/// What a writer asks of text before it decides how to write it.
enum XMLElementNames {
    /// Whether a key is an element's name as it is: an `NCName` that does not start with `xml`, which is reserved in any
    /// case (XML 1.0, section 2.3).
    static func isPlain(_ key: UnsafeBufferPointer<UInt8>) -> Bool {
        guard let first = key.first, XMLCharacters.isASCIINameStart(first) || first >= 0x80 else { return false }
        let isReserved =
            key.count >= 3 && key[0] | 0x20 == UInt8(ascii: "x") && key[1] | 0x20 == UInt8(ascii: "m")
            && key[2] | 0x20 == UInt8(ascii: "l")
        return !isReserved && key.count <= XMLLimits.name && XMLCharacters.isNCName(key.span)
    }

    /// Whether XML can carry a text.
    static func isText(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
        var position = 0
        while true {
            position = SWAR.skipXMLPlain(text, from: position)
            guard position < text.count else { return true }
            let byte = text[position]
            if byte < 0x20, byte != 0x09, byte != 0x0A, byte != 0x0D { return false }
            if byte == 0xEF, text[position + 1] == 0xBF, text[position + 2] >= 0xBE { return false }
            position += 1
        }
    }
}
