/// Little-endian integers out of bytes whose number the caller has checked.
extension [UInt8] {
    func integer<Number: FixedWidthInteger & UnsignedInteger>(_ type: Number.Type, at offset: Int) -> Number {
        var number: Number = 0
        for position in (0..<MemoryLayout<Number>.size).reversed() {
            number = number << 8 | Number(self[offset + position])
        }
        return number
    }
}
