import AdapterKit
import HTTPServer
import HTTPTypes
import NIOCore
import Synchronization
import ValueTree

/// `POST /batch`: several calls in one request, run side by side, each as if it had come alone.
///
/// Every call is authenticated, authorised and logged by itself; one that fails does not touch the others. The batch's
/// credentials are used for calls that bring none. The format of the answer is negotiated before the first call is made:
/// afterwards there is always an answer that says what became of each.
struct BatchEndpoint: Endpoint {
    /// The gateway that this endpoint is a part of; nothing until it is built.
    let gateway: GatewayReference
    let services: GatewayServices

    let properties = EndpointProperties(name: "batch", access: .public, effect: .reads, hasCalls: true)
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
                                Member(
                                    "id", .string(maximumLength: 256), isRequired: true,
                                    summary: "Names the call; its answer has the same."),
                                Member("method", .choice(HTTPMethod.allCases.map(\.rawValue)), isRequired: true),
                                Member(
                                    "path", .string, isRequired: true,
                                    summary: "Path and query, percent-encoded, at most `http.limits.uri` bytes."),
                                Member(
                                    "headers", .object(ObjectShape("Headers", isOpen: true, members: [])),
                                    summary:
                                        "The call's own fields. `Accept` is JSON unless named; `Content-Type` is JSON, or CBOR where the body has dates or data."
                                ),
                                Member(
                                    "body", .any, isNullable: true,
                                    summary:
                                        "A value where the type is a wire format, a string where it is text, otherwise data."
                                ),
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
                                Member(
                                    "body", .any, isNullable: true,
                                    summary:
                                        "A value where the type is JSON, CBOR or a property list, a string where it is text, otherwise data; null or absent where there is none."
                                ),
                                Member(
                                    "error",
                                    .object(
                                        ObjectShape(
                                            "BatchAnswerError",
                                            members: [
                                                Member("code", .string, isRequired: true),
                                                Member("message", .string, isRequired: true),
                                            ])),
                                    summary:
                                        "Why the body is not here although the call was made: the status is the call's."
                                ),
                            ]))), isRequired: true)
        ])

    func respond(to request: AuthenticatedRequest) async throws -> GatewayResponse {
        guard !request.request.isPartOfBatch else {
            throw PorticoError(.requestInvalid, "A batch cannot contain a batch.")
        }
        _ = try services.encoder.choice(for: request.request, presentation: properties.presentation)
        let calls = try await calls(of: request)
        guard let gateway = gateway.gateway else { throw PorticoError(.stopping, "The gateway is not ready yet.") }
        // An id that the answer's format cannot carry is the caller's mistake, and nothing is done yet.
        _ = try write(calls.map { BatchCallResponse(id: $0.id, GatewayResponse(.ok)) }, to: request.request)
        let answers = await run(calls, by: gateway)
        do {
            return try write(answers, to: request.request)
        } catch {
            let carried = answers.map { answer in
                answer.leavingOutWhatFails { part throws(PorticoError) in _ = try write([part], to: request.request) }
            }
            return try write(carried, to: request.request)
        }
    }

    private func write(_ answers: [BatchCallResponse], to request: GatewayRequest) throws(PorticoError)
        -> GatewayResponse
    {
        try services.encoder.write(
            ["answers": .array(answers.map(\.value))], to: request, presentation: properties.presentation,
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
        return try calls.enumerated().map { try BatchCall($1, number: $0, in: request, services) }
    }

    /// At most ``GatewayLimits/batchParallel`` at once; the answers in the order of the calls.
    private func run(_ calls: [BatchCall], by gateway: Gateway) async -> [BatchCallResponse] {
        let budget = BatchBudget(bytes: services.limits.batchAnswer)
        return await withTaskGroup(of: (Int, BatchCallResponse).self) { group in
            var answers = calls.map { BatchCallResponse(id: $0.id, GatewayResponse(.internalServerError)) }
            var next = 0
            func start() {
                let number = next
                next += 1
                group.addTask { (number, await perform(calls[number], by: gateway, budget)) }
            }
            while next < min(services.limits.batchParallel, calls.count) { start() }
            for await (number, answer) in group {
                answers[number] = answer
                if next < calls.count { start() }
            }
            return answers
        }
    }

    private func perform(_ call: BatchCall, by gateway: Gateway, _ budget: BatchBudget) async -> BatchCallResponse {
        let begin = ContinuousClock.now
        let answered =
            if let refusal = call.refusal {
                gateway.finish(gateway.errorResponse(refusal, of: call.request), to: call.request)
            } else { await gateway.respond(to: call.request) }
        let response = answered.response
        services.metrics.note(
            response.status, response.formatLabel, .batch, response.refusal, at: answered.trace.instruments,
            after: ContinuousClock.now - begin)
        var answer = BatchCallResponse(id: call.id, response)
        do throws(PorticoError) {
            let bytes = try await response.wholeBody(within: budget)
            if !bytes.isEmpty {
                answer.body = BatchBody.value(bytes, contentType: response.headers[.contentType], services)
            }
        } catch {
            answer.error = error
        }
        return answer
    }
}

/// The response to one call of a batch.
struct BatchCallResponse: Sendable {
    let id: String
    let status: Int
    var headers: WireDictionary
    /// Nil where there is none, or where it could not be carried.
    var body: WireValue?
    /// Why the body is not here. The call was made all the same, and ``status`` is its own.
    var error: PorticoError?

    init(id: String, _ response: GatewayResponse) {
        self.id = id
        status = response.status.code
        headers = WireDictionary()
        for field in response.headers {
            let name = field.name.canonicalName
            headers[name] = .string(headers[name]?.stringValue.map { "\($0), \(field.value)" } ?? field.value)
        }
    }

    /// `{"id", "status", "headers", "body"}`, or `error` instead of `body`.
    var value: WireValue {
        var members: WireDictionary = ["id": .string(id), "status": .int64(Int64(status))]
        if !headers.isEmpty { members["headers"] = .dictionary(headers) }
        if let error {
            members["error"] = ["code": .string(error.code.rawValue), "message": .string(error.message)]
        } else {
            members["body"] = body ?? .null
        }
        return .dictionary(members)
    }

    /// The same without what the batch's format cannot carry: the body, and where that is not enough, the header fields.
    func leavingOutWhatFails(_ write: (BatchCallResponse) throws(PorticoError) -> Void) -> BatchCallResponse {
        var answer = self
        do throws(PorticoError) {
            try write(answer)
            return answer
        } catch {
            answer.body = nil
            answer.error = PorticoError(error.code, "The batch's format cannot carry this body.")
        }
        do throws(PorticoError) { try write(answer) } catch { answer.headers = [:] }
        return answer
    }
}

/// Bytes that the bodies of one batch may still take, shared by its calls.
final class BatchBudget: Sendable {
    let limit: Int
    private let left: Mutex<Int>

    init(bytes: Int) {
        limit = bytes
        left = Mutex(bytes)
    }

    func take(_ bytes: Int) throws(PorticoError) {
        let isEnough = left.withLock { left in
            guard bytes <= left else { return false }
            left -= bytes
            return true
        }
        guard isEnough else {
            throw PorticoError(
                .requestLimitExceeded, "The answers of a batch have at most \(limit) bytes. Ask for this one by itself."
            )
        }
    }
}

extension GatewayResponse {
    /// The body to its end, a streamed one too.
    func wholeBody(within budget: BatchBudget) async throws(PorticoError) -> [UInt8] {
        try budget.take(buffer.readableBytes)
        guard let stream else { return body }
        defer { stream.end() }
        var bytes: [UInt8] = []
        do {
            while let piece = try await stream.next() {
                try budget.take(piece.readableBytes)
                bytes.append(contentsOf: piece.readableBytesView)
            }
        } catch {
            throw PorticoError(unexpected: error)
        }
        return bytes
    }
}
