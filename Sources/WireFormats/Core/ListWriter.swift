import ValueTree

/// Writes a long list record by record: an envelope of dictionaries around one array, in any format.
///
/// Every call returns the bytes that are worth sending (at least ``chunkSize``), or nil.
public struct ListWriter {
    /// Where the list stands: `["d", "results"]` gives `{"d":{"results":[…]}}`; no path gives a bare array.
    public struct Envelope: Sendable, Equatable {
        public var path: [String]
        /// Members that stand before the list in its dictionary; there must be none where the path is empty.
        public var leading: WireDictionary

        public init(path: [String] = [], leading: WireDictionary = [:]) {
            precondition(!path.isEmpty || leading.isEmpty, "members need a dictionary to stand in")
            self.path = path
            self.leading = leading
        }
    }

    public static let defaultChunkSize = 64 << 10

    private let writer: any StreamWriter
    private let envelope: Envelope
    public let chunkSize: Int

    public init(
        _ format: any WireFormat, envelope: Envelope = Envelope(), options: WritingOptions = WritingOptions(),
        chunkSize: Int = ListWriter.defaultChunkSize
    ) throws(WireFormatError) {
        self.writer = format.makeStreamWriter(options: options)
        self.envelope = envelope
        self.chunkSize = chunkSize
        try open()
    }

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
