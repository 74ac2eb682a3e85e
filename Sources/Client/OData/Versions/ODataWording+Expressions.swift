/// Expressions. Each operation stands in parentheses, so that nothing depends on which binds tighter.
extension ODataWording {
    func text(
        _ expression: ODataExpression, _ names: inout [(ODataVariable, String)]
    ) throws(ClientError) -> String {
        switch expression {
        case .path(let path): return self.path(path, names)
        case .literal(let literal): return literal.text(version)
        case .not(let inner): return "not (\(try text(inner, &names)))"
        case .call(let function, let arguments): return try call(function, arguments, &names)
        case .binary(.has, _, _) where version == .v2: throw .notSupported("version 2 has no flags")
        case .binary(let sign, let left, let right):
            let (first, second) = (try operand(left, &names), try operand(right, &names))
            return "\(first) \(sign.rawValue) \(second)"
        case .count(let path):
            guard version == .v4 else { throw .notSupported("version 2 counts nothing within a filter") }
            return self.path(path, names) + "/$count"
        case .lambda(let quantifier, let path, let variable, let body):
            guard version == .v4 else { throw .notSupported("version 2 has neither any nor all") }
            let name = "x\(names.count + 1)"
            names.append((variable, name))
            defer { names.removeLast() }
            return
                "\(self.path(path, Array(names.dropLast())))/\(quantifier.rawValue)(\(name):\(try text(body, &names)))"
        }
    }

    private func operand(
        _ expression: ODataExpression, _ names: inout [(ODataVariable, String)]
    ) throws(ClientError) -> String {
        let text = try text(expression, &names)
        if case .binary = expression { return "(\(text))" }
        return text
    }

    private func path(_ path: ODataPath, _ names: [(ODataVariable, String)]) -> String {
        let variable = path.variable.flatMap { variable in names.first { $0.0 == variable }?.1 }
        return ((variable.map { [$0] } ?? []) + path.segments).joined(separator: "/")
    }

    private func call(
        _ function: ODataExpression.Function, _ arguments: [ODataExpression],
        _ names: inout [(ODataVariable, String)]
    ) throws(ClientError) -> String {
        var texts: [String] = []
        for argument in arguments { texts.append(try text(argument, &names)) }
        guard version == .v2 else { return "\(function.rawValue)(\(texts.joined(separator: ",")))" }
        switch function {
        case .contains: return "substringof(\(texts.reversed().joined(separator: ",")))"
        case .date, .now: throw .notSupported("version 2 has no \(function.rawValue)()")
        default: return "\(function.rawValue)(\(texts.joined(separator: ",")))"
        }
    }
}
