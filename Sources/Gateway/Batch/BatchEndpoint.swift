import AdapterKit
import HTTPTypes
import ValueTree

/// `POST /batch`: several calls in one request, run side by side, each as if it had come alone.
///
/// Every call is authenticated, authorised and logged by itself; one that fails does not touch the others. The batch's
/// credentials are used for calls that bring none.
struct BatchEndpoint: Endpoint {
    /// The gateway that this endpoint is a part of; nothing until it is built.
    let gateway: LateValue<Gateway>
    let services: GatewayServices

    let properties = EndpointProperties(name: "batch", access: .public, effect: .reads)
    let description = EndpointDescription(
        summary: "Several calls in one request, run side by side.", tag: "Gateway", body: BatchEndpoint.shape,
        answers: [(.ok, .value(.object(BatchEndpoint.answerShape)))], errors: [.requestLimitExceeded])

    static let shape = ObjectShape(
        "Batch",
        members: [
            Member(
                "calls",
                .list(
                    of: .object(
                        ObjectShape(
                            "BatchCall",
                            members: [
                                Member("id", .string(maximumLength: 256), isRequired: true),
                                Member("method", .choice(HTTPMethod.allCases.map(\.rawValue)), isRequired: true),
                                Member("path", .string(maximumLength: 8_192), isRequired: true),
                                Member("headers", .object(ObjectShape("Headers", isOpen: true, members: []))),
                                Member("body", .any),
                            ]))), isRequired: true)
        ])

    static let answerShape = ObjectShape(
        "BatchAnswers",
        members: [
            Member(
                "answers",
                .list(
                    of: .object(
                        ObjectShape(
                            "BatchAnswer",
                            members: [
                                Member("id", .string, isRequired: true), Member("status", .integer, isRequired: true),
                                Member("headers", .object(ObjectShape("Headers", isOpen: true, members: []))),
                                Member("body", .any),
                            ]))), isRequired: true)
        ])

    func respond(to request: AuthenticatedRequest) async throws -> GatewayResponse {
        guard !request.request.isPartOfBatch else {
            throw PorticoError(.requestInvalid, "A batch cannot contain a batch.")
        }
        let calls = try await calls(of: request)
        guard let gateway = gateway.value else { throw PorticoError(.stopping, "The gateway is not ready yet.") }
        let answers = await run(calls, by: gateway)
        return try services.answers.write(
            ["answers": .array(answers)], to: request.request, presentation: Presentation(omitsNull: false),
            validators: nil)
    }

    private static func withoutBodies(_ input: WireValue) -> WireValue {
        guard var members = input.dictionaryValue, let calls = members["calls"]?.arrayValue else { return input }
        let bare = calls.map { call -> WireValue in
            guard var parts = call.dictionaryValue else { return call }
            parts["body"] = nil
            return .dictionary(parts)
        }
        members["calls"] = .array(bare)
        return .dictionary(members)
    }

    private func calls(of request: AuthenticatedRequest) async throws -> [BatchCall] {
        let body = try await services.bodies.value(of: request.request, limit: nil)
        let input = body.coercion.coerce(body.value, to: .object(Self.shape))
        // What a body holds is its call's business: that one is refused for it, and the others are made.
        try Shape.object(Self.shape).check(Self.withoutBodies(input), at: "")
        let calls = input["calls"]?.arrayValue ?? []
        guard calls.count <= services.limits.batch else {
            throw PorticoError(.requestLimitExceeded, "A batch holds at most \(services.limits.batch) calls.")
        }
        return try calls.enumerated().map { try BatchCall($1, number: $0, in: request.request) }
    }

    /// At most ``GatewayLimits/batchParallel`` at once; the answers in the order of the calls.
    private func run(_ calls: [BatchCall], by gateway: Gateway) async -> [WireValue] {
        await withTaskGroup(of: (Int, WireValue).self) { group in
            var answers = [WireValue](repeating: .null, count: calls.count)
            var next = 0
            func start() {
                let number = next
                next += 1
                group.addTask {
                    (number, calls[number].answer(await gateway.respond(to: calls[number].request).response))
                }
            }
            while next < min(services.limits.batchParallel, calls.count) { start() }
            for await (number, answer) in group {
                answers[number] = answer
                if next < calls.count { start() }
            }
            return answers
        }
    }
}
