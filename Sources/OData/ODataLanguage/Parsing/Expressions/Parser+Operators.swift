/// `commonExpr`: operators by their precedence, section 4 of the ABNF and section 5.1.1.17 of the URL Conventions.
extension Parser {
    private static let tightest = 7  // signs and `not`; `has` and `in` bind tighter still

    mutating func expression() throws(Mismatch) -> Expression {
        try nested { parser throws(Mismatch) in try parser.expression(atLeast: 1) }
    }

    private mutating func expression(atLeast precedence: Int) throws(Mismatch) -> Expression {
        try row { parser throws(Mismatch) in
            let start = parser.at
            return try parser.joined(try parser.unary(), atLeast: precedence, from: start)
        }
    }

    private mutating func operand(of found: BinaryOperator) throws(Mismatch) -> Expression {
        if found == .isIn, let list = try attempt({ parser throws(Mismatch) in try parser.list() }) { return list }
        return try nested { parser throws(Mismatch) in try parser.expression(atLeast: found.precedence + 1) }
    }

    /// An operator between spaces that binds tightly enough; nothing is consumed otherwise.
    private mutating func binaryOperator(atLeast precedence: Int) throws(Mismatch) -> BinaryOperator? {
        guard let next = peek(), next.isSpace else { return nil }
        let start = at
        skipSpace()
        let word = at
        while let byte = peek(), byte.isLetter { at += 1 }
        let name = source.characters[word..<at].map {
            Character(Unicode.Scalar(isVersion2 ? $0.byte : $0.byte.lowercased))
        }
        guard let found = BinaryOperator(rawValue: String(name)), !isVersion2 || found.isInVersion2 else {
            note("an operator", at: word)
            at = start
            return nil
        }
        guard found.precedence >= precedence else {
            at = start
            return nil
        }
        try expectSpace()
        try countNode()
        return found
    }

    /// `notExpr`, `negateExpr`, or what neither precedes.
    private mutating func unary() throws(Mismatch) -> Expression {
        let start = at
        if let denied = try denial(start) { return denied }
        guard peek() == UInt8(ascii: "-") else { return try expressionOfMembers() }
        if let literal = try attempt({ parser throws(Mismatch) in try parser.literal() }) {
            return try tight(Expression(.literal(literal), range(from: start)), from: start)
        }
        at += 1
        skipSpace()
        let operand = try nested { parser throws(Mismatch) in try parser.unary() }
        return Expression(.negated(operand), range(from: start))
    }

    private mutating func denial(_ start: Int) throws(Mismatch) -> Expression? {
        guard skip(word: "not"), let next = peek(), next.isSpace || next == UInt8(ascii: "(") else {
            at = start
            return nil
        }
        skipSpace()
        let operand = try nested { parser throws(Mismatch) in try parser.unary() }
        return Expression(.not(operand), range(from: start))
    }

    /// A primary expression and the `has` and `in` behind it, which bind tighter than a sign before it.
    private mutating func expressionOfMembers() throws(Mismatch) -> Expression {
        let start = at
        return try tight(try primary(), from: start)
    }

    private mutating func tight(_ first: Expression, from start: Int) throws(Mismatch) -> Expression {
        try joined(first, atLeast: Self.tightest + 1, from: start)
    }

    /// Within a ``Parser/row(_:)``.
    private mutating func joined(
        _ first: Expression, atLeast precedence: Int, from start: Int
    ) throws(Mismatch) -> Expression {
        var left = first
        while let found = try binaryOperator(atLeast: precedence) {
            let right = try operand(of: found)
            try lean()
            left = Expression(.binary(found, left, right), range(from: start))
        }
        return left
    }

    /// `listExpr`: literals in parentheses, or none.
    private mutating func list() throws(Mismatch) -> Expression {
        let start = at
        try expect("(")
        skipSpace()
        var items: [Expression] = []
        if skip(")") { return Expression(.list(items), range(from: start)) }
        repeat {
            guard items.count < limits.listMembers else { throw exceeded("at most \(limits.listMembers) members") }
            items.append(try literalExpression())
        } while skipComma()
        try close()
        return Expression(.list(items), range(from: start))
    }

    mutating func literalExpression() throws(Mismatch) -> Expression {
        let start = at
        return Expression(.literal(try literal()), range(from: start))
    }
}
