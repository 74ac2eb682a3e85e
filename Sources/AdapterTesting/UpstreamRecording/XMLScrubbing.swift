/// Replaces the content of secret elements and attributes of an XML document, which need not be well-formed: by its tags
/// alone, so that everything else stays as it is to the byte.
struct XMLScrubbing {
    /// Asked for a name in lower case, with its prefix and without.
    let isSecret: (String) -> Bool

    private static let replacement = Array("scrubbed".utf8)

    func scrubbed(_ document: [UInt8]) -> [UInt8] {
        var output: [UInt8] = []
        output.reserveCapacity(document.count)
        var rest = document[...]
        while let start = rest.firstIndex(of: UInt8(ascii: "<")) {
            output += rest[..<start]
            rest = rest[start...]
            guard let end = Self.endOfTag(rest) else { break }
            let tag = rest[...end]
            rest = rest[(end + 1)...]
            let name = Self.name(tag.dropFirst())
            guard !name.isEmpty else {
                output += tag
                continue
            }
            output += scrubbed(tag: tag, name)
            guard tag.dropLast().last != UInt8(ascii: "/"), hasSecretName(name) else { continue }
            // Up to its end tag, or to the end where it has none.
            output += Self.replacement
            rest = Self.afterContent(of: name, rest)
        }
        return output + rest
    }

    private func hasSecretName(_ name: ArraySlice<UInt8>) -> Bool {
        let text = String(decoding: name, as: UTF8.self).lowercased()
        return isSecret(text) || isSecret(text.split(separator: ":").last.map(String.init) ?? text)
    }

    /// With the values of secret attributes replaced.
    private func scrubbed(tag: ArraySlice<UInt8>, _ name: ArraySlice<UInt8>) -> [UInt8] {
        var output = Array(tag.prefix(1 + name.count))
        var rest = tag.dropFirst(1 + name.count)
        while let quote = rest.firstIndex(where: Self.isQuote) {
            guard let end = rest[(quote + 1)...].firstIndex(of: rest[quote]) else { break }
            let before = rest[..<quote]
            let attribute = before.reversed().drop { $0 == UInt8(ascii: "=") || $0 <= 0x20 }.prefix { $0 > 0x20 }
            output += rest[...quote]
            output += hasSecretName(Array(attribute.reversed())[...]) ? Self.replacement[...] : rest[(quote + 1)..<end]
            output.append(rest[end])
            rest = rest[(end + 1)...]
        }
        return output + rest
    }

    /// The last byte of a tag, a comment or a CDATA section; nil: it has no end.
    private static func endOfTag(_ rest: ArraySlice<UInt8>) -> Int? {
        for (begin, end) in [("<!--", "-->"), ("<![CDATA[", "]]>")] where rest.starts(with: begin.utf8) {
            return rest.firstIndex(of: Array(end.utf8)).map { $0 + end.utf8.count - 1 }
        }
        var quote: UInt8?
        for (index, byte) in zip(rest.indices, rest) {
            if let open = quote {
                if byte == open { quote = nil }
            } else if isQuote(byte) {
                quote = byte
            } else if byte == UInt8(ascii: ">") {
                return index
            }
        }
        return nil
    }

    private static func isQuote(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") }

    /// Of a start tag; empty for any other.
    private static func name(_ tag: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        tag.first.map { "/!?".utf8.contains($0) } ?? true ? [] : tag.prefix { $0 > 0x20 && !"/>".utf8.contains($0) }
    }

    /// From the element's end tag on.
    private static func afterContent(of name: ArraySlice<UInt8>, _ rest: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        let tag = Array("</".utf8) + name
        var rest = rest
        while let start = rest.firstIndex(of: tag) {
            let after = rest[(start + tag.count)...]
            if after.first.map({ $0 <= 0x20 || $0 == UInt8(ascii: ">") }) ?? true { return rest[start...] }
            rest = after
        }
        return []
    }
}

extension ArraySlice<UInt8> {
    /// Where a text begins first.
    fileprivate func firstIndex(of text: [UInt8]) -> Int? {
        guard let first = text.first else { return startIndex }
        var rest = self
        while let index = rest.firstIndex(of: first) {
            if rest[index...].starts(with: text) { return index }
            rest = rest[(index + 1)...]
        }
        return nil
    }
}
