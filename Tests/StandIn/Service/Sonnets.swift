import AdapterKit
import WireFormats

/// The feed of the property-list site: numbered texts of fourteen lines each.
enum Sonnets {
    /// The text at a position: the lines of the first sonnet of the site, beginning with another one each time.
    @Sendable static func verse(_ position: Int) -> String {
        (0..<lines.count).map { lines[($0 + position) % lines.count] }.joined(separator: "\n")
    }

    /// Sonnet XVIII (Shakespeare 1609, modern spelling).
    private static let lines = [
        "Shall I compare thee to a summer's day?", "Thou art more lovely and more temperate:",
        "Rough winds do shake the darling buds of May,", "And summer's lease hath all too short a date:",
        "Sometime too hot the eye of heaven shines,", "And often is his gold complexion dimm'd,",
        "And every fair from fair sometime declines,", "By chance, or nature's changing course untrimm'd:",
        "But thy eternal summer shall not fade,", "Nor lose possession of that fair thou ow'st,",
        "Nor shall death brag thou wander'st in his shade,", "When in eternal lines to time thou grow'st,",
        "So long as men can breathe, or eyes can see,", "So long lives this, and this gives life to thee.",
    ]

    /// A number from 1 to 3,999 and above in Roman numerals; thousands are repeated.
    static func numeral(_ number: Int) -> String {
        let numerals = [
            (1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC"), (50, "L"), (40, "XL"), (10, "X"),
            (9, "IX"), (5, "V"), (4, "IV"), (1, "I"),
        ]
        var rest = number
        var text = ""
        for (value, digits) in numerals {
            while rest >= value {
                text += digits
                rest -= value
            }
        }
        return text
    }
}

extension SystemOfRecord {
    /// The property list, as the contract's site had it.
    func feed() -> ServiceResponse {
        let verses: [WireValue] = (0..<verses.end).compactMap { position in
            self.verses.row(at: position).map { [.string(Sonnets.numeral(position + 1)), .string($0)] }
        }
        let document: WireValue = [
            "title": "Sonnets", "author": "William Shakespeare", "verses": .array(verses),
        ]
        return ServiceResponse(
            200, contentType: "application/x-plist", fields: ["ETag": tag(self.verses.revision)],
            body: (try? XMLPropertyListFormat().write(document)) ?? [])
    }
}
