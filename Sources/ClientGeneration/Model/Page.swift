/// Source text that is being written, indented by its blocks.
struct Page {
    private(set) var text = ""
    private var depth = 0
    private let indentation: String

    init(indentation: String = "    ") {
        self.indentation = indentation
    }

    mutating func line(_ content: String = "") {
        if !content.isEmpty { text += String(repeating: indentation, count: depth) + content }
        text += "\n"
    }

    mutating func block(_ head: String, _ content: (inout Page) -> Void) {
        line(head + " {")
        depth += 1
        content(&self)
        depth -= 1
        line("}")
    }

    /// Every line of it behind the language's mark, so that nothing of it can become code.
    mutating func comment(_ content: String, _ mark: String) {
        guard !content.isEmpty else { return }
        for one in content.split(whereSeparator: \.isNewline) { line("\(mark) \(one)") }
    }
}
