import ValueTree

/// The writing half of a format that is written from front to back: one method for each kind of token.
///
/// Trees, tapes and streams are driven through it by the extensions beside this file, so that such a format says each
/// thing once. Text comes as valid UTF-8. The calls arrive in the order of the document, a `key` before each member.
protocol ValueEmitter {
    init(options: WritingOptions)
    /// Whether a null can be written; if not, the driver keeps ``WritingOptions/nulls``.
    static var carriesNull: Bool { get }
    /// Whether the bytes can be sent while the document is still being written.
    static var isIncremental: Bool { get }

    mutating func start(_ output: inout OutputBuffer)
    mutating func finish(_ output: inout OutputBuffer) throws(WireFormatError)

    /// `count` is nil where a stream does not know it.
    mutating func begin(_ container: ContainerKind, count: Int?, to output: inout OutputBuffer) throws(WireFormatError)
    mutating func end(_ container: ContainerKind, to output: inout OutputBuffer) throws(WireFormatError)
    mutating func key(_ text: UnsafeBufferPointer<UInt8>, to output: inout OutputBuffer) throws(WireFormatError)

    mutating func null(to output: inout OutputBuffer) throws(WireFormatError)
    mutating func bool(_ flag: Bool, to output: inout OutputBuffer) throws(WireFormatError)
    mutating func int64(_ number: Int64, to output: inout OutputBuffer) throws(WireFormatError)
    mutating func uint64(_ number: UInt64, to output: inout OutputBuffer) throws(WireFormatError)
    mutating func double(_ number: Double, to output: inout OutputBuffer) throws(WireFormatError)
    mutating func decimal(_ number: WireDecimal, to output: inout OutputBuffer) throws(WireFormatError)
    mutating func string(_ text: UnsafeBufferPointer<UInt8>, to output: inout OutputBuffer) throws(WireFormatError)
    mutating func data(_ bytes: UnsafeBufferPointer<UInt8>, to output: inout OutputBuffer) throws(WireFormatError)
    mutating func date(_ instant: WireDate, to output: inout OutputBuffer) throws(WireFormatError)
    mutating func uid(_ number: UInt64, to output: inout OutputBuffer) throws(WireFormatError)
}

extension ValueEmitter {
    static var isIncremental: Bool { true }
    mutating func start(_ output: inout OutputBuffer) {}
    mutating func finish(_ output: inout OutputBuffer) throws(WireFormatError) {}

    /// Writes a whole document.
    static func write(
        _ value: WireValue, options: WritingOptions, to output: inout OutputBuffer
    ) throws(WireFormatError) {
        var emitter = Self(options: options)
        emitter.start(&output)
        try emitter.write(value, depth: 0, options: options, to: &output)
        try emitter.finish(&output)
    }

    static func write(
        _ tape: Tape, options: WritingOptions, to output: inout OutputBuffer
    ) throws(WireFormatError) {
        var emitter = Self(options: options)
        emitter.start(&output)
        try emitter.write(tape, depth: 0, options: options, to: &output)
        try emitter.finish(&output)
    }
}

extension WireFormatError {
    static func tooDeep(_ limit: Int) -> WireFormatError {
        WireFormatError(.notRepresentable, "the value is nested deeper than the limit of \(limit)")
    }

    static let nullNotRepresentable = WireFormatError(.notRepresentable, "the format cannot carry null")
}

extension ValueEmitter {
    mutating func write(
        _ value: WireValue, depth: Int, options: WritingOptions, to output: inout OutputBuffer
    ) throws(WireFormatError) {
        switch value {
        case .string(let text): try string(text, to: &output)
        case .int64(let number): try int64(number, to: &output)
        case .dictionary(let members):
            try write(members, depth: try deeper(depth, options), options: options, to: &output)
        case .array(let items): try write(items, depth: try deeper(depth, options), options: options, to: &output)
        default: try writeScalar(value, to: &output)
        }
    }

    private func deeper(_ depth: Int, _ options: WritingOptions) throws(WireFormatError) -> Int {
        guard depth < options.depth else { throw .tooDeep(options.depth) }
        return depth + 1
    }

    private mutating func writeScalar(_ value: WireValue, to output: inout OutputBuffer) throws(WireFormatError) {
        switch value {
        case .null: try null(to: &output)
        case .bool(let flag): try bool(flag, to: &output)
        case .uint64(let number): try uint64(number, to: &output)
        case .double(let number): try double(number, to: &output)
        case .decimal(let number): try decimal(number, to: &output)
        case .data(let bytes): try data(bytes, to: &output)
        case .date(let instant): try date(instant, to: &output)
        case .uid(let number): try uid(number, to: &output)
        case .string, .int64, .array, .dictionary: preconditionFailure("written by the caller")
        }
    }

    private mutating func write(
        _ items: [WireValue], depth: Int, options: WritingOptions, to output: inout OutputBuffer
    ) throws(WireFormatError) {
        try begin(.array, count: items.count, to: &output)
        // By index, and texts taken out here by a property: an iterator, a pattern and the call would each retain and
        // release every item once more.
        for index in items.indices {
            if let text = items[index].stringValue {
                try string(text, to: &output)
            } else {
                try write(items[index], depth: depth, options: options, to: &output)
            }
        }
        try end(.array, to: &output)
    }

    private mutating func write(
        _ members: WireDictionary, depth: Int, options: WritingOptions, to output: inout OutputBuffer
    ) throws(WireFormatError) {
        let omitsNulls = !Self.carriesNull && options.nulls == .omitMember
        try begin(.dictionary, count: members.count, to: &output)
        let entries = members.entries
        for index in entries.indices {
            if omitsNulls, entries[index].value.isNull { continue }
            try key(entries[index].key, to: &output)
            if let text = entries[index].value.stringValue {
                try string(text, to: &output)
            } else {
                try write(entries[index].value, depth: depth, options: options, to: &output)
            }
        }
        try end(.dictionary, to: &output)
    }
}

extension ValueEmitter {
    // `withUTF8` passes no typed error through, so its outcome is carried out by hand.

    @inline(__always)
    mutating func string(_ text: String, to output: inout OutputBuffer) throws(WireFormatError) {
        var failure: WireFormatError?
        Self.withUTF8(of: text) { bytes in
            do throws(WireFormatError) { try string(bytes, to: &output) } catch { failure = error }
        }
        if let failure { throw failure }
    }

    @inline(__always)
    mutating func key(_ text: String, to output: inout OutputBuffer) throws(WireFormatError) {
        var failure: WireFormatError?
        Self.withUTF8(of: text) { bytes in
            do throws(WireFormatError) { try key(bytes, to: &output) } catch { failure = error }
        }
        if let failure { throw failure }
    }

    /// Without the copy of the String that `withUTF8` needs; only a text bridged from elsewhere is copied.
    @inline(__always)
    private static func withUTF8(of text: String, _ body: (UnsafeBufferPointer<UInt8>) -> Void) {
        if text.utf8.withContiguousStorageIfAvailable(body) == nil { Array(text.utf8).withUnsafeBufferPointer(body) }
    }

    private mutating func data(_ bytes: [UInt8], to output: inout OutputBuffer) throws(WireFormatError) {
        var failure: WireFormatError?
        bytes.withUnsafeBufferPointer { bytes in
            do throws(WireFormatError) { try data(bytes, to: &output) } catch { failure = error }
        }
        if let failure { throw failure }
    }
}

extension ValueEmitter {
    /// Writes a whole document from its tape, without recursion and without Strings. An error names the token.
    mutating func write(
        _ tape: Tape, depth: Int, options: WritingOptions, to output: inout OutputBuffer
    ) throws(WireFormatError) {
        try write(tape, 0..<tape.tokens.count, depth: depth, options: options, to: &output)
    }

    /// The same for one value, whose tokens these are.
    mutating func write(
        _ tape: Tape, _ tokens: Range<Int>, depth: Int, options: WritingOptions, to output: inout OutputBuffer
    ) throws(WireFormatError) {
        var position = tokens.lowerBound
        do throws(WireFormatError) {
            try write(tape, &position, until: tokens.upperBound, depth: depth, options: options, to: &output)
        } catch {
            throw WireFormatError(error.kind, error.message, at: error.position, token: position - 1)
        }
    }

    @inline(__always)
    private mutating func write(
        _ tape: Tape, _ position: inout Int, until limit: Int, depth: Int, options: WritingOptions,
        to output: inout OutputBuffer
    ) throws(WireFormatError) {
        let omitsNulls = !Self.carriesNull && options.nulls == .omitMember
        var open: [ContainerKind] = []
        while position < limit {
            let token = tape.tokens[position]
            position += 1
            switch token.kind {
            case .key:
                if omitsNulls, tape.tokens[position].kind == .null {
                    position += 1
                } else {
                    try tape.withBytes(of: token) { text throws(WireFormatError) in try key(text, to: &output) }
                }
            case .array, .dictionary:
                guard depth + open.count < options.depth else { throw .tooDeep(options.depth) }
                open.append(token.kind == .array ? .array : .dictionary)
                try begin(open[open.count - 1], count: token.memberCount, to: &output)
            case .end: try end(open.removeLast(), to: &output)
            default: try write(token, of: tape, to: &output)
            }
        }
    }

    private mutating func write(
        _ token: TapeToken, of tape: Tape, to output: inout OutputBuffer
    ) throws(WireFormatError) {
        switch token.kind {
        case .null: try null(to: &output)
        case .false: try bool(false, to: &output)
        case .true: try bool(true, to: &output)
        case .int64: try int64(token.int64, to: &output)
        case .uint64: try uint64(token.uint64, to: &output)
        case .double: try double(token.double, to: &output)
        case .decimal: try decimal(tape.decimal(of: token), to: &output)
        case .string: try tape.withBytes(of: token) { text throws(WireFormatError) in try string(text, to: &output) }
        case .data: try tape.withBytes(of: token) { bytes throws(WireFormatError) in try data(bytes, to: &output) }
        case .date: try date(token.date, to: &output)
        case .uid: try uid(token.uint64, to: &output)
        case .array, .dictionary, .key, .end: preconditionFailure("not a scalar")
        }
    }
}

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
