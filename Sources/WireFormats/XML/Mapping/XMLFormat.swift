import ValueTree

/// Generic XML: any value as a document that says its own types, and any foreign document as a value.
///
/// Written, and read without loss, when the root element has the attribute `type` of ``valueNamespace``:
///
///     <value xmlns:v="urn:portico:value" v:type="dictionary">
///       <name>Ann</name>                        a string
///       <age v:type="int">42</age>
///       <tags v:type="array"><item>a</item></tags>
///       <_ v:key="not a name" v:type="null"/>   a key that is no XML name
///     </value>
///
/// Types: `dictionary`, `array`, `string` (the default), `int`, `real`, `decimal`, `bool`, `date`, `data`, `uid`, `null`.
/// A date is RFC 3339, or seconds since 2001 outside of the years 0 to 9999.
///
/// Any other document is foreign and reads by the rules of ``UntypedXMLReader``
/// (docs/decisions/0020).
public struct XMLFormat: WireFormat {
    /// What a foreign document's root element becomes.
    public enum UntypedRoot: Sendable, Equatable {
        /// Its content; the name is an envelope and is not kept. For bodies, whose meaning the route knows.
        case content
        /// A dictionary with one member, so that nothing is lost.
        case named
    }

    /// The namespace of the elements of generic XML.
    public static let valueNamespace = "urn:portico:value"

    /// How the root element of a document without types is read.
    public let untypedRoot: UntypedRoot

    /// Creates an XML format with these values.
    public init(untypedRoot: UntypedRoot = .content) {
        self.untypedRoot = untypedRoot
    }

    public let name = FormatName.xml
    public let mediaTypesRead = [MediaType.xml, MediaType.textXML]
    public let structuredSuffix: String? = "xml"
    public let mediaTypeWritten = MediaType.xml
    public let charsets: Set<String> = XMLEncoding.charsets
    public let traits = FormatTraits(
        null: true, decimal: .exact, nonFinite: true, data: true, date: .exact, uid: true, allScalars: false)

    public func readTape(_ input: [UInt8], limits: ReadingLimits) throws(WireFormatError) -> Tape {
        try readTape(input, charset: nil, limits: limits)
    }

    public func readTape(
        _ input: [UInt8], charset: String?, limits: ReadingLimits
    ) throws(WireFormatError) -> Tape {
        let source = try XMLSource(input, charset: charset)
        let text = source.bytes.span
        // Beyond the containers: the element of a scalar.
        var scanner = XMLScanner(start: source.start, maximumDepth: limits.depth + 1)
        let builder = TapeBuilder(input: source.bytes, limits: limits, positions: .text)
        while try scanner.next(text) != .startElement {}
        if let namespace = scanner.valueNamespace(text) {
            var reader = TypedXMLReader(scanner, builder, valueNamespace: namespace)
            try reader.readDocument(text)
            return reader.finish()
        }
        var reader = UntypedXMLReader(scanner, builder)
        try reader.readDocument(text, root: untypedRoot)
        return reader.finish()
    }

    public func write(
        _ value: WireValue, options: WritingOptions, to output: inout OutputBuffer
    ) throws(WireFormatError) {
        try XMLEmitter.write(value, options: options, to: &output)
    }

    public func write(_ tape: Tape, options: WritingOptions, to output: inout OutputBuffer) throws(WireFormatError) {
        try XMLEmitter.write(tape, options: options, to: &output)
    }

    public func makeStreamWriter(options: WritingOptions) -> any StreamWriter {
        EmitterStreamWriter<XMLEmitter>(options: options)
    }
}

extension XMLElementName {
    /// Nil where the text is not an `NCName` (Namespaces in XML 1.0).
    public init?(_ text: String) {
        guard XMLCharacters.isNCName(Array(text.utf8).span) else { return nil }
        self.text = text
    }
}

/// The values of the `type` attribute.
enum XMLValueType: CaseIterable {
    case dictionary, array, string, int, real, decimal, bool, date, data, uid, null

    var word: StaticString {
        switch self {
        case .dictionary: "dictionary"
        case .array: "array"
        case .string: "string"
        case .int: "int"
        case .real: "real"
        case .decimal: "decimal"
        case .bool: "bool"
        case .date: "date"
        case .data: "data"
        case .uid: "uid"
        case .null: "null"
        }
    }

    init?(_ text: Span<UInt8>, _ range: Range<Int>) {
        for type in Self.allCases where XMLValueType.matches(text, range, type.word) {
            self = type
            return
        }
        return nil
    }

    @inline(__always)
    static func matches(_ text: Span<UInt8>, _ range: Range<Int>, _ word: StaticString) -> Bool {
        guard range.count == word.utf8CodeUnitCount else { return false }
        for index in 0..<range.count where text[range.lowerBound + index] != word.utf8Start[index] { return false }
        return true
    }
}

extension XMLScanner {
    /// The namespace of the `type` attribute, where the current element has one of ours.
    func valueNamespace(_ text: Span<UInt8>) -> Int32? {
        for attribute in attributes where attribute.name.namespace != XMLNamespaces.none {
            let namespace = attribute.name.namespace
            if XMLValueType.matches(text, attribute.name.localRange, "type"),
                namespaces.name(namespace).elementsEqual(XMLFormat.valueNamespace.utf8)
            {
                return namespace
            }
        }
        return nil
    }
}
