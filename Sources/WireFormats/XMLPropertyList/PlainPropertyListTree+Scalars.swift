import ValueTree

extension PlainPropertyListTree {
    @inline(__always)
    static func string(_ text: Span<UInt8>, _ range: Range<Int>) -> String {
        text.extracting(range).withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
    }

    @inline(__always)
    mutating func string(_ text: Span<UInt8>) -> String? {
        let start = position &+ PlainTag.string.count
        let end = SWAR.skipXMLText(text, from: start)
        guard PlainScalars.isStringEnd(text, end) else { return wideString(text, start) }
        position = end &+ 9
        return spends(end &- start) ? Self.string(text, start..<end) : nil
    }

    /// With references or characters beyond ASCII, which the scanner checks.
    @inline(never)
    private mutating func wideString(_ text: Span<UInt8>, _ start: Int) -> String? {
        scanner.position = start
        guard (try? scanner.readText(text)) != nil else { return nil }
        let content = scanner.content
        guard PlainScalars.isStringEnd(text, content.range.upperBound) else { return nil }
        position = content.range.upperBound &+ 9
        if content.resolving == .none {
            return spends(content.range.count) ? Self.string(text, content.range) : nil
        }
        var resolved: [UInt8] = []
        XMLText.append(content, text, to: &resolved)
        return spends(resolved.count) ? String(decoding: resolved, as: UTF8.self) : nil
    }

    @inline(__always)
    mutating func integer(_ text: Span<UInt8>) -> WireValue? {
        guard let (number, end) = PlainScalars.integer(text, position) else { return nil }
        position = end
        return .int64(number)
    }

    mutating func scalar(_ text: Span<UInt8>, _ word: UInt64) -> WireValue? {
        if PlainTag.date.starts(word) {
            guard let seconds = PlainScalars.date(text, position) else { return nil }
            position &+= PlainScalars.dateLength
            return .date(WireDate(secondsSinceReferenceDate: seconds))
        }
        if PlainTag.true.starts(word) {
            position &+= PlainTag.true.count
            return .bool(true)
        }
        if PlainTag.false.starts(word) {
            position &+= PlainTag.false.count
            return .bool(false)
        }
        if PlainTag.real.starts(word) { return real(text) }
        return PlainTag.data.starts(word) ? data(text) : nil
    }

    private mutating func real(_ text: Span<UInt8>) -> WireValue? {
        guard let words = content(text, PlainTag.real, PlainTag.realEnd),
            case .double(let number)? = XMLNumbers.Real(words)
        else { return nil }
        return .double(number)
    }

    private mutating func data(_ text: Span<UInt8>) -> WireValue? {
        guard let words = content(text, PlainTag.data, PlainTag.dataEnd),
            let data = Base64.decode(words.filter { !XMLCharacters.isSpace($0) }), spends(data.count)
        else { return nil }
        return .data(data)
    }

    /// Takes an element with plain text only.
    private mutating func content(_ text: Span<UInt8>, _ tag: PlainTag, _ endTag: PlainTag) -> [UInt8]? {
        let start = position &+ tag.count
        var end = SWAR.skipXMLText(text, from: start)
        // The indentation of data.
        while end < text.count, text[end] == 0x09 { end = SWAR.skipXMLText(text, from: end &+ 1) }
        guard endTag.starts(SWAR.word(text, at: end)) else { return nil }
        position = end &+ endTag.count
        return Array(copying: text, start..<end)
    }
}
