import ValueTree

extension XMLPropertyListEmitter {
    private static let dataLineWidth = 76

    mutating func data(_ bytes: UnsafeBufferPointer<UInt8>, to output: inout OutputBuffer) {
        enter(&output)
        output.append("<data>\n")
        // Whole groups of four a line, as many as fit behind the tabs, which count eight columns.
        let groups = max(Self.dataLineWidth - 8 * indentation, 4) / 4
        var rest = bytes[...]
        while !rest.isEmpty {
            output.appendTabs(indentation)
            output.append(Base64.encode(rest.prefix(groups * 3)))
            output.append(0x0A)
            rest = rest.dropFirst(groups * 3)
        }
        output.appendTabs(indentation)
        output.append("</data>\n")
    }

    mutating func date(_ instant: WireDate, to output: inout OutputBuffer) throws(WireFormatError) {
        enter(&output)
        let seconds = instant.secondsSinceReferenceDate
        let whole = seconds.rounded(.down)
        guard whole == seconds || truncatesFractions || !seconds.isFinite else {
            throw WireFormatError(.notRepresentable, "an XML property list carries dates in whole seconds only")
        }
        guard whole.magnitude < 1e12, let civil = CivilTime(secondsSinceReferenceDate: Int(whole)) else {
            throw WireFormatError(.notRepresentable, "a date outside of the years 0 to 9999 has no text form")
        }
        output.append("<date>")
        output.append(civil)
        output.append("Z</date>\n")
    }

    mutating func uid(_ number: UInt64, to output: inout OutputBuffer) throws(WireFormatError) {
        begin(.dictionary, count: 1, to: &output)
        enter(&output)
        output.append("<key>CF$UID</key>\n")
        uint64(number, to: &output)
        trustDictionary()
        try end(.dictionary, to: &output)
    }
}

extension OutputBuffer {
    @inline(__always)
    mutating func appendTabs(_ count: Int) {
        var rest = count
        while rest > 0 {
            appendShort(0x0909_0909_0909_0909, min(rest, 8))
            rest -= 8
        }
    }

    /// The first `count` of the eight bytes, the lowest first. For the few tags that are written all the time: a
    /// `StaticString` costs a call.
    @inline(__always)
    mutating func appendShort(_ bytes: UInt64, _ count: Int) {
        reserve(8)
        UnsafeMutableRawPointer(base + used).storeBytes(of: bytes.littleEndian, as: UInt64.self)
        used &+= count
    }
}
