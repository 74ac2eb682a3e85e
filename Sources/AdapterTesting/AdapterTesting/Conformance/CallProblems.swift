import AdapterKit

/// Every operation answers as it declares: its examples, and whatever else its input allows.
struct CallProblems {
    private let conformance: AdapterConformance
    private let declaration: AdapterDeclaration
    private let prepared: TestHost

    /// `prepared` has the sample records; what changes them works on copies.
    init(_ conformance: AdapterConformance, _ declaration: AdapterDeclaration, _ prepared: TestHost) {
        self.conformance = conformance
        self.declaration = declaration
        self.prepared = prepared
    }

    private func host() async throws -> TestHost {
        try await prepared.again(conformance.module, conformance.configuration)
    }

    func all() async throws -> [String] {
        var problems = withoutExample + (try await unknownOperation())
        for example in conformance.examples {
            guard let operation = declaration.operation(example.operation) else {
                problems.append("there is an example of \(example.operation), which is not declared")
                continue
            }
            problems += try await answers(example, operation)
        }
        for operation in declaration.operations { problems += try await oddInputs(operation) }
        return problems
    }

    private var withoutExample: [String] {
        declaration.operations.map(\.name)
            .filter { name in !conformance.examples.contains { $0.operation == name } }
            .map { "there is no example of \($0)" }
    }

    /// Each example on a host of its own, so that none depends on another.
    private func answers(_ example: AdapterConformance.Example, _ operation: Operation) async throws -> [String] {
        let host = try await host()
        do {
            for call in example.preparation { try await host.call(call.operation, call.input, as: call.caller) }
            let before = host.records.position
            let first = try await host.call(example.operation, example.input, as: example.caller)
            guard operation.effect == .reads else { return [] }
            let second = try await host.call(example.operation, example.input, as: example.caller)
            return (first == second ? [] : ["\(operation.name) reads, but answers differently the second time"])
                + (before == host.records.position ? [] : ["\(operation.name) reads, but changes records"])
        } catch {
            return ["\(operation.name) does not answer its example: \(error)"]
        }
    }

    /// Inputs that the shape allows and no author thinks of: a declared answer or an error of the registry.
    private func oddInputs(_ operation: Operation) async throws -> [String] {
        let host = try await host()
        var problems: [String] = []
        for input in OddInputs(operation.input).all {
            do {
                try await host.call(operation.name, input)
            } catch let error as PorticoError {
                if error.code == .serverInternal {
                    problems.append("\(operation.name) fails for \(input.entries): \(error)")
                }
            } catch {
                problems.append("\(operation.name) throws what is not in the registry: \(error)")
            }
        }
        return problems
    }

    private func unknownOperation() async throws -> [String] {
        let host = try await host()
        let call = Call(
            operation: "not-declared-by-anybody", input: [:], caller: .someone, requestID: "test",
            deadline: .now + .seconds(30), records: host.records.seen(by: .someone), log: .discarding)
        do {
            _ = try await host.adapter.handle(call)
            return ["it answers an operation that it does not declare"]
        } catch {
            return error is PorticoError ? [] : ["it throws what is not in the registry: \(error)"]
        }
    }
}
