/// `odataUri`: an absolute URL. Sections 1 and A of the ABNF.
extension Parser {
    /// Where the service's root ends is the server's to know; here it is the shortest that leaves a request behind it.
    mutating func absoluteURL() throws(Mismatch) -> RequestTarget {
        try scheme()
        try expect(word: "://")
        try host()
        if skip(":") { _ = try attempt { parser throws(Mismatch) in try parser.digits() } }
        try expectRaw("/")
        return try targetBehindRoot()
    }

    private mutating func targetBehindRoot() throws(Mismatch) -> RequestTarget {
        while !isAtEnd {
            if let target = try attempt({ parser throws(Mismatch) in
                let target = try parser.requestTarget()
                guard parser.isAtEnd else { throw parser.mismatch("the end") }
                return target
            }) {
                return target
            }
            try rootSegment()
        }
        return RequestTarget(.service, options: [])
    }

    private mutating func rootSegment() throws(Mismatch) {
        let start = at
        while let character = current, !character.isRaw(UInt8(ascii: "/")) {
            guard character.isEncoded || (character.byte > 0x20 && !"?#".utf8.contains(character.byte)) else {
                throw mismatch("`/`")
            }
            at += 1
        }
        guard at > start else { throw mismatch("a segment") }
        try expectRaw("/")
    }

    private mutating func scheme() throws(Mismatch) {
        if !skip(word: "https") { try expect(word: "http") }
    }

    private mutating func host() throws(Mismatch) {
        if skip("[") { return try bracketedHost() }
        let start = at
        while let character = current, character.isEncoded || character.byte.isRegisteredName { at += 1 }
        guard at > start else { throw mismatch("a host") }
    }

    private mutating func bracketedHost() throws(Mismatch) {
        let start = at
        if skip("v") || skip("V") {
            while peek()?.hexDigit != nil { at += 1 }
            try expect(".")
            while let byte = peek(), byte.isRegisteredName || byte == UInt8(ascii: ":") { at += 1 }
        } else {
            while let byte = peek(), byte.hexDigit != nil || ":.".utf8.contains(byte) { at += 1 }
            guard IPv6Text(text(start, at) ?? "").isValid else { throw mismatch("an IPv6 address") }
        }
        try expect("]")
    }
}

extension UInt8 {
    /// RFC 3986, `reg-name` without encodings.
    fileprivate var isRegisteredName: Bool { isUnreserved || "!$&'()*+,;=".utf8.contains(self) }
}

/// An IPv6 address as RFC 3986 writes it: eight groups, or fewer with one `::`; the last two may be dotted decimals.
private struct IPv6Text {
    let text: String

    init(_ text: String) { self.text = text }

    var isValid: Bool {
        let halves = text.components(around: "::")
        guard halves.count <= 2 else { return false }
        let groups = halves.map { $0.isEmpty ? [] : $0.split(separator: ":", omittingEmptySubsequences: false) }
        var count = 0
        for (half, parts) in groups.enumerated() {
            for (index, part) in parts.enumerated() {
                let isLast = half == groups.count - 1 && index == parts.count - 1
                if isLast, part.contains(".") {
                    guard Self.isDotted(part) else { return false }
                    count += 2
                } else {
                    guard (1...4).contains(part.utf8.count), part.utf8.allSatisfy({ $0.hexDigit != nil }) else {
                        return false
                    }
                    count += 1
                }
            }
        }
        return halves.count == 2 ? count < 8 : count == 8
    }

    private static func isDotted(_ text: Substring) -> Bool {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        // Cannot trap: a text, nil where it is no number.
        return parts.count == 4 && parts.allSatisfy { UInt8($0) != nil && ($0.count == 1 || !$0.hasPrefix("0")) }
    }
}

extension String {
    fileprivate func components(around separator: String) -> [Substring] {
        var parts: [Substring] = []
        var rest = self[...]
        while let found = rest.firstRange(of: separator) {
            parts.append(rest[..<found.lowerBound])
            rest = rest[found.upperBound...]
        }
        return parts + [rest]
    }
}
