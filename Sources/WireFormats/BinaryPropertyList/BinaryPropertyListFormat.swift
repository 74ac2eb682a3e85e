import ValueTree

// The layout of `bplist00` (Apple's CFBinaryPList.c):
//
//     "bplist00"
//     objects        marker byte (kind · nibble), then the payload, big-endian
//     offset table   one offset for each object, `offsetSize` bytes each
//     trailer        32 bytes: 6 unused, offsetSize, referenceSize, then as 64-bit numbers
//                    the object count, the top object, the offset of the table
//
//     0x00 null · 0x08 false · 0x09 true
//     0x1n integer of 2^n bytes: 1, 2, 4 unsigned; 8, 16 signed
//     0x22, 0x23 real of 4 or 8 bytes · 0x33 date: a double, seconds since 2001
//     0x4n data · 0x5n ASCII · 0x6n UTF-16 (n counts units); n = 15: an integer object with the count follows
//     0x8n uid of n + 1 bytes
//     0xAn array · 0xDn dictionary: n references to keys, n to values

/// The binary encoding of property lists.
///
/// Every object that is reached is validated; the same object reached twice counts twice against the limits, so that
/// shared children cannot multiply into more than the limits allow. An object that contains itself, a key that is not a
/// string, an integer beyond 64 bits, a date that is not finite and bytes outside of their encoding are refused, as are
/// sets (there is no value that would keep what they mean). Objects that nothing refers to are not looked at.
///
/// The writer stores equal scalars once, uses the narrowest offsets and references, and puts containers behind the
/// scalars. Null is an error unless ``WritingOptions/nulls`` omits it. A decimal is an integer or a real where one is
/// the same number, otherwise the string of its digits; an integer beyond 64 bits is an error unless
/// ``WritingOptions/largeIntegers`` says otherwise.
public struct BinaryPropertyListFormat: WireFormat {
    public init() {}

    public let name = FormatName.bplist
    public let mediaTypesRead = [MediaType.binaryPlist, .plist, .applePlist, .plainPlist]
    public let mediaTypeWritten = MediaType.binaryPlist
    public let signature: [UInt8]? = BinaryPropertyListFormat.magic
    public let traits = FormatTraits(
        null: false, decimal: .text, nonFinite: true, data: true, date: .exact, uid: true, allScalars: true)

    static let magic = [UInt8]("bplist00".utf8)

    public func readTape(_ input: [UInt8], limits: ReadingLimits) throws(WireFormatError) -> Tape {
        var reader = try BinaryPropertyListReader(input, limits: limits)
        try reader.readDocument(input.span)
        return reader.finish()
    }

    public func read(_ input: [UInt8], limits: ReadingLimits) throws(WireFormatError) -> WireValue {
        var reader = try BinaryPropertyListTreeReader(input, limits: limits)
        return try reader.readDocument(input.span)
    }

    public func write(
        _ value: WireValue, options: WritingOptions, to output: inout OutputBuffer
    ) throws(WireFormatError) {
        try BinaryPropertyListEmitter.write(value, options: options, to: &output)
    }

    public func write(_ tape: Tape, options: WritingOptions, to output: inout OutputBuffer) throws(WireFormatError) {
        try BinaryPropertyListEmitter.write(tape, options: options, to: &output)
    }

    public func makeStreamWriter(options: WritingOptions) -> any StreamWriter {
        EmitterStreamWriter<BinaryPropertyListEmitter>(options: options)
    }
}
