/// The encodings that documents may come in.
enum XMLEncoding: Sendable, Equatable {
    case utf8, utf16, latin1, ascii

    private static let names: [String: XMLEncoding] = [
        "utf-8": .utf8, "utf8": .utf8, "utf-16": .utf16, "utf-16le": .utf16, "utf-16be": .utf16,
        "iso-8859-1": .latin1, "iso_8859-1": .latin1, "latin1": .latin1, "us-ascii": .ascii, "ascii": .ascii,
    ]

    /// The values of a `charset` parameter.
    static let charsets = Set(names.keys)

    static func named(_ name: String, at offset: Int) throws(WireFormatError) -> XMLEncoding {
        guard let known = names[name.lowercased()] else {
            throw WireFormatError(.refused, "the encoding is not supported", at: .init(offset: offset))
        }
        return known
    }

    /// What the first bytes tell.
    enum Mark {
        case utf8
        /// `length` bytes of byte order mark; none where `<` gives the order away.
        case utf16(isBigEndian: Bool, length: Int)
        case unsupported

        init?(_ input: Span<UInt8>) {
            func byte(_ place: Int) -> Int { place < input.count ? Int(input[place]) : -1 }
            switch (byte(0), byte(1), byte(2), byte(3)) {
            case (0xEF, 0xBB, 0xBF, _): self = .utf8
            case (0, 0, 0xFE, 0xFF), (0xFF, 0xFE, 0, 0), (0, 0, 0, 0x3C), (0x3C, 0, 0, 0): self = .unsupported
            case (0xFE, 0xFF, _, _): self = .utf16(isBigEndian: true, length: 2)
            case (0xFF, 0xFE, _, _): self = .utf16(isBigEndian: false, length: 2)
            case (0, 0x3C, 0, 0x3F): self = .utf16(isBigEndian: true, length: 0)
            case (0x3C, 0, 0x3F, 0): self = .utf16(isBigEndian: false, length: 0)
            default: return nil
            }
        }
    }
}

extension XMLEncoding {
    static func utf8(latin1 input: [UInt8]) -> [UInt8] {
        var output: [UInt8] = []
        output.reserveCapacity(input.count + input.count / 8)
        for byte in input {
            if byte < 0x80 {
                output.append(byte)
            } else {
                output.append(0xC0 | byte >> 6)
                output.append(0x80 | byte & 0x3F)
            }
        }
        return output
    }

    static func utf8(
        utf16 input: Span<UInt8>, from start: Int, isBigEndian: Bool
    ) throws(WireFormatError) -> [UInt8] {
        guard (input.count - start) % 2 == 0 else { throw broken(at: input.count) }
        var output: [UInt8] = []
        output.reserveCapacity(input.count)
        var position = start
        while position < input.count {
            let unit = self.unit(input, position, isBigEndian)
            position += 2
            if let scalar = Unicode.Scalar(unit) {
                output.append(contentsOf: UTF8.encode(scalar)!)
                continue
            }
            guard UTF16.isLeadSurrogate(unit), position < input.count else { throw broken(at: position - 2) }
            let trail = self.unit(input, position, isBigEndian)
            guard UTF16.isTrailSurrogate(trail) else { throw broken(at: position - 2) }
            position += 2
            let scalar = Unicode.Scalar(0x10000 + UInt32(unit & 0x3FF) << 10 + UInt32(trail & 0x3FF))!
            output.append(contentsOf: UTF8.encode(scalar)!)
        }
        return output
    }

    static func requireASCII(_ input: Span<UInt8>) throws(WireFormatError) {
        guard !SWAR.isASCII(input, 0..<input.count) else { return }
        for index in 0..<input.count where input[index] >= 0x80 {
            throw WireFormatError(
                .malformed, "a byte that is not ASCII in an ASCII document", at: .init(offset: index, in: input))
        }
    }

    private static func unit(_ input: Span<UInt8>, _ position: Int, _ isBigEndian: Bool) -> UInt16 {
        let (first, second) = (UInt16(input[position]), UInt16(input[position + 1]))
        return isBigEndian ? first << 8 | second : second << 8 | first
    }

    private static func broken(at offset: Int) -> WireFormatError {
        WireFormatError(.malformed, "the text is not valid UTF-16", at: .init(offset: offset))
    }
}
