/// From the elements to the tape. Recursion is bounded by the depth that the scanner allows.
extension UntypedXMLReader {
    mutating func emitRoot(_ root: XMLFormat.UntypedRoot, _ text: Span<UInt8>) throws(WireFormatError) {
        guard root == .named else { return try emitElement(0, text) }
        try emitAlone(0, text)
    }

    /// An element as a dictionary of one member.
    private mutating func emitAlone(_ index: Int, _ text: Span<UInt8>) throws(WireFormatError) {
        let offset = nodes[index].offset
        try builder.begin(.dictionary, at: offset)
        try builder.key(nodes[index].token, at: offset)
        try emitElement(index, text)
        try builder.end(at: offset)
    }

    private mutating func emitElement(_ index: Int, _ text: Span<UInt8>) throws(WireFormatError) {
        let node = nodes[index]
        let content = survey(node)
        if node.attributes.isEmpty, content.elements == 0 {
            let token = content.firstText.map { nodes[$0].token } ?? TapeToken(.string, offset: 0, length: 0)
            return try builder.bytes(token, at: node.offset)
        }
        try builder.begin(.dictionary, at: node.offset)
        try emitAttributes(node)
        if content.elements == 0 {
            if let only = content.firstText { try emitText(nodes[only].token, at: node.offset) }
        } else if content.isMixed || !runsAreDistinct(node, text) {
            try emitOrdered(node, text)
        } else {
            try emitRuns(node, text)
        }
        try builder.end(at: node.offset)
    }

    private func survey(_ node: Node) -> (elements: Int, firstText: Int?, isMixed: Bool) {
        var (elements, firstText, isMixed) = (0, Int?.none, false)
        var child = node.firstChild
        while child >= 0 {
            if nodes[child].isElement { elements += 1 } else { firstText = firstText ?? child }
            isMixed = isMixed || nodes[child].isSignificant
            child = nodes[child].next
        }
        return (elements, firstText, isMixed)
    }

    private mutating func emitAttributes(_ node: Node) throws(WireFormatError) {
        for index in node.attributes {
            try builder.key(attributes[index].key, at: node.offset)
            try builder.bytes(attributes[index].value, at: node.offset)
        }
    }

    private mutating func emitText(_ token: TapeToken, at offset: Int) throws(WireFormatError) {
        try builder.key(builder.aside(.key, CollectionOfOne(UInt8(ascii: "$"))), at: offset)
        try builder.bytes(token, at: offset)
    }

    /// Texts and elements in their order.
    private mutating func emitOrdered(_ node: Node, _ text: Span<UInt8>) throws(WireFormatError) {
        try builder.key(builder.aside(.key, CollectionOfOne(UInt8(ascii: "$"))), at: node.offset)
        try builder.begin(.array, at: node.offset)
        let keepsText = survey(node).isMixed
        var child = node.firstChild
        while child >= 0 {
            if nodes[child].isElement {
                try emitAlone(child, text)
            } else if keepsText {
                try builder.bytes(nodes[child].token, at: nodes[child].offset)
            }
            child = nodes[child].next
        }
        try builder.end(at: node.offset)
    }

    /// Elements by name, several of one name as an array.
    private mutating func emitRuns(_ node: Node, _ text: Span<UInt8>) throws(WireFormatError) {
        var first = nextElement(node.firstChild)
        while first >= 0 {
            try builder.key(nodes[first].token, at: nodes[first].offset)
            var next = nextElement(nodes[first].next)
            guard next >= 0, hasSameName(first, next, text) else {
                try emitElement(first, text)
                first = next
                continue
            }
            try builder.begin(.array, at: nodes[first].offset)
            try emitElement(first, text)
            while next >= 0, hasSameName(first, next, text) {
                try emitElement(next, text)
                next = nextElement(nodes[next].next)
            }
            try builder.end(at: nodes[first].offset)
            first = next
        }
    }
}

extension UntypedXMLReader {
    /// The element at `index` or the first one behind it.
    private func nextElement(_ index: Int) -> Int {
        var index = index
        while index >= 0, !nodes[index].isElement { index = nodes[index].next }
        return index
    }

    /// Whether elements of one name stand behind each other everywhere.
    private func runsAreDistinct(_ node: Node, _ text: Span<UInt8>) -> Bool {
        var seen: Set<[UInt8]> = []
        var (previous, index) = (-1, nextElement(node.firstChild))
        while index >= 0 {
            if previous < 0 || !hasSameName(previous, index, text) {
                guard seen.insert(name(index, text)).inserted else { return false }
            }
            previous = index
            index = nextElement(nodes[index].next)
        }
        return true
    }

    private func hasSameName(_ left: Int, _ right: Int, _ text: Span<UInt8>) -> Bool {
        let (a, b) = (nodes[left].token, nodes[right].token)
        guard a.length == b.length, a.storage == b.storage else { return false }
        for index in 0..<a.length where byte(a, index, text) != byte(b, index, text) { return false }
        return true
    }

    private func byte(_ token: TapeToken, _ index: Int, _ text: Span<UInt8>) -> UInt8 {
        token.storage == .side ? builder.side[token.offset + index] : text[token.offset + index]
    }

    private func name(_ index: Int, _ text: Span<UInt8>) -> [UInt8] {
        let token = nodes[index].token
        return (0..<token.length).map { byte(token, $0, text) }
    }
}
