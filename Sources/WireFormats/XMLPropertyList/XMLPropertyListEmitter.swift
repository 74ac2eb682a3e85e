import ValueTree

/// XML property lists, strictly.
///
/// Reading: Apple's DOCTYPE in both its forms, or none; one value in `plist`. Comments and processing instructions are
/// skipped, inside of a string too; CDATA is text. Element names that property lists do not have, attributes other than
/// `version` of `plist`, and text between elements are refused.
///
/// | element | value |
/// |---|---|
/// | `integer` | decimal or `0x…`, with a sign; beyond 64 bits refused |
/// | `real` | decimal, `nan`, `inf`, `infinity` in any case; `1e400` refused |
/// | `date` | RFC 3339, an offset honoured; written in whole seconds, UTC |
/// | `data` | strict base64, white space skipped |
/// | `dict` with the one key `CF$UID` and an integer | a keyed archiver's uid, as Apple's tools write it |
///
/// Writing: Apple's own layout, tabs included, UTF-8. Null cannot be carried, nor can a dictionary that would read as a
/// uid. A decimal is an integer or a real where one is the same number, otherwise the string of its digits; an integer
/// beyond 64 bits is an error unless ``WritingOptions/largeIntegers`` says otherwise.
public struct XMLPropertyListFormat: WireFormat {
    /// Creates the format; it has no state.
    public init() {}

    public let name = FormatName.plist
    public let mediaTypesRead = [
        MediaType.plist, MediaType.applePlistXML, MediaType.applePlist, MediaType.plainPlist,
    ]
    public let mediaTypeWritten = MediaType.plist
    public let charsets: Set<String> = XMLEncoding.charsets
    public let traits = FormatTraits(
        null: false, decimal: .text, nonFinite: true, data: true, date: .wholeSeconds, uid: true, allScalars: false)

    public func readTape(_ input: [UInt8], limits: ReadingLimits) throws(WireFormatError) -> Tape {
        try readTape(input, charset: nil, limits: limits)
    }

    public func readTape(
        _ input: [UInt8], charset: String?, limits: ReadingLimits
    ) throws(WireFormatError) -> Tape {
        if charset == nil || charset == "utf-8", XMLPropertyListPrologue.begins(input) {
            var reader = XMLPropertyListReader(behindPrologueOf: input, limits: limits)
            try reader.readDocument(input.span)
            return reader.finish()
        }
        let source = try XMLSource(input, charset: charset)
        var reader = XMLPropertyListReader(source, limits: limits)
        try reader.readDocument(source.bytes.span)
        return reader.finish()
    }

    public func read(_ input: [UInt8], limits: ReadingLimits) throws(WireFormatError) -> WireValue {
        if let plain = PlainPropertyListTree.read(input, limits: limits) { return plain }
        return try readTape(input, limits: limits).value()
    }

    public func write(
        _ value: WireValue, options: WritingOptions, to output: inout OutputBuffer
    ) throws(WireFormatError) {
        try XMLPropertyListEmitter.write(value, options: options, to: &output)
    }

    public func write(_ tape: Tape, options: WritingOptions, to output: inout OutputBuffer) throws(WireFormatError) {
        try XMLPropertyListEmitter.write(tape, options: options, to: &output)
    }

    public func makeStreamWriter(options: WritingOptions) -> any StreamWriter {
        EmitterStreamWriter<XMLPropertyListEmitter>(options: options)
    }
}

/// Writes an XML property list in Apple's layout: one element a line, tabs, the root's value not indented.
struct XMLPropertyListEmitter: ValueEmitter {
    static let carriesNull = false
    let truncatesFractions: Bool
    private let largeIntegers: WritingOptions.LargeIntegerPolicy
    private var depth = 0
    var indentation: Int { depth }
    /// A start tag waits for its first member: an empty container is one tag.
    private var pending: ContainerKind?
    private var watch = UIDWatch.none

    /// A uid was written itself.
    mutating func trustDictionary() { watch = .none }

    /// How far the current dictionary looks like one that reads as a uid.
    private enum UIDWatch { case none, begun, key, integer }

    init(options: WritingOptions) {
        truncatesFractions = options.dateFractions == .truncate
        largeIntegers = options.largeIntegers
    }

    mutating func start(_ output: inout OutputBuffer) {
        output.append(XMLPropertyListPrologue.text)
    }

    mutating func finish(_ output: inout OutputBuffer) { output.append("</plist>\n") }

    mutating func begin(_ container: ContainerKind, count: Int?, to output: inout OutputBuffer) {
        enter(&output)
        pending = container
        watch = container == .dictionary ? .begun : .none
    }

    mutating func end(_ container: ContainerKind, to output: inout OutputBuffer) throws(WireFormatError) {
        guard watch != .integer else {
            throw WireFormatError(.notRepresentable, "a dictionary with the one key CF$UID would read as a uid")
        }
        watch = .none
        if pending != nil {
            pending = nil
            output.append(container == .array ? "<array/>\n" : "<dict/>\n")
            return
        }
        depth -= 1
        output.appendTabs(depth)
        output.append(container == .array ? "</array>\n" : "</dict>\n")
    }

    mutating func key(_ text: UnsafeBufferPointer<UInt8>, to output: inout OutputBuffer) throws(WireFormatError) {
        let isFirst = watch == .begun
        enter(&output)
        watch = isFirst && text.elementsEqual("CF$UID".utf8) ? .key : .none
        output.appendShort(0x3E_7965_6B3C, 5)  // <key>
        try output.appendXML(text, .text)
        output.appendShort(0x0A_3E79_656B_2F3C, 7)  // </key>\n
    }

    /// What stands before an element: the waiting start tag and the indentation.
    @inline(__always)
    mutating func enter(_ output: inout OutputBuffer) {
        if let opened = pending {
            pending = nil
            depth += 1
            output.append(opened == .array ? "<array>\n" : "<dict>\n")
        }
        watch = .none
        output.appendTabs(depth)
    }
}

extension XMLPropertyListEmitter {
    mutating func null(to output: inout OutputBuffer) throws(WireFormatError) { throw .nullNotRepresentable }

    mutating func bool(_ flag: Bool, to output: inout OutputBuffer) {
        enter(&output)
        output.append(flag ? "<true/>\n" : "<false/>\n")
    }

    mutating func int64(_ number: Int64, to output: inout OutputBuffer) {
        let followsKey = watch == .key
        enter(&output)
        if followsKey, number >= 0 { watch = .integer }
        output.append("<integer>")
        output.appendDecimal(number)
        output.append("</integer>\n")
    }

    mutating func uint64(_ number: UInt64, to output: inout OutputBuffer) {
        let followsKey = watch == .key
        enter(&output)
        if followsKey { watch = .integer }
        output.append("<integer>")
        output.appendDecimal(number)
        output.append("</integer>\n")
    }

    mutating func double(_ number: Double, to output: inout OutputBuffer) {
        enter(&output)
        output.append("<real>")
        if number.isFinite {
            output.append(utf8: number.description)
        } else {
            output.append(number.isNaN ? "nan" : number < 0 ? "-infinity" : "+infinity")
        }
        output.append("</real>\n")
    }

    mutating func decimal(_ number: WireDecimal, to output: inout OutputBuffer) throws(WireFormatError) {
        switch try PropertyListNumber(number, largeIntegers: largeIntegers) {
        case .int64(let number): int64(number, to: &output)
        case .uint64(let number): uint64(number, to: &output)
        case .double(let number): double(number, to: &output)
        case .text(let digits):
            enter(&output)
            output.append("<string>")
            output.append(utf8: digits)
            output.append("</string>\n")
        }
    }

    mutating func string(_ text: UnsafeBufferPointer<UInt8>, to output: inout OutputBuffer) throws(WireFormatError) {
        enter(&output)
        output.appendShort(0x3E67_6E69_7274_733C, 8)  // <string>
        try output.appendXML(text, .text)
        output.appendShort(0x676E_6972_7473_2F3C, 8)  // </string
        output.appendShort(0x0A3E, 2)  // >\n
    }
}

extension XMLPropertyListEmitter {
    private static let dataLineWidth = 76

    mutating func data(_ bytes: UnsafeBufferPointer<UInt8>, to output: inout OutputBuffer) {
        enter(&output)
        output.append("<data>\n")
        // Whole groups of four a line, as many as fit behind the tabs, which count eight columns.
        let groups = max(Self.dataLineWidth - 8 * indentation, 4) / 4
        var rest = bytes[...]
        while !rest.isEmpty {
            output.appendTabs(indentation)
            output.append(Base64.encode(rest.prefix(groups * 3)))
            output.append(0x0A)
            rest = rest.dropFirst(groups * 3)
        }
        output.appendTabs(indentation)
        output.append("</data>\n")
    }

    mutating func date(_ instant: WireDate, to output: inout OutputBuffer) throws(WireFormatError) {
        enter(&output)
        guard instant.isInCalendar,
            let civil = CivilTime(secondsSinceReferenceDate: instant.wholeSecondsSinceReferenceDate)
        else { throw WireFormatError(.notRepresentable, "a date outside of the years 0 to 9999 has no text form") }
        guard truncatesFractions || instant.fraction.isEmpty else {
            throw WireFormatError(.notRepresentable, "an XML property list carries dates in whole seconds only")
        }
        output.append("<date>")
        output.append(civil)
        output.append("Z</date>\n")
    }

    mutating func uid(_ number: UInt64, to output: inout OutputBuffer) throws(WireFormatError) {
        begin(.dictionary, count: 1, to: &output)
        enter(&output)
        output.append("<key>CF$UID</key>\n")
        uint64(number, to: &output)
        trustDictionary()
        try end(.dictionary, to: &output)
    }
}

extension OutputBuffer {
    @inline(__always)
    mutating func appendTabs(_ count: Int) {
        var rest = count
        while rest > 0 {
            appendShort(0x0909_0909_0909_0909, min(rest, 8))
            rest -= 8
        }
    }

    /// The first `count` of the eight bytes, the lowest first. For the few tags that are written all the time: a
    /// `StaticString` costs a call.
    @inline(__always)
    mutating func appendShort(_ bytes: UInt64, _ count: Int) {
        reserve(8)
        UnsafeMutableRawPointer(base + used).storeBytes(of: bytes.littleEndian, as: UInt64.self)
        used &+= count
    }
}
