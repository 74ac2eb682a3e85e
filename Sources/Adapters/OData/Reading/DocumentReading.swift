import AdapterKit

/// Documents that are written while their rows are read: whole where they are small, otherwise piece by piece, as fast as
/// the caller takes them.
///
/// What is small is read as any question is; what turns out to be large is begun again in a read that may last, and next
/// time there at once.
struct DocumentReading: Sendable {
    /// Reads and writes; each part of the document is put when it is there.
    typealias Write = @Sendable (any RecordMoment, (_ part: [UInt8]) throws -> Void) throws -> Void

    let records: any RecordStore
    let limits: ServiceLimits
    /// Whose document it is.
    let address: PlainAddress
    let long: LongAnswers

    func body(_ write: @escaping Write) async throws -> DoorAnswer.Body {
        let most = limits.wholeBytes
        if !long.expects(address) {
            let whole = try await records.atOneMoment { try Self.whole(upTo: most, at: $0, write) }
            if let whole { return .bytes(whole) }
            long.note(address)
        }
        return try await begun(
            try await records.pieces(within: .seconds(limits.streamSeconds)) { moment, output in
                var part: [UInt8] = []
                try write(moment) { more in
                    part += more
                    guard part.count >= Self.piece else { return }
                    try output.send(part)
                    part = []
                }
                if !part.isEmpty { try output.send(part) }
            })
    }

    /// Bytes that leave at a time.
    private static let piece = 64 << 10

    private struct TooLarge: Error {}

    /// Nil where there is more.
    private static func whole(upTo most: Int, at moment: any RecordMoment, _ write: Write) throws -> [UInt8]? {
        var document: [UInt8] = []
        do {
            try write(moment) { part in
                guard document.count + part.count <= most else { throw TooLarge() }
                // Most answers are one part and an end.
                if document.isEmpty { document = part } else { document += part }
            }
        } catch is TooLarge {
            return nil
        }
        return document
    }

    /// What fails before the first piece is a failure like any other, with a status of its own.
    private func begun(_ pieces: any DoorPieces) async throws -> DoorAnswer.Body {
        let first = try await withTaskCancellationHandler {
            try await pieces.next()
        } onCancel: {
            pieces.end()
        }
        guard let first, first.count >= min(Self.piece, limits.wholeBytes) else { return .bytes(first ?? []) }
        return .pieces(BegunPieces(first, pieces))
    }
}
