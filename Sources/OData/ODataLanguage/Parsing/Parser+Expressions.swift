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

/// Operands, section 4 of the ABNF.
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

/// `methodCallExpr` and its kin: functions that the language itself has, section 4 of the ABNF.
extension Parser {
    /// A call of one of them; nil, and nothing consumed, where what follows is none.
    mutating func call() throws(Mismatch) -> Expression? {
        let start = at
        guard let name = functionName() else {
            at = start
            return nil
        }
        skipSpace()
        let form = try form(of: name)
        return Expression(form, range(from: start))
    }

    /// A name with its parenthesis, in lower case. Whether it is a function's is not known yet.
    private mutating func functionName() -> String? {
        var name = ""
        while let byte = peek(), byte.isLetter || byte == UInt8(ascii: ".") {
            name.unicodeScalars.append(Unicode.Scalar(byte))
            at += 1
        }
        if name.lowercased() != name {
            guard !isVersion2 else { return nil }
            name = name.lowercased()
        }
        guard functions[name] != nil || Self.special.contains(name), skip("(") else { return nil }
        return name
    }

    private var functions: [String: BuiltInFunction] {
        isVersion2 ? BuiltInFunction.inVersion2 : BuiltInFunction.inVersion4
    }

    private static let special: Set<String> = ["case", "cast", "isof", "isdefined"]

    private mutating func form(of name: String) throws(Mismatch) -> Expression.Form {
        switch name {
        case "case": return try choice()
        case "isdefined":
            let path = try memberPath()
            try close()
            return .isDefined(path)
        case "cast", "isof":
            let (operand, type) = try operandAndType()
            return name == "cast" ? .cast(operand, type) : .isOf(operand, type)
        default:
            guard let function = functions[name] else { throw mismatch("a function") }
            return .call(function, try arguments(of: function))
        }
    }

    private mutating func arguments(of function: BuiltInFunction) throws(Mismatch) -> [Expression] {
        let counts = function.argumentCounts
        guard counts.upperBound > 0 else {
            try close()
            return []
        }
        var arguments = [try valueInURL()]
        while arguments.count < counts.upperBound, skipComma() { arguments.append(try valueInURL()) }
        guard arguments.count >= counts.lowerBound else { throw mismatch("`,`") }
        try close()
        return arguments
    }

    /// `caseMethodCallExpr`
    private mutating func choice() throws(Mismatch) -> Expression.Form {
        let branches = try commaSeparated { parser throws(Mismatch) in
            let condition = try parser.expression()
            parser.skipSpace()
            try parser.expect(":")
            parser.skipSpace()
            return Expression.Branch(condition: condition, value: try parser.expression())
        }
        try close()
        return .choice(branches)
    }

    /// `[ commonExpr COMMA ] type`
    private mutating func operandAndType() throws(Mismatch) -> (Expression?, WrittenType) {
        if let both = try attempt({ parser throws(Mismatch) in
            let operand = try parser.expression()
            guard parser.skipComma() else { throw parser.mismatch("`,`") }
            let type = try parser.typeArgument()
            try parser.close()
            return (operand, type)
        }) {
            return both
        }
        let type = try typeArgument()
        try close()
        return (nil, type)
    }

    private mutating func typeArgument() throws(Mismatch) -> WrittenType {
        guard allowsQuotedTypes, skip("'") else { return try typeName() }
        let type = try typeName()
        try expect("'")
        return type
    }
}

/// What stands in parentheses behind a name: `simpleKey`, `compoundKey`, `functionParameters`, `functionExprParameters`.
extension Parser {
    enum ArgumentValues {
        /// In a resource path: aliases and literals.
        case literals
        /// In an expression: anything.
        case expressions
    }

    mutating func arguments(_ values: ArgumentValues) throws(Mismatch) -> Arguments {
        try expect("(")
        skipSpace()
        if skip(")") { return .named([]) }
        if let single = try attempt({ parser throws(Mismatch) in
            let value = try parser.keyValue()
            try parser.close()
            return value
        }) {
            return .single(single)
        }
        let named = try commaSeparated { parser throws(Mismatch) in try parser.namedArgument(values) }
        try close()
        return .named(named)
    }

    mutating func namedArgument(_ values: ArgumentValues) throws(Mismatch) -> NamedArgument {
        let start = at
        let name = try identifier()
        let nameRange = range(from: start)
        try expect("=")
        let value = try values == .literals ? keyValue() : valueInURL()
        return NamedArgument(name: name, nameRange: nameRange, value: value)
    }

    /// `parameterAlias / keyPropertyValue`
    mutating func keyValue() throws(Mismatch) -> Expression {
        guard peek() == UInt8(ascii: "@") else { return try literalExpression() }
        let start = at
        at += 1
        let name = try identifier()
        let range = range(from: start)
        return Expression(.path(MemberPath(.alias(name), [], range)), range)
    }
}
