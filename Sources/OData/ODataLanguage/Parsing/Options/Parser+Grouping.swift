/// `groupby`, `rollup` and the hierarchies of `$apply`.
extension Parser {
    mutating func groupBy() throws(Mismatch) -> Transformation {
        try expect("(")
        skipSpace()
        let elements = try commaSeparated { parser throws(Mismatch) in try parser.groupingElement() }
        try close()
        let then = skipComma() ? try transformations() : []
        return .groupBy(elements, then: then)
    }

    private mutating func groupingElement() throws(Mismatch) -> GroupingElement {
        if skip(word: "rolluprecursive(", ignoringCase: false) {
            skipSpace()
            let reference = try hierarchyReference()
            let steps = skipComma() ? try transformations() : []
            try close()
            return .rollupRecursive(reference, steps)
        }
        if skip(word: "rollup(", ignoringCase: false) {
            skipSpace()
            let paths = try commaSeparated { parser throws(Mismatch) in try parser.namePath(endingInType: false) }
            try close()
            return .rollup(paths)
        }
        return .property(try namePath(endingInType: false))
    }

    /// `recHierReference`: nodes, qualifier and the property that names a node.
    mutating func hierarchyReference() throws(Mismatch) -> HierarchyReference {
        guard peek() == UInt8(ascii: "$") else { throw mismatch("`$root/`") }
        let root = try memberPath()
        try comma()
        let qualifier = try identifier()
        try comma()
        return HierarchyReference(root: root, qualifier: qualifier, nodeProperty: try namePath())
    }

    mutating func hierarchyStep(_ word: String) throws(Mismatch) -> HierarchyStep {
        let reference = try hierarchyReference()
        if word == "traverse" { return try traversal(reference) }
        try comma()
        var steps = [try transformations()]
        var distance: String?
        var keepStart = false
        while skipComma() {
            if distance == nil, !keepStart, let number = try attempt({ parser throws(Mismatch) in try parser.digits() })
            {
                distance = number
            } else if !keepStart, skip(word: "keep start", ignoringCase: false) {
                keepStart = true
            } else if steps.count == 1, distance == nil, !keepStart {
                steps.append(try transformations())
            } else {
                throw mismatch("`)`")
            }
        }
        return word == "ancestors"
            ? .ancestors(reference, steps, distance: distance, keepStart: keepStart)
            : .descendants(reference, steps, distance: distance, keepStart: keepStart)
    }

    private mutating func traversal(_ reference: HierarchyReference) throws(Mismatch) -> HierarchyStep {
        try comma()
        let postorder = skip(word: "postorder", ignoringCase: false)
        if !postorder { try expect(word: "preorder", ignoringCase: false) }
        var start: [Transformation] = []
        var order: [OrderItem] = []
        if skipComma() {
            start = try attempt { parser throws(Mismatch) in try parser.transformations() } ?? []
            if start.isEmpty { order = try orderItems() } else if skipComma() { order = try orderItems() }
        }
        return .traverse(reference, postorder: postorder, start: start, order: order)
    }
}
