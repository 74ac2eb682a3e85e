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
