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
            + declaration.entities.flatMap(problems)
            + declaration.operations.flatMap { OperationProblems($0).all } + declaration.mirrorProblems
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

    private func problems(_ entity: Entity) -> [String] {
        let summary = entity.summary.isEmpty ? ["the entity \(entity.name) lacks a summary"] : []
        do {
            try entity.check(in: declaration)
            return summary
        } catch {
            return summary + [error.logDetail ?? error.message]
        }
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
        switch option.valueKind {
        case .value(let shape): return DefaultProblem.of(option.defaultValue, shape, "the option \(option.path)")
        case .textLists:
            return DefaultProblem.of(option.defaultValue, .list(of: .list(of: .string)), "the option \(option.path)")
        case .access:
            guard let value = option.defaultValue, AccessRights(configurationValue: value) == nil else { return [] }
            return ["the default of the option \(option.path) is no access"]
        case .duration:
            guard let value = option.defaultValue else { return [] }
            guard let seconds = value.doubleValue, seconds > 0 else {
                return ["the default of the option \(option.path) is no duration in seconds"]
            }
            return []
        case .size:
            return DefaultProblem.of(
                option.defaultValue, .integer(IntegerRange(0...Int64.max)), "the option \(option.path)")
        case .file: return DefaultProblem.of(option.defaultValue, .string, "the option \(option.path)")
        case .upstream:
            return option.defaultValue == nil ? [] : ["the option \(option.path) is an upstream with a default"]
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

struct OperationProblems {
    private let operation: Operation

    init(_ operation: Operation) {
        self.operation = operation
    }

    var all: [String] {
        (whole + defaults + operation.bindings.flatMap(problems)).map { "operation \(operation.name): \($0)" }
    }

    private var whole: [String] {
        let keepsWrites = operation.caching == .untilRecordsChange && operation.effect == .writes
        let isBothWays = operation.audience == .operators && !operation.bindings.isEmpty
        return (operation.summary.isEmpty ? ["it lacks a summary"] : [])
            + (keepsWrites ? ["it writes, so its answers cannot be kept"] : [])
            + (isBothWays ? ["it is for operators, so it has no path on the public port"] : [])
    }

    private var defaults: [String] {
        operation.input.members.flatMap { DefaultProblem.of($0.defaultValue, $0.shape, "\($0.name)") }
    }

    private func problems(_ binding: HTTPBinding) -> [String] {
        let parameters = binding.path.parameters
        let elsewhere = parameters + binding.queryMembers
        let unknown = elsewhere.filter { operation.input.member($0.text) == nil }
        return
            (unknown.map { "\($0) is not in its input" } + members(binding, elsewhere: Set(elsewhere))
            + (Set(parameters).isDisjoint(with: binding.queryMembers) ? [] : ["a member comes from path and query"])
            + presentation(binding)).map { "\(binding.method.rawValue) \(binding.path): \($0)" }
    }

    /// A path holds one value, and a request without a body has no others.
    private func members(_ binding: HTTPBinding, elsewhere: Set<FieldName>) -> [String] {
        let hasBody = ![.get, .delete].contains(binding.method)
        let lost = operation.input.members.filter { !hasBody && $0.isRequired && !elsewhere.contains($0.name) }
        let optional = binding.path.parameters.filter { operation.input.member($0.text)?.isRequired == false }
        return lost.map { "\($0.name) is required and cannot be given" }
            + optional.map { "\($0) is in the path, so it is required" }
            + (operation.effect == .writes && binding.method == .get ? ["it writes, so GET is not for it"] : [])
    }

    private func presentation(_ binding: HTTPBinding) -> [String] {
        guard binding.presentation.xml != nil else { return [] }
        if case .object = operation.output { return [] }
        return ["an XML document needs an object to be made from"]
    }
}

/// Sample records fit their entities, and no two have one key.
struct SampleProblems {
    private let samples: [SampleRecords]
    private let declaration: AdapterDeclaration

    init(_ samples: [SampleRecords], for declaration: AdapterDeclaration) {
        self.samples = samples
        self.declaration = declaration
    }

    var all: [String] {
        samples.flatMap { sample in
            guard let entity = declaration.entity(sample.entity) else {
                return ["there are samples of \(sample.entity), which is not declared"]
            }
            return shapes(sample.records, entity) + keys(sample.records, entity)
        }
    }

    private func shapes(_ records: [WireDictionary], _ entity: Entity) -> [String] {
        records.enumerated().compactMap { position, record -> String? in
            do {
                try Shape.object(entity.sampleShape).check(.dictionary(record), at: "\(entity.name)[\(position)]")
                return nil
            } catch {
                return "a sample does not fit: \(error)"
            }
        }
    }

    private func keys(_ records: [WireDictionary], _ entity: Entity) -> [String] {
        var seen: Set<RecordID> = []
        return records.compactMap { record -> String? in
            guard let id = record[entity.key.field.text].flatMap(RecordID.init(key:)) else {
                return entity.key.chooser == .caller ? "a sample of \(entity.name) has no key" : nil
            }
            return seen.insert(id).inserted ? nil : "two samples of \(entity.name) have the key \(id)"
        }
    }
}

extension Entity {
    /// A record as a caller sends it: what the server gives need not be there.
    fileprivate var sampleShape: ObjectShape {
        ObjectShape(
            name.text,
            members: fields.map { field in
                let isGiven =
                    [.creator, .createdAt, .createdPosition, .modifiedAt].contains(field.source)
                    || (field.name == key.field && key.chooser != .caller)
                return Member(
                    field.name, field.shape, isRequired: field.isRequired && !isGiven, isNullable: field.isNullable)
            })
    }
}
