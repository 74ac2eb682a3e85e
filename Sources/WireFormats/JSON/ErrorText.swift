import ValueTree

/// What a server says in words about a request that it refused: the text of its answer's body, in the ways that are usual.
///
/// Read are plain text, and JSON with a text at `detail`, `message`, `error_description`, `title`, `error` (a text, or a
/// dictionary with one of these), with a list of such at `errors`, or with texts by the names of fields. What is none of
/// these, such as a page, says nothing.
public enum ErrorText {
    /// What is looked at of a body; longer ones say nothing.
    private static let longestBody = 64 * 1_024
    private static let names = [
        "detail", "message", "error_description", "errorMessage", "Message", "title", "reason", "msg", "value", "error",
        "errors",
    ]
    private static let mostTexts = 5

    /// The text; nil: there is none. It is as the server sent it, so the caller that shows it bounds it and removes controls.
    public static func text(of body: [UInt8], mediaType: String) -> String? {
        guard !body.isEmpty, body.count <= longestBody else { return nil }
        let name = mediaType.prefix { $0 != ";" }.lowercased().filter { !$0.isWhitespace }
        if name == "text/plain" { return nonempty(String(validating: body, as: UTF8.self)) }
        guard name == "application/json" || name.hasSuffix("+json"),
            let document = try? JSONFormat().read(body, limits: ReadingLimits(duplicateKeys: .keepLast))
        else { return nil }
        return text(of: document, depth: 0)
    }

    private static func text(of value: WireValue, depth: Int) -> String? {
        guard depth < 4 else { return nil }
        if let text = value.stringValue { return nonempty(text) }
        if let list = value.arrayValue {
            let texts = list.prefix(mostTexts).compactMap { text(of: $0, depth: depth + 1) }
            return texts.isEmpty ? nil : texts.joined(separator: " ")
        }
        guard let members = value.dictionaryValue else { return nil }
        for name in names {
            if let member = members[name], let found = text(of: member, depth: depth + 1) { return found }
        }
        // Texts, or lists of them, by the names of the fields that are wrong.
        let texts = members.prefix(mostTexts).compactMap { member -> String? in
            guard member.value.arrayValue != nil || depth > 0 else { return nil }
            return text(of: member.value, depth: depth + 1).map { "\(member.key): \($0)" }
        }
        return texts.isEmpty ? nil : texts.joined(separator: " ")
    }

    private static func nonempty(_ text: String?) -> String? {
        text.flatMap { $0.allSatisfy(\.isWhitespace) ? nil : $0 }
    }
}
