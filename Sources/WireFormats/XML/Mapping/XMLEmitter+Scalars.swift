import ValueTree

extension XMLEmitter {
    mutating func null(to output: inout OutputBuffer) throws(WireFormatError) {
        try element(.null, &output) { _ in }
    }

    mutating func bool(_ flag: Bool, to output: inout OutputBuffer) throws(WireFormatError) {
        try element(.bool, &output) { $0.append(flag ? "true" : "false") }
    }

    mutating func int64(_ number: Int64, to output: inout OutputBuffer) throws(WireFormatError) {
        try element(.int, &output) { $0.appendDecimal(number) }
    }

    mutating func uint64(_ number: UInt64, to output: inout OutputBuffer) throws(WireFormatError) {
        try element(.int, &output) { $0.appendDecimal(number) }
    }

    mutating func double(_ number: Double, to output: inout OutputBuffer) throws(WireFormatError) {
        try element(.real, &output) { output in
            if number.isFinite {
                output.append(utf8: number.description)
            } else {
                output.append(number.isNaN ? "NaN" : number < 0 ? "-INF" : "INF")
            }
        }
    }

    mutating func decimal(_ number: WireDecimal, to output: inout OutputBuffer) throws(WireFormatError) {
        try element(.decimal, &output) { $0.append(utf8: number.description) }
    }

    mutating func data(_ bytes: UnsafeBufferPointer<UInt8>, to output: inout OutputBuffer) throws(WireFormatError) {
        try element(.data, &output) { $0.append(Base64.encode(bytes)) }
    }

    mutating func date(_ instant: WireDate, to output: inout OutputBuffer) throws(WireFormatError) {
        guard instant.secondsSinceReferenceDate.isFinite else {
            throw WireFormatError(.notRepresentable, "XML cannot carry a date that is not finite")
        }
        try element(.date, &output) {
            $0.append(utf8: instant.rfc3339 ?? instant.secondsSinceReferenceDate.description)
        }
    }

    mutating func uid(_ number: UInt64, to output: inout OutputBuffer) throws(WireFormatError) {
        try element(.uid, &output) { $0.appendDecimal(number) }
    }
}
