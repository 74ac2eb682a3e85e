/// The words that a name is made of, for writing it as another language does: `PageOfEmployeeBO`, `list-v1`, `UserId`.
struct Words {
    private let words: [String]

    init(_ name: String) {
        var words: [String] = []
        var word = ""
        func end() {
            if !word.isEmpty { words.append(word) }
            word = ""
        }
        let letters = Array(name)
        for (place, letter) in letters.enumerated() {
            guard letter.isASCII, letter.isLetter || letter.isNumber else {
                end()
                continue
            }
            let isNext = place + 1 < letters.count && letters[place + 1].isLowercase
            if letter.isUppercase, word.last?.isLowercase == true || (word.last?.isUppercase == true && isNext) {
                end()
            }
            word.append(letter)
        }
        end()
        self.words = words
    }

    private init(words: [String]) {
        self.words = words
    }

    var upperCamel: String { words.map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined() }

    var lowerCamel: String {
        guard let first = words.first else { return "_" }
        return first.lowercased() + Words(words: Array(words.dropFirst())).upperCamel
    }

    /// As English makes it, of the usual words; others stay.
    var singular: Words {
        guard let last = words.last else { return self }
        return Words(words: words.dropLast() + [Self.singular(of: last)])
    }

    private static func singular(of word: String) -> String {
        if word.hasSuffix("ies"), word.count > 4 { return word.dropLast(3) + "y" }
        if ["sses", "xes", "ches", "shes"].contains(where: word.hasSuffix) { return String(word.dropLast(2)) }
        if word.hasSuffix("ss") || word.hasSuffix("us") || word.hasSuffix("is") { return word }
        return word.hasSuffix("s") ? String(word.dropLast()) : word
    }
}
