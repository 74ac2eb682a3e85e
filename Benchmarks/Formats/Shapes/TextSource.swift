/// Words and names from a seed (SplitMix64), so that every run and every machine measures the same bytes.
struct TextSource {
    private static let words = [
        "the", "of", "and", "my", "thy", "love", "that", "time", "with", "beauty", "doth", "eyes", "when", "sweet",
        "heart",
        "world", "summer's", "not", "shall", "fair", "praise", "winter", "night", "o'er", "mine", "truth", "yet", "age",
    ]
    private static let syllables = [
        "an", "bel", "cor", "dan", "el", "fri", "gus", "han", "is", "jo", "kar", "lu", "mé",
    ]

    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func below(_ bound: Int) -> Int {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = (state ^ (state >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return Int((mixed ^ (mixed >> 31)) % UInt64(bound))
    }

    mutating func lines(_ count: Int, of words: ClosedRange<Int>) -> [String] {
        (0..<count).map { _ in
            let length = words.lowerBound + below(words.count)
            return (0..<length).map { _ in Self.words[below(Self.words.count)] }.joined(separator: " ") + ","
        }
    }

    mutating func name() -> String {
        let name = (0..<2 + below(2)).map { _ in Self.syllables[below(Self.syllables.count)] }.joined()
        return name.prefix(1).uppercased() + name.dropFirst()
    }
}
