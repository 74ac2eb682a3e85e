import ValueTree

/// The stream writer of every format that is written from front to back.
final class EmitterStreamWriter<Emitter: ValueEmitter>: StreamWriter {
    private var emitter: Emitter
    private let options: WritingOptions
    private var output = OutputBuffer(capacity: ListWriter.defaultChunkSize)
    private var open: [ContainerKind] = []
    /// A key waits for its value, which may be a null that is left out.
    private var pendingKey: String?
    private var isComplete = false
    private var isFinished = false
    /// What was taken of a finished document's bytes.
    private var sent = 0

    init(options: WritingOptions) {
        self.options = options
        emitter = Emitter(options: options)
        emitter.start(&output)
    }

    var pendingBytes: Int { Emitter.isIncremental || isFinished ? output.count - sent : 0 }

    func begin(_ container: ContainerKind) throws(WireFormatError) {
        guard open.count < options.depth else { throw .tooDeep(options.depth) }
        try enterValue()
        open.append(container)
        try emitter.begin(container, count: nil, to: &output)
    }

    func end() throws(WireFormatError) {
        precondition(pendingKey == nil, "a key without a value")
        try emitter.end(open.removeLast(), to: &output)
        try leaveValue()
    }

    func key(_ key: String) throws(WireFormatError) {
        precondition(open.last == .dictionary && pendingKey == nil, "a key outside of a dictionary")
        pendingKey = key
    }

    func write(_ value: WireValue) throws(WireFormatError) {
        if value.isNull, omitsPendingMember() { return }
        try enterValue()
        try emitter.write(value, depth: open.count, options: options, to: &output)
        try leaveValue()
    }

    func write(_ tape: Tape) throws(WireFormatError) {
        if tape.tokens.first?.kind == .null, omitsPendingMember() { return }
        try enterValue()
        try emitter.write(tape, depth: open.count, options: options, to: &output)
        try leaveValue()
    }

    func finish() throws(WireFormatError) {
        precondition(isComplete && !isFinished, "an unfinished document")
        try emitter.finish(&output)
        isFinished = true
    }

    func drain() -> [UInt8] {
        pendingBytes > 0 ? output.take() : []
    }

    func drain(atMost count: Int) -> [UInt8] {
        precondition(isFinished, "pieces of an unfinished document")
        let piece = output.copy(sent..<sent + min(count, pendingBytes))
        sent += piece.count
        return piece
    }

    private func omitsPendingMember() -> Bool {
        guard !Emitter.carriesNull, options.nulls == .omitMember, pendingKey != nil else { return false }
        pendingKey = nil
        return true
    }

    private func leaveValue() throws(WireFormatError) {
        isComplete = open.isEmpty
        guard !Emitter.isIncremental, output.count > options.bufferedBytes else { return }
        throw WireFormatError(
            .limitExceeded, "the document must be held in memory and exceeds \(options.bufferedBytes) bytes")
    }

    private func enterValue() throws(WireFormatError) {
        precondition(!isComplete, "a second value")
        precondition(open.last != .dictionary || pendingKey != nil, "a member without a key")
        guard let key = pendingKey else { return }
        pendingKey = nil
        try emitter.key(key, to: &output)
    }
}
