extension XMLScanner {
    private static let applePublicIDs = ["-//apple//dtd plist 1.0//en", "-//apple computer//dtd plist 1.0//en"]

    /// Refuses a DOCTYPE, or takes the one of property lists. It is known by its text: what it points to is never read.
    mutating func readDoctype(_ text: Span<UInt8>, hasRoot: Bool) throws(WireFormatError) {
        guard !hasRoot, !hasDoctype else { throw malformed("a DOCTYPE in a wrong place", text) }
        guard doctype == .propertyList, takesUsualDoctype(text) || takesPropertyListDoctype(text) else {
            throw WireFormatError(.refused, "a DOCTYPE is refused", at: .init(offset: eventStart, in: text))
        }
        hasDoctype = true
    }

    /// As Apple's tools and ours write it, taken as one piece: a short property list consists of it to a third.
    private mutating func takesUsualDoctype(_ text: Span<UInt8>) -> Bool {
        let usual: StaticString = """
            <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
            """
        guard follows(usual, text) else { return false }
        position += usual.utf8CodeUnitCount
        return true
    }

    private mutating func takesPropertyListDoctype(_ text: Span<UInt8>) -> Bool {
        position += 9
        guard takesSpace(text), follows("plist", text) else { return false }
        position += 5
        guard takesSpace(text), follows("PUBLIC", text) else { return false }
        position += 6
        guard takesSpace(text), let publicID = takeLiteral(text), Self.isApple(publicID),
            takesSpace(text), takeLiteral(text) != nil
        else { return false }
        skipSpace(text)
        // An internal subset would stand here.
        guard position < text.count, text[position] == UInt8(ascii: ">") else { return false }
        position += 1
        return true
    }

    private static func isApple(_ publicID: [UInt8]) -> Bool {
        let words = publicID.split { XMLCharacters.isSpace($0) }
        let text = words.map { String(decoding: $0, as: UTF8.self) }.joined(separator: " ")
        return applePublicIDs.contains(text.lowercased())
    }

    private mutating func takesSpace(_ text: Span<UInt8>) -> Bool {
        let start = position
        skipSpace(text)
        return position > start
    }

    private mutating func takeLiteral(_ text: Span<UInt8>) -> [UInt8]? {
        guard position < text.count, text[position] == UInt8(ascii: "\"") || text[position] == UInt8(ascii: "'") else {
            return nil
        }
        let quote = text[position]
        let start = position + 1
        position = start
        while position < text.count, text[position] != quote {
            guard XMLCharacters.isPublicID(text[position]) else { return nil }
            position += 1
        }
        guard position < text.count else { return nil }
        position += 1
        return Array(copying: text, start..<position - 1)
    }
}
