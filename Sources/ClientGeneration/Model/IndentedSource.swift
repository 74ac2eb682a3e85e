/// Source text that is being written, indented by its blocks.
struct IndentedSource {
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

    mutating func block(_ head: String, _ content: (inout IndentedSource) -> Void) {
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

/// A file that a writer made.
public struct SourceFile: Sendable, Equatable {
    public let name: String
    public let text: String
}

/// A language that clients are generated in. Another one is another of these.
public protocol ClientWriter: Sendable {
    func write(_ service: ServiceModel) -> SourceFile
}

extension ServiceModel {
    /// The name of the class or structure that stands for the service: `NotesService`.
    var typeName: String { NameWords(name).upperCamel + "Service" }

    var origin: String {
        let note =
            "Written by `porticoctl client generate` from the declarations of \(name). Generate it anew, do not edit it."
        return leftOut.isEmpty
            ? note : note + "\nNot here, because they carry no values: \(leftOut.joined(separator: ", "))."
    }
}

/// The words that a name is made of, for writing it as another language does: `PageOfEmployeeBO`, `list-v1`, `UserId`.
struct NameWords {
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
        return first.lowercased() + NameWords(words: Array(words.dropFirst())).upperCamel
    }

    /// As English makes it, of the usual words; others stay.
    var singular: NameWords {
        guard let last = words.last else { return self }
        return NameWords(words: words.dropLast() + [Self.singular(of: last)])
    }

    private static func singular(of word: String) -> String {
        if word.hasSuffix("ies"), word.count > 4 { return word.dropLast(3) + "y" }
        if ["sses", "xes", "ches", "shes"].contains(where: word.hasSuffix) { return String(word.dropLast(2)) }
        if word.hasSuffix("ss") || word.hasSuffix("us") || word.hasSuffix("is") { return word }
        return word.hasSuffix("s") ? String(word.dropLast()) : word
    }
}
