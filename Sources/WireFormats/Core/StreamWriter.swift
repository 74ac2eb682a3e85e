import ValueTree

/// Writes one document piece by piece, in bounded memory where the format allows it.
///
/// The pieces are those of one value: `write` for a whole one, or `begin` … `end` around a container's members, each
/// member of a dictionary led by its `key`. Two equal keys under one `begin(.dictionary)` are the caller's mistake and
/// are not noticed. A piece in the wrong place (a value without its key, an `end` too many) traps.
///
/// Not Sendable: one task writes one document.
public protocol StreamWriter: AnyObject {
    /// Begins a list or a dictionary.
    func begin(_ container: ContainerKind) throws(WireFormatError)
    /// Writes the key of the next member.
    func key(_ key: String) throws(WireFormatError)
    /// Writes a whole value.
    func write(_ value: WireValue) throws(WireFormatError)
    /// A whole value, straight from a tape.
    func write(_ tape: Tape) throws(WireFormatError)
    /// Closes the innermost open container.
    func end() throws(WireFormatError)
    /// Ends the document; exactly one value must have been written.
    func finish() throws(WireFormatError)
    /// How many bytes are ready to be taken. Stays 0 until `finish` in a format whose table stands at the end.
    var pendingBytes: Int { get }
    /// Takes what is ready.
    func drain() -> [UInt8]
    /// Takes what is ready in pieces of at most so many bytes, without a second copy of the whole: ask until there is
    /// nothing. To be called after `finish` only.
    func drain(atMost count: Int) -> [UInt8]
}

/// The two kinds of containers.
@frozen public enum ContainerKind: Sendable, Equatable {
    /// A list.
    case array
    /// A dictionary.
    case dictionary
}

/// Writes a long list record by record: an envelope of dictionaries around one array, in any format.
///
/// Every call returns the bytes that are worth sending (at least ``chunkSize``), or nil.
public struct ListWriter {
    /// Where the list stands: `["d", "results"]` gives `{"d":{"results":[…]}}`; no path gives a bare array.
    public struct Envelope: Sendable, Equatable {
        /// The keys from the root to the list.
        public var path: [String]
        /// Members that stand before the list in its dictionary; there must be none where the path is empty.
        public var leading: WireDictionary

        /// Creates an envelope with these values.
        public init(path: [String] = [], leading: WireDictionary = [:]) {
            precondition(!path.isEmpty || leading.isEmpty, "members need a dictionary to stand in")
            self.path = path
            self.leading = leading
        }
    }

    /// The chunk size where none is given, in bytes.
    public static let defaultChunkSize = 64 << 10

    private let writer: any StreamWriter
    private let envelope: Envelope
    /// About how many bytes a chunk has.
    public let chunkSize: Int

    /// Creates a list writer with these values.
    public init(
        _ format: any WireFormat, envelope: Envelope = Envelope(), options: WritingOptions = WritingOptions(),
        chunkSize: Int = ListWriter.defaultChunkSize
    ) throws(WireFormatError) {
        self.writer = format.makeStreamWriter(options: options)
        self.envelope = envelope
        self.chunkSize = chunkSize
        try open()
    }

    /// Writes one record. Returns a chunk when one is full.
    public func append(_ record: WireValue) throws(WireFormatError) -> [UInt8]? {
        try writer.write(record)
        return writer.pendingBytes >= chunkSize ? writer.drain() : nil
    }

    /// Closes the list, with members that are known only now (a cursor, a count) after it.
    public func finish(trailing: WireDictionary = [:]) throws(WireFormatError) -> [UInt8] {
        precondition(!envelope.path.isEmpty || trailing.isEmpty, "members need a dictionary to stand in")
        try writer.end()
        try write(trailing)
        for _ in envelope.path { try writer.end() }
        try writer.finish()
        return writer.drain()
    }

    private func open() throws(WireFormatError) {
        for (depth, key) in envelope.path.enumerated() {
            try writer.begin(.dictionary)
            if depth == envelope.path.count - 1 { try write(envelope.leading) }
            try writer.key(key)
        }
        try writer.begin(.array)
    }

    private func write(_ members: WireDictionary) throws(WireFormatError) {
        for member in members {
            try writer.key(member.key)
            try writer.write(member.value)
        }
    }
}
