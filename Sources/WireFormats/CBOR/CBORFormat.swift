import ValueTree

// The initial byte of an item is major type (3 bits) and information (5 bits): below 24 the argument itself, 24 to 27
// an argument of 1, 2, 4 or 8 bytes behind it, 31 an indefinite length (RFC 8949, section 3).
//
//     0 integer · 1 negative integer (-1 - argument) · 2 bytes · 3 UTF-8 text · 4 array · 5 map
//     6 tag: 0 RFC 3339 text, 1 seconds since 1970, 2 and 3 large integers, 4 decimal fraction, 55799 "this is CBOR"
//     7 simple: 20 false, 21 true, 22 null, 25 to 27 floats of 2, 4 and 8 bytes

/// CBOR (RFC 8949).
///
/// Read is every well-formed document whose keys are text and whose tags are those above; other tags, `undefined` and
/// other simple values have no place in the tree and are refused. Written is the preferred serialization (shortest
/// arguments and floats, definite lengths), in the order of the members: the deterministic encoding would sort the keys,
/// and order means something here (docs/decisions/0011). A stream alone writes indefinite lengths.
///
/// A date is tag 1 where it is whole seconds, otherwise tag 0, which is exact; outside of the years that RFC 3339 has,
/// tag 1 with a double that must be exact. A keyed archiver's uid is an error.
public struct CBORFormat: WireFormat {
    public init() {}

    public let name = FormatName.cbor
    public let mediaTypesRead = [MediaType.cbor]
    public let structuredSuffix: String? = "cbor"
    public let mediaTypeWritten = MediaType.cbor
    public let traits = FormatTraits(
        null: true, decimal: .exact, nonFinite: true, data: true, date: .exact, uid: false, allScalars: true)

    public func readTape(_ input: [UInt8], limits: ReadingLimits) throws(WireFormatError) -> Tape {
        var reader = CBORReader(input, limits: limits)
        try reader.readDocument(input.span)
        return reader.finish()
    }

    public func write(
        _ value: WireValue, options: WritingOptions, to output: inout OutputBuffer
    ) throws(WireFormatError) {
        try CBOREmitter.write(value, options: options, to: &output)
    }

    public func write(_ tape: Tape, options: WritingOptions, to output: inout OutputBuffer) throws(WireFormatError) {
        try CBOREmitter.write(tape, options: options, to: &output)
    }

    /// One value of a tape, whatever the format that it was read from, as a document of its own.
    public func write(_ tape: Tape, valueAt position: Int) throws(WireFormatError) -> [UInt8] {
        var output = OutputBuffer()
        var emitter = CBOREmitter(options: WritingOptions())
        try emitter.write(
            tape, position..<tape.position(after: position), depth: 0, options: WritingOptions(), to: &output)
        return output.take()
    }

    public func makeStreamWriter(options: WritingOptions) -> any StreamWriter {
        EmitterStreamWriter<CBOREmitter>(options: options)
    }
}

enum CBORTag {
    static let dateText: UInt64 = 0
    static let dateNumber: UInt64 = 1
    static let integer: UInt64 = 2
    static let negativeInteger: UInt64 = 3
    static let decimal: UInt64 = 4
    static let selfDescribed: UInt64 = 55_799
}
