import ODataLanguage

/// An address as our own links to further pages are written: the question, and behind it the place at which it goes on,
/// behind that perhaps the one from which changes are followed.
struct PageAddress {
    let cachedQuery: String
    private let options: [QueryOption]

    /// What is written in any other way is a question as a whole. `changes`: what the option is called that says since when.
    init(_ text: String, changes: String) {
        // A plus may be a space, which depends on what stands around it.
        let tail = text.utf8.contains(UInt8(ascii: "+")) ? nil : Self.tail(of: text[...], changes)
        cachedQuery = tail.map { String($0.cachedQuery) } ?? text
        options = tail?.options ?? []
    }

    var isOfPage: Bool { !options.isEmpty }

    /// What the whole address asks for, of what its question does.
    func target(_ target: RequestTarget) -> RequestTarget {
        isOfPage ? RequestTarget(target.resource, options: target.options + options) : target
    }

    private static func tail(
        of text: Substring, _ changes: String
    ) -> (cachedQuery: Substring, options: [QueryOption])? {
        let start = tokenStart(in: text)
        if let page = option("$skiptoken", of: text, start, QueryOption.Form.skipToken) {
            return (page.before, [page.option])
        }
        guard let changes = option(changes, of: text, start, QueryOption.Form.deltaToken) else { return nil }
        let page = option(
            "$skiptoken", of: changes.before, tokenStart(in: changes.before), QueryOption.Form.skipToken)
        return page.map { ($0.before, [$0.option, changes.option]) }
    }

    /// The option that ends with the text, and what is before it.
    private static func option(
        _ name: String, of text: Substring, _ start: Substring.Index, _ form: (String) -> QueryOption.Form
    ) -> (before: Substring, option: QueryOption)? {
        let (mark, written) = ("&\(name)=", text.utf8[..<start])
        guard start < text.endIndex, written.suffix(mark.utf8.count).elementsEqual(mark.utf8) else { return nil }
        let before = Substring(written.dropLast(mark.utf8.count))
        let (first, end) = (before.utf8.count + 1, text.utf8.count)
        let range = SourceRange(first, end)
        return (
            before,
            QueryOption(
                form(String(text[start...])), nameRange: SourceRange(first, first + name.utf8.count), range: range)
        )
    }

    /// Where what may be a token begins that ends with the text.
    private static func tokenStart(in text: Substring) -> Substring.Index {
        let bytes = text.utf8
        var start = bytes.endIndex
        while start > bytes.startIndex, isOfToken(bytes[bytes.index(before: start)]) {
            start = bytes.index(before: start)
        }
        return start
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
}
