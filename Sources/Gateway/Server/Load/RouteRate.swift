/// `limits.routes`: how often one caller may ask for a path and what is below it.
public struct RouteRate: Sendable, Equatable {
    /// Such as `/auth/login`.
    public let path: String
    public let requestsPerMinute: Int

    public init(path: String, requestsPerMinute: Int) {
        self.path = path
        self.requestsPerMinute = requestsPerMinute
    }

    func covers(_ asked: String) -> Bool {
        asked.hasPrefix(path)
            && (asked.utf8.count == path.utf8.count || path.hasSuffix("/") || asked.utf8.isSlash(at: path))
    }
}

extension String.UTF8View {
    fileprivate func isSlash(at prefix: String) -> Bool {
        self[index(startIndex, offsetBy: prefix.utf8.count)] == UInt8(ascii: "/")
    }
}
