/// Numbers that look random and are the same in every run (a 64-bit linear congruential generator, its upper half).
struct SampleNumbers {
    private var state: UInt64

    init(seed: UInt64) {
        state = seed
    }

    /// From 0 up to, but without, `bound`.
    mutating func next(_ bound: Int) -> Int {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return Int((state >> 33) % UInt64(bound))
    }

    mutating func pick<Element>(_ items: [Element]) -> Element { items[next(items.count)] }
}
