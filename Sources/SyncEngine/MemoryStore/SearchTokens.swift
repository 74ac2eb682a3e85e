import Foundation

/// The words of a text as a search sees them: letters and digits, case and accents aside.
enum SearchTokens {
    static func of(_ text: String) -> [String] {
        text.folding(options: [.caseInsensitive, .diacriticInsensitive], locale: nil)
            .split { !$0.isLetter && !$0.isNumber }
            .map { String($0) }
    }
}
