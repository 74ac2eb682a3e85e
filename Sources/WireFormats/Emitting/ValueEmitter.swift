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
