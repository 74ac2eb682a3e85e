/// An operation in Swift: a method that makes one call.
struct SwiftOperation {
    private let operation: ServiceOperation

    init(_ operation: ServiceOperation) {
        self.operation = operation
    }

    func write(to page: inout Page) {
        page.line()
        page.comment(operation.summary, "///")
        let described = operation.parameters.filter { !$0.summary.isEmpty }
        if !described.isEmpty { page.line("///") }
        for parameter in described {
            page.comment("- Parameter \(SwiftName.bare(parameter.name)): \(parameter.summary)", "///")
        }
        page.block(signature) { page in
            for line in query { page.line(line) }
            page.line("\(query.isEmpty ? "" : "return ")try await \(call)")
        }
    }

    private var signature: String {
        let output = operation.output.map { " -> " + SwiftName.type($0, of: "answer") } ?? ""
        return
            "public func \(SwiftName.member(operation.name))(\(arguments.joined(separator: ", "))) async throws\(output)"
    }

    private var arguments: [String] {
        let path = operation.parameters.filter(\.isInPath).map { "_ \(SwiftName.member($0.name)): \(type($0))" }
        let input = operation.input.map { ["_ input: \(SwiftName.type($0, of: "input"))"] } ?? []
        let query = queried.map { parameter in
            "\(SwiftName.member(parameter.name)): \(type(parameter))" + (parameter.isRequired ? "" : "? = nil")
        }
        return path + input + query
    }

    private var queried: [OperationParameter] {
        let all = operation.parameters.filter { !$0.isInPath }
        return all.filter(\.isRequired) + all.filter { !$0.isRequired }
    }

    /// Parameters stand in addresses, as text.
    private func type(_ parameter: OperationParameter) -> String {
        switch parameter.type {
        case .bool: "Bool"
        case .integer: "Int64"
        default: "String"
        }
    }

    private var query: [String] {
        guard !queried.isEmpty else { return [] }
        return ["var query: [(name: String, value: String)] = []"]
            + queried.map { parameter in
                let name = SwiftName.member(parameter.name)
                let append = "query.append((name: \(SwiftName.literal(parameter.name)), value: String(\(name))))"
                return parameter.isRequired ? append : "if let \(name) { \(append) }"
            }
    }

    private var call: String {
        let path = operation.path.map { part in
            switch part {
            case .literal(let text): SwiftName.literal(text)
            case .parameter(let name): "String(\(SwiftName.member(name)))"
            }
        }
        let query = queried.isEmpty ? "" : ", query: query"
        let made = "ServerCall(\(SwiftName.literal(operation.method)), path: [\(path.joined(separator: ", "))]\(query))"
        let function = operation.output == nil ? "perform" : "call"
        return "session.\(function)(\(made)\(operation.input == nil ? "" : ", with: input"))"
    }
}
