/// An FTS5 expression from words that users typed.
///
/// Every word becomes a quoted string followed by `*`: a prefix query, in which no character means anything to FTS5. A
/// word with punctuation within (`o'neil`) is several tokens to FTS5, which must then follow each other.
enum SearchExpression {
    /// Nil where no word holds a letter or a digit: then nothing is asked for.
    static func text(_ words: [String]) -> String? {
        let terms = words.map { word in
            word.replacing("\0", with: " ")
        }.filter { word in
            word.unicodeScalars.contains { $0.properties.isAlphabetic || $0.properties.numericType != nil }
        }
        guard !terms.isEmpty else { return nil }
        return terms.map { "\"\($0.replacing("\"", with: "\"\""))\"*" }.joined(separator: " AND ")
    }
}
