/// Writes expressions and options in the words of a version.
///
/// - Throws: ``ClientError/notSupported(_:)`` for what version 2 has no words for.
struct ODataSyntax {
    let version: ODataVersion

    func condition(_ expression: ODataExpression) throws(ClientError) -> String {
        var names: [(ODataVariable, String)] = []
        return try text(expression, &names)
    }

    /// The options by their names, in the order in which documents list them.
    func options(_ options: ODataOptions, keys: [String] = []) throws(ClientError) -> [(name: String, value: String)] {
        var all: [(name: String, value: String)] = []
        if let filter = options.filter { all.append((name: "$filter", value: try condition(filter))) }
        if !options.orders.isEmpty { all.append((name: "$orderby", value: try orders(options.orders))) }
        if let top = options.top { all.append((name: "$top", value: String(top))) }
        if let skip = options.skip { all.append((name: "$skip", value: String(skip))) }
        if let search = options.search {
            guard version == .v4 else { throw .notSupported("version 2 has no search") }
            all.append((name: "$search", value: Self.phrase(search)))
        }
        if version == .v2 {
            all += try flattened(options, keys)
        } else {
            let selected = selection(options, keys)
            if !selected.isEmpty { all.append((name: "$select", value: selected)) }
            let expanded = try expansions(options)
            if !expanded.isEmpty { all.append((name: "$expand", value: expanded)) }
        }
        return all
    }

    private func orders(_ orders: [ODataOrder]) throws(ClientError) -> String {
        var texts: [String] = []
        for order in orders {
            texts.append(try condition(order.expression) + (order.isDescending ? " desc" : ""))
        }
        return texts.joined(separator: ",")
    }

    private static func phrase(_ words: String) -> String {
        "\"" + words.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
    }
}

/// Version 4: options of an expansion stand in parentheses behind it.
extension ODataSyntax {
    private func selection(_ options: ODataOptions, _ keys: [String]) -> String {
        guard !options.selected.isEmpty else { return "" }
        let names = options.selected.map { $0.segments.joined(separator: "/") }
        return Self.unique(keys + names).joined(separator: ",")
    }

    private func expansions(_ options: ODataOptions) throws(ClientError) -> String {
        var texts: [String] = []
        for expansion in options.expansions {
            let inner = try self.options(expansion.options).map { "\($0.name)=\($0.value)" }
            let name = expansion.path.segments.joined(separator: "/")
            texts.append(inner.isEmpty ? name : "\(name)(\(inner.joined(separator: ";")))")
        }
        return texts.joined(separator: ",")
    }

    static func unique(_ names: [String]) -> [String] {
        names.reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
    }
}

/// Version 2: paths of all levels in one list, and nothing else of an expansion.
extension ODataSyntax {
    private func flattened(
        _ options: ODataOptions, _ keys: [String]
    ) throws(ClientError) -> [(name: String, value: String)] {
        var (selected, expanded): ([String], [String]) = ([], [])
        try collect(options, "", keys, &selected, &expanded)
        let isSelective = Self.selects(options)
        return [
            isSelective ? (name: "$select", value: Self.unique(selected).joined(separator: ",")) : nil,
            expanded.isEmpty ? nil : (name: "$expand", value: Self.unique(expanded).joined(separator: ",")),
        ].compactMap(\.self)
    }

    private static func selects(_ options: ODataOptions) -> Bool {
        !options.selected.isEmpty || options.expansions.contains { selects($0.options) }
    }

    private func collect(
        _ options: ODataOptions, _ prefix: String, _ keys: [String], _ selected: inout [String],
        _ expanded: inout [String]
    ) throws(ClientError) {
        // Where anything is selected, what is not named is left out, on every level.
        selected +=
            options.selected.isEmpty
            ? [prefix + "*"] : (keys + options.selected.map { $0.segments.joined(separator: "/") }).map { prefix + $0 }
        for expansion in options.expansions {
            let inner = expansion.options
            guard inner.filter == nil, inner.orders.isEmpty, inner.top == nil, inner.skip == nil, inner.search == nil
            else { throw .notSupported("version 2 expands without filter, order, top and skip") }
            let path = prefix + expansion.path.segments.joined(separator: "/")
            expanded.append(path)
            try collect(inner, path + "/", [], &selected, &expanded)
        }
    }
}

/// Expressions. Each operation stands in parentheses, so that nothing depends on which binds tighter.
extension ODataSyntax {
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
