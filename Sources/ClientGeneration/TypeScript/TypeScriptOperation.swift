/// An operation in TypeScript: a method that makes one call.
struct TypeScriptOperation {
    private let operation: ServiceOperation

    init(_ operation: ServiceOperation) {
        self.operation = operation
    }

    func write(to page: inout Page) {
        page.line()
        let described = operation.parameters.filter { !$0.summary.isEmpty }
        TypeScriptName.document(
            [operation.summary] + described.map { "`\($0.name)`: \($0.summary)" }, to: &page)
        let output = operation.output.map(TypeScriptName.type) ?? "void"
        page.block("\(operation.name)(\(arguments.joined(separator: ", "))): Promise<\(output)>") { page in
            let body = operation.input == nil ? "" : ", { body: input }"
            page.line("return this.caller.request(\(TypeScriptName.literal(operation.method)), \(path)\(body));")
        }
    }

    private var arguments: [String] {
        let path = operation.parameters.filter(\.isInPath).map { "\(local($0.name)): \(TypeScriptName.type($0.type))" }
        let input = operation.input.map { ["input: \(TypeScriptName.type($0))"] } ?? []
        guard !queried.isEmpty else { return path + input }
        let members = queried.map { parameter in
            "\(TypeScriptName.member(parameter.name))\(parameter.isRequired ? "" : "?"): \(TypeScriptName.type(parameter.type))"
        }
        let optional = queried.contains(where: \.isRequired) ? "" : " = {}"
        return path + input + ["query: { \(members.joined(separator: "; ")) }\(optional)"]
    }

    private var queried: [OperationParameter] { operation.parameters.filter { !$0.isInPath } }

    private func local(_ name: String) -> String {
        // No word of the language, whatever the path calls it.
        let plain = Words(name).lowerCamel
        return ["in", "new", "delete", "class", "function", "default", "this", "query", "input"].contains(plain)
            ? plain + "Value" : plain
    }

    private var path: String {
        let parts = operation.path.map { part in
            switch part {
            case .literal(let text):
                text.replacing("\\", with: "\\\\").replacing("`", with: "\\`").replacing("$", with: "\\$")
            case .parameter(let name): "${encodeURIComponent(String(\(local(name))))}"
            }
        }
        let text = "`/\(parts.joined(separator: "/"))`"
        return queried.isEmpty ? text : "withQuery(\(text), query)"
    }
}
