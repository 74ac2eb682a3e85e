import AdapterKit

/// A declaration that contradicts itself, before anything runs.
struct DeclarationProblems {
    private let declaration: AdapterDeclaration
    private let module: any AdapterModule.Type

    init(_ declaration: AdapterDeclaration, of module: any AdapterModule.Type) {
        self.declaration = declaration
        self.module = module
    }

    var all: [String] {
        whole + options + TypeNames(declaration).problems
            + declaration.entities.flatMap { EntityProblems($0, in: declaration).all }
            + declaration.operations.flatMap { OperationProblems($0).all }
    }

    private var whole: [String] {
        let routes = declaration.operations.flatMap { operation in
            operation.bindings.map { "\($0.method.rawValue) \($0.path)" }
        }
        return (declaration.name == module.name ? [] : ["it declares itself as \(declaration.name)"])
            + (declaration.title.isEmpty || declaration.summary.isEmpty ? ["it lacks a title or a summary"] : [])
            + (declaration.version.isEmpty ? ["it lacks a version"] : [])
            + Self.twice(declaration.entities.map(\.name.text), "entity")
            + Self.twice(declaration.operations.map(\.name.text), "operation")
            + Self.twice(routes, "route")
    }

    private var options: [String] {
        module.options.flatMap { option -> [String] in
            let isPath =
                !option.path.isEmpty
                && !option.path.split(separator: ".", omittingEmptySubsequences: false)
                    .contains("")
            return (isPath ? [] : ["the option \(option.path) is no path"])
                + (option.summary.isEmpty ? ["the option \(option.path) lacks a summary"] : [])
                + defaultProblem(option)
        } + Self.twice(module.options.map(\.path), "option")
    }

    private func defaultProblem(_ option: ConfigurationOption) -> [String] {
        switch option.takes {
        case .value(let shape): return DefaultProblem.of(option.defaultValue, shape, "the option \(option.path)")
        case .textLists:
            return DefaultProblem.of(option.defaultValue, .list(of: .list(of: .string)), "the option \(option.path)")
        case .access:
            guard let value = option.defaultValue, Access(configurationValue: value) == nil else { return [] }
            return ["the default of the option \(option.path) is no access"]
        case .secret: return option.defaultValue == nil ? [] : ["the option \(option.path) is a secret with a default"]
        }
    }

    static func twice(_ names: [String], _ kind: String) -> [String] {
        Dictionary(grouping: names, by: { $0 }).filter { $0.value.count > 1 }.keys.sorted()
            .map { "the \(kind) \($0) is declared twice" }
    }
}

enum DefaultProblem {
    static func of(_ value: WireValue?, _ shape: Shape, _ what: String) -> [String] {
        guard let value else { return [] }
        do {
            try shape.check(value)
            return []
        } catch {
            return ["the default of \(what) is not of its shape"]
        }
    }
}

/// Descriptions name types by their shapes' names, so one name means one shape.
struct TypeNames {
    private var shapes: [String: ObjectShape] = [:]
    private(set) var problems: [String] = []

    init(_ declaration: AdapterDeclaration) {
        for operation in declaration.operations {
            meet(.object(operation.input))
            meet(operation.output)
        }
        for field in declaration.entities.flatMap(\.fields) { meet(field.shape) }
    }

    private mutating func meet(_ shape: Shape) {
        switch shape {
        case .list(let item): meet(item)
        case .object(let object):
            if let known = shapes[object.name] {
                if known != object { problems.append("two shapes have the name \(object.name)") }
                return
            }
            shapes[object.name] = object
            for member in object.members { meet(member.shape) }
        default: return
        }
    }
}
