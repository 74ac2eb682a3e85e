import AdapterKit
import AdapterProtocol

extension HelloResponse {
    /// Why a worker of which this is said before it declares anything cannot be used, in a sentence; nil: it can be.
    var problem: String? {
        guard !AdapterProtocolVersion.reservedNames.contains(name) else {
            return "the gateway uses the name \(name) itself"
        }
        let problem =
            DeclarationProblem.ofText(program, "the program's version")
            ?? DeclarationProblem.ofText(sdk, "the name of what it was built with")
            ?? ConfigurationOption.problems(of: options).first
        return problem?.words
    }
}
