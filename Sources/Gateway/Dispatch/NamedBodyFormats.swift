import AdapterKit
import Synchronization
import WireFormats

/// What the `Content-Type` of bodies was found to mean: callers say few different things. Types that two formats share
/// are not kept, since the body decides there, nor are failures. When it is full it begins anew.
final class NamedBodyFormats: Sendable {
    enum Meaning: Sendable {
        case form
        case format(RouteFormats.Body)
    }

    static let capacity = 256
    static let longestField = 256

    private let meanings = Mutex<[String: Meaning]>([:])

    func meaning(
        of contentType: String, in formats: RouteFormats, _ bytes: [UInt8]
    ) throws(NegotiationFailure) -> Meaning {
        if let known = meanings.withLock({ $0[contentType] }) { return known }
        guard let type = MediaType(contentType) else { throw .malformedField("Content-Type") }
        let isForm = type.essence == BodyReader.formType
        let meaning: Meaning = isForm ? .form : .format(try formats.body(contentType: contentType, bytes: bytes))
        if isForm || formats.isUnambiguous(type) { keep(meaning, for: contentType) }
        return meaning
    }

    private func keep(_ meaning: Meaning, for contentType: String) {
        guard contentType.utf8.count <= Self.longestField else { return }
        meanings.withLock { meanings in
            if meanings.count >= Self.capacity { meanings.removeAll(keepingCapacity: true) }
            meanings[contentType] = meaning
        }
    }
}
