/// A request's address below the root without the tokens that pages and changes put into it.
struct PlainAddress: Sendable {
    let path: String
    /// As they came.
    let options: [String]
    let text: String

    init(_ relative: String) {
        let parts = relative.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        path = parts.first ?? ""
        options = (parts.count > 1 ? parts[1] : "").split(separator: "&").map(String.init).filter { option in
            !["skiptoken", "deltatoken"].contains(Self.name(option))
        }
        text = Self.text(path, options)
    }

    func adding(_ more: [String]) -> String { Self.text(path, options + more) }

    private static func text(_ path: String, _ options: [String]) -> String {
        options.isEmpty ? path : "\(path)?\(options.joined(separator: "&"))"
    }

    /// Without its sign: `%24filter` and `filter` are `$filter`.
    static func name(_ option: String) -> String {
        var name = option.prefix { $0 != "=" }.lowercased()
        // Cannot trap: it begins with that.
        for sign in ["$", "%24", "!", "%21"] where name.hasPrefix(sign) { name.removeFirst(sign.count) }
        return name
    }
}
