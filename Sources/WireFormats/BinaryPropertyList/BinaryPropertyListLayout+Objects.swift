/// One object at a time, as a token. A container's token has the position of its first reference as its offset and the
/// number of its members as its length.
extension BinaryPropertyListLayout {
    func object(_ object: Int, _ bytes: Span<UInt8>) throws(WireFormatError) -> TapeToken {
        let start = try offset(of: object, bytes)
        let marker = bytes[start]
        switch marker >> 4 {
        case 0x0: return try constant(marker, start)
        case 0x1: return try integer(bytes, start)
        case 0x2, 0x3: return try real(marker, bytes, start)
        case 0x4: return try counted(.data, width: 1, bytes, start)
        case 0x5: return try ascii(bytes, start)
        case 0x6: return try utf16(bytes, start)
        case 0x8: return try uid(marker, bytes, start)
        case 0xA: return try counted(.array, width: referenceSize, bytes, start)
        case 0xB, 0xC:
            throw WireFormatError(.refused, "a set has no place in the value tree", at: .init(offset: start))
        case 0xD: return try counted(.dictionary, width: 2 * referenceSize, bytes, start)
        default: throw Self.malformed("an unknown kind of object", at: start)
        }
    }

    private func constant(_ marker: UInt8, _ start: Int) throws(WireFormatError) -> TapeToken {
        switch marker {
        case 0x00: TapeToken(.null)
        case 0x08: TapeToken(.false)
        case 0x09: TapeToken(.true)
        default: throw Self.malformed("an unknown kind of object", at: start)
        }
    }

    private func integer(_ bytes: Span<UInt8>, _ start: Int) throws(WireFormatError) -> TapeToken {
        let width = try width(bytes[start], bytes, start)
        if width < 8 { return TapeToken(.int64, bits: bytes.bigEndian(at: start + 1, width: width)) }
        let low = bytes.bigEndian(at: start + 1 + width - 8, width: 8)
        if width == 8 { return TapeToken(.int64, bits: low) }
        let high = bytes.bigEndian(at: start + 1, width: 8)
        let signExtension: UInt64 = low >> 63 == 0 ? 0 : .max
        if high == signExtension { return TapeToken(.int64, bits: low) }
        guard high == 0 else { throw Self.malformed("an integer beyond 64 bits", at: start) }
        return TapeToken(.uint64, bits: low)
    }

    /// The bytes of an integer: 1, 2, 4, 8 or 16, inside of the objects.
    private func width(_ marker: UInt8, _ bytes: Span<UInt8>, _ start: Int) throws(WireFormatError) -> Int {
        let width = 1 << Int(marker & 15)
        guard marker >> 4 == 1, width <= 16 else { throw Self.malformed("an integer is expected", at: start) }
        try require(width, after: start)
        return width
    }

    private func real(_ marker: UInt8, _ bytes: Span<UInt8>, _ start: Int) throws(WireFormatError) -> TapeToken {
        switch marker {
        case 0x22:
            try require(4, after: start)
            let bits = UInt32(truncatingIfNeeded: bytes.bigEndian(at: start + 1, width: 4))
            return TapeToken(.double, bits: Double(Float(bitPattern: bits)).bitPattern)
        case 0x23, 0x33:
            try require(8, after: start)
            let bits = bytes.bigEndian(at: start + 1, width: 8)
            guard marker == 0x23 || Double(bitPattern: bits).isFinite else {
                throw Self.malformed("a date is not finite", at: start)
            }
            return TapeToken(marker == 0x23 ? .double : .date, bits: bits)
        default: throw Self.malformed("a real or a date of an impossible width", at: start)
        }
    }

    private func uid(_ marker: UInt8, _ bytes: Span<UInt8>, _ start: Int) throws(WireFormatError) -> TapeToken {
        let width = Int(marker & 15) + 1
        guard width <= 8 else { throw Self.malformed("a uid beyond 64 bits", at: start) }
        try require(width, after: start)
        return TapeToken(.uid, bits: bytes.bigEndian(at: start + 1, width: width))
    }

    private func ascii(_ bytes: Span<UInt8>, _ start: Int) throws(WireFormatError) -> TapeToken {
        let token = try counted(.string, width: 1, bytes, start)
        guard SWAR.isASCII(bytes, token.offset..<token.offset + token.length) else {
            throw Self.malformed("an ASCII string with other bytes", at: start)
        }
        return token
    }

    private func utf16(_ bytes: Span<UInt8>, _ start: Int) throws(WireFormatError) -> TapeToken {
        let units = try counted(.string, width: 2, bytes, start)
        guard UTF16Text.isValid(bytes, units.offset..<units.offset + 2 * units.length) else {
            throw Self.malformed("a string with a lone surrogate", at: start)
        }
        return TapeToken(.string, offset: units.offset, length: 2 * units.length, storage: .utf16)
    }

    /// Reads the count behind a marker and checks that so many elements fit.
    private func counted(
        _ kind: TapeToken.Kind, width: Int, _ bytes: Span<UInt8>, _ start: Int
    ) throws(WireFormatError) -> TapeToken {
        var (count, body) = (UInt64(bytes[start] & 15), start + 1)
        if count == 15 {
            guard body < tableOffset else { throw Self.malformed("an object is cut off", at: start) }
            let digits = try self.width(bytes[body], bytes, body)
            guard digits <= 8 else { throw Self.malformed("an object is cut off", at: start) }
            count = bytes.bigEndian(at: body + 1, width: digits)
            body += 1 + digits
        }
        guard count <= UInt64(tableOffset - body) / UInt64(width) else {
            throw Self.malformed("an object is cut off", at: start)
        }
        return TapeToken(kind, offset: body, length: Int(count))
    }

    private func require(_ count: Int, after start: Int) throws(WireFormatError) {
        guard start + count < tableOffset else { throw Self.malformed("an object is cut off", at: start) }
    }
}
