import AdapterKit
import Synchronization

/// What was agreed upon lately: callers say few different things, and agreeing anew costs more than finding it.
///
/// Failures are not kept. When it is full it begins anew.
final class NegotiatedVariants: Sendable {
    struct Question: Hashable, Sendable {
        let accept: String?
        let acceptEncoding: String?
        let override: String?
        let defaultFormat: String
        let textXMLMeansPlist: Bool
        /// Whether the answer may be a page for people: to reads only.
        let mayBePage: Bool

        /// Longer ones are no habit of anybody.
        var isShort: Bool {
            [accept, acceptEncoding, override].allSatisfy { ($0?.utf8.count ?? 0) <= NegotiatedVariants.longestField }
        }
    }

    static let capacity = 256
    static let longestField = 256

    private let variants = Mutex<[Question: ResponseVariant]>([:])

    func variant(
        _ query: Question, agree: () throws(PorticoError) -> ResponseVariant
    ) throws(PorticoError) -> ResponseVariant {
        if let known = variants.withLock({ $0[query] }) { return known }
        let agreed = try agree()
        guard query.isShort else { return agreed }
        variants.withLock { variants in
            if variants.count >= Self.capacity { variants.removeAll(keepingCapacity: true) }
            variants[query] = agreed
        }
        return agreed
    }
}
