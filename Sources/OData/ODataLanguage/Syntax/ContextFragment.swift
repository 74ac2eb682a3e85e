/// What the fragment of a context URL says, as written: section 3 of the ABNF.
public struct ContextFragment: Sendable, Hashable {
    /// A set or singleton, then casts and properties; keys are not among them. Empty for a type (`#Edm.String`) and for
    /// what has no name (`#$ref`).
    public let path: [Step]
    /// What is told of each, where that is said.
    public let selection: [Item]?
    /// `$entity`, `$delta`, …
    public let kind: String?

    public init(path: [Step] = [], selection: [Item]? = nil, kind: String? = nil) {
        self.path = path
        self.selection = selection
        self.kind = kind
    }

    /// One name of a path.
    public struct Step: Sendable, Hashable {
        public let name: WrittenName
        public let range: SourceRange

        public init(_ name: WrittenName, _ range: SourceRange) {
            self.name = name
            self.range = range
        }
    }

    /// One item of what is selected: a path, and what is told of what it leads to. Annotations and stars have no path.
    public struct Item: Sendable, Hashable {
        public let path: [Step]
        public let selection: [Item]?

        public init(_ path: [Step], selection: [Item]? = nil) {
            self.path = path
            self.selection = selection
        }
    }
}
