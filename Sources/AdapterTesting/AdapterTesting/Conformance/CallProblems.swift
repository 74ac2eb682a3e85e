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
        for input in EdgeCaseInputs(operation.input).all {
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
            operation: "not-declared-by-anybody", input: [:], caller: .testUser, requestID: "test",
            deadline: .now + .seconds(30), records: host.records.seen(by: .testUser), log: .discarding)
        do {
            _ = try await host.adapter.handle(call)
            return ["it answers an operation that it does not declare"]
        } catch {
            return error is PorticoError ? [] : ["it throws what is not in the registry: \(error)"]
        }
    }
}

/// Inputs at the edges of a shape: as little as possible, and each member at its least and its most in turn.
struct EdgeCaseInputs {
    let all: [WireDictionary]

    init(_ shape: ObjectShape) {
        let least = Self.object(shape, { $0.edges.first ?? .null })
        all =
            [least]
            + shape.members.flatMap { member in
                member.shape.edges.map { value in
                    var input = least
                    input[member.name.text] = value
                    return input
                }
            }
    }

    fileprivate static func object(_ shape: ObjectShape, _ value: (Shape) -> WireValue) -> WireDictionary {
        var object = WireDictionary()
        for member in shape.members where member.isRequired { object[member.name.text] = value(member.shape) }
        return object
    }
}

extension Shape {
    /// Values of the shape that code often forgets, the simplest first.
    fileprivate var edges: [WireValue] {
        switch self {
        case .any: [.null, ["a": [1, "two", ["three": 3.5]]], "text", 1]
        case .bool: [false, true]
        case .integer(let limits):
            [0, 1, limits.range.lowerBound, limits.range.upperBound].filter(limits.range.contains).map(WireValue.int64)
        case .double: [0, -0.0, .double(.greatestFiniteMagnitude)]
        case .decimal: [.decimal(WireDecimal(Int64(0))), .decimal(WireDecimal(Int64.min))]
        case .string(let limits): limits.edges.map(WireValue.string)
        case .choice(let texts): texts.map(WireValue.string)
        case .date: [0, -63_000_000_000, 250_000_000_000].map { .date(WireDate(secondsSinceReferenceDate: $0)) }
        case .data(let maximumBytes): [.data([]), .data(Array(repeating: 0xff, count: min(maximumBytes, 64)))]
        case .list(let item): [[]] + item.edges.prefix(1).map { .array([$0]) }
        case .object(let shape): [.dictionary(EdgeCaseInputs.object(shape) { $0.edges.first ?? .null })]
        }
    }
}

extension TextLimits {
    fileprivate var edges: [String] {
        let least = String(repeating: "a", count: minimumLength)
        let odd = ["'\"%_*(", "A&B ‹é>", "\u{0}\n", "e\u{301}"].filter(allowed)
        return [least] + odd + [String(repeating: "x ", count: min(maximumLength, 512) / 2)].filter(allowed)
    }

    private func allowed(_ text: String) -> Bool {
        (minimumLength...maximumLength).contains(text.unicodeScalars.count)
    }
}
