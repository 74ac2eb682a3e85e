/// What one request may ask to be parsed and bound.
public struct LanguageLimits: Sendable, Hashable {
    /// UTF-8 bytes of path and query together.
    public var length: Int
    /// Expressions, options and paths inside one another.
    public var depth: Int
    /// Operators, calls, literals and path segments of all options together.
    public var nodes: Int
    /// Members to the right of one `in`.
    public var listMembers: Int
    /// `$expand` inside `$expand`, `$levels` counted.
    public var expandDepth: Int

    public init(
        length: Int = 32_768, depth: Int = 100, nodes: Int = 4_000, listMembers: Int = 1_000, expandDepth: Int = 8
    ) {
        self.length = length
        self.depth = depth
        self.nodes = nodes
        self.listMembers = listMembers
        self.expandDepth = expandDepth
    }
}
