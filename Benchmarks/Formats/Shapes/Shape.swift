import ValueTree

/// The documents that every measurement of the wire formats reads and writes; the same in every run.
public struct Shape: Sendable {
    public let name: String
    /// What a reader of the results should know of it.
    public let description: String
    public let documents: [WireValue]

    public static let all = [sonnets, employees, chat]
}

extension Shape {
    /// Long strings with line ends, nested arrays, about 95 KB of JSON: the feed.
    public static let sonnets: Shape = {
        var text = TextSource(seed: 154)
        let verses = (1...154).map { number in
            WireValue.array([.string("\(number)"), .string(text.lines(14, of: 7...9).joined(separator: "\n"))])
        }
        return Shape(
            name: "sonnets", description: "154 poems as nested arrays", documents: [["verses": .array(verses)]])
    }()

    /// Many small records of five strings, an integer and a date, about 1.6 MB of JSON: an export.
    public static let employees: Shape = {
        var text = TextSource(seed: 10_000)
        let rows = (1...10_000).map { employee($0, &text) }
        return Shape(name: "employees", description: "10,000 records in one list", documents: [.array(rows)])
    }()

    /// A thousand documents of about 330 bytes of JSON: what a busy gateway answers.
    public static let chat: Shape = {
        var text = TextSource(seed: 1000)
        let answers = (1...1000).map { number in
            WireValue.dictionary(["posts": .array((0..<3).map { post(number * 3 + $0, &text) }), "more": true])
        }
        return Shape(name: "chat", description: "1,000 answers of a chat, each a document", documents: answers)
    }()

    private static func employee(_ number: Int, _ text: inout TextSource) -> WireValue {
        let (first, last) = (text.name(), text.name())
        return [
            "id": .int64(Int64(number)),
            "firstName": .string(first),
            "lastName": .string(last),
            "division": .string(text.name()),
            "email": .string("\(first).\(last)@example.com"),
            "phoneNumber": .string("+49 6227 \(100_000 + number)"),
            "hired": .date(WireDate(secondsSinceReferenceDate: Double(text.below(800_000_000)))),
        ]
    }

    private static func post(_ number: Int, _ text: inout TextSource) -> WireValue {
        [
            "id": .int64(Int64(number)),
            "author": .string(text.name()),
            "text": .string(text.lines(1, of: 11...13)[0]),
        ]
    }
}
