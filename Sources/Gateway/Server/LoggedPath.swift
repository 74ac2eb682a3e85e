/// What of a request's target stands in the log: the path up to where people put secrets. That is the query, path
/// parameters (RFC 3986, section 3.3), and what somebody made of either by encoding it once too often.
enum LoggedPath {
    static func text(_ target: String) -> String {
        let bytes = target.utf8
        guard bytes.contains(where: isSuspect) else { return target }
        let end = bytes.indices.first { isEnd(bytes[$0...]) }
        return end.map { String(target[..<$0]) } ?? target
    }

    /// What an end begins with.
    private static func isSuspect(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "?") || byte == UInt8(ascii: ";") || byte == UInt8(ascii: "%")
    }

    private static func isEnd(_ rest: Substring.UTF8View) -> Bool {
        switch rest.first {
        case UInt8(ascii: "?"), UInt8(ascii: ";"): true
        case UInt8(ascii: "%"): ["%3f", "%3b"].contains(Substring(rest.prefix(3)).lowercased())
        default: false
        }
    }
}
