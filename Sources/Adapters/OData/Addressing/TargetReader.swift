import AdapterKit
import ODataLanguage

/// Parses what stands behind a service's root.
enum TargetReader {
    /// Throws `request.invalid` (or `request.limitExceeded`) with the failing position in the message.
    static func target(
        _ relative: String, language: LanguageVersion = .v4, limits: LanguageLimits
    ) throws(PorticoError) -> RequestTarget {
        do {
            return try RequestTarget(relative, version: language, limits: limits)
        } catch {
            let code = error.kind == .limit ? ErrorCode.requestLimitExceeded : .requestInvalid
            throw PorticoError(
                code, "The address is not well-formed at position \(error.position): \(error.expected) was expected.")
        }
    }
}
