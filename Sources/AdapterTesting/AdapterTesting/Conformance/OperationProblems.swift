import AdapterKit

struct OperationProblems {
    private let operation: Operation

    init(_ operation: Operation) {
        self.operation = operation
    }

    var all: [String] {
        (whole + defaults + operation.bindings.flatMap(problems)).map { "operation \(operation.name): \($0)" }
    }

    private var whole: [String] {
        let keepsWrites = operation.answers == .untilRecordsChange && operation.effect == .writes
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
        return lost.map { "\($0.name) is required and cannot be said" }
            + optional.map { "\($0) is in the path, so it is required" }
            + (operation.effect == .writes && binding.method == .get ? ["it writes, so GET is not for it"] : [])
    }

    private func presentation(_ binding: HTTPBinding) -> [String] {
        guard binding.presentation.xml != nil else { return [] }
        if case .object = operation.output { return [] }
        return ["an XML document needs an object to be made from"]
    }
}
