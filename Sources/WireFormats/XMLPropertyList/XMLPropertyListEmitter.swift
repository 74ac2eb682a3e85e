import ValueTree

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
