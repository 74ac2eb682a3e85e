import ValueTree
import WireFormats

/// How typed services call: business objects in and out. Generated services are built on these too.
extension Session {
    /// Sends `call` with `input` as its body and reads the answer as an `Output`.
    ///
    /// - Throws: ``ClientError``: `unreadableAnswer` where the answer is not what `Output` says.
    public func call<Output: Decodable & Sendable>(
        _ call: ServerCall, with input: some Encodable & Sendable, returning: Output.Type = Output.self
    ) async throws -> Output {
        try await self.call(call.carrying(input))
    }

    /// The same for a call without a body.
    public func call<Output: Decodable & Sendable>(
        _ call: ServerCall, returning: Output.Type = Output.self
    ) async throws -> Output {
        try await answer(to: call).value().read(as: Output.self)
    }

    /// The same for a call without an answer.
    public func perform(_ call: ServerCall, with input: some Encodable & Sendable) async throws {
        _ = try await answer(to: call.carrying(input))
    }

    /// The same for a call without a body and without an answer.
    public func perform(_ call: ServerCall) async throws {
        _ = try await answer(to: call)
    }
}

extension ServerCall {
    fileprivate func carrying(_ input: some Encodable) throws -> ServerCall {
        var call = self
        do {
            call.body = .value(try WireEncoder().encode(input))
        } catch {
            throw ClientError.unreadableAnswer("an input that cannot be sent: \(error)")
        }
        return call
    }
}

extension WireValue {
    fileprivate func read<Output: Decodable>(as type: Output.Type) throws -> Output {
        do {
            return try WireDecoder().decode(type, from: self)
        } catch {
            throw ClientError.unreadableAnswer("\(type): \(error)")
        }
    }
}
