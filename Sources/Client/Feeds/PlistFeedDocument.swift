import Foundation
import ValueTree
import WireFormats

/// What a client takes as a feed: UTF-8, a DOCTYPE of property lists, a dictionary as the root.
enum PlistFeedDocument {
    static func read(_ bytes: [UInt8]) throws(PlistFeedFailure) -> WireDictionary {
        guard let text = String(validating: bytes, as: UTF8.self) else { throw failure("it is not UTF-8") }
        guard hasDoctype(text) else { throw failure("it has no DOCTYPE of property lists") }
        let value: WireValue
        do {
            value = try XMLPropertyListFormat().read(bytes)
        } catch {
            throw failure(error.description)
        }
        guard let dictionary = value.dictionaryValue else { throw failure("its root is not a dictionary") }
        return dictionary
    }

    /// Where it stands is the reader's matter, which takes it before the root only.
    private static func hasDoctype(_ text: String) -> Bool {
        guard let found = text.range(of: "<!DOCTYPE", options: .caseInsensitive) else { return false }
        return text[found.upperBound...].drop(while: \.isWhitespace).prefix(5).lowercased() == "plist"
    }

    private static func failure(_ reason: String) -> PlistFeedFailure {
        PlistFeedFailure(code: .fileFormat, reason: "what came is no feed: \(reason)")
    }
}
