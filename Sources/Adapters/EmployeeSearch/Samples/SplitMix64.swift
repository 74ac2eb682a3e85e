/// The generator of Steele, Lea and Flood ("Fast splittable pseudorandom number generators", 2014): the same numbers for
/// a seed everywhere, which the system's generator does not promise.
struct SplitMix64 {
    private var state: UInt64

    init(seed: UInt64) {
        state = seed
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = (state ^ (state >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// Unevenly by less than one in 2^50 for lists of this size.
    mutating func element<Element>(of list: [Element]) -> Element {
        list[Int(next() % UInt64(list.count))]
    }

    mutating func number(in range: Range<Int>) -> Int {
        range.lowerBound + Int(next() % UInt64(range.count))
    }
}
