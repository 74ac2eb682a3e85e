/// How large a relation may be. A store refuses what is larger before it compiles it.
public struct RelationLimits: Sendable, Equatable {
    /// Expressions, sources and conditions in all.
    public let nodes: Int
    /// Levels within each other.
    public let depth: Int
    /// Values in all, those of lists included.
    public let values: Int
    /// Sources of one relation and its joins.
    public let sources: Int

    public static let standard = RelationLimits(nodes: 4096, depth: 96, values: 16_384, sources: 48)

    /// Significant digits of a quotient of decimals.
    public static let divisionDigits = 38

    public init(nodes: Int, depth: Int, values: Int, sources: Int) {
        self.nodes = nodes
        self.depth = depth
        self.values = values
        self.sources = sources
    }
}
