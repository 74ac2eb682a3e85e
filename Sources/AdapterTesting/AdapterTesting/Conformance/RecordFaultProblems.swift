import AdapterKit

/// What an operation does when the store fails under it: each of its accesses to the records fails once, in turn.
///
/// It answers as it declares all the same, or it throws an error of the registry and nothing is half done: it has changed
/// no record, or a repetition of the call ends what it began. An operation that reads answers as before once the store is
/// there again.
struct RecordFaultProblems {
    /// Accesses of one call that fail in turn. Operations of more are tested with these.
    private static let maximumAccesses = 32

    private let declaration: AdapterDeclaration
    private let examples: [AdapterConformance.Example]
    /// An adapter of its own on a copy of the sample records, which meets these faults.
    private let host: (RecordFaults) async throws -> TestHost

    init(
        _ declaration: AdapterDeclaration, _ examples: [AdapterConformance.Example],
        host: @escaping (RecordFaults) async throws -> TestHost
    ) {
        self.declaration = declaration
        self.examples = examples
        self.host = host
    }

    func all() async throws -> [String] {
        var problems: [String] = []
        for example in examples {
            guard let operation = declaration.operation(example.operation) else { continue }
            for number in 1...Self.maximumAccesses {
                guard let found = try await self.problems(of: example, operation, failing: number) else { break }
                problems += found
            }
        }
        return problems
    }

    /// Nil where the call ends without so many accesses.
    private func problems(
        of example: AdapterConformance.Example, _ operation: Operation, failing number: Int
    ) async throws -> [String]? {
        let faults = RecordFaults()
        let host = try await host(faults)
        for call in example.preparation { try await host.call(call.operation, call.input, as: call.caller) }
        let before = host.records.position
        faults.fail(number)
        let words = "\(operation.name), whose access \(number) to the records fails,"
        do {
            try await host.call(example.operation, example.input, as: example.caller)
            return faults.wereMet ? [] : nil
        } catch let error as PorticoError {
            if error.code == .serverInternal { return ["\(words) fails with an internal error: \(error)"] }
        } catch {
            return ["\(words) throws what is not in the registry: \(error)"]
        }
        guard faults.wereMet else { return nil }
        let isUnchanged = host.records.position == before
        if operation.effect == .reads, !isUnchanged { return ["\(words) reads, but changes records"] }
        do {
            try await host.call(example.operation, example.input, as: example.caller)
        } catch {
            return [
                isUnchanged
                    ? "\(words) does not answer once the store is there again: \(error)"
                    : "\(words) is half done, and a repetition does not end it: \(error)"
            ]
        }
        return []
    }
}
