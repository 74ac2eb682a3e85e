import Yams

/// A key that stands twice in one mapping, and where it stands again. Yams names the first place only.
struct RepeatedKey {
    let key: String
    private let first: Mark
    private let text: String

    init(_ key: String, first: Mark, in text: String) {
        self.key = key
        self.first = first
        self.text = text
    }

    /// The first place's line and column where the mapping is written in one line.
    var place: (line: Int, column: Int) {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        for (index, line) in lines.enumerated().dropFirst(first.line) {
            let indentation = line.prefix { $0 == " " }.count
            let content = line.dropFirst(indentation)
            if content.isEmpty || content.first == "#" { continue }
            guard indentation >= first.column - 1 else { break }
            if indentation == first.column - 1, names(content) { return (index + 1, first.column) }
        }
        return (first.line, first.column)
    }

    private func names(_ content: Substring) -> Bool {
        [key, "'\(key)'", "\"\(key)\""].contains { written in
            content.hasPrefix(written) && content.dropFirst(written.count).drop { $0 == " " }.first == ":"
        }
    }
}
