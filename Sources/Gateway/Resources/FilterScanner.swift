/// The tokens of a filter expression, each with its place.
///
/// ```
/// word    letter or _, then letters, digits, _
/// number  -? digits ( . digits )? ( e ±digits )?
/// text    ' … ' , a quote inside is doubled
/// symbol  ( ) ,
/// ```
struct FilterScanner {
    enum Token: Equatable {
        case word(String)
        case number(String)
        case text(String)
        case symbol(Character)
        case end
    }

    private let characters: [Character]
    private var position = 0
    /// Where the current token begins, counted in characters from 1.
    private(set) var place = 1
    private(set) var token = Token.end

    init(_ text: String) throws(FilterError) {
        characters = Array(text)
        try advance()
    }

    mutating func advance() throws(FilterError) {
        while position < characters.count, characters[position].isWhitespace { position += 1 }
        place = position + 1
        guard position < characters.count else {
            token = .end
            return
        }
        let first = characters[position]
        switch first {
        case "(", ")", ",":
            position += 1
            token = .symbol(first)
        case "'": token = .text(try takeText())
        case "-", "0"..."9": token = .number(take { $0.isNumberPart })
        case _ where first.isWordPart: token = .word(take { $0.isWordPart })
        default: throw FilterError("Nothing in a filter begins with this character", place)
        }
    }

    private mutating func take(while belongs: (Character) -> Bool) -> String {
        let start = position
        while position < characters.count, belongs(characters[position]) { position += 1 }
        return String(characters[start..<position])
    }

    private mutating func takeText() throws(FilterError) -> String {
        var text = ""
        position += 1
        while position < characters.count {
            let character = characters[position]
            position += 1
            if character != "'" {
                text.append(character)
            } else if position < characters.count, characters[position] == "'" {
                text.append(character)
                position += 1
            } else {
                return text
            }
        }
        throw FilterError("The text has no closing quote", place)
    }
}

struct FilterError: Error, Equatable {
    let message: String
    /// Counted in characters from 1.
    let place: Int

    init(_ message: String, _ place: Int) {
        self.message = message
        self.place = place
    }
}

extension Character {
    fileprivate var isWordPart: Bool {
        isASCII && (isLetter || isNumber || self == "_")
    }

    fileprivate var isNumberPart: Bool {
        isASCII && (isNumber || "+-.eE".contains(self))
    }
}
