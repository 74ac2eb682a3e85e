import ValueTree

/// A record's fields: a tree, or what somebody has read of a message and makes a tree of when it is asked for.
public struct RecordFields: Sendable {
    private enum Form {
        case tree(WireDictionary)
        case written(any WrittenFields)
    }

    private let form: Form

    public init(_ tree: WireDictionary) { form = .tree(tree) }
    public init(_ written: any WrittenFields) { form = .written(written) }

    /// Made anew each time where they are ``written``.
    public var tree: WireDictionary {
        switch form {
        case .tree(let tree): tree
        case .written(let written): written.tree
        }
    }

    /// Nil where there is a tree.
    public var written: (any WrittenFields)? {
        if case .written(let written) = form { written } else { nil }
    }
}

/// Fields as they lie in a message that was read and found valid.
public protocol WrittenFields: Sendable {
    var tree: WireDictionary { get }
}

extension RecordFields: Equatable {
    public static func == (left: RecordFields, right: RecordFields) -> Bool { left.tree == right.tree }
}

extension RecordFields: ExpressibleByDictionaryLiteral {
    public init(dictionaryLiteral elements: (String, WireValue)...) {
        var tree = WireDictionary()
        for (name, value) in elements { tree[name] = value }
        self.init(tree)
    }
}
