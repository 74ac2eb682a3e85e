/// What operators stand between, section 4 of the ABNF.
extension Parser {
    mutating func primary() throws(Mismatch) -> Expression {
        try countNode()
        switch peek() {
        case UInt8(ascii: "("): return try parenthesized()
        case UInt8(ascii: "["), UInt8(ascii: "{"), 0x20, 0x09: return try arrayOrObject()
        case UInt8(ascii: "@"), UInt8(ascii: "$"): return try pathExpression()
        default: break
        }
        if let literal = try attempt({ parser throws(Mismatch) in try parser.literalExpression() }) { return literal }
        if let call = try call() { return call }
        return try pathExpression()
    }

    /// `parenExpr`
    private mutating func parenthesized() throws(Mismatch) -> Expression {
        try expect("(")
        skipSpace()
        let inside = try expression()
        try close()
        return inside
    }

    private mutating func pathExpression() throws(Mismatch) -> Expression {
        let start = at
        return Expression(.path(try memberPath()), range(from: start))
    }

    /// `arrayOrObject`, before which white space may stand.
    mutating func arrayOrObject() throws(Mismatch) -> Expression {
        try nested { parser throws(Mismatch) in
            let start = parser.at
            parser.skipSpace()
            let form: Expression.Form =
                parser.peek() == UInt8(ascii: "[") ? .array(try parser.array()) : .object(try parser.object())
            return Expression(form, parser.range(from: start))
        }
    }

    private mutating func array() throws(Mismatch) -> [Expression] {
        try expect("[")
        skipSpace()
        if skip("]") { return [] }
        var items = [try valueInURL()]
        while skipComma() {
            guard items.count < limits.listMembers else { throw exceeded("at most \(limits.listMembers) members") }
            items.append(try valueInURL())
        }
        skipSpace()
        try expect("]")
        return items
    }

    private mutating func object() throws(Mismatch) -> [Expression.Member] {
        try expect("{")
        skipSpace()
        if skip("}") { return [] }
        let members = try commaSeparated { parser throws(Mismatch) in
            let name = try parser.stringInURL()
            parser.skipSpace()
            try parser.expect(":")
            parser.skipSpace()
            return Expression.Member(name: name, value: try parser.valueInURL())
        }
        skipSpace()
        try expect("}")
        return members
    }

    /// `valueInUrl`: a string in double quotes or an expression.
    mutating func valueInURL() throws(Mismatch) -> Expression {
        guard peek() == UInt8(ascii: "\"") else { return try expression() }
        let start = at
        return Expression(.literal(.string(try stringInURL())), range(from: start))
    }
}
