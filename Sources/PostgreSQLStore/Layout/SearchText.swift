import AdapterKit
import RecordEvaluation

/// The words of a record's search fields as one text, in which a search is found as a part: each word after a space, each
/// field after a line's end. Reads every row; an index belongs to the breadth of the store.
enum SearchText {
    static func stored(_ record: Record, _ fields: [FieldName]) -> String {
        fields.map { words(SearchTokens.of(record[$0].stringValue ?? "")) }.joined(separator: "\n")
    }

    /// The text that has to be there for one word that a user typed, whose last token is a beginning; nil where it asks for
    /// nothing.
    static func sought(_ word: String) -> String? {
        let tokens = SearchTokens.of(word)
        return tokens.isEmpty ? nil : words(tokens)
    }

    private static func words(_ tokens: [String]) -> String { tokens.map { " " + $0 }.joined() }
}
