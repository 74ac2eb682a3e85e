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
