/// A service as Swift, for an app that links `Client`: a structure with a method for each operation, and a structure for
/// each business object within it.
public struct SwiftWriter: ClientWriter {
    public init() {}

    public func write(_ service: ServiceModel) -> SourceFile {
        var page = Page()
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
        let plain = Words(name).lowerCamel
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
        case .choice: Words(member).upperCamel
        case .date: "Date"
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
