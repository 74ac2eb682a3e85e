/// A service as Swift, for an app that links `Client`: a structure with a method for each operation, and a structure for
/// each business object within it.
public struct SwiftWriter: ClientWriter {
    public init() {}

    public func write(_ service: ServiceModel) -> SourceFile {
        var page = IndentedSource()
        page.comment("swift-format-ignore-file", "//")
        page.comment(service.origin, "//")
        page.line("import Client")
        page.line("import Foundation")
        if service.types.contains(where: { $0.members.contains { $0.type.holdsAny } }) { page.line("import ValueTree") }
        page.line()
        page.block("public struct \(service.typeName): Sendable") { page in
            page.line("private let session: Session")
            page.line()
            page.block("public init(_ session: Session)") { $0.line("self.session = session") }
            for operation in service.operations { SwiftOperation(operation).write(to: &page) }
        }
        page.line()
        page.block("extension \(service.typeName)") { page in
            for (place, type) in service.types.enumerated() {
                if place > 0 { page.line() }
                SwiftObject(type).write(to: &page)
            }
        }
        return SourceFile(name: "\(service.typeName).swift", text: page.text)
    }
}

enum SwiftName {
    private static let keywords: Set<String> = [
        "as", "break", "case", "catch", "class", "continue", "default", "defer", "deinit", "do", "else", "enum",
        "extension", "fallthrough", "false", "for", "func", "guard", "if", "import", "in", "init", "inout", "internal",
        "is", "let", "nil", "operator", "private", "protocol", "public", "repeat", "return", "self", "static", "struct",
        "subscript", "super", "switch", "throw", "throws", "true", "try", "typealias", "var", "where", "while",
    ]

    /// As Swift writes names, in backticks where the word means something else.
    static func member(_ name: String) -> String {
        let plain = bare(name)
        return keywords.contains(plain) ? "`\(plain)`" : plain
    }

    static func bare(_ name: String) -> String {
        let plain = NameWords(name).lowerCamel
        return plain.first?.isNumber == true ? "_" + plain : plain
    }

    static func type(_ type: ValueType, of member: String) -> String {
        switch type {
        case .any: "WireValue"
        case .bool: "Bool"
        case .integer: "Int64"
        case .double: "Double"
        case .decimal: "Decimal"
        case .string: "String"
        case .choice: NameWords(member).upperCamel
        case .date: "WireDate"
        case .data: "Data"
        case .list(let item): "[\(self.type(item, of: member))]"
        case .object(let name): name
        }
    }

    static func literal(_ text: String) -> String {
        let escaped = text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("\n", with: "\\n")
        return "\"\(escaped)\""
    }
}

extension ValueType {
    var holdsAny: Bool {
        switch self {
        case .any: true
        case .list(let item): item.holdsAny
        default: false
        }
    }

    /// The choices of a member that is one, or a list of one.
    var choices: [String]? {
        switch self {
        case .choice(let choices): choices
        case .list(let item): item.choices
        default: nil
        }
    }
}

/// A business object in Swift.
struct SwiftObject {
    private let type: ObjectType

    init(_ type: ObjectType) {
        self.type = type
    }

    func write(to page: inout IndentedSource) {
        page.block("public struct \(type.name): Codable, Sendable, Equatable") { page in
            for member in type.members {
                page.comment(member.summary, "///")
                page.line("public var \(SwiftName.member(member.name)): \(Self.type(member))")
            }
            writeInitializer(&page)
            writeKeys(&page)
            for member in type.members { writeChoices(member, &page) }
        }
    }

    private static func type(_ member: ObjectMember) -> String {
        SwiftName.type(member.type, of: member.name) + (member.isRequired ? "" : "?")
    }

    private func writeInitializer(_ page: inout IndentedSource) {
        let ordered = type.members.filter(\.isRequired) + type.members.filter { !$0.isRequired }
        let parameters = ordered.map { member in
            "\(SwiftName.member(member.name)): \(Self.type(member))" + (member.isRequired ? "" : " = nil")
        }
        page.line()
        page.block("public init(\(parameters.joined(separator: ", ")))") { page in
            for member in type.members {
                page.line("self.\(SwiftName.member(member.name)) = \(SwiftName.member(member.name))")
            }
        }
    }

    private func writeKeys(_ page: inout IndentedSource) {
        guard type.members.contains(where: { SwiftName.bare($0.name) != $0.name }) else { return }
        page.line()
        page.block("private enum CodingKeys: String, CodingKey") { page in
            for member in type.members {
                page.line("case \(SwiftName.member(member.name)) = \(SwiftName.literal(member.name))")
            }
        }
    }

    private func writeChoices(_ member: ObjectMember, _ page: inout IndentedSource) {
        guard let choices = member.type.choices else { return }
        page.line()
        page.block("public enum \(NameWords(member.name).upperCamel): String, Codable, Sendable") { page in
            for choice in choices { page.line("case \(SwiftName.member(choice)) = \(SwiftName.literal(choice))") }
        }
    }
}

/// An operation in Swift: a method that makes one call.
struct SwiftOperation {
    private let operation: ServiceOperation

    init(_ operation: ServiceOperation) {
        self.operation = operation
    }

    func write(to page: inout IndentedSource) {
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
