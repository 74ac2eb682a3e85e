import ValueTree

/// Words and names from a seed, so that every run and every machine measures the same bytes.
struct TextSource {
    private static let words = [
        "the", "of", "and", "my", "thy", "love", "that", "time", "with", "beauty", "doth", "eyes", "when", "sweet",
        "heart",
        "world", "summer's", "not", "shall", "fair", "praise", "winter", "night", "o'er", "mine", "truth", "yet", "age",
    ]
    private static let syllables = [
        "an", "bel", "cor", "dan", "el", "fri", "gus", "han", "is", "jo", "kar", "lu", "mé",
    ]

    private var random: SeededRandom

    init(seed: UInt64) { random = SeededRandom(seed: seed) }

    mutating func below(_ bound: Int) -> Int { Int(random.next() % UInt64(bound)) }

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
