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
