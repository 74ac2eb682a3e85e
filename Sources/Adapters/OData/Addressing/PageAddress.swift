import ODataLanguage

/// An address as our own links to further pages are written: the question, and behind it the place at which it goes on.
struct PageAddress {
    let question: String
    let token: String?

    private static let option = "&$skiptoken="

    /// What is written in any other way is a question as a whole.
    init(_ text: String) {
        let bytes = text.utf8
        var start = bytes.endIndex
        while start > bytes.startIndex, Self.isOfToken(bytes[bytes.index(before: start)]) {
            start = bytes.index(before: start)
        }
        // A plus may be a space, which depends on what stands around it.
        guard start < bytes.endIndex, text[..<start].hasSuffix(Self.option), !bytes.contains(UInt8(ascii: "+")) else {
            (question, token) = (text, nil)
            return
        }
        question = String(text[..<start].dropLast(Self.option.count))
        token = String(text[start...])
    }

    /// Those of base64url, which mean themselves.
    private static func isOfToken(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
            true
        default: false
        }
    }

    /// What the whole address asks for, of what its question does.
    func target(_ target: RequestTarget) -> RequestTarget {
        guard let token else { return target }
        let start = question.utf8.count + 1
        let (name, end) = (start + Self.option.utf8.count - 2, start + Self.option.utf8.count - 1 + token.utf8.count)
        let option = QueryOption(
            .skipToken(token), nameRange: SourceRange(start, name), range: SourceRange(start, end))
        return RequestTarget(target.resource, options: target.options + [option])
    }
}
