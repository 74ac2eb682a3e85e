import WireFormats

extension ValueGenerator {
    private static let texts = [
        "", " ", "  a  ", "a", "é", "e\u{301}", "😀", "\u{10FFFD}", "]]>", "<a b=\"c\">&amp;</a>", "\"\\/", "$null",
        "@a",
        "$", "\t\n\r\r\n", "\u{7F}\u{85}\u{2028}\u{FEFF}", "true", "1", "2001-01-01T00:00:00Z", "日本語", "\u{E000}", "ß",
    ]
    /// What XML 1.0 has no place for.
    private static let controls = ["\0", "\u{1}\u{8}\u{B}\u{C}\u{1F}", "\u{FFFE}", "\u{FFFF}"]

    mutating func string() -> String {
        switch Int.random(in: 0..<5, using: &random) {
        case 0: return Self.texts.randomElement(using: &random)!
        case 1 where traits.allScalars: return Self.controls.randomElement(using: &random)!
        case 2: return ascii([0, 1, 7, 8, 14, 15, 16, 17, 255, 256].randomElement(using: &random)!)
        case 3: return scalars(Int.random(in: 1...20, using: &random))
        default: return ascii(Int.random(in: 1...12, using: &random))
        }
    }

    private mutating func ascii(_ count: Int) -> String {
        let bytes = (0..<count).map { _ in UInt8.random(in: 0x20...0x7E, using: &random) }
        return String(decoding: bytes, as: UTF8.self)
    }

    private mutating func scalars(_ count: Int) -> String {
        var text = String.UnicodeScalarView()
        while text.count < count {
            let bound = [0x7F, 0x7FF, 0xFFFD, 0x10FFFF].randomElement(using: &random)!
            if let scalar = Unicode.Scalar(UInt32.random(in: 0x20...UInt32(bound), using: &random)) {
                text.append(scalar)
            }
        }
        return String(text)
    }
}
