import ValueTree

/// Converts a binary property list of any length, object by object in the order of its tree, straight out of its bytes:
/// a mapped file, of which no more than a part need be resident. Held are the containers that are open and the hashes
/// of the keys of those that are dictionaries.
struct BinaryPropertyListTranscoder {
    private struct Frame {
        let object: Int
        let references: Int
        let count: Int
        let isDictionary: Bool
        /// Within a value that gives way to a later one: it has to be well-formed all the same, and is not written.
        let isSilent: Bool
        var next = 0
        var repetitions = Repetitions()
    }

    /// What becomes of keys that stand twice: the last value wins, at the first one's place.
    private struct Repetitions {
        /// For each later member of a key the one before it, whose value gives way.
        var earlier: [Int: Int] = [:]
        /// For a key's first member the one whose value it gets.
        var valueOf: [Int: Int] = [:]
    }

    /// After so many bytes were looked at, the caller is asked to release what is resident.
    private static let residentBytes = 32 << 20
    /// What looking at an object may make resident: a page of it, and one of the table.
    private static let objectBytes = 8 << 10

    private let layout: BinaryPropertyListLayout
    private let writer: (any StreamWriter)?
    private let limits: ReadingLimits
    /// Called now and then: pages that were read will hardly be read again soon.
    private let letGo: () -> Void
    private var frames: [Frame] = []
    private var tokens = 0
    private var expandedBytes = 0
    private var touchedBytes = 0
    private var report = Conversion.Report()

    init(
        _ bytes: Span<UInt8>, writer: (any StreamWriter)?, limits: ReadingLimits, letGo: @escaping () -> Void
    ) throws(WireFormatError) {
        layout = try BinaryPropertyListLayout(bytes)
        (self.writer, self.limits, self.letGo) = (writer, limits, letGo)
    }

    mutating func run(_ bytes: Span<UInt8>, _ output: ([UInt8]) throws -> Void) throws -> Conversion.Report {
        try take(layout.topObject, bytes)
        while let frame = frames.last {
            if frame.next < frame.count { try takeMember(of: frame, bytes) } else { try leave(frame) }
            if let writer, writer.pendingBytes >= ListWriter.defaultChunkSize { try output(writer.drain()) }
        }
        guard let writer else { return report }
        try writer.finish()
        while writer.pendingBytes > 0 { try output(writer.drain(atMost: ListWriter.defaultChunkSize)) }
        return report
    }

    private mutating func takeMember(of frame: Frame, _ bytes: Span<UInt8>) throws(WireFormatError) {
        frames[frames.count - 1].next += 1
        let width = layout.referenceSize
        let position = frame.references + frame.next * width
        guard frame.isDictionary else {
            return try take(try layout.reference(at: position, bytes), silently: frame.isSilent, bytes)
        }
        let earlier = frame.repetitions.earlier[frame.next]
        if earlier == nil {
            let key = try key(at: position, bytes)
            try count(key)
            if !frame.isSilent { try writer?.key(Self.string(key, bytes)) }
        } else {
            report.droppedDuplicates += 1
        }
        let value = earlier ?? frame.repetitions.valueOf[frame.next] ?? frame.next
        let reference = try layout.reference(at: frame.references + (frame.count + value) * width, bytes)
        try take(reference, silently: frame.isSilent || earlier != nil, bytes)
    }

    private mutating func take(
        _ object: Int, silently isSilent: Bool = false, _ bytes: Span<UInt8>
    ) throws(WireFormatError) {
        let token = try layout.object(object, bytes)
        try count(token)
        guard !token.isContainer else { return try enter(object, token, silently: isSilent, bytes) }
        let hasBytes = token.kind == .string || token.kind == .data
        let place = hasBytes ? token.offset : try layout.offset(of: object, bytes)
        let value = Self.value(token, bytes)
        if writer == nil, case .date(let date) = value, date.rfc3339 == nil {
            throw WireFormatError(.refused, "a date outside of the years 0 to 9999", at: .init(offset: place))
        }
        guard !isSilent else { return }
        try write(at: place) { writer throws(WireFormatError) in try writer.write(value) }
    }

    private mutating func enter(
        _ object: Int, _ token: TapeToken, silently isSilent: Bool, _ bytes: Span<UInt8>
    ) throws(WireFormatError) {
        guard !frames.contains(where: { $0.object == object }) else {
            throw BinaryPropertyListLayout.malformed("an object contains itself", at: token.offset)
        }
        guard frames.count < limits.depth else { throw exceeded("depth", limits.depth, at: token.offset) }
        let isDictionary = token.kind == .dictionary
        var frame = Frame(
            object: object, references: token.offset, count: token.length, isDictionary: isDictionary,
            isSilent: isSilent)
        if isDictionary { frame.repetitions = try repetitions(in: frame, bytes) }
        frames.append(frame)
        guard !isSilent else { return }
        try write(at: token.offset) { writer throws(WireFormatError) in
            try writer.begin(isDictionary ? .dictionary : .array)
        }
    }

    private mutating func leave(_ frame: Frame) throws(WireFormatError) {
        frames.removeLast()
        tokens += 1
        guard !frame.isSilent else { return }
        try write(at: frame.references) { writer throws(WireFormatError) in try writer.end() }
    }

    private func write(
        at offset: Int, _ body: (any StreamWriter) throws(WireFormatError) -> Void
    ) throws(WireFormatError) {
        guard let writer else { return }
        do throws(WireFormatError) { try body(writer) } catch {
            throw WireFormatError(error.kind, error.message, at: .init(offset: offset))
        }
    }
}

extension BinaryPropertyListTranscoder {
    private func key(at position: Int, _ bytes: Span<UInt8>) throws(WireFormatError) -> TapeToken {
        let token = try layout.object(try layout.reference(at: position, bytes), bytes)
        guard token.kind == .string else {
            throw BinaryPropertyListLayout.malformed("a key that is not a string", at: position)
        }
        return token
    }

    private func repetitions(in frame: Frame, _ bytes: Span<UInt8>) throws(WireFormatError) -> Repetitions {
        guard frame.count <= StreamedPieces.rememberedKeys else {
            throw exceeded("keys of one dictionary", StreamedPieces.rememberedKeys, at: frame.references)
        }
        var hashes: [Int] = []
        hashes.reserveCapacity(frame.count)
        for index in 0..<frame.count {
            let token = try key(at: frame.references + index * layout.referenceSize, bytes)
            hashes.append(StreamedPieces.hash(Self.string(token, bytes)))
        }
        let sorted = hashes.sorted()
        var repetitions = Repetitions()
        guard zip(sorted, sorted.dropFirst()).contains(where: ==) else { return repetitions }
        var seen: [Int: (first: Int, last: Int)] = [:]
        for (index, hash) in hashes.enumerated() {
            guard let (first, last) = seen[hash] else {
                seen[hash] = (index, index)
                continue
            }
            repetitions.earlier[index] = last
            repetitions.valueOf[first] = index
            seen[hash] = (first, index)
        }
        return repetitions
    }

    private static func value(_ token: TapeToken, _ bytes: Span<UInt8>) -> WireValue {
        switch token.kind {
        case .string: .string(string(token, bytes))
        case .data: .data(Array(copying: bytes, token.offset..<token.offset + token.length))
        default: Tape.number(token)
        }
    }

    private static func string(_ token: TapeToken, _ bytes: Span<UInt8>) -> String {
        bytes.extracting(token.offset..<token.offset + token.length).withUnsafeBufferPointer { text in
            token.storage == .utf16 ? UTF16Text.string(text) : String(decoding: text, as: UTF8.self)
        }
    }

    /// Counts an object against the limits, and what looking at it made resident.
    private mutating func count(_ token: TapeToken) throws(WireFormatError) {
        guard tokens < limits.values else { throw exceeded("values", limits.values, at: token.offset) }
        tokens += 1
        let length = token.kind == .string || token.kind == .data ? token.length : 0
        expandedBytes += length
        guard expandedBytes <= limits.expandedBytes else {
            throw exceeded("expanded bytes", limits.expandedBytes, at: token.offset)
        }
        touchedBytes += Self.objectBytes + length
        guard touchedBytes > Self.residentBytes else { return }
        touchedBytes = 0
        letGo()
    }

    private func exceeded(_ what: String, _ limit: Int, at offset: Int) -> WireFormatError {
        WireFormatError(
            .limitExceeded, "the document exceeds the limit of \(limit) (\(what))", at: .init(offset: offset))
    }
}
