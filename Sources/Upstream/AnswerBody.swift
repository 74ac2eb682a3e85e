import AdapterKit
import NIOCore

/// The body of an answer while it is read: decoded, counted, and ended with its deadline.
///
/// It keeps the call's turn and the connection until its end, its failure or its last reference.
actor AnswerBody: UpstreamBody {
    struct Limits: Sendable {
        let upstream: UpstreamName
        /// Bytes after decoding.
        let bytes: Int
        /// Between two pieces.
        let silence: Duration
        let end: ContinuousClock.Instant
    }

    private let exchange: ResponseExchange
    private let attempt: CallAttempt
    private let limits: Limits
    private let describe: @Sendable (any Error) -> UpstreamFailure
    private var decoder: ContentDecoder
    private var characters: CharacterSetDecoder?
    private var count = 0
    private var outcome: Result<Void, UpstreamFailure>?

    init(
        _ exchange: ResponseExchange, _ attempt: CallAttempt, _ limits: Limits, decoder: sending ContentDecoder,
        characters: CharacterSetDecoder?, describe: @escaping @Sendable (any Error) -> UpstreamFailure
    ) {
        self.exchange = exchange
        self.attempt = attempt
        self.limits = limits
        self.describe = describe
        self.decoder = decoder
        self.characters = characters
    }

    deinit { exchange.fail(CancellationError()) }

    func nextPiece() async throws(UpstreamFailure) -> [UInt8]? {
        if let outcome {
            try outcome.get()
            return nil
        }
        do {
            while true {
                if let piece = try decoder.next() {
                    try noteCount(piece.count)
                    let text = characters?.decode(piece) ?? piece
                    if !text.isEmpty { return text }
                    continue
                }
                let end = min(limits.end, .now + limits.silence)
                guard let buffer = try await exchange.next(until: end) else { break }
                decoder.add(buffer)
            }
            try decoder.end()
        } catch {
            throw finish(error)
        }
        outcome = .success(())
        attempt.finish()
        let rest = characters?.decode([], isLast: true) ?? []
        return rest.isEmpty ? nil : rest
    }

    nonisolated func cancel() {
        exchange.fail(CancellationError())
    }

    /// Reads what is left where that is little, so that the connection can be used again.
    func drain() async {
        var left = 64 << 10
        while left > 0, let piece = try? await nextPiece() { left -= piece.count }
        if outcome == nil { cancel() }
    }

    private func noteCount(_ bytes: Int) throws(UpstreamFailure) {
        count += bytes
        guard count <= limits.bytes else {
            throw UpstreamFailure(
                .answerTooLarge, of: limits.upstream, detail: "more than \(limits.bytes) bytes of body")
        }
    }

    private func finish(_ error: any Error) -> UpstreamFailure {
        let failure = describe(error)
        outcome = .failure(failure)
        attempt.finish(failure)
        exchange.fail(failure)
        return failure
    }
}
