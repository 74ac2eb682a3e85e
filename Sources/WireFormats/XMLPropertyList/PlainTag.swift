/// A tag as writers write it, without white space or attributes: its first eight bytes as one word, the first byte lowest.
struct PlainTag {
    let bits: UInt64
    /// How many of the eight bytes belong to it.
    let count: Int

    @inline(__always)
    private init(_ bits: UInt64, _ count: Int) {
        (self.bits, self.count) = (bits, count)
    }

    @inline(__always)
    func starts(_ word: UInt64) -> Bool {
        word & (.max &>> UInt64(64 &- 8 &* count)) == bits
    }

    // Computed, so that a comparison is one with a constant.
    static var key: PlainTag { .init(0x3E_7965_6B3C, 5) }
    static var keyEnd: PlainTag { .init(0x3E79_656B_2F3C, 6) }
    static var string: PlainTag { .init(0x3E67_6E69_7274_733C, 8) }
    /// `</string`
    static var stringEnd: PlainTag { .init(0x676E_6972_7473_2F3C, 8) }
    /// `<integer`
    static var integer: PlainTag { .init(0x7265_6765_746E_693C, 8) }
    /// `</intege`
    static var integerEnd: PlainTag { .init(0x6567_6574_6E69_2F3C, 8) }
    static var date: PlainTag { .init(0x3E65_7461_643C, 6) }
    static var dateEnd: PlainTag { .init(0x3E_6574_6164_2F3C, 7) }
    static var dict: PlainTag { .init(0x3E74_6369_643C, 6) }
    static var dictEnd: PlainTag { .init(0x3E_7463_6964_2F3C, 7) }
    static var emptyDict: PlainTag { .init(0x3E_2F74_6369_643C, 7) }
    static var array: PlainTag { .init(0x3E_7961_7272_613C, 7) }
    static var arrayEnd: PlainTag { .init(0x3E79_6172_7261_2F3C, 8) }
    static var emptyArray: PlainTag { .init(0x3E2F_7961_7272_613C, 8) }
    static var real: PlainTag { .init(0x3E6C_6165_723C, 6) }
    static var realEnd: PlainTag { .init(0x3E_6C61_6572_2F3C, 7) }
    static var data: PlainTag { .init(0x3E61_7461_643C, 6) }
    static var dataEnd: PlainTag { .init(0x3E_6174_6164_2F3C, 7) }
    static var plistEnd: PlainTag { .init(0x3E74_7369_6C70_2F3C, 8) }
    static var `true`: PlainTag { .init(0x3E_2F65_7572_743C, 7) }
    static var `false`: PlainTag { .init(0x3E2F_6573_6C61_663C, 8) }
}
