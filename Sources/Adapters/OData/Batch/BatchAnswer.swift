import AdapterKit

/// Makes a batch's answer: whole where it is small, otherwise piece by piece.
///
/// Whatever may change something is done before the answer begins, so that nothing depends on somebody's taking it. The
/// reads behind that are made one after the other while the answer is sent, and what is long of them is read as it is sent.
struct BatchCallResponse {
    var status = 200
    /// Bytes of an answer that is made whole.
    let most: Int
    /// For how long answers are read while they are sent.
    let time: Duration

    func made(of walk: BatchExecution, _ writer: any BatchWriter) async throws -> MountResponse {
        var (walk, writer) = (walk, writer)
        var first = writer.beginning()
        while !walk.onlyReads, let outcome = try await walk.next() {
            first += writer.whole(await walk.run.gathered(outcome))
        }
        let pieces = BatchPieces(walk, writer, until: .now + time)
        let headers = writer.headers
        while first.count <= most {
            guard let piece = try await pieces.next() else {
                return MountResponse(status, headers: headers, body: first)
            }
            first += piece
        }
        return MountResponse(status, headers: headers, body: .stream(BegunPieces(first, pieces)))
    }
}
