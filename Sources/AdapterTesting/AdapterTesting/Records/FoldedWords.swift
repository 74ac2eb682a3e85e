import Foundation

/// The words of a text as full-text search compares them: runs of letters and digits, case and accents aside.
struct FoldedWords {
    let words: [String]

    init(_ text: String) {
        words = Self.folded(text).split { !$0.isLetter && !$0.isNumber }.map(String.init)
    }

    /// Plain ASCII, which most texts are, has no accents.
    private static func folded(_ text: String) -> String {
        guard text.utf8.allSatisfy({ $0 < 0x80 }) else {
            return text.folding(options: [.caseInsensitive, .diacriticInsensitive], locale: nil)
        }
        return text.lowercased()
    }
}
