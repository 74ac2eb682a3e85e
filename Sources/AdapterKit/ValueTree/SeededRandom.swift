/// Random numbers that the seed alone determines, the same on every machine: for sample data, tests and simulations, where
/// a run must be repeatable. Never for secrets.
///
/// SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014). The sequence of a seed is
/// part of the interface and does not change; what the standard library derives from it (`Int.random(in:using:)`) may
/// differ between versions of the library.
public struct SeededRandom: RandomNumberGenerator, Sendable {
    private var state: UInt64

    /// Creates a generator. Every seed, 0 too, gives a sequence of its own.
    public init(seed: UInt64) {
        state = seed
    }

    /// The next 64 bits.
    public mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = (state ^ (state >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
