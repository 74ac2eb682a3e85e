/// What pieces of a document mean, once their references and line ends are resolved. The pieces were checked by the
/// scanner.
public enum XMLText {
    /// Character data: references resolved, line ends as LF (XML 1.0, section 2.11).
    public static func append(_ content: XMLContent, _ text: Span<UInt8>, to output: inout [UInt8]) {
        guard content.resolving != .none else { return append(content.range, text, to: &output) }
        var position = content.range.lowerBound
        while position < content.range.upperBound {
            switch text[position] {
            case UInt8(ascii: "&") where content.resolving == .references:
                position += appendReference(text, position, to: &output)
            case 0x0D:
                output.append(0x0A)
                position += lineEndLength(text, position)
            default: position = appendPlain(text, position, content.range.upperBound, to: &output)
            }
        }
    }

    /// An attribute's value: the same, and white space as itself becomes spaces (section 3.3.3).
    public static func attributeValue(_ content: XMLContent, _ text: Span<UInt8>) -> [UInt8] {
        var output: [UInt8] = []
        output.reserveCapacity(content.range.count)
        guard content.resolving != .none else {
            append(content.range, text, to: &output)
            return output
        }
        var position = content.range.lowerBound
        while position < content.range.upperBound {
            switch text[position] {
            case UInt8(ascii: "&"): position += appendReference(text, position, to: &output)
            case 0x09, 0x0A, 0x0D:
                output.append(0x20)
                position += lineEndLength(text, position)
            default: position = appendPlain(text, position, content.range.upperBound, to: &output)
            }
        }
        return output
    }

    /// Whether a piece of character data is white space that is written as itself.
    static func isSpace(_ content: XMLContent, _ text: Span<UInt8>) -> Bool {
        for index in content.range where !XMLCharacters.isSpace(text[index]) { return false }
        return true
    }

    private static func append(_ range: Range<Int>, _ text: Span<UInt8>, to output: inout [UInt8]) {
        text.extracting(range).withUnsafeBufferPointer { output.append(contentsOf: $0) }
    }

    private static func lineEndLength(_ text: Span<UInt8>, _ position: Int) -> Int {
        text[position] == 0x0D && position + 1 < text.count && text[position + 1] == 0x0A ? 2 : 1
    }

    private static func appendPlain(
        _ text: Span<UInt8>, _ start: Int, _ end: Int, to output: inout [UInt8]
    ) -> Int {
        var position = start
        while position < end, text[position] >= 0x20, text[position] != UInt8(ascii: "&") { position &+= 1 }
        // A tab, a line feed or the `&` of a CDATA section stands for itself.
        if position == start { position += 1 }
        append(start..<position, text, to: &output)
        return position
    }

    private static func appendReference(_ text: Span<UInt8>, _ position: Int, to output: inout [UInt8]) -> Int {
        guard let reference = XMLReference(text, at: position), let scalar = Unicode.Scalar(reference.scalar) else {
            preconditionFailure("the scanner checked the reference")
        }
        if reference.scalar < 0x80 {
            output.append(UInt8(reference.scalar))
        } else {
            output.append(contentsOf: UTF8.encode(scalar)!)
        }
        return reference.length
    }
}
