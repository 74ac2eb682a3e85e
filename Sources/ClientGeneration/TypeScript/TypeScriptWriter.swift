/// A service as TypeScript, for the JavaScript client: a class with a method for each operation, and an interface for
/// each business object. Nothing in it needs more than its types taken away, so that it runs without a build step too.
public struct TypeScriptWriter: ClientWriter {
    public init() {}

    public func write(_ service: ServiceModel) -> SourceFile {
        var page = IndentedSource(indentation: "  ")
        page.comment(service.origin, "//")
        page.line()
        page.comment("What carries the calls: a `Portico` of portico.js.", "//")
        page.block("export interface Caller") {
            $0.line("request(method: string, path: string, options?: { body?: unknown }): Promise<any>;")
        }
        page.line()
        page.block("export class \(service.typeName)") { page in
            page.line("readonly caller: Caller;")
            page.line()
            page.block("constructor(caller: Caller)") { $0.line("this.caller = caller;") }
            for operation in service.operations { TypeScriptOperation(operation).write(to: &page) }
        }
        for type in service.types { Self.write(type, to: &page) }
        if service.operations.contains(where: { $0.parameters.contains { !$0.isInPath } }) {
            Self.writeQuery(to: &page)
        }
        return SourceFile(name: "\(service.typeName).ts", text: page.text)
    }

    private static func write(_ type: ObjectType, to page: inout IndentedSource) {
        page.line()
        page.block("export interface \(type.name)") { page in
            for member in type.members {
                TypeScriptName.document([member.summary], to: &page)
                let mark = member.isRequired ? ": " : "?: "
                let nothing = member.isRequired ? "" : " | null"
                page.line("\(TypeScriptName.member(member.name))\(mark)\(TypeScriptName.type(member.type))\(nothing);")
            }
        }
    }

    private static func writeQuery(to page: inout IndentedSource) {
        page.line()
        page.block("function withQuery(path: string, query: object): string") { page in
            page.line(
                "const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== null);")
            page.line(
                "const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();")
            page.line("return text ? `${path}?${text}` : path;")
        }
    }
}

enum TypeScriptName {
    /// Properties keep the names that they have in messages, quoted where they have to be.
    static func member(_ name: String) -> String {
        let isPlain =
            name.first?.isNumber == false && name.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_") }
        return isPlain ? name : literal(name)
    }

    static func literal(_ text: String) -> String {
        let escaped = text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("\n", with: "\\n")
        return "\"\(escaped)\""
    }

    static func type(_ type: ValueType) -> String {
        switch type {
        case .any: "unknown"
        case .bool: "boolean"
        case .integer, .double, .decimal: "number"
        case .string, .date, .data: "string"
        case .choice(let choices): choices.map(literal).joined(separator: " | ")
        case .list(let item): "Array<\(self.type(item))>"
        case .object(let name): name
        }
    }

    /// A comment, which its own text cannot end.
    static func document(_ lines: [String], to page: inout IndentedSource) {
        let said = lines.filter { !$0.isEmpty }.map { $0.replacing("*/", with: "* /") }
        guard !said.isEmpty else { return }
        page.line("/**")
        for line in said { page.comment(line, " *") }
        page.line(" */")
    }
}

/// An operation in TypeScript: a method that makes one call.
struct TypeScriptOperation {
    private let operation: ServiceOperation

    init(_ operation: ServiceOperation) {
        self.operation = operation
    }

    func write(to page: inout IndentedSource) {
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
        let plain = NameWords(name).lowerCamel
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
